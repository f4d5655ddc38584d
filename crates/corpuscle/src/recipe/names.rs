//! The names of classes as words of a recipe, and what they bring to mind.

use super::data::Corpus;
use super::model::Represented;
use super::plan::Recipe;
use crate::classify::ClassNames;
use crate::corpus::Labels;
use crate::project::ClassWords;
use crate::text::{Tokens, WordsParams};
use crate::{Result, Run};

/// The terms that a class's name brings to mind.
#[derive(Debug, Clone, PartialEq)]
pub struct Expansion {
    /// The class.
    pub class: String,
    /// What it is about, as it was said or by its name.
    pub about: String,
    /// Terms with weights, the strongest first; none when no word of the name is known.
    pub terms: Vec<(String, f32)>,
}

impl Recipe {
    /// The words of what each class is about, made as the documents' words are, in each of the ways they are read (but not as grams of
    /// characters, unless there is nothing else). A word with `-` before it is struck out.
    pub fn class_words(&self, labels: &Labels, run: &Run) -> Result<Vec<ClassWords>> {
        let is_struck = |word: &&str| word.len() > 1 && word.starts_with('-');
        let descriptions = labels.descriptions();
        let texts = |struck: bool| -> Vec<String> {
            let kept = |text: &String| {
                text.split_whitespace().filter(|word| is_struck(word) == struck).collect::<Vec<_>>().join(" ")
            };
            descriptions.iter().map(kept).collect()
        };
        let quiet = run.quiet();
        let views: Vec<WordsParams> =
            std::iter::once(self.words()).chain(&self.words().views).map(WordsParams::alone).collect();
        let has_words = views.iter().any(|view| view.chars.is_none());
        let views: Vec<WordsParams> = views.into_iter().filter(|view| view.chars.is_none() || !has_words).collect();
        let read = |struck: bool| -> Result<Vec<Tokens>> {
            let texts = texts(struck);
            views.iter().map(|view| view.tokenize(&texts, &quiet)).collect()
        };
        let (words, struck) = (read(false)?, read(true)?);
        let list = |views: &[Tokens], class: usize| {
            let mut list: Vec<String> = Vec::new();
            for word in views.iter().flat_map(|tokens| tokens.words(class)) {
                // A word said twice in one way of reading counts twice; read in two ways it is still one.
                if views.len() == 1 || !list.iter().any(|known| known == word) {
                    list.push(word.to_string());
                }
            }
            list
        };
        Ok((0..descriptions.len())
            .map(|class| ClassWords { words: list(&words, class), struck: list(&struck, class) })
            .collect())
    }

    /// The terms that each class's name brings to mind among documents represented by this recipe, at most `top` each. `None` when
    /// documents are not made of terms, or fewer than two classes have a name with a known word.
    pub fn expand_names(
        &self,
        represented: &Represented,
        corpus: &Corpus,
        top: usize,
        run: &Run,
    ) -> Result<Option<Vec<Expansion>>> {
        let (labels, columns) = (&corpus.labels, represented.column_names());
        let words = self.class_words(labels, run)?;
        let Some(names) = ClassNames::fit(represented.matrix(), &columns, &words, run)? else { return Ok(None) };
        let expanded = names.terms().into_iter().zip(labels.classes().iter().zip(labels.descriptions()));
        let named = |terms: Vec<(u32, f32)>| {
            terms.into_iter().take(top).map(|(column, weight)| (columns[column as usize].clone(), weight)).collect()
        };
        Ok(Some(
            expanded
                .map(|(terms, (class, about))| Expansion { class: class.clone(), about, terms: named(terms) })
                .collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Document;

    fn pile() -> Vec<Document> {
        let topics = [["goal", "match", "team", "league"], ["court", "judge", "law", "trial"]];
        (0..80usize)
            .map(|n| {
                let words = &topics[n % 2];
                let text =
                    format!("{} {} and the {}", words[n / 2 % 4], words[(n / 2 + 1) % 4], words[(n / 2 + 2) % 4]);
                Document::new(n.to_string(), text)
            })
            .collect()
    }

    #[test]
    fn names_alone_make_a_model() -> Result<()> {
        let run = Run::new(1, 2)?;
        let recipe = Recipe::parse("tfidf | svm(names=true, self_training=aligned)")?;
        let mut corpus = Corpus::read(pile().into_iter().map(Ok), recipe.words(), &run)?;
        assert!(recipe.fit(&corpus, &run).unwrap_err().to_string().contains("needs labels"));
        let about =
            [("sport", "team"), ("justice", "judge")].map(|(class, about)| (class.to_string(), about.to_string()));
        corpus.labels = corpus.labels.described(&about);
        let model = recipe.fit(&corpus, &run)?;
        let texts = ["the league and a goal", "a trial and the law"];
        let found = model.predict(&texts, &run)?;
        assert_eq!(model.classes(), ["justice", "sport"]);
        assert_eq!(found.labels, [[1], [0]]);
        // Saved, loaded and explained as any other.
        let back = crate::recipe::Model::from_bytes(&model.to_bytes()?, &run)?;
        assert_eq!(back.predict(&texts, &run)?.scores, found.scores);
        assert!(!back.weigh_terms(texts[0], 1, None, &run)?.1.is_empty());
        for threads in [1, 8] {
            let run = Run::new(1, threads)?;
            assert_eq!(recipe.fit(&corpus, &run)?.to_bytes()?, model.to_bytes()?);
        }
        // Names of which nobody has heard teach nothing.
        corpus.labels = Labels::none(80).described(&[("a".into(), "c01".into()), ("b".into(), "c02".into())]);
        assert!(recipe.fit(&corpus, &run).unwrap_err().to_string().contains("nothing to learn from"));
        Ok(())
    }

    #[test]
    fn words_can_be_struck_out() -> Result<()> {
        let run = Run::new(1, 1)?;
        let recipe = Recipe::parse("tfidf")?;
        let mut corpus = Corpus::read(pile().into_iter().map(Ok), recipe.words(), &run)?;
        let expand = |corpus: &Corpus| -> Result<Vec<String>> {
            let represented = recipe.represent(corpus, &run)?;
            let found = recipe.expand_names(&represented, corpus, 3, &run)?.unwrap_or_default();
            Ok(found[1].terms.iter().map(|(term, _)| term.clone()).collect())
        };
        let about = |sport: &str| vec![("a".to_string(), "judge".to_string()), ("b".to_string(), sport.to_string())];
        corpus.labels = Labels::none(80).described(&about("team"));
        assert!(expand(&corpus)?.contains(&"goal".to_string()));
        corpus.labels = Labels::none(80).described(&about("team -goal"));
        assert!(!expand(&corpus)?.contains(&"goal".to_string()));
        Ok(())
    }

    #[test]
    fn names_that_are_codes_are_left_out() -> Result<()> {
        let run = Run::new(1, 1)?;
        let documents = pile()
            .into_iter()
            .enumerate()
            .map(|(n, document)| Ok(if n < 30 { document.labelled(["C01", "C02"][n % 2]) } else { document }));
        let recipe = Recipe::parse("tfidf | svm(names=auto, self_training=aligned)")?;
        let corpus = Corpus::read(documents.collect::<Vec<_>>(), recipe.words(), &run)?;
        let model = recipe.fit(&corpus, &run)?;
        assert!(
            model.notes().iter().any(|(what, said)| what == "names of classes" && said.contains("left out")),
            "{:?}",
            model.notes()
        );
        let plain = Recipe::parse("tfidf | svm(self_training=aligned)")?.fit(&corpus, &run)?;
        let texts = ["goal", "court"];
        assert_eq!(model.predict(&texts, &run)?.scores, plain.predict(&texts, &run)?.scores);
        Ok(())
    }
}
