//! Topics of models, looked at on the documents of the first draw: their coherence, topics of some themes, senses of words.

use serde::{Deserialize, Serialize};

use super::looks::FirstDraw;
use crate::recipe::Recipe;
use crate::topics::{Reference, Topic, describe, senses_of};
use crate::{Error, Result, Run};

/// Words of a topic that count.
const WORDS: usize = 10;
/// Words shown of a sense.
const SHOWN: usize = 6;

/// Models whose topics are compared: a table of topics and of their mean coherence.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicsAsked {
    /// The models.
    pub systems: Vec<TopicSystem>,
    /// Themes with words of theirs; of every model the topic is shown that has most of them.
    #[serde(default)]
    pub themes: Vec<(String, Vec<String>)>,
}

/// A model with topics.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicSystem {
    /// Its name in the table.
    pub name: String,
    /// Its recipe; none for a model that only the paper has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The paper's mean coherence of all topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// The paper's coherence of its topic for each theme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paper_themes: Vec<f64>,
}

/// Words whose senses are shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensesAsked {
    /// The recipe, with a stage that puts words into several clusters.
    pub recipe: String,
    /// The least probability of a sense.
    pub least: f64,
    /// Words, with the senses the paper shows: words of the cluster, and its probability.
    pub words: Vec<(String, Vec<(String, f64)>)>,
}

/// The topics of one model.
#[derive(Debug, Clone, Serialize)]
pub struct TopicsFound {
    /// The model's name.
    pub name: String,
    /// Mean coherence of its topics in every run: UMass as in the paper, then NPMI.
    pub coherence: Vec<(f64, f64)>,
    /// For every theme the topic that has most of its words, in the first run: its words and its UMass.
    pub themes: Vec<(Vec<String>, f64)>,
}

/// The senses of one word: words of the cluster, and its probability. None of a word that is not known.
pub type SensesFound = (String, Vec<(Vec<String>, f64)>);

impl FirstDraw<'_> {
    /// The topics of every model, fitted with as many seeds as there are runs. Word counts and coherence are over all documents of
    /// the draw, as in the paper.
    pub(super) fn topics(&self, asked: &TopicsAsked, runs: usize, run: &Run) -> Result<Vec<TopicsFound>> {
        let mut found = Vec::new();
        for system in &asked.systems {
            let Some(recipe) = &system.recipe else { continue };
            let recipe = Recipe::parse(recipe)?;
            let tokens = recipe.words().tokenize(&self.texts(&self.all()), &run.quiet())?;
            let mut own = TopicsFound { name: system.name.clone(), coherence: Vec::new(), themes: Vec::new() };
            for number in 0..runs {
                run.check()?;
                let model = self.fitted(&recipe, &run.with_seed(run.seed().wrapping_add(number as u64)))?;
                let (_, table) = model.topics().ok_or_else(|| Error::data(format!("`{recipe}` has no topics")))?;
                let table = if table.is_soft() { table.with_frequencies(&tokens) } else { table };
                let topics = describe(&table, WORDS);
                let reference = Reference::new(&tokens).with_words(topics.iter().flat_map(Topic::words));
                let each: Vec<(f64, f64)> = topics
                    .iter()
                    .filter_map(|topic| reference.coherence(&topic.words()))
                    .map(|coherence| (coherence.umass, coherence.npmi))
                    .collect();
                let mean = |of: fn(&(f64, f64)) -> f64| each.iter().map(of).sum::<f64>() / each.len().max(1) as f64;
                own.coherence.push((mean(|both| both.0), mean(|both| both.1)));
                if number == 0 {
                    own.themes = asked.themes.iter().map(|(_, words)| themed(&topics, words, &reference)).collect();
                }
            }
            found.push(own);
        }
        Ok(found)
    }

    /// The senses of words.
    pub(super) fn senses(&self, asked: &SensesAsked, run: &Run) -> Result<Vec<SensesFound>> {
        let recipe = Recipe::parse(&asked.recipe)?;
        let model = self.fitted(&recipe, run)?;
        let (_, table) = model.topics().ok_or_else(|| Error::data(format!("`{recipe}` has no clusters of words")))?;
        let tokens = recipe.words().tokenize(&self.texts(&self.all()), &run.quiet())?;
        let table = table.with_frequencies(&tokens);
        let one = |(word, _): &(String, Vec<(String, f64)>)| {
            let senses = senses_of(&table, word, asked.least, SHOWN).map_or(Vec::new(), |found| found.senses);
            (word.clone(), senses.into_iter().map(|sense| (sense.words, sense.probability)).collect())
        };
        Ok(asked.words.iter().map(one).collect())
    }
}

/// The topic with most of the words of a theme, the most coherent of equals.
fn themed(topics: &[Topic], theme: &[String], reference: &Reference<'_>) -> (Vec<String>, f64) {
    let common = |topic: &Topic| topic.words().iter().filter(|word| theme.iter().any(|own| own == *word)).count();
    let most = topics.iter().map(common).max().unwrap_or(0);
    let candidates = topics.iter().filter(|topic| common(topic) == most);
    let scored = candidates.filter_map(|topic| Some((topic, reference.coherence(&topic.words())?.umass)));
    let best = scored.max_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or((Vec::new(), f64::NAN), |(topic, umass)| (topic.words().into_iter().map(String::from).collect(), umass))
}
