//! Why a document got its class: what each of its terms does to the score, and which documents are near it.
//!
//! The score of a document is followed back through the stages to its terms: a classifier has weights for the columns that come
//! to it, each stage turns weights of what comes out into weights of what goes in ([`ProjectorModel::gradient`]), and a
//! term's part is its entry times its weight. Where every stage is linear the parts are exact and add up to the score; where one
//! is not (`dcot`, `normalize`, `sprinkle`) they are the score's slope at this document, exact for small changes. The votes of
//! `knn` seldom change when a little does, so there the nearness to the documents of its class, against those of the runner-up, is
//! followed back instead. Representations made of word vectors give each word its share of the sum they are.
//! One pass forward and one back: about as much as predicting twice. Only a stage without a gradient (of a user's own) has terms
//! taken out one by one ([`Model::left_out`]), one pass through the stages per term.
//!
//! [`ProjectorModel::gradient`]: crate::project::ProjectorModel::gradient

use super::fitted::{Fitted, Input, seen};
use super::model::Model;
use crate::classify::NearDocument;
use crate::corpus::Document;
use crate::matrix::{Csr, Dense, Matrix};
use crate::project::Weights;
use crate::text::Tokens;
use crate::{Result, Run};

/// Words of a text that are taken out one by one, at most: those that occur most often.
const MOST_WORDS: usize = 400;

/// One term's part in a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Contribution {
    /// The term.
    pub term: String,
    /// What it does to the score of the class asked about; [`Weighing`] says in which sense.
    pub amount: f64,
}

/// What the amounts of an explanation are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighing {
    /// What a term adds to the score; the parts add up.
    Adds,
    /// What a term adds to the score to first order: its entry times the slope of the score there.
    Slope,
    /// The same for the mean nearness to the nearest documents of the class less that to those of the runner-up.
    Nearness,
    /// What the score loses when the term is taken out.
    LeftOut,
}

impl Weighing {
    /// The same for people.
    pub fn about(self) -> &'static str {
        match self {
            Weighing::Adds => "adds to the score",
            Weighing::Slope => "adds to the score, to first order",
            Weighing::Nearness => "adds to nearness to the class, against the runner-up",
            Weighing::LeftOut => "what the score loses without it",
        }
    }

    /// One word for programs.
    pub fn name(self) -> &'static str {
        match self {
            Weighing::Adds => "adds",
            Weighing::Slope => "slope",
            Weighing::Nearness => "nearness",
            Weighing::LeftOut => "left_out",
        }
    }
}

/// A score followed back through a part: to the columns that go in, or to words.
enum Back {
    Columns(Dense),
    Terms(Vec<Contribution>),
}

impl Fitted {
    /// Whether every stage is linear in the entries of terms.
    fn is_linear(&self) -> bool {
        match self {
            Fitted::Vectorize { .. } => true,
            Fitted::Project { model, .. } => model.is_linear(),
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts.iter().all(Fitted::is_linear),
            Fitted::Weighted(part, _) => part.is_linear(),
        }
    }

    /// What goes in does to a score of which `weights` is how it changes with what comes out, at one document. `None` when a
    /// stage has no gradient.
    fn back(&self, input: &Input<'_>, weights: &Weights<'_>, run: &Run) -> Result<Option<Back>> {
        match (self, input) {
            (Fitted::Vectorize { model, view, names, .. }, Input::Words(tokens, _)) => {
                let (tokens, _) = seen(view.as_deref(), tokens, None)?;
                let all = || weights.range(0..weights.len());
                // The weights of all columns are asked for only where columns are not words.
                if model.has_word_parts()
                    && let Some(parts) = model.word_parts(tokens, &all(), run)?
                {
                    let part = |(term, amount)| Contribution { term, amount };
                    return Ok(Some(Back::Terms(parts.into_iter().map(part).collect())));
                }
                let names = names.get_or_init(|| model.feature_names());
                let x = model.transform(tokens, run)?;
                let row = x.row(0);
                let part = |(&column, &value): (&u32, &f32)| {
                    let amount = f64::from(value) * f64::from(weights.at(column as usize));
                    Some(Contribution { term: names.get(column as usize)?.clone(), amount })
                };
                Ok(Some(Back::Terms(row.columns.iter().zip(row.values).filter_map(part).collect())))
            }
            (Fitted::Project { model, .. }, Input::Matrix(x, _)) => {
                Ok(model.gradient(x, weights, run)?.map(Back::Columns))
            }
            (Fitted::Pipe(parts), input) => {
                // Forward, remembering what went into each part, then back from the last to the first.
                let mut inputs = vec![input.clone()];
                for part in &parts[..parts.len().saturating_sub(1)] {
                    let before = inputs[inputs.len() - 1].clone();
                    let (matrix, key) = part.apply(before, run)?;
                    inputs.push(Input::Matrix(matrix, key));
                }
                let mut columns: Option<Dense> = None;
                for (part, input) in parts.iter().zip(&inputs).rev() {
                    let back = match &columns {
                        None => part.back(input, weights, run)?,
                        Some(columns) => part.back(input, &Weights::new(columns, 0), run)?,
                    };
                    match back {
                        Some(Back::Columns(before)) => columns = Some(before),
                        other => return Ok(other),
                    }
                }
                Ok(columns.map(Back::Columns))
            }
            (Fitted::Sum(parts), input) => self.back_of_sum(parts, input, weights, run),
            (Fitted::Weighted(part, weight), input) => part.back(input, &weights.times(*weight), run),
            _ => Ok(None),
        }
    }

    /// Side by side, sparse columns stand before dense ones and those that count negatively last: each part has its own of each.
    fn back_of_sum(
        &self,
        parts: &[Fitted],
        input: &Input<'_>,
        weights: &Weights<'_>,
        run: &Run,
    ) -> Result<Option<Back>> {
        let outs = parts.iter().map(|part| Ok(part.apply(input.clone(), run)?.0)).collect::<Result<Vec<_>>>()?;
        let dense = |x: &Matrix| x.dense().cols() - x.negative();
        let sparse: usize = outs.iter().map(|x| x.sparse().cols()).sum();
        let positive: usize = outs.iter().map(|x| dense(x)).sum();
        let mut at = [0, sparse, sparse + positive];
        let (mut terms, mut columns): (Option<Vec<Contribution>>, Option<Dense>) = (None, None);
        for (part, x) in parts.iter().zip(&outs) {
            let widths = [x.sparse().cols(), dense(x), x.negative()];
            let mut own = Vec::with_capacity(x.cols());
            for (at, width) in at.iter_mut().zip(widths) {
                own.extend(weights.range(*at..*at + width));
                *at += width;
            }
            let own = Dense::new(own.len(), 1, own)?;
            match part.back(input, &Weights::new(&own, 0), run)? {
                None => return Ok(None),
                Some(Back::Terms(more)) => terms.get_or_insert_default().extend(more),
                Some(Back::Columns(more)) => match &mut columns {
                    None => columns = Some(more),
                    Some(sum) => sum.values_mut().iter_mut().zip(more.values()).for_each(|(to, more)| *to += more),
                },
            }
        }
        Ok(terms.map(Back::Terms).or(columns.map(Back::Columns)))
    }
}

impl Model {
    /// Whether the parts of [`Model::weigh_terms`] add up to the score: everything after the term matrix is linear.
    pub fn is_linear_in_terms(&self) -> bool {
        self.classifier().is_ok_and(|classifier| classifier.linear().is_some()) && self.body().is_linear()
    }

    /// The terms of a document that speak most for or against `class`, strongest first, by the most exact way this model
    /// allows. `against` is the class that came second, where there is one.
    pub fn weigh_terms(
        &self,
        text: &str,
        class: u32,
        against: Option<u32>,
        run: &Run,
    ) -> Result<(Weighing, Vec<Contribution>)> {
        self.weigh(&self.recipe().words().tokenize(&[text], run)?, class, against, run)
    }

    /// [`Model::weigh_terms`] of a document, for a model that reads [fields of numbers](Model::number_fields).
    pub fn weigh_document(
        &self,
        document: &Document,
        class: u32,
        against: Option<u32>,
        run: &Run,
    ) -> Result<(Weighing, Vec<Contribution>)> {
        self.weigh(&self.tokenize(std::slice::from_ref(document), run)?, class, against, run)
    }

    fn weigh(
        &self,
        tokens: &Tokens,
        class: u32,
        against: Option<u32>,
        run: &Run,
    ) -> Result<(Weighing, Vec<Contribution>)> {
        let classifier = self.classifier()?;
        let input = Input::words(tokens, run);
        let found = match classifier.linear() {
            Some(linear) => {
                let weights = Weights::new(linear.weights(), class as usize);
                let weighing = if self.body().is_linear() { Weighing::Adds } else { Weighing::Slope };
                self.body().back(&input, &weights, run)?.map(|back| (weighing, back))
            }
            None => {
                let (x, _) = self.body().apply(input.clone(), run)?;
                match classifier.leaning_gradient(&x, class, against, run)? {
                    None => None,
                    Some(slope) => {
                        let back = self.body().back(&input, &Weights::new(&slope, 0), run)?;
                        back.map(|back| (Weighing::Nearness, back))
                    }
                }
            }
        };
        if let Some((weighing, Back::Terms(mut list))) = found {
            // Parts are of the score that is shown; nearness is no part of it.
            if let Some(slope) = self.decision().slope(class)
                && weighing != Weighing::Nearness
            {
                list.iter_mut().for_each(|part| part.amount *= slope);
            }
            return Ok((weighing, strongest_first(together(list))));
        }
        let (terms, x) = self.without_each_term(tokens, run)?;
        let (weighing, values) = match classifier.leaning(&x, class, against, run)? {
            Some(leaning) => (Weighing::Nearness, leaning),
            None => (Weighing::LeftOut, self.scores_of(&x, class, run)?),
        };
        Ok((weighing, lost(terms, &values)))
    }

    /// What the score of `class` loses when a term is taken out of the document, strongest first. One pass through the stages
    /// per term.
    pub fn left_out(&self, text: &str, class: u32, run: &Run) -> Result<Vec<Contribution>> {
        let tokens = self.recipe().words().tokenize(&[text], run)?;
        let (terms, x) = self.without_each_term(&tokens, run)?;
        Ok(lost(terms, &self.scores_of(&x, class, run)?))
    }

    /// The `count` documents kept by the model that are nearest to each row of `x` (see [`Model::represent`]), nearest
    /// first; `None` for a classifier that keeps none.
    pub fn nearest_kept(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        self.classifier()?.nearest(x, count, run)
    }

    fn scores_of(&self, x: &Matrix, class: u32, run: &Run) -> Result<Vec<f64>> {
        let scores = self.predict_matrix(x, run)?.scores;
        Ok((0..x.rows()).map(|row| f64::from(scores.row(row)[class as usize])).collect())
    }

    /// The terms of a document, and as rows the document as the classifier sees it: whole, then without each term.
    fn without_each_term(&self, tokens: &Tokens, run: &Run) -> Result<(Vec<String>, Matrix)> {
        let (first, rest) = match self.body() {
            Fitted::Pipe(parts) => parts.split_first().unwrap_or((self.body(), &[])),
            body => (body, &[][..]),
        };
        let names = first.feature_names(Vec::new());
        let x = first.transform(Input::words(tokens, run), run)?;
        if x.dense().cols() > 0 || names.len() < x.sparse().cols() {
            return self.without_each_word(tokens, run);
        }
        let (columns, values) = x.sparse().row(0);
        // The whole document first, then the document without each of its terms.
        let without = |left: Option<usize>| -> Vec<(u32, f32)> {
            let entries = columns.iter().copied().zip(values.iter().copied()).enumerate();
            entries.filter(|&(at, _)| Some(at) != left).map(|(_, entry)| entry).collect()
        };
        let rows = std::iter::once(None).chain((0..columns.len()).map(Some)).map(without);
        let mut matrix = Matrix::from(Csr::from_rows(x.sparse().cols(), rows));
        for part in rest {
            matrix = part.transform(Input::matrix(matrix), run)?;
        }
        Ok((columns.iter().map(|&column| names[column as usize].clone()).collect(), matrix))
    }

    /// The same for representations that do not name terms: words are taken out of the text.
    fn without_each_word(&self, tokens: &Tokens, run: &Run) -> Result<(Vec<String>, Matrix)> {
        let (words, documents) = tokens.without_each(0, MOST_WORDS)?;
        let names = words.iter().map(|&word| tokens.lexicon().term(word).to_string()).collect();
        Ok((names, self.represent(&documents, run)?))
    }
}

/// Parts of one term from several representations side by side, added up.
fn together(mut list: Vec<Contribution>) -> Vec<Contribution> {
    list.sort_by(|a, b| a.term.cmp(&b.term));
    list.dedup_by(|again, first| {
        let same = again.term == first.term;
        if same {
            first.amount += again.amount;
        }
        same
    });
    list
}

fn strongest_first(mut list: Vec<Contribution>) -> Vec<Contribution> {
    list.sort_by(|a, b| b.amount.abs().total_cmp(&a.amount.abs()).then_with(|| a.term.cmp(&b.term)));
    list
}

/// What the first value loses against each of the others, strongest first.
fn lost(terms: Vec<String>, values: &[f64]) -> Vec<Contribution> {
    let whole = values.first().copied().unwrap_or(0.0);
    let parts = terms.into_iter().zip(values.iter().skip(1));
    strongest_first(parts.map(|(term, without)| Contribution { term, amount: whole - without }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Demo, demo};
    use crate::recipe::{Corpus, Recipe};

    fn fit(corpus: &Demo, recipe: &str, run: &Run) -> Result<Model> {
        let recipe = Recipe::parse(recipe)?;
        let train = Corpus::read(corpus.train.iter().cloned().map(Ok), recipe.words(), run)?;
        recipe.fit(&train, run)
    }

    #[test]
    fn taking_out_a_term_costs_its_linear_part() -> Result<()> {
        let run = Run::new(42, 2)?;
        let corpus = demo()?;
        let text = corpus.test[0].text.as_str();
        let model = fit(&corpus, "tfidf | svm(calibrate=0)", &run)?;
        let (weighing, linear) = model.weigh_terms(text, 0, Some(1), &run)?;
        let left_out = model.left_out(text, 0, &run)?;
        assert_eq!((weighing, linear.len()), (Weighing::Adds, left_out.len()));
        for part in &linear {
            let same = left_out.iter().find(|other| other.term == part.term).map_or(f64::NAN, |other| other.amount);
            assert!((same - part.amount).abs() < 1e-5, "{} {same} {}", part.term, part.amount);
        }
        Ok(())
    }

    #[test]
    fn every_kind_of_recipe_is_explained() -> Result<()> {
        let run = Run::new(42, 2)?;
        let corpus = demo()?;
        for (recipe, expected) in [
            ("tfidf | knn(k=5)", Weighing::Nearness),
            ("tfidf | lsi(10) | knn(k=5, metric=euclidean)", Weighing::Nearness),
            ("tfidf | dcot(prototypes=50) | svm(calibrate=0)", Weighing::Slope),
            ("tfidf | lsi(10) | normalize | svm", Weighing::Slope),
            ("tfidf | sprinkle(rank=10) | logistic", Weighing::Slope),
            ("tfidf | lsi(10) | varnorm(3) | normalize | svm(calibrate=0)", Weighing::Slope),
            ("average(dim=8, min_count=2, epochs=1) | svm(calibrate=0)", Weighing::Adds),
            ("(tfidf + average(dim=8, min_count=2, epochs=1)) | knn(k=3)", Weighing::Nearness),
        ] {
            let model = fit(&corpus, recipe, &run)?;
            for document in &corpus.test[..5] {
                let class = model.predict(&[&document.text], &run)?.labels[0][0];
                let (weighing, list) = model.weigh_terms(&document.text, class, Some((class + 1) % 8), &run)?;
                assert_eq!(weighing, expected, "{recipe}");
                let useful = list.iter().filter(|part| part.amount != 0.0).count();
                assert!(2 * useful > list.len(), "{recipe}: {list:?}");
            }
            let kept = model.nearest_kept(&model.represent_texts(&["my invoice"], &run)?, 3, &run)?;
            assert_eq!(kept.map(|kept| kept[0].len()), recipe.contains("knn").then_some(3));
            let (_, nothing) = model.weigh_terms("", 0, None, &run)?;
            assert!(nothing.is_empty(), "{recipe}");
        }
        Ok(())
    }
}
