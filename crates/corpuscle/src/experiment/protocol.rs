//! A paper's table as a protocol: data, splits, systems with the paper's figures, and claims to test.
//!
//! Where a recipe says `{rank}`, the rank is chosen anew in every split, by cross-validation on its training part, so
//! that no test row has a say in it.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::compare::{Comparison, Outcomes, Tokenised};
use super::significance::{TTest, paired_t_test};
use super::splits::{Split, halves, k_folds};
use crate::corpus::{Document, Labels};
use crate::recipe::Recipe;
use crate::{Error, Result, Rng, Run};

/// Folds by which a rank is chosen.
const RANK_FOLDS: usize = 3;

/// What stands for the rank in a recipe.
const RANK: &str = "{rank}";

/// A table of a paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The name it is asked for by.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Paper and table.
    pub paper: String,
    /// File inside the data folder.
    pub file: String,
    /// Field with the text.
    pub text: String,
    /// Labels that take part.
    pub classes: Vec<String>,
    /// Documents drawn of each.
    pub per_class: usize,
    /// Draws of a training and a test part.
    pub runs: usize,
    /// Share of every label that is learnt from.
    pub train: f64,
    /// What the rank is chosen from.
    #[serde(default)]
    pub ranks: Vec<usize>,
    /// The systems compared.
    pub systems: Vec<System>,
    /// Pairs of systems of which the first should be better.
    pub claims: Vec<(String, String)>,
    /// How the data differ from the paper's.
    pub note: String,
}

/// One system of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name in the table.
    pub name: String,
    /// Its recipe.
    pub recipe: String,
    /// The paper's accuracy in per cent.
    pub paper: Option<f64>,
}

/// What came out.
#[derive(Debug, Clone, Serialize)]
pub struct Reproduction {
    /// How many documents took part.
    pub documents: usize,
    /// The outcomes of every system, in the protocol's order.
    pub comparison: Comparison,
    /// For each system the ranks chosen, one per split; empty for those without.
    pub ranks: Vec<Vec<usize>>,
    /// The claims in the protocol's order: better, worse, and the test of their difference.
    pub claims: Vec<(String, String, Option<TTest>)>,
}

impl Protocol {
    /// Reads a protocol and checks that its recipes and claims make sense.
    pub fn parse(json: &str) -> Result<Self> {
        let protocol: Protocol =
            serde_json::from_str(json).map_err(|e| Error::data(format!("this is no protocol: {e}")))?;
        for system in &protocol.systems {
            for recipe in protocol.candidates(system) {
                Recipe::parse(&recipe)?;
            }
        }
        for name in protocol.claims.iter().flat_map(|(better, worse)| [better, worse]) {
            protocol.number(name)?;
        }
        Ok(protocol)
    }

    fn number(&self, name: &str) -> Result<usize> {
        let found = self.systems.iter().position(|system| system.name == name);
        found.ok_or_else(|| Error::data(format!("the protocol {} has no system `{name}`", self.name)))
    }

    fn candidates(&self, system: &System) -> Vec<String> {
        if system.recipe.contains(RANK) {
            self.ranks.iter().map(|rank| system.recipe.replace(RANK, &rank.to_string())).collect()
        } else {
            vec![system.recipe.clone()]
        }
    }

    /// The documents that take part: of each class a seeded draw, documents with other than one label left out.
    pub fn pick(&self, documents: Vec<Document>, seed: u64) -> Result<Vec<Document>> {
        let mut by_class: BTreeMap<&str, Vec<Document>> =
            self.classes.iter().map(|class| (class.as_str(), Vec::new())).collect();
        for document in documents {
            if let Some([label]) = document.labels.as_deref()
                && let Some(list) = by_class.get_mut(label.as_str())
            {
                list.push(document);
            }
        }
        let mut rng = Rng::seed_from_u64(seed);
        let mut picked = Vec::new();
        for (class, mut list) in by_class {
            if list.is_empty() {
                return Err(Error::data(format!("{}: no document has the label `{class}`", self.file)));
            }
            list.shuffle(&mut rng);
            list.truncate(self.per_class);
            picked.extend(list);
        }
        Ok(picked)
    }

    /// Runs every system on every split; `runs` instead of the protocol's own when given.
    pub fn run(&self, documents: &[Document], runs: Option<usize>, run: &Run) -> Result<Reproduction> {
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let splits = halves(&labels, runs.unwrap_or(self.runs), self.train, run.seed())?;
        let mut corpora = Tokenised::default();
        let mut recipes: Vec<Outcomes> =
            self.systems.iter().map(|s| Outcomes { recipe: s.recipe.clone(), splits: Vec::new() }).collect();
        let mut ranks = vec![Vec::new(); self.systems.len()];
        run.watch("reproduce", Some((splits.len() * self.systems.len()) as u64), || -> Result<()> {
            for split in &splits {
                for (number, system) in self.systems.iter().enumerate() {
                    let candidates: Vec<Recipe> =
                        self.candidates(system).iter().map(|recipe| Recipe::parse(recipe)).collect::<Result<_>>()?;
                    let mut chosen = 0;
                    if candidates.len() > 1 {
                        chosen = best_on_training_part(&candidates, documents, &labels, split, &mut corpora, run)?;
                        ranks[number].push(self.ranks[chosen]);
                    }
                    recipes[number].splits.push(corpora.outcome(&candidates[chosen], documents, split, run)?);
                    run.advance(1);
                }
            }
            Ok(())
        })?;
        let comparison = Comparison { recipes };
        let accuracies = |name: &str| -> Result<Vec<f64>> {
            Ok(comparison.recipes[self.number(name)?].splits.iter().map(|outcome| outcome.accuracy).collect())
        };
        let mut claims = Vec::new();
        for (better, worse) in &self.claims {
            let test = paired_t_test(&accuracies(better)?, &accuracies(worse)?);
            claims.push((better.clone(), worse.clone(), test));
        }
        Ok(Reproduction { documents: documents.len(), comparison, ranks, claims })
    }
}

/// The candidate of the highest accuracy in a cross-validation of the training part, the first of equals.
fn best_on_training_part(
    candidates: &[Recipe],
    documents: &[Document],
    labels: &Labels,
    split: &Split,
    corpora: &mut Tokenised,
    run: &Run,
) -> Result<usize> {
    let inner = k_folds(&labels.select(&split.train), RANK_FOLDS, run.seed())?;
    let rows = |part: &[usize]| part.iter().map(|&row| split.train[row]).collect::<Vec<usize>>();
    let folds: Vec<Split> =
        inner.iter().map(|fold| Split { train: rows(&fold.train), test: rows(&fold.test) }).collect();
    let mut best = (0, f64::NEG_INFINITY);
    for (number, recipe) in candidates.iter().enumerate() {
        let mut sum = 0.0;
        for fold in &folds {
            run.check()?;
            sum += corpora.outcome(recipe, documents, fold, run)?.accuracy;
        }
        if sum > best.1 {
            best = (number, sum);
        }
    }
    Ok(best.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::demo;

    const SMALL: &str = r#"{"name": "x", "title": "x", "paper": "x", "file": "x", "text": "text",
        "classes": ["billing", "login", "network"], "per_class": 30, "runs": 2, "train": 0.5, "ranks": [2, 8],
        "systems": [{"name": "a", "recipe": "tfidf | lsi({rank}) | svm(calibrate=0)", "paper": 50.0},
                    {"name": "b", "recipe": "tfidf | svm(calibrate=0)", "paper": null}],
        "claims": [["b", "a"]], "note": ""}"#;

    #[test]
    fn a_protocol_runs_and_chooses_ranks() {
        let run = Run::new(42, 2).unwrap();
        let protocol = Protocol::parse(SMALL).unwrap();
        let documents = protocol.pick(demo().unwrap().train, 1).unwrap();
        assert_eq!(documents.len(), 90);
        let result = protocol.run(&documents, None, &run).unwrap();
        assert_eq!(result.ranks[0].len(), 2);
        assert!(result.ranks[1].is_empty() && result.ranks[0].iter().all(|rank| [2, 8].contains(rank)));
        assert!(result.comparison.recipes[1].spread(|outcome| outcome.accuracy).0 > 0.6);
        assert_eq!(result.claims.len(), 1);
    }

    #[test]
    fn protocols_that_make_no_sense_are_refused() {
        assert!(Protocol::parse("{}").is_err());
        assert!(Protocol::parse(&SMALL.replace("lsi(", "lsj(")).is_err());
        assert!(Protocol::parse(&SMALL.replace("[\"b\", \"a\"]", "[\"b\", \"z\"]")).is_err());
        let protocol = Protocol::parse(&SMALL.replace("\"login\"", "\"nobody\"")).unwrap();
        assert!(protocol.pick(demo().unwrap().train, 1).is_err());
    }
}
