//! A paper's table or figure as a protocol: data, draws, systems with the paper's figures, and claims to test.
//!
//! A protocol is a JSON file. Every run draws documents anew and cuts them into parts; every system is fitted on the
//! training part and tested on the test part. Where a recipe says `{name}`, its value is one of `grid.name`, chosen
//! anew in every run, on the development part when there is one and by cross-validation of the training part
//! otherwise, so that no test row has a say in it; where labels are drawn, on a share `validation` of the training part. With
//! `along`, the whole is repeated for every value of one name and becomes a curve.

mod draw;
mod looks;
mod run;
mod topic_looks;

pub use draw::{Draw, Parts};
pub use run::{Chosen, ClaimTest, ClassMeans, Point, Reproduction};
pub use topic_looks::{SensesAsked, SensesFound, TopicSystem, TopicsAsked, TopicsFound};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::compare::Outcome;
use crate::metrics::Evaluation;
use crate::recipe::Recipe;
use crate::{Error, Result};

/// The axis that is no name in recipes.
const LABELS: &str = "labels";

/// A table or a figure of a paper.
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
    #[serde(default = "text")]
    pub text: String,
    /// Field with the labels; `label`, or else `labels`, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Labels that take part; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Labels with fewer documents do not take part.
    #[serde(default)]
    pub at_least: usize,
    /// Whether documents may have several labels; otherwise only those with exactly one take part.
    #[serde(default)]
    pub multi_label: bool,
    /// How a run's documents are drawn and cut.
    pub parts: Parts,
    /// Independent draws.
    pub runs: usize,
    /// How many labels of the training part are left, drawn anew in every run; all when absent. Representations see the texts
    /// of all of it, and those that know no labels are fitted once for all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<usize>,
    /// Whether such a draw has at least one label of every class; otherwise chance decides.
    #[serde(default)]
    pub each_class: bool,
    /// The share of the training part whose labels only choose values, where labels are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// What each `{name}` of a recipe is chosen from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grid: BTreeMap<String, Vec<f64>>,
    /// Whether values are chosen on vectors fitted once on all texts of the training part, as one does who cross-validates a
    /// classifier on finished vectors; otherwise every fold has vectors of its own. Representations that know labels always have.
    #[serde(default)]
    pub fixed_vectors: bool,
    /// What each `{name}` of a recipe stands for where nothing is chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Constant>,
    /// The name whose values make the points of a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<Along>,
    /// The figures shown; values are chosen by the first.
    #[serde(default = "accuracy")]
    pub figures: Vec<Figure>,
    /// The systems compared.
    pub systems: Vec<System>,
    /// What the paper says is better than what.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Systems whose mistakes are shown as confusion matrices, summed over the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confusions: Vec<String>,
    /// Systems whose precision and recall are shown class by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_class: Vec<ByClass>,
    /// A recipe with `varnorm`, whose intra-topic variability before and after is shown, topic by topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variability: Option<String>,
    /// What sprinkling does to the classes and to the matrix, over numbers of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprinkling: Option<Sprinkling>,
    /// A recipe with `scdv`, whose values before and after small ones are made zero are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// Systems, by their name and recipe, whose test documents are laid out on a map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<(String, String)>,
    /// What words bring to mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconstruction: Option<Reconstruction>,
    /// Models whose topics are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<TopicsAsked>,
    /// Words whose senses are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senses: Option<SensesAsked>,
    /// How the data differ from the paper's.
    pub note: String,
    /// Whether values are chosen by one round of folds, however few the documents: see [`Protocol::filled`].
    #[serde(skip)]
    pub quick: bool,
}

fn text() -> String {
    "text".into()
}

fn accuracy() -> Vec<Figure> {
    vec![Figure::Accuracy]
}

/// A value in recipes that makes the difference between hours and minutes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// What it is in earnest.
    pub full: f64,
    /// What it is when a quick look is enough.
    pub quick: f64,
}

/// The axis of a curve. The name `labels` stands for the number of labels that are left of the training part; all others
/// are names in recipes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// The name in recipes.
    pub name: String,
    /// What it is, for people.
    pub label: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// One system of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name in the table.
    pub name: String,
    /// Its recipe; none for a system that only the paper has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The paper's figures, shares in per cent.
    #[serde(default)]
    pub paper: BTreeMap<Figure, f64>,
}

/// One system said to be better than another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The system said to be better.
    pub better: String,
    /// The system it is compared with.
    pub than: String,
    /// The figure by which.
    #[serde(default)]
    pub by: Figure,
    /// Whether being as good is enough: the claim fails only if the system is significantly worse.
    #[serde(default)]
    pub or_equal: bool,
    /// Where on the curve, or with how many sprinkled terms, the better one stands; absent, the claim is tested at every point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Where the other one stands, when [`Claim::at`] is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_at: Option<f64>,
    /// What the other's figure is multiplied by before they are compared: 1.05 for "at most 5 % more".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
}

/// A system whose precision and recall are shown class by class, with the paper's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByClass {
    /// The system.
    pub system: String,
    /// The paper's precision and recall of each class, in per cent.
    #[serde(default)]
    pub paper: BTreeMap<String, [f64; 2]>,
}

/// An analysis of plain sprinkling: Figure 4 of the paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sprinkling {
    /// The recipe that makes the matrix.
    pub recipe: String,
    /// Dimensions kept.
    pub rank: usize,
    /// Numbers of artificial terms per class.
    pub terms: Vec<usize>,
}

/// Words of one-word documents, and the terms that a recipe with `dcot` reconstructs of each: Figure 2 of its paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconstruction {
    /// The recipe, fitted on the training part.
    pub recipe: String,
    /// Each word with the terms the paper shows for it, largest first; an empty word is the empty document.
    pub words: Vec<(String, Vec<String>)>,
}

/// A figure of merit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Figure {
    /// Share of documents decided right.
    #[default]
    Accuracy,
    /// F1 over all decisions.
    MicroF1,
    /// Mean F1 of the classes.
    MacroF1,
    /// Mean precision of the classes.
    MacroPrecision,
    /// Mean recall of the classes.
    MacroRecall,
    /// Mean F1 of the classes, weighted by their documents.
    WeightedF1,
    /// Equal error rate: lower is better.
    Eer,
    /// Share of right labels among the first one a document is given.
    PrecisionAt1,
    /// Share of right labels among the first five.
    PrecisionAt5,
    /// Discounted gain of the first five labels over that of five right ones, as SCDV's authors count it.
    NdcgAt5,
    /// How far down the ranking one has to go to have all labels of a document: lower is better.
    CoverageError,
    /// Label ranking average precision.
    Lrap,
    /// Share of wrong decisions among all pairs of document and label: lower is better.
    HammingLoss,
    /// Seconds to fit the representation and represent the training part: lower is better.
    RepresentSeconds,
    /// Seconds to fit: lower is better.
    TrainSeconds,
    /// Seconds to represent and decide the test part: lower is better.
    PredictSeconds,
    /// Mean UMass coherence of a model's topics; only in claims about [`Protocol::topics`].
    Umass,
    /// Scatter within classes over that between them, of documents: lower is better; only in claims about
    /// [`Protocol::sprinkling`].
    WithinOverBetween,
    /// The same of the terms typical of classes.
    TermsWithinOverBetween,
}

impl Figure {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Accuracy => "accuracy",
            Figure::MicroF1 => "micro F1",
            Figure::MacroF1 => "macro F1",
            Figure::MacroPrecision => "macro precision",
            Figure::MacroRecall => "macro recall",
            Figure::WeightedF1 => "weighted F1",
            Figure::Eer => "EER",
            Figure::PrecisionAt1 => "precision@1",
            Figure::PrecisionAt5 => "precision@5",
            Figure::NdcgAt5 => "nDCG@5",
            Figure::CoverageError => "coverage error",
            Figure::Lrap => "LRAP",
            Figure::HammingLoss => "Hamming loss",
            Figure::RepresentSeconds => "seconds to represent",
            Figure::TrainSeconds => "seconds to fit",
            Figure::PredictSeconds => "seconds to predict",
            Figure::Umass => "UMass coherence",
            Figure::WithinOverBetween => "W/B of documents",
            Figure::TermsWithinOverBetween => "W/B of terms",
        }
    }

    /// Whether less is better.
    pub fn is_cost(self) -> bool {
        matches!(self, Figure::Eer | Figure::HammingLoss | Figure::CoverageError)
            || self.is_time()
            || self.is_of_sprinkling()
    }

    /// Whether it is a share of 1, shown in per cent.
    pub fn is_share(self) -> bool {
        !(matches!(self, Figure::CoverageError | Figure::Umass) || self.is_time() || self.is_of_sprinkling())
    }

    /// Whether it is seconds.
    pub fn is_time(self) -> bool {
        matches!(self, Figure::RepresentSeconds | Figure::TrainSeconds | Figure::PredictSeconds)
    }

    /// How many decimals tell its values apart, shares in per cent.
    pub fn decimals(self) -> usize {
        if self.is_of_sprinkling() { 4 } else { 2 }
    }

    /// Whether it belongs to [`Protocol::sprinkling`] and to no system.
    fn is_of_sprinkling(self) -> bool {
        matches!(self, Figure::WithinOverBetween | Figure::TermsWithinOverBetween)
    }

    /// The figure of one draw of a label curve, whose representation took `before` seconds for all draws together.
    fn of_outcome(self, outcome: &Outcome, before: f64) -> f64 {
        match self {
            Figure::Accuracy => outcome.accuracy,
            Figure::MicroF1 => outcome.micro_f1,
            Figure::MacroF1 => outcome.macro_f1,
            Figure::Eer => outcome.eer.unwrap_or(f64::NAN),
            Figure::RepresentSeconds => before,
            Figure::TrainSeconds => before + outcome.train_seconds,
            Figure::PredictSeconds => outcome.predict_seconds,
            _ => f64::NAN,
        }
    }

    fn of(self, evaluation: &Evaluation, outcome: &Outcome) -> f64 {
        let at = |figures: &Option<BTreeMap<usize, f64>>, k: usize| {
            figures.as_ref().and_then(|figures| figures.get(&k)).copied().unwrap_or(f64::NAN)
        };
        match self {
            Figure::Accuracy => evaluation.accuracy,
            Figure::MicroF1 => evaluation.micro_f1,
            Figure::MacroF1 => evaluation.macro_f1,
            Figure::MacroPrecision => evaluation.macro_precision,
            Figure::MacroRecall => evaluation.macro_recall,
            Figure::WeightedF1 => evaluation.weighted_f1,
            Figure::Eer => evaluation.eer.unwrap_or(f64::NAN),
            Figure::PrecisionAt1 => at(&evaluation.precision_at, 1),
            Figure::PrecisionAt5 => at(&evaluation.precision_at, 5),
            Figure::NdcgAt5 => at(&evaluation.ndcg_at_scdv, 5),
            Figure::CoverageError => evaluation.coverage_error.unwrap_or(f64::NAN),
            Figure::Lrap => evaluation.lrap.unwrap_or(f64::NAN),
            Figure::HammingLoss => evaluation.hamming_loss.unwrap_or(f64::NAN),
            Figure::RepresentSeconds => outcome.represent_seconds,
            Figure::TrainSeconds => outcome.train_seconds,
            Figure::PredictSeconds => outcome.predict_seconds,
            Figure::Umass | Figure::WithinOverBetween | Figure::TermsWithinOverBetween => f64::NAN,
        }
    }
}

impl Protocol {
    /// Reads a protocol and checks that its recipes, names and claims make sense.
    pub fn parse(json: &str) -> Result<Self> {
        let protocol: Protocol =
            serde_json::from_str(json).map_err(|e| Error::data(format!("this is no protocol: {e}")))?;
        let wrong = |what: String| Err(Error::data(format!("the protocol {}: {what}", protocol.name)));
        if protocol.figures.is_empty() || protocol.runs == 0 {
            return wrong("it needs at least one figure and one run".into());
        }
        if let Some((name, _)) = protocol.grid.iter().find(|(_, values)| values.is_empty()) {
            return wrong(format!("there is nothing to choose `{name}` from"));
        }
        let filled = protocol.filled(false);
        for recipe in filled.systems.iter().filter_map(|system| system.recipe.as_ref()) {
            for (recipe, _) in protocol.candidates(recipe, protocol.first_value()) {
                if recipe.contains('{') {
                    return wrong(format!("`{recipe}` has a name that neither `grid` nor `along` knows"));
                }
                Recipe::parse(&recipe)?;
            }
        }
        let analysed = protocol.sprinkling.iter().map(|sprinkling| &sprinkling.recipe).chain(&protocol.variability);
        let words = filled.reconstruction.iter().map(|words| &words.recipe);
        let topics =
            filled.topics.iter().flat_map(|topics| &topics.systems).filter_map(|system| system.recipe.as_ref());
        let topics = topics.chain(filled.senses.iter().map(|senses| &senses.recipe));
        let looked = filled.spread.iter().chain(filled.maps.iter().map(|(_, recipe)| recipe)).chain(topics);
        for recipe in analysed.chain(words).chain(looked) {
            Recipe::parse(recipe)?;
        }
        if protocol.draws_labels() && !(protocol.confusions.is_empty() && protocol.per_class.is_empty()) {
            return wrong("draws of labels go without `confusions` and `per_class`".into());
        }
        if protocol.validation.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
            return wrong("`validation` is a share of the training part between 0 and 1".into());
        }
        if protocol.draws_labels() && !protocol.grid.is_empty() && protocol.validation.is_none() {
            return wrong("where labels are drawn, values of `grid` are chosen on a share `validation`".into());
        }
        for claim in &protocol.claims {
            if let Err(what) = protocol.check_claim(claim) {
                return wrong(what);
            }
        }
        let of_systems = protocol.claims.iter().filter(|claim| protocol.figures.contains(&claim.by));
        let claimed = of_systems.flat_map(|claim| [&claim.better, &claim.than]);
        let by_class = protocol.per_class.iter().map(|by_class| &by_class.system);
        for name in claimed.chain(&protocol.confusions).chain(by_class) {
            if protocol.systems[protocol.number(name)?].recipe.is_none() {
                return wrong(format!("`{name}` has no recipe, so nothing can be shown or claimed of it"));
            }
        }
        Ok(protocol)
    }

    /// What is wrong with a claim, if anything is.
    fn check_claim(&self, claim: &Claim) -> std::result::Result<(), String> {
        let title = claim.by.title();
        if claim.by == Figure::Umass {
            let topics = || self.topics.iter().flat_map(|topics| &topics.systems);
            let fitted = |name: &String| topics().any(|system| system.name == *name && system.recipe.is_some());
            return match [&claim.better, &claim.than].into_iter().find(|name| !fitted(name)) {
                Some(name) => Err(format!("a claim is about {title} of `{name}`, which is no model of `topics`")),
                None => Ok(()),
            };
        }
        let places: Vec<f64> = if claim.by.is_of_sprinkling() {
            self.sprinkling.iter().flat_map(|asked| &asked.terms).map(|&terms| terms as f64).collect()
        } else if self.figures.contains(&claim.by) {
            self.along.iter().flat_map(|along| &along.values).copied().collect()
        } else {
            return Err(format!("a claim is about {title}, which is not among its figures"));
        };
        match (claim.at, claim.than_at) {
            (None, None) if !claim.by.is_of_sprinkling() => Ok(()),
            (Some(at), Some(than_at)) if places.contains(&at) && places.contains(&than_at) => Ok(()),
            _ => Err(format!("a claim about {title} has `at` and `than_at`, both among the values of the curve")),
        }
    }

    /// Reads a protocol that is run on several corpora: beside what all have in common, `corpora` is a list of the fields of each, whose
    /// name and title are put behind those of all.
    pub fn parse_family(json: &str) -> Result<Vec<Self>> {
        let wrong = |e: serde_json::Error| Error::data(format!("this is no protocol: {e}"));
        let mut common: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).map_err(wrong)?;
        let corpora = common.remove("corpora").ok_or_else(|| Error::data("this protocol has no `corpora`"))?;
        let corpora: Vec<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_value(corpora).map_err(wrong)?;
        let one = |corpus: serde_json::Map<String, serde_json::Value>| {
            let mut all = common.clone();
            for (field, value) in corpus {
                let before = common.get(&field).and_then(serde_json::Value::as_str);
                let value = match (field.as_str(), before, value.as_str()) {
                    ("name", Some(before), Some(own)) => format!("{before}-{own}").into(),
                    ("title", Some(before), Some(own)) => format!("{before}: {own}").into(),
                    _ => value,
                };
                all.insert(field, value);
            }
            Protocol::parse(&serde_json::Value::Object(all).to_string())
        };
        corpora.into_iter().map(one).collect()
    }

    /// The same with its constants put into the recipes; `quick` takes the smaller ones, and one round of folds for
    /// every choice.
    #[must_use]
    pub fn filled(&self, quick: bool) -> Self {
        let mut filled = self.clone();
        for (name, constant) in &self.constants {
            let value = if quick { constant.quick } else { constant.full };
            let systems = filled.systems.iter_mut().filter_map(|system| system.recipe.as_mut());
            let maps = filled.maps.iter_mut().map(|(_, recipe)| recipe);
            let topics = filled.topics.iter_mut().flat_map(|topics| &mut topics.systems);
            let topics = topics.filter_map(|system| system.recipe.as_mut());
            let senses = filled.senses.iter_mut().map(|senses| &mut senses.recipe);
            for recipe in systems.chain(&mut filled.spread).chain(maps).chain(topics).chain(senses) {
                *recipe = recipe.replace(&format!("{{{name}}}"), &value.to_string());
            }
        }
        filled.constants.clear();
        filled.quick = quick;
        filled
    }

    /// The number of a system.
    fn number(&self, name: &str) -> Result<usize> {
        let found = self.systems.iter().position(|system| system.name == name);
        found.ok_or_else(|| Error::data(format!("the protocol {} has no system `{name}`", self.name)))
    }

    /// Whether the curve is over the number of labels.
    fn is_label_curve(&self) -> bool {
        self.along.as_ref().is_some_and(|along| along.name == LABELS)
    }

    /// Whether labels are hidden and drawn.
    fn draws_labels(&self) -> bool {
        self.labels.is_some() || self.is_label_curve()
    }

    fn first_value(&self) -> Option<f64> {
        self.along.as_ref().and_then(|along| along.values.first().copied())
    }

    /// Every recipe a system may become at a point of the curve, with the values that were put in.
    fn candidates(&self, recipe: &str, at: Option<f64>) -> Vec<(String, Chosen)> {
        let mut recipe = recipe.to_string();
        if let (Some(along), Some(value)) = (&self.along, at) {
            recipe = recipe.replace(&format!("{{{}}}", along.name), &value.to_string());
        }
        let mut candidates = vec![(recipe, Chosen::new())];
        for (name, values) in &self.grid {
            let place = format!("{{{name}}}");
            if !candidates[0].0.contains(&place) {
                continue;
            }
            let mut longer = Vec::with_capacity(candidates.len() * values.len());
            for (recipe, chosen) in &candidates {
                for &value in values {
                    let mut chosen = chosen.clone();
                    chosen.insert(name.clone(), value);
                    longer.push((recipe.replace(&place, &value.to_string()), chosen));
                }
            }
            candidates = longer;
        }
        candidates
    }

    /// Whether a system is the same at every point of the curve.
    fn is_constant(&self, system: &System) -> bool {
        let recipe = system.recipe.as_deref().unwrap_or_default();
        self.along.as_ref().is_none_or(|along| !recipe.contains(&format!("{{{}}}", along.name)))
    }
}

#[cfg(test)]
mod tests;
