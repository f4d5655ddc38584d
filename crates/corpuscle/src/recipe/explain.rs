//! Why a document got its class: what each of its terms does to the score.
//!
//! Where everything after the term matrix is linear, a term's part is exact and parts add up to the score
//! ([`Model::contributions`]). Anywhere else (`dcot`, `normalize`, `knn`) a term's part is what the score loses when the
//! term is taken out of the document and everything else stays ([`Model::left_out`]): also exact, as an answer to that
//! question, but parts need not add up. Costs one pass of the document through the stages per different term.

use super::fit::{Fitted, Flow};
use super::model::{Contribution, Model};
use crate::matrix::{Csr, Dense, Matrix};
use crate::{Result, Run};

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

    /// What the score of `class` loses when a term is taken out of the document, strongest first; `None` for a
    /// representation without named terms.
    pub fn left_out(&self, text: &str, class: u32, run: &Run) -> Result<Option<Vec<Contribution>>> {
        let tokens = self.recipe().words().tokenize(&[text], run)?;
        let Fitted::Pipe(parts) = self.body() else { return self.left_out_of(None, &tokens, class, run) };
        self.left_out_of(parts.split_first(), &tokens, class, run)
    }

    fn left_out_of(
        &self,
        parts: Option<(&Fitted, &[Fitted])>,
        tokens: &crate::text::Tokens,
        class: u32,
        run: &Run,
    ) -> Result<Option<Vec<Contribution>>> {
        let (first, rest) = parts.unwrap_or((self.body(), &[]));
        let names = first.feature_names(Vec::new());
        let x = first.transform(Flow::words(tokens, run), run)?;
        let (columns, values) = x.sparse().row(0);
        if names.len() < x.sparse().cols() || columns.is_empty() {
            return Ok(None);
        }
        // The whole document first, then the document without each of its terms.
        let without = |left: Option<usize>| -> Vec<(u32, f32)> {
            let entries = columns.iter().copied().zip(values.iter().copied()).enumerate();
            entries.filter(|&(at, _)| Some(at) != left).map(|(_, entry)| entry).collect()
        };
        let rows = std::iter::once(None).chain((0..columns.len()).map(Some)).map(without);
        let sparse = Csr::from_rows(x.sparse().cols(), rows);
        let dense = x.dense().select_rows(&vec![0; columns.len() + 1]);
        let mut matrix = Matrix::new(sparse, dense, x.negative())?;
        for part in rest {
            matrix = part.transform(Flow::matrix(matrix), run)?;
        }
        let scores = self.predict_matrix(&matrix, run)?.scores;
        let of = |row: usize| f64::from(scores.row(row)[class as usize]);
        let mut list: Vec<Contribution> = columns
            .iter()
            .enumerate()
            .map(|(at, &column)| Contribution { term: names[column as usize].clone(), amount: of(0) - of(at + 1) })
            .collect();
        list.sort_by(|a, b| b.amount.abs().total_cmp(&a.amount.abs()).then_with(|| a.term.cmp(&b.term)));
        Ok(Some(list))
    }
}

#[cfg(test)]
mod tests {
    use crate::corpus::demo;
    use crate::recipe::{Corpus, Recipe};
    use crate::{Result, Run};

    #[test]
    fn taking_out_a_term_costs_its_linear_part() -> Result<()> {
        let run = Run::new(42, 2)?;
        let corpus = demo()?;
        let text = corpus.test[0].text.as_str();
        let recipe = Recipe::parse("tfidf | svm(calibrate=0)")?;
        let model = recipe.fit(&Corpus::read(corpus.train.clone().into_iter().map(Ok), recipe.words(), &run)?, &run)?;
        let (Some(linear), Some(left_out)) = (model.contributions(text, 0, &run)?, model.left_out(text, 0, &run)?)
        else {
            return Err(crate::Error::data("nothing explained"));
        };
        assert_eq!(linear.len(), left_out.len());
        for part in &linear {
            let same = left_out.iter().find(|other| other.term == part.term).map_or(f64::NAN, |other| other.amount);
            assert!((same - part.amount).abs() < 1e-5, "{} {same} {}", part.term, part.amount);
        }
        for text in
            ["tfidf | knn(k=5)", "tfidf | dcot(prototypes=50) | svm(calibrate=0)", "tfidf | lsi(10) | normalize | svm"]
        {
            let recipe = Recipe::parse(text)?;
            let train = Corpus::read(corpus.train.clone().into_iter().map(Ok), recipe.words(), &run)?;
            let explained = recipe.fit(&train, &run)?.left_out(&corpus.test[1].text, 0, &run)?;
            assert!(explained.is_some_and(|list| list.iter().any(|part| part.amount != 0.0)), "{text}");
        }
        Ok(())
    }
}
