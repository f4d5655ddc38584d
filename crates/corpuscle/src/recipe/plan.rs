//! A checked recipe: every stage known, every parameter in range, every part fed what it can take.
//!
//! ```
//! use corpuscle::recipe::Recipe;
//! let recipe = Recipe::parse("words(stop=english)|tfidf(min_df=2,sublinear=true) | svm")?;
//! assert_eq!(recipe.to_string(), "words(stop=english) | tfidf(sublinear=true, min_df=2) | svm");
//! assert!(Recipe::parse("tfidf | smv").unwrap_err().to_string().contains("did you mean `svm`"));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::sync::Arc;

use super::arguments::{Arguments, nearest};
use super::erase::{AnyClassifier, AnyProjector, AnyVectorizer};
use super::presets;
use super::registry::{AnyStage, Registry, StageKind, refused};
use super::syntax::{Call, Expression};
use super::vote::Vote;
use crate::corpus::Numbers;
use crate::text::WordsParams;
use crate::vectorize::Columns;
use crate::{Error, Result};

/// A recipe that can work, given data it fits.
#[derive(Debug, Clone)]
pub struct Recipe {
    registry: Arc<Registry>,
    /// As it is written before everything else.
    pub(super) opening: WordsParams,
    /// How texts are read: for the first representation, with the views that others ask for.
    reading: WordsParams,
    body: Node,
    classifier: Option<Arc<dyn AnyClassifier>>,
}

/// The part of a recipe between words and scores.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Tokens to matrix; the view of the documents that it reads, where that is not the recipe's own.
    Vectorize(Arc<dyn AnyVectorizer>, Option<Arc<WordsParams>>),
    /// A part that opens with `words` or `chars` of its own. The stages inside know their view; this is how it is written.
    View(Arc<WordsParams>, Box<Node>),
    /// Matrix to matrix.
    Project(Arc<dyn AnyProjector>),
    /// One after the other.
    Pipe(Vec<Node>),
    /// Side by side, all from the same input.
    Sum(Vec<Node>),
    /// Every value times a number.
    Weighted(Box<Node>, f32),
    /// What a member of a vote makes of words, and the classifier it ends in.
    Member(Box<Node>, Arc<dyn AnyClassifier>),
}

/// Reads a recipe or the name of a preset, and checks it.
pub(super) fn parse(text: &str, registry: Arc<Registry>) -> Result<Recipe> {
    let text = presets::find(text.trim()).unwrap_or(text);
    Planner { text, registry: &registry, of_file: false }.recipe(Expression::parse(text)?)
}

/// Reads the recipe of a model's file, in which a parameter not named is one that was not there yet.
pub(super) fn parse_of_file(text: &str, registry: Arc<Registry>) -> Result<Recipe> {
    Planner { text, registry: &registry, of_file: true }.recipe(Expression::parse(text)?)
}

/// Reads a single stage; out of a file, a parameter not named is one that was not there yet.
pub(super) fn parse_stage(text: &str, registry: Arc<Registry>, of_file: bool) -> Result<AnyStage> {
    let planner = Planner { text, registry: &registry, of_file };
    match Expression::parse(text)? {
        Expression::Stage(call) => planner.stage(&call),
        other => planner.fault(other.at(), "this is more than one stage"),
    }
}

impl Node {
    fn number_fields(&self, list: &mut Vec<Numbers>) {
        match self {
            Node::Vectorize(stage, _) => {
                let field = stage.field_read().map(|field| Numbers { field: field.to_string(), width: None });
                list.extend(field.filter(|field| !list.contains(field)));
            }
            Node::Project(_) => {}
            Node::Pipe(parts) | Node::Sum(parts) => parts.iter().for_each(|part| part.number_fields(list)),
            Node::Weighted(part, _) | Node::View(_, part) | Node::Member(part, _) => part.number_fields(list),
        }
    }

    /// The view of every representation in order, each once; `None` is the recipe's own.
    fn views<'a>(&'a self, list: &mut Vec<Option<&'a WordsParams>>) {
        match self {
            Node::Vectorize(_, view) => {
                let view = view.as_deref();
                list.extend(Some(view).filter(|view| !list.contains(view)));
            }
            Node::Project(_) => {}
            Node::Pipe(parts) | Node::Sum(parts) => parts.iter().for_each(|part| part.views(list)),
            Node::Weighted(part, _) | Node::View(_, part) | Node::Member(part, _) => part.views(list),
        }
    }
}

/// How texts are read for a recipe that begins with `words`: as its first representation reads them, and beside that as the others
/// do. What nobody asks for is not made.
fn reading(words: &WordsParams, body: &Node) -> WordsParams {
    let mut views = Vec::new();
    body.views(&mut views);
    let mut all: Vec<WordsParams> = Vec::new();
    // The recipe's own comes first where it is used: stages without a view read what comes first.
    views.sort_by_key(|view| view.is_some());
    for view in views {
        let view = view.unwrap_or(words).alone();
        if !all.contains(&view) {
            all.push(view);
        }
    }
    let mut all = all.into_iter();
    let mut reading = all.next().unwrap_or_else(|| words.clone());
    reading.views = all.collect();
    reading
}

impl Recipe {
    /// Reads a recipe of the house's own stages, or the name of a preset, and checks it. See [`Registry::parse`] for others.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text, Registry::shared())
    }

    /// The stages it was read with.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How texts become words, in all views that the recipe has of them.
    pub fn words(&self) -> &WordsParams {
        &self.reading
    }

    /// The fields of numbers that its stages read, for [`crate::corpus::ReadOptions::numbers`].
    pub fn number_fields(&self) -> Vec<Numbers> {
        let mut fields = Vec::new();
        self.body.number_fields(&mut fields);
        fields
    }

    /// The name of the classifier at the end, unless the recipe is a representation only.
    pub fn classifier(&self) -> Option<&'static str> {
        self.classifier.as_ref().map(|stage| stage.name())
    }

    /// Whether several recipes decide together in it.
    pub fn is_vote(&self) -> bool {
        self.classifier.as_ref().is_some_and(|stage| !stage.members().is_empty())
    }

    /// Whether unlabelled documents teach its classifier something.
    pub fn self_trains(&self) -> bool {
        self.classifier.as_ref().is_some_and(|stage| stage.self_trains())
    }

    pub(super) fn any_classifier(&self) -> Option<&dyn AnyClassifier> {
        self.classifier.as_deref()
    }

    pub(super) fn body(&self) -> &Node {
        &self.body
    }

    /// The same without the classifier.
    #[must_use]
    pub fn representation(&self) -> Self {
        Recipe { classifier: None, ..self.clone() }
    }

    /// The same without the fits that only make probabilities and thresholds of scores.
    #[must_use]
    pub fn uncalibrated(&self) -> Self {
        Recipe { classifier: self.classifier.as_ref().map(|stage| stage.uncalibrated()), ..self.clone() }
    }

    /// The first stage that cannot be fitted without labels.
    pub fn needs_labels(&self) -> Option<&'static str> {
        self.representation_needs_labels().or_else(|| self.classifier())
    }

    /// The first stage before the classifier that cannot be fitted without labels.
    pub fn representation_needs_labels(&self) -> Option<&'static str> {
        self.body.needs_labels()
    }
}

impl Node {
    fn needs_labels(&self) -> Option<&'static str> {
        match self {
            Node::Vectorize(..) => None,
            Node::Project(stage) => stage.needs_labels().then(|| stage.name()),
            Node::Pipe(parts) | Node::Sum(parts) => parts.iter().find_map(Node::needs_labels),
            Node::Weighted(part, _) | Node::View(_, part) | Node::Member(part, _) => part.needs_labels(),
        }
    }
}

struct Planner<'a> {
    /// Out of a model's file; see [`crate::params::Params::BEFORE`].
    of_file: bool,
    text: &'a str,
    registry: &'a Arc<Registry>,
}

/// What flows into a part: words (of which view, unless it is the recipe's own), or columns of some kind and the stage that made
/// them so.
#[derive(Debug, Clone)]
enum Input {
    Words(Option<Arc<WordsParams>>),
    Matrix(Columns, &'static str),
}

/// How texts are read where that is said, what is made of them, and the classifier at the end.
type Planned = (Option<WordsParams>, Node, Option<Arc<dyn AnyClassifier>>);

impl Planner<'_> {
    fn fault<T>(&self, at: usize, reason: impl Into<String>) -> Result<T> {
        Err(Error::BadRecipe { recipe: self.text.to_string(), at, reason: reason.into() })
    }

    /// The kind of the stage that a part is, when it is one.
    fn kind(&self, part: Option<&Expression>) -> Option<StageKind> {
        match part {
            Some(Expression::Stage(call)) => self.registry.find(&call.name).map(|stage| stage.kind),
            _ => None,
        }
    }

    fn recipe(&self, expression: Expression) -> Result<Recipe> {
        let mut parts = match expression {
            Expression::Pipe(parts) => parts,
            other => vec![other],
        };
        // How members of a vote read texts may be said once, before it.
        let opens = self.kind(parts.first()) == Some(StageKind::Words);
        if self.kind(parts.get(usize::from(opens))) == Some(StageKind::Vote) && parts.len() == 1 + usize::from(opens) {
            let vote = parts.pop();
            return self.vote(parts.pop(), vote);
        }
        let (words, mut body, classifier) = self.member(parts, None)?;
        let mut words = words.unwrap_or_default();
        // A view of everything is how the recipe reads texts.
        if let Node::View(view, part) = body {
            words = Arc::unwrap_or_clone(view);
            body = *part;
        }
        let reading = reading(&words, &body);
        Ok(Recipe { registry: Arc::clone(self.registry), opening: words, reading, body, classifier })
    }

    /// Recipes that decide together.
    fn vote(&self, opening: Option<Expression>, vote: Option<Expression>) -> Result<Recipe> {
        let opening = match opening {
            Some(Expression::Stage(call)) => match self.stage(&call)? {
                AnyStage::Words(words) => Some(words),
                _ => None,
            },
            _ => None,
        };
        let Some(Expression::Stage(Call { name, at, members, arguments })) = vote else {
            return self.fault(0, "a vote has members");
        };
        if members.len() < 2 {
            return self
                .fault(at, format!("`{name}` needs two recipes or more: `{name}(tfidf | svm; chars | tfidf | svm)`"));
        }
        let AnyStage::Vote(params) = self.stage(&Call { name, at, members: Vec::new(), arguments })? else {
            return self.fault(at, "only a vote has members");
        };
        let (mut nodes, mut classifiers) = (Vec::new(), Vec::new());
        for member in members {
            let (node, classifier) = self.voter(member, opening.as_ref())?;
            nodes.push(Node::Member(Box::new(node), Arc::clone(&classifier)));
            classifiers.push(classifier);
        }
        let (words, body) = (opening.unwrap_or_default(), Node::Sum(nodes));
        let classifier: Arc<dyn AnyClassifier> = Arc::new(Vote::new(params, classifiers));
        let reading = reading(&words, &body);
        let registry = Arc::clone(self.registry);
        Ok(Recipe { registry, opening: words, reading, body, classifier: Some(classifier) })
    }

    /// One member of a vote: what it makes of words it reads in its own way, and its classifier.
    fn voter(&self, member: Expression, opening: Option<&WordsParams>) -> Result<(Node, Arc<dyn AnyClassifier>)> {
        // The name of a preset stands for its recipe here too.
        if let Expression::Stage(Call { name, arguments, members, .. }) = &member
            && arguments.is_empty()
            && members.is_empty()
            && let Some(text) = presets::find(name)
        {
            return Planner { text, registry: self.registry, of_file: false }.voter(Expression::parse(text)?, None);
        }
        let at = member.at();
        let parts = match member {
            Expression::Pipe(parts) => parts,
            other => vec![other],
        };
        let words = opening.cloned().unwrap_or_default();
        let (view, node, classifier) = self.member(parts, Some(words))?;
        let Some(classifier) = classifier else {
            return self.fault(at, "a member of a vote decides: it ends in a classifier, as in `tfidf | svm`");
        };
        // Written out with its words, so that it reads the same wherever it stands.
        let node = match node {
            Node::View(..) => node,
            node => Node::View(Arc::new(view.unwrap_or_default()), Box::new(node)),
        };
        Ok((node, classifier))
    }

    /// A recipe in its three parts: words where they are said (or `usual` ones that it is to be planned with), what is made of them,
    /// and the classifier at the end.
    fn member(&self, mut parts: Vec<Expression>, usual: Option<WordsParams>) -> Result<Planned> {
        let end = parts.first().map_or(0, Expression::at);
        let mut words = usual.clone();
        if self.kind(parts.first()) == Some(StageKind::Words)
            && let Expression::Stage(call) = parts.remove(0)
            && let AnyStage::Words(given) = self.stage(&call)?
        {
            words = Some(given);
        }
        let mut classifier = None;
        if self.kind(parts.last()) == Some(StageKind::Classify)
            && let Some(Expression::Stage(call)) = parts.pop()
        {
            if parts.is_empty() {
                return self.fault(call.at, format!("`{0}` needs a matrix before it; try `tfidf | {0}`", call.name));
            }
            if let AnyStage::Classify(given) = self.stage(&call)? {
                classifier = Some(given);
            }
        }
        let view = usual.and(words.clone()).map(Arc::new);
        let (body, _) = match parts.len() {
            0 => return self.fault(end, "nothing follows `words`; try `words | tfidf | svm`"),
            1 => self.node(parts.remove(0), Input::Words(view))?,
            _ => self.pipe(parts, Input::Words(view))?,
        };
        Ok((words, body, classifier))
    }

    /// The part, and what comes out of it.
    fn node(&self, expression: Expression, input: Input) -> Result<(Node, Input)> {
        match expression {
            Expression::Stage(call) => self.single(&call, input),
            Expression::Pipe(mut parts) => {
                let opens = self.kind(parts.first()) == Some(StageKind::Words) && matches!(input, Input::Words(_));
                if opens
                    && let Expression::Stage(call) = parts.remove(0)
                    && let AnyStage::Words(words) = self.stage(&call)?
                {
                    let view = Arc::new(words);
                    let inside = Input::Words(Some(Arc::clone(&view)));
                    let (node, out) = match parts.len() {
                        1 => self.node(parts.remove(0), inside)?,
                        _ => self.pipe(parts, inside)?,
                    };
                    // Where another view opens at once, nobody reads this one.
                    return Ok(match node {
                        Node::View(..) => (node, out),
                        _ => (Node::View(view, Box::new(node)), out),
                    });
                }
                self.pipe(parts, input)
            }
            Expression::Sum(parts) => {
                let mut nodes = Vec::with_capacity(parts.len());
                let mut joined: Option<Input> = None;
                for part in parts {
                    let (node, out) = self.node(part, input.clone())?;
                    nodes.push(node);
                    // Terms beside terms are terms; anything else beside them is not.
                    joined = Some(match (joined, out) {
                        (Some(Input::Matrix(Columns::Terms, _)), other) | (None, other) => other,
                        (Some(before), _) => before,
                    });
                }
                Ok((Node::Sum(nodes), joined.unwrap_or(input)))
            }
            Expression::Weighted(part, weight) => {
                let at = part.at();
                if weight as f32 == 0.0 || !(weight as f32).is_finite() {
                    return self.fault(at, format!("the weight {weight} leaves nothing of this part"));
                }
                let (node, out) = self.node(*part, input)?;
                Ok((Node::Weighted(Box::new(node), weight as f32), out))
            }
        }
    }

    /// Parts that feed each other.
    fn pipe(&self, parts: Vec<Expression>, input: Input) -> Result<(Node, Input)> {
        let mut flow = input;
        let mut nodes = Vec::with_capacity(parts.len());
        for part in parts {
            let at = part.at();
            let (node, out) = self.node(part, flow)?;
            if let Node::Project(stage) = &node
                && stage.wants_words()
                && !matches!(nodes.last(), Some(Node::Vectorize(..)))
            {
                let name = stage.name();
                return self.fault(at, format!("`{name}` counts words near each other, so it stands right behind the stage that makes a matrix of them: `tfidf | {name}`"));
            }
            nodes.push(node);
            flow = out;
        }
        Ok((Node::Pipe(nodes), flow))
    }

    fn single(&self, call: &Call, input: Input) -> Result<(Node, Input)> {
        let name = &call.name;
        match (self.stage(call)?, input) {
            (AnyStage::Vectorize(stage), Input::Words(view)) => {
                let out = Input::Matrix(stage.makes(), stage.name());
                Ok((Node::Vectorize(stage, view), out))
            }
            (AnyStage::Project(stage), Input::Matrix(columns, by)) => {
                if stage.needs_terms() && columns != Columns::Terms {
                    return self.fault(
                        call.at,
                        format!(
                            "`{name}` works on terms, but after `{by}` a document is no longer made of terms alone; put \
                             `{name}` before `{by}`"
                        ),
                    );
                }
                let out = match stage.makes() {
                    Columns::Same => Input::Matrix(columns, by),
                    made => Input::Matrix(made, stage.name()),
                };
                Ok((Node::Project(stage), out))
            }
            (AnyStage::Vectorize(_), Input::Matrix(..)) => self.fault(
                call.at,
                format!("`{name}` makes a matrix from words, but a matrix comes in here; put it side by side with `+`"),
            ),
            (AnyStage::Project(_), Input::Words(_)) => {
                self.fault(call.at, format!("`{name}` needs a matrix before it; try `tfidf | {name}`"))
            }
            (AnyStage::Words(_), Input::Words(_)) => {
                self.fault(call.at, format!("nothing follows `{name}`; a part of its own is `({name} | tfidf)`"))
            }
            (AnyStage::Words(_), _) => {
                let reason = format!("`{name}` can only be the first stage of a recipe, or of a part of `+`");
                self.fault(call.at, reason)
            }
            (AnyStage::Classify(_), _) => {
                self.fault(call.at, format!("`{name}` gives scores, so it can only be the last stage of a recipe"))
            }
            (AnyStage::Vote(_), _) => self
                .fault(call.at, format!("`{name}` is a whole recipe: nothing but `words` or `chars` stands beside it")),
        }
    }

    fn stage(&self, call: &Call) -> Result<AnyStage> {
        let Some(stage) = self.registry.find(&call.name) else {
            if let Some(reason) = refused(&call.name) {
                return self.fault(call.at, format!("there is no stage `{}`: {reason}", call.name));
            }
            let names = self.registry.stages().map(|stage| stage.name).chain(presets::names());
            return match nearest(&call.name, names) {
                Some(near) if presets::find(near).is_some() => {
                    self.fault(call.at, format!("there is no stage `{}`; the preset `{near}` stands alone", call.name))
                }
                Some(near) => self.fault(call.at, format!("there is no stage `{}`; did you mean `{near}`?", call.name)),
                None => {
                    let known: Vec<&str> = self.registry.stages().map(|stage| stage.name).collect();
                    self.fault(call.at, format!("there is no stage `{}`; there are {}", call.name, known.join(", ")))
                }
            };
        };
        if stage.kind != StageKind::Vote && !call.members.is_empty() {
            let reason =
                format!("`;` stands between recipes that vote; arguments of `{}` have `,` between them", call.name);
            return self.fault(call.at, reason);
        }
        let arguments = Arguments::new(self.text, call, &stage.parameters, self.of_file)?;
        if let Some(range) = call.arguments.iter().find(|argument| argument.is_range) {
            let reason = format!("`{}` is a range: tune searches ranges, train takes one value", range.value);
            return self.fault(range.at, reason);
        }
        stage.read(&arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::CharsParams;

    fn complaint(text: &str) -> String {
        Recipe::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn recipes_print_in_their_shortest_form() {
        for (given, printed) in [
            ("tfidf|svm", "tfidf | svm"),
            ("words|tfidf(min_df=1)|svm(c=1)", "tfidf | svm"),
            (
                "words(stem=porter)|binary|ig(terms=500)|knn(k=3, metric=euclidean)",
                "words(stem=porter) | binary | ig(500) | knn(k=3, metric=euclidean)",
            ),
            ("tfidf + counts*0.5 | svm", "(tfidf + counts * 0.5) | svm"),
            ("(tfidf | normalize) + binary | logistic", "((tfidf | normalize) + binary) | logistic"),
            (
                "tfidf|varnorm(components=30)|discriminant(shrinkage=10)|knn",
                "tfidf | varnorm(30) | discriminant(shrinkage=10) | knn",
            ),
            ("tfidf|varnorm(60)|discriminant(components=0,shrinkage=auto)|knn", "tfidf | varnorm | discriminant | knn"),
            ("tfidf", "tfidf"),
            ("tfidf|dcot(500)|svm(self_training=true)", "tfidf | dcot(500) | svm(self_training=aligned)"),
            (
                "tfidf|dcot(terms=\"tasty, food\",noise=auto)|svm",
                "tfidf | dcot(noise=auto, terms=\"tasty,food\") | svm",
            ),
            ("chars|tfidf|svm", "chars | tfidf | svm"),
            ("chars(max=4,min=2)|counts", "chars(max=4) | counts"),
            (
                "words(stem=porter)|(tfidf + (words|tfidf) + (chars(3)|tfidf|lsi(5))*0.5)|svm",
                "words(stem=porter) | (tfidf + (words | tfidf) + (chars(min=3) | tfidf | lsi(5)) * 0.5) | svm",
            ),
            (
                "(words(position=true)|tfidf(skip=2)) + binary|svm",
                "((words(position=true) | tfidf(skip=2)) + binary) | svm",
            ),
            (
                "(words(negate=3) | (tfidf + (chars | counts))) | svm",
                "words(negate=3) | (tfidf + (chars | counts)) | svm",
            ),
            ("words(stem=porter) | (chars | (words(negate=1) | tfidf)) | svm", "words(negate=1) | tfidf | svm"),
            ("(words(negate=1) | tfidf) | lsi(5) | svm", "(words(negate=1) | tfidf) | lsi(5) | svm"),
            ("vote(words|tfidf|svm(c=1);chars|tfidf|knn)", "vote(tfidf | svm; chars | tfidf | knn)"),
            (
                "words(stem=porter) | vote(tfidf|svm; (chars|tfidf)|svm; words|counts|svm; calibrate=0)",
                "vote(words(stem=porter) | tfidf | svm; chars | tfidf | svm; counts | svm; calibrate=0)",
            ),
            ("vote(tfidf-svm; tfidf | svm; weights=auto)", "vote(tfidf(sublinear=true) | svm; tfidf | svm)"),
        ] {
            let recipe = Recipe::parse(given).unwrap();
            assert_eq!(recipe.to_string(), printed);
            assert_eq!(Recipe::parse(printed).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn recipes_that_cannot_work_say_why() {
        assert!(complaint("tfidf | smv").contains("did you mean `svm`"));
        assert!(complaint("svm").contains("try `tfidf | svm`"));
        assert!(complaint("svm | tfidf").contains("last stage"));
        assert!(complaint("tfidf | counts | svm").contains("a matrix comes in here"));
        assert!(complaint("ig(100) | svm").contains("needs a matrix before it"));
        assert!(complaint("tfidf | words | svm").contains("first stage"));
        assert!(complaint("tfidf + (counts | chars) | svm").contains("or of a part of `+`"));
        assert!(complaint("(tfidf + chars) | svm").contains("`(chars | tfidf)`"));
        assert!(complaint("chars(min=3, max=2) | tfidf").contains("`min` is 3"));
        assert!(complaint("chars(stem=porter) | tfidf").contains("no parameter"));
        assert!(complaint("tfidf(skip=99) | svm").contains("`skip` is 99"));
        assert!(complaint("words").contains("nothing follows"));
        assert!(complaint("tfidf | svm(c=-1)").contains('c'));
        assert!(complaint("tfidf * 0 | svm").contains("leaves nothing"));
        assert!(complaint("(tfidf | svm) + counts | svm").contains("last stage"));
        assert!(complaint("tfidf | varnorm(5) | ig(10) | svm").contains("put `ig` before `varnorm`"));
        assert!(complaint("tfidf | varnorm(0) | knn").contains("components"));
        assert!(complaint("tfidf | discriminant(shrinkage=0) | knn").contains("shrinkage"));
        assert!(complaint("tfidf | discriminant(shrinkage=much) | knn").contains("shrinkage"));
        assert!(complaint("tfidf | lsi(5) | dcot | svm").contains("put `dcot` before `lsi`"));
        assert!(complaint("(counts + average) | ig(5) | svm").contains("put `ig` before `average`"));
        assert!(complaint("tfidf | sprinkle(terms=4, adaptive=true) | svm").contains("leave one of the two out"));
        let both = complaint("tfidf | svm(c=-1, tolerance=7)");
        assert!(both.contains("`c` is -1") && both.contains("`tolerance` is 7"), "{both}");
        assert!(complaint("tfidf | ig(5) | pmi | svm").contains("right behind"));
        assert!(complaint("(tfidf + counts) | pmi | svm").contains("right behind"));
        assert!(complaint("zzzzzzzzzz").contains("there are words"));
        assert!(complaint("vote(tfidf | svm;)").contains("two recipes or more"));
        assert!(complaint("vote(calibrate=0)").contains("two recipes or more"));
        assert!(complaint("vote(tfidf | svm; tfidf)").contains("ends in a classifier"));
        assert!(complaint("vote(tfidf | svm; svm)").contains("needs a matrix"));
        assert!(complaint("vote(tfidf | svm; tfidf | svm) | svm").contains("a whole recipe"));
        assert!(complaint("tfidf | vote(tfidf | svm; tfidf | svm)").contains("a whole recipe"));
        assert!(complaint("vote(tfidf | svm; vote(tfidf | svm; tfidf | svm))").contains("a whole recipe"));
        assert!(complaint("vote(tfidf | svm; tfidf | knn; self_training=surest)").contains("surest"));
        assert!(complaint("tfidf | svm(a; b)").contains("recipes that vote"));
    }

    #[test]
    fn texts_are_read_for_every_view_and_no_other() {
        let reading = |text: &str| {
            let words = Recipe::parse(text).unwrap().words().clone();
            (words.alone(), words.views)
        };
        let (words, chars) = (WordsParams::default(), CharsParams::default().0);
        let position = WordsParams { position: true, ..WordsParams::default() };
        assert_eq!(reading("(tfidf + (chars | tfidf)) | svm"), (words.clone(), vec![chars.clone()]));
        assert_eq!(reading("((chars | tfidf) + (words | counts) + tfidf) | svm"), (words.clone(), vec![chars.clone()]));
        assert_eq!(reading("chars | tfidf"), (chars.clone(), vec![]));
        assert_eq!(
            reading("((chars | tfidf) + (words(position=true) | tfidf) + (chars | counts)) | svm"),
            (chars.clone(), vec![position.clone()])
        );
        assert_eq!(reading("(words(position=true) | (tfidf + (chars | tfidf))) | svm"), (position, vec![chars]));
    }

    #[test]
    fn presets_stand_for_recipes() {
        for name in presets::names() {
            Recipe::parse(name).unwrap();
        }
        assert!(Recipe::parse("tfidf-svm").unwrap().to_string().ends_with("| svm"));
        // A stage of that name alone is another recipe, and stays it when it is written and read again.
        let alone = Recipe::parse("(scdv)").unwrap();
        assert_eq!((alone.to_string().as_str(), alone.needs_labels()), ("(scdv)", None));
        assert_eq!(Recipe::parse(&alone.to_string()).unwrap().full(), alone.full());
    }

    #[test]
    fn the_first_stage_that_needs_labels_is_named() {
        assert_eq!(Recipe::parse("tfidf | ig(10) | svm").unwrap().needs_labels(), Some("ig"));
        assert_eq!(Recipe::parse("tfidf | svm").unwrap().needs_labels(), Some("svm"));
        assert_eq!(Recipe::parse("tfidf").unwrap().needs_labels(), None);
        let representation = |text: &str| Recipe::parse(text).unwrap().representation_needs_labels();
        assert_eq!(representation("tfidf | dcot | svm"), None);
        assert_eq!(representation("tfidf | dcot(noise=auto) | svm"), Some("dcot"));
    }

    #[test]
    fn the_full_form_has_every_value_and_means_the_same() {
        for text in [
            "tfidf",
            "words(stop=\"a b\") | (tfidf(ngrams=2) + scdv(dim=9) * 0.5) | lsi | svm(c=auto)",
            "binary(max_features=7) | sprinkle(terms=3) | knn",
            "tfidf | dcot(terms=\"card,money\") | logistic(self_training=surest)",
            "(tfidf + (words | tfidf) + (chars(max=4) | tfidf(skip=1) | lsi) * 2) | svm",
            "words | (words(position=true) | binary) | svm",
            "words(stem=porter) | vote(tfidf | svm; words | counts | knn(k=3); (chars | tfidf) | lsi(3) | logistic; weights=equal)",
        ] {
            let recipe = Recipe::parse(text).unwrap();
            let full = recipe.full();
            assert!(full.trim_start_matches("vote(").starts_with("words(tokenizer=unicode, "), "{full}");
            let back = Recipe::parse(&full).unwrap();
            assert_eq!((back.to_string(), back.full()), (recipe.to_string(), full));
        }
        let full = Recipe::parse("binary | svm").unwrap().full();
        assert!(
            full.ends_with(
                "binary(ngrams=1, ngrams_min=1, min_df=1, max_df=1.0, max_features=all, skip=0) | svm(c=1, loss=squared_hinge, \
             multiclass=one_vs_rest, bias=1, class_weight=none, tolerance=0.001, max_iter=1000, nb=false, calibrate=3, \
             self_training=false, names=false)"
            ),
            "{full}"
        );
    }
}
