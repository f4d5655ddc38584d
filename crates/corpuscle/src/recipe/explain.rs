//! Why a document got its class: what each of its terms does to the score, and which documents are near it.
//!
//! Where everything after the term matrix is linear, a term's part is exact and parts add up to the score
//! ([`Model::contributions`]). Anywhere else (`dcot`, `normalize`) a term's part is what the score loses when the
//! term is taken out of the document and everything else stays ([`Model::left_out`]): also exact, as an answer to that
//! question, but parts need not add up. The votes of `knn` seldom change when one term goes, so there it is asked what
//! the document loses in nearness to the documents of its class, against those of the runner-up. Representations without
//! named terms (word vectors) have words taken out of the text instead. Costs one pass through the stages per term.

use super::fit::{Fitted, Flow};
use super::model::{Contribution, Model};
use crate::classify::NearDocument;
use crate::matrix::{Csr, Dense, Matrix};
use crate::text::Tokens;
use crate::{Result, Run};

/// Words of a text that are taken out one by one, at most: those that occur most often.
const MOST_WORDS: usize = 400;

/// What the amounts of an explanation are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighing {
    /// What a term adds to the score; the parts add up.
    Adds,
    /// What the score loses when the term is taken out.
    LeftOut,
    /// What is lost, when the term is taken out, of the mean nearness to the nearest documents of the class less that to
    /// those of the runner-up.
    Nearness,
}

impl Weighing {
    /// The same for people.
    pub fn about(self) -> &'static str {
        match self {
            Weighing::Adds => "adds to the score",
            Weighing::LeftOut => "what the score loses without it",
            Weighing::Nearness => "nearness to the class, against the runner-up, lost without it",
        }
    }

    /// One word for programs.
    pub fn name(self) -> &'static str {
        match self {
            Weighing::Adds => "adds",
            Weighing::LeftOut => "left_out",
            Weighing::Nearness => "nearness",
        }
    }
}

impl Model {
    /// Whether the parts that [`Model::contributions`] gives add up to the score: everything after the term matrix is
    /// linear.
    pub fn is_linear_in_terms(&self, run: &Run) -> Result<bool> {
        let Some(linear) = self.linear() else { return Ok(false) };
        let tokens = self.recipe().words().tokenize(&[""], run)?;
        let weights = Dense::zeros(linear.n_columns(), 1);
        let (x, _, _) = self.body().before_linear(Flow::words(&tokens, run), weights, run)?;
        Ok(x.dense().cols() == 0)
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
        if self.is_linear_in_terms(run)?
            && let Some(list) = self.contributions(text, class, run)?
        {
            return Ok((Weighing::Adds, list));
        }
        let (terms, x) = self.without_each_term(text, run)?;
        let (weighing, values) = match self.fitted_classifier()?.leaning(&x, class, against, run)? {
            Some(leaning) => (Weighing::Nearness, leaning),
            None => (Weighing::LeftOut, self.scores_of(&x, class, run)?),
        };
        Ok((weighing, lost(terms, &values)))
    }

    /// What the score of `class` loses when a term is taken out of the document, strongest first.
    pub fn left_out(&self, text: &str, class: u32, run: &Run) -> Result<Vec<Contribution>> {
        let (terms, x) = self.without_each_term(text, run)?;
        Ok(lost(terms, &self.scores_of(&x, class, run)?))
    }

    /// The `count` documents kept by the model that are nearest to each row of `x` (see [`Model::represent`]), nearest
    /// first; `None` for a classifier that keeps none.
    pub fn nearest_kept(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        self.fitted_classifier()?.nearest(x, count, run)
    }

    fn scores_of(&self, x: &Matrix, class: u32, run: &Run) -> Result<Vec<f64>> {
        let scores = self.predict_matrix(x, run)?.scores;
        Ok((0..x.rows()).map(|row| f64::from(scores.row(row)[class as usize])).collect())
    }

    /// The terms of a document, and as rows the document as the classifier sees it: whole, then without each term.
    fn without_each_term(&self, text: &str, run: &Run) -> Result<(Vec<String>, Matrix)> {
        let tokens = self.recipe().words().tokenize(&[text], run)?;
        let (first, rest) = match self.body() {
            Fitted::Pipe(parts) => parts.split_first().unwrap_or((self.body(), &[])),
            body => (body, &[][..]),
        };
        let names = first.feature_names(Vec::new());
        let x = first.transform(Flow::words(&tokens, run), run)?;
        if x.dense().cols() > 0 || names.len() < x.sparse().cols() {
            return self.without_each_word(&tokens, run);
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
            matrix = part.transform(Flow::matrix(matrix), run)?;
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

/// What the first value loses against each of the others, strongest first.
fn lost(terms: Vec<String>, values: &[f64]) -> Vec<Contribution> {
    let whole = values.first().copied().unwrap_or(0.0);
    let mut list: Vec<Contribution> = terms
        .into_iter()
        .zip(values.iter().skip(1))
        .map(|(term, without)| Contribution { term, amount: whole - without })
        .collect();
    list.sort_by(|a, b| b.amount.abs().total_cmp(&a.amount.abs()).then_with(|| a.term.cmp(&b.term)));
    list
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
            ("tfidf | dcot(prototypes=50) | svm(calibrate=0)", Weighing::LeftOut),
            ("tfidf | lsi(10) | normalize | svm", Weighing::LeftOut),
            ("average(dim=8, min_count=2, epochs=1) | svm(calibrate=0)", Weighing::LeftOut),
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
