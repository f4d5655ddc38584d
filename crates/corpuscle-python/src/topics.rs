//! Topics of texts: the library's findings as JSON, and the shares of topics in every document.

use corpuscle::recipe::{Corpus, Model as Fitted, Recipe};
use corpuscle::report::svg::{Bubbles, Disc, StackGroup, StackPart, Stacks};
use corpuscle::topics::{
    Grouped, Reference, Topic, TopicTable, by_label, closest_documents, describe, layout, over_field, stability,
};
use corpuscle::{Error, Result, Run};
use numpy::PyArray2;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::convert::{Target, dense_to_python};
use crate::errors::raised;
use crate::model::Model;
use crate::run::Settings;
use crate::texts::Texts;

/// What is asked about topics.
struct Asked<'a> {
    words: usize,
    documents: usize,
    /// Fits with other seeds by which it is told which topics come back.
    others: u64,
    over: Option<&'a [String]>,
}

/// The model that was fitted when none was given, what was found, and documents × topics.
type Found<'py> = (Option<Model>, String, Bound<'py, PyArray2<f32>>);

/// The recipe that finds so many topics; the library's number without one.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub(crate) fn topics_recipe(count: Option<usize>) -> String {
    corpuscle::topics::usual_recipe(count)
}

/// The topics of texts by a model, or by a recipe that is fitted to them.
#[pyfunction]
#[pyo3(signature = (texts, target, recipe, run, model=None, words=10, documents=3, others=0, over=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn topics<'py>(
    py: Python<'py>,
    texts: &Texts,
    target: &Target,
    recipe: &str,
    run: &Settings,
    model: Option<&Model>,
    words: usize,
    documents: usize,
    others: u64,
    over: Option<Vec<String>>,
) -> PyResult<Found<'py>> {
    let (recipe, slices) = (Recipe::parse(recipe).map_err(raised)?, texts.slices()?);
    let asked = Asked { words, documents, others, over: over.as_deref() };
    let (fitted, found, shares) = run.work(py, |run| {
        let recipe = model.map_or(&recipe, |model| model.fitted().recipe());
        let corpus = Corpus::from_columns(&slices, target.labels.clone(), None, recipe.words(), run)?;
        let fitted = match model {
            Some(_) => None,
            None => Some(recipe.fit(&corpus, run)?),
        };
        let known = fitted.as_ref().or(model.map(Model::fitted)).ok_or_else(|| no_topics(recipe))?;
        let (found, shares) = look(known, &corpus, &asked, run)?;
        Ok((fitted, found, shares))
    })?;
    Ok((fitted.map(Model::from), found.to_string(), dense_to_python(py, shares)?))
}

fn no_topics(recipe: &Recipe) -> Error {
    Error::data(format!("`{recipe}` has no topics; dirichlet, scdv, bowv and lsi have"))
}

/// The words of topics, weighed by the documents where the method knows no weights of its own.
fn table_of(model: &Fitted, corpus: &Corpus) -> Result<(&'static str, TopicTable)> {
    let (stage, table) = model.topics().ok_or_else(|| no_topics(model.recipe()))?;
    Ok((stage, if table.is_soft() { table.with_frequencies(&corpus.tokens) } else { table }))
}

fn look(model: &Fitted, corpus: &Corpus, asked: &Asked<'_>, run: &Run) -> Result<(Value, corpuscle::matrix::Dense)> {
    let (stage, table) = table_of(model, corpus)?;
    let topics = describe(&table, asked.words);
    let shares = run.stage("documents", None, || model.topic_shares(&corpus.tokens, run))?;
    let shares = shares.ok_or_else(|| no_topics(model.recipe()))?;
    let reference = run.stage("coherence", None, || {
        Ok::<_, Error>(Reference::new(&corpus.tokens).with_words(topics.iter().flat_map(Topic::words)))
    })?;
    let returns = match asked.others {
        0 => None,
        others => {
            let other = |more: u64| {
                let own = run.with_seed(run.seed().wrapping_add(more));
                table_of(&model.recipe().fit(corpus, &own)?, corpus).map(|(_, table)| table)
            };
            let others = (1..=others).map(other).collect::<Result<Vec<_>>>()?;
            Some(stability(&table, &others, asked.words))
        }
    };
    let places = layout(&table)?;
    let one = |topic: &Topic| {
        let coherence = reference.coherence(&topic.words());
        let closest = closest_documents(&shares, topic.number, asked.documents);
        json!({
            "topic": topic.number,
            "weight": topic.weight,
            "words": topic.words(),
            "probabilities": topic.top.iter().map(|word| word.probability).collect::<Vec<_>>(),
            "npmi": coherence.map(|coherence| coherence.npmi),
            "umass": coherence.map(|coherence| coherence.umass),
            "comes_back": returns.as_ref().map(|returns| returns[topic.number]),
            "place": places[topic.number],
            "documents": closest,
        })
    };
    let labels = (corpus.labels.n_classes() > 0).then(|| grouped(&by_label(&shares, &corpus.labels)));
    let over = asked.over.map(|values| grouped(&over_field(&shares, values)));
    let rows: Vec<Value> = topics.iter().map(one).collect();
    let recipe = model.recipe().to_string();
    Ok((json!({"recipe": recipe, "stage": stage, "topics": rows, "labels": labels, "over": over}), shares))
}

fn grouped(groups: &Grouped) -> Value {
    let group = |(at, name): (usize, &String)| json!({"value": name, "documents": groups.documents[at], "shares": groups.shares.row(at)});
    groups.names.iter().enumerate().map(group).collect()
}

/// A disc: what stands in it, its name, its place, its share and what is shown on hover.
type Drawn = (String, String, (f64, f64), f64, String);

/// A map with a disc for each topic, as SVG.
#[pyfunction]
pub(crate) fn bubbles(title: String, discs: Vec<Drawn>) -> String {
    let disc = |(mark, name, at, share, tip)| Disc { mark, name, at, share, tip };
    Bubbles { title, discs: discs.into_iter().map(disc).collect() }.render().standalone()
}

/// A chart with a column of shares for each `(name, note, shares)` of the parts `(mark, name)`, as SVG.
#[pyfunction]
pub(crate) fn stacks(title: String, groups: Vec<(String, String, Vec<f64>)>, parts: Vec<(String, String)>) -> String {
    let groups = groups.into_iter().map(|(name, note, shares)| StackGroup { name, note, shares }).collect();
    let parts = parts.into_iter().map(|(mark, name)| StackPart { mark, name }).collect();
    Stacks { title, groups, parts }.render().standalone()
}
