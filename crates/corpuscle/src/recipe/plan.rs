//! A checked recipe: every stage known, every parameter in range, every part fed what it can take.
//!
//! ```
//! use corpuscle::recipe::Recipe;
//! let recipe = Recipe::parse("words(stop=english)|tfidf(min_df=2,sublinear=true) | svm")?;
//! assert_eq!(recipe.to_string(), "words(stop=english) | tfidf(sublinear=true, min_df=2) | svm");
//! assert!(Recipe::parse("tfidf | smv").unwrap_err().to_string().contains("did you mean `svm`"));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use super::arguments::{Arguments, nearest};
use super::presets;
use super::stage::{Classifier, Projector, Stage, Vectorizer};
use super::stages::{self, AnyStage, StageKind};
use super::syntax::{Argument, Call, Expression};
use crate::text::WordsParams;
use crate::{Error, Result};

/// A recipe that can work, given data it fits.
#[derive(Debug, Clone)]
pub struct Recipe {
    words: WordsParams,
    body: Node,
    classifier: Option<Arc<dyn Classifier>>,
}

/// The part of a recipe between words and scores.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Tokens to matrix.
    Vectorize(Arc<dyn Vectorizer>),
    /// Matrix to matrix.
    Project(Arc<dyn Projector>),
    /// One after the other.
    Pipe(Vec<Node>),
    /// Side by side, all from the same input.
    Sum(Vec<Node>),
    /// Every value times a number.
    Weighted(Box<Node>, f32),
}

/// What flows into a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Words,
    Matrix,
}

impl Recipe {
    /// Reads a recipe or the name of a preset, and checks it.
    pub fn parse(text: &str) -> Result<Self> {
        let text = presets::find(text.trim()).unwrap_or(text);
        let planner = Planner { text };
        planner.recipe(Expression::parse(text)?)
    }

    /// How texts become words.
    pub fn words(&self) -> &WordsParams {
        &self.words
    }

    /// The classifier at the end, unless the recipe is a representation only.
    pub fn classifier(&self) -> Option<&dyn Classifier> {
        self.classifier.as_deref()
    }

    pub(super) fn body(&self) -> &Node {
        &self.body
    }

    /// The first stage that cannot be fitted without labels.
    pub fn needs_labels(&self) -> Option<&'static str> {
        self.representation_needs_labels().or_else(|| self.classifier().map(|stage| stage.name()))
    }

    /// The first stage before the classifier that cannot be fitted without labels.
    pub fn representation_needs_labels(&self) -> Option<&'static str> {
        self.body.needs_labels()
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let words = stages::words_stage(&self.words);
        if !words.arguments().is_empty() {
            parts.push(written(&words));
        }
        match self.body.expression() {
            Expression::Pipe(inner) => parts.extend(inner),
            other => parts.push(other),
        }
        if let Some(classifier) = &self.classifier {
            parts.push(written(classifier.as_ref()));
        }
        match parts.len() {
            1 => write!(f, "{}", parts[0]),
            _ => write!(f, "{}", Expression::Pipe(parts)),
        }
    }
}

impl Node {
    /// Whether a stage of it learns from labels.
    pub(super) fn is_supervised(&self) -> bool {
        self.needs_labels().is_some()
    }

    fn needs_labels(&self) -> Option<&'static str> {
        match self {
            Node::Vectorize(_) => None,
            Node::Project(stage) => stage.needs_labels().then(|| stage.name()),
            Node::Pipe(parts) | Node::Sum(parts) => parts.iter().find_map(Node::needs_labels),
            Node::Weighted(part, _) => part.needs_labels(),
        }
    }

    fn expression(&self) -> Expression {
        let all = |parts: &[Node]| parts.iter().map(Node::expression).collect();
        match self {
            Node::Vectorize(stage) => written(stage.as_ref()),
            Node::Project(stage) => written(stage.as_ref()),
            Node::Pipe(parts) => Expression::Pipe(all(parts)),
            Node::Sum(parts) => Expression::Sum(all(parts)),
            Node::Weighted(part, weight) => Expression::Weighted(Box::new(part.expression()), f64::from(*weight)),
        }
    }
}

/// A stage as it is written: the first parameter by position when it is the only one given.
fn written(stage: &(impl Stage + ?Sized)) -> Expression {
    let first = stages::find(stage.name()).and_then(|info| info.parameters.first()).map(|parameter| parameter.name);
    let arguments = stage.arguments();
    let lonely =
        arguments.len() == 1 && arguments.first().map(|(name, _)| *name) == first && stages::positional(stage.name());
    let arguments = arguments
        .into_iter()
        .map(|(name, value)| Argument { name: (!lonely).then(|| name.to_string()), value, at: 0, is_range: false })
        .collect();
    Expression::Stage(Call { name: stage.name().to_string(), at: 0, arguments })
}

struct Planner<'a> {
    text: &'a str,
}

impl Planner<'_> {
    fn fault<T>(&self, at: usize, reason: impl Into<String>) -> Result<T> {
        Err(Error::BadRecipe { recipe: self.text.to_string(), at, reason: reason.into() })
    }

    fn recipe(&self, expression: Expression) -> Result<Recipe> {
        let end = expression.at();
        let mut parts = match expression {
            Expression::Pipe(parts) => parts,
            other => vec![other],
        };
        let mut words = WordsParams::default();
        if let Some(Expression::Stage(call)) = parts.first()
            && call.name == "words"
        {
            if let AnyStage::Words(given) = self.stage(call)? {
                words = given;
            }
            parts.remove(0);
        }
        let mut classifier = None;
        if let Some(Expression::Stage(call)) = parts.last()
            && stages::find(&call.name).is_some_and(|info| info.kind == StageKind::Classify)
        {
            if let AnyStage::Classify(given) = self.stage(call)? {
                classifier = Some(given);
            }
            if parts.len() == 1 {
                return self.fault(call.at, format!("`{0}` needs a matrix before it; try `tfidf | {0}`", call.name));
            }
            parts.pop();
        }
        let body = match parts.len() {
            0 => return self.fault(end, "nothing follows `words`; try `words | tfidf | svm`"),
            1 => self.node(parts.remove(0), Input::Words)?,
            _ => self.node(Expression::Pipe(parts), Input::Words)?,
        };
        Ok(Recipe { words, body, classifier })
    }

    fn node(&self, expression: Expression, input: Input) -> Result<Node> {
        match expression {
            Expression::Stage(call) => self.single(&call, input),
            Expression::Pipe(parts) => {
                let mut input = input;
                let mut nodes = Vec::with_capacity(parts.len());
                let mut mixed = false;
                for part in parts {
                    if let Expression::Stage(call) = &part {
                        match call.name.as_str() {
                            "ig" if mixed => {
                                return self.fault(
                                    call.at,
                                    "`ig` chooses among terms, but after `varnorm` a document is no longer made of terms \
                                     alone; put `ig` before `varnorm`",
                                );
                            }
                            "varnorm" => mixed = true,
                            "normalize" => {}
                            _ => mixed = false,
                        }
                    }
                    nodes.push(self.node(part, input)?);
                    input = Input::Matrix;
                }
                Ok(Node::Pipe(nodes))
            }
            Expression::Sum(parts) => {
                Ok(Node::Sum(parts.into_iter().map(|part| self.node(part, input)).collect::<Result<_>>()?))
            }
            Expression::Weighted(part, weight) => {
                let at = part.at();
                if weight as f32 == 0.0 || !(weight as f32).is_finite() {
                    return self.fault(at, format!("the weight {weight} leaves nothing of this part"));
                }
                Ok(Node::Weighted(Box::new(self.node(*part, input)?), weight as f32))
            }
        }
    }

    fn single(&self, call: &Call, input: Input) -> Result<Node> {
        let name = &call.name;
        match (self.stage(call)?, input) {
            (AnyStage::Vectorize(stage), Input::Words) => Ok(Node::Vectorize(stage)),
            (AnyStage::Project(stage), Input::Matrix) => Ok(Node::Project(stage)),
            (AnyStage::Vectorize(_), Input::Matrix) => self.fault(
                call.at,
                format!("`{name}` makes a matrix from words, but a matrix comes in here; put it side by side with `+`"),
            ),
            (AnyStage::Project(_), Input::Words) => {
                self.fault(call.at, format!("`{name}` needs a matrix before it; try `tfidf | {name}`"))
            }
            (AnyStage::Words(_), _) => self.fault(call.at, "`words` can only be the first stage of a recipe"),
            (AnyStage::Classify(_), _) => {
                self.fault(call.at, format!("`{name}` gives scores, so it can only be the last stage of a recipe"))
            }
        }
    }

    fn stage(&self, call: &Call) -> Result<AnyStage> {
        let Some(info) = stages::find(&call.name) else {
            let names = stages::all().map(|info| info.name).chain(presets::names());
            return match nearest(&call.name, names) {
                Some(near) if presets::find(near).is_some() => {
                    self.fault(call.at, format!("there is no stage `{}`; the preset `{near}` stands alone", call.name))
                }
                Some(near) => self.fault(call.at, format!("there is no stage `{}`; did you mean `{near}`?", call.name)),
                None => {
                    let known: Vec<&str> = stages::all().map(|info| info.name).collect();
                    self.fault(call.at, format!("there is no stage `{}`; there are {}", call.name, known.join(", ")))
                }
            };
        };
        let mut arguments = Arguments::new(self.text, call, info.parameters)?;
        if let Some(range) = call.arguments.iter().find(|argument| argument.is_range) {
            let told = format!("`{}` is a range: tune searches ranges, train takes one value", range.value);
            return self.fault(range.at, told);
        }
        let stage = (info.build)(&mut arguments)?;
        match stage.check() {
            Ok(()) => Ok(stage),
            Err(Error::BadParameter { name, value, reason, .. }) => {
                self.fault(call.at, format!("`{name}` is {value} but {reason}"))
            }
            Err(other) => Err(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("tfidf|dcot(500)|svm(self_training=true)", "tfidf | dcot(500) | svm(self_training=true)"),
            (
                "tfidf|dcot(terms=\"tasty, food\",noise=auto)|svm",
                "tfidf | dcot(noise=auto, terms=\"tasty,food\") | svm",
            ),
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
        assert!(complaint("words").contains("nothing follows"));
        assert!(complaint("tfidf | svm(c=-1)").contains('c'));
        assert!(complaint("tfidf * 0 | svm").contains("leaves nothing"));
        assert!(complaint("(tfidf | svm) + counts | svm").contains("last stage"));
        assert!(complaint("tfidf | varnorm(5) | ig(10) | svm").contains("put `ig` before `varnorm`"));
        assert!(complaint("tfidf | varnorm(0) | knn").contains("components"));
        assert!(complaint("tfidf | discriminant(shrinkage=0) | knn").contains("shrinkage"));
        assert!(complaint("tfidf | discriminant(shrinkage=much) | knn").contains("shrinkage"));
        assert!(complaint("zzzzzzzzzz").contains("there are words"));
    }

    #[test]
    fn presets_stand_for_recipes() {
        for name in presets::names() {
            Recipe::parse(name).unwrap();
        }
        assert!(Recipe::parse("tfidf-svm").unwrap().to_string().ends_with("| svm"));
    }

    #[test]
    fn the_first_stage_that_needs_labels_is_named() {
        assert_eq!(Recipe::parse("tfidf | ig(10) | svm").unwrap().needs_labels(), Some("ig"));
        assert_eq!(Recipe::parse("tfidf | svm").unwrap().needs_labels(), Some("svm"));
        assert_eq!(Recipe::parse("tfidf").unwrap().needs_labels(), None);
        let representation = |text: &str| Recipe::parse(text).unwrap().representation_needs_labels();
        assert_eq!(representation("tfidf | dcot | svm"), None);
        assert_eq!(representation("tfidf | dcot(layers=auto) | svm"), Some("dcot"));
    }
}
