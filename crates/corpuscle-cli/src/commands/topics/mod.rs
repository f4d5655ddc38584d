//! `corpuscle topics`: the topics of a model, or of a pile of documents from text to page in one command.

mod page;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels, ReadOptions};
use corpuscle::matrix::Dense;
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::text::Tokens;
use corpuscle::topics::{
    Coherence, Grouped, Reference, Topic, TopicTable, by_label, closest_documents, describe, layout, names, over_field,
    stability, usual_recipe,
};
use serde_json::{Value, json};

use crate::args::{Everywhere, Topics};
use crate::input;
use crate::output::{self, WrongCall};

/// Fits of `--stable`, the shown one among them.
const FITS: u64 = 5;
/// A topic comes back when its partners have at least this share of its words, on average.
const COMES_BACK: f64 = 0.5;
/// Words of a topic's name.
const NAME: usize = 3;
/// Labels shown for a topic.
const LABELS: usize = 3;

/// All there is to say about the topics of a model.
pub(super) struct Findings {
    pub(super) recipe: String,
    pub(super) stage: &'static str,
    pub(super) n_documents: Option<usize>,
    pub(super) topics: Vec<Shown>,
    pub(super) places: Vec<(f64, f64)>,
    /// Mean shares by label, where documents have labels.
    pub(super) labels: Option<Grouped>,
    /// The field, and mean shares along it.
    pub(super) over: Option<(String, Grouped)>,
}

/// A topic and what belongs to it.
pub(super) struct Shown {
    pub(super) topic: Topic,
    /// The words that tell it from the others.
    pub(super) name: String,
    pub(super) coherence: Option<Coherence>,
    pub(super) stability: Option<f64>,
    /// Id, share and text of the closest documents.
    pub(super) documents: Vec<(String, f32, String)>,
    /// Labels whose documents have most of it, with the mean share.
    pub(super) labels: Vec<(String, f32)>,
}

pub(crate) fn run(args: &Topics, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    for path in args.output.iter().chain(&args.report) {
        input::check_writable(path)?;
    }
    let trains = args.topics.is_some() || args.output.is_some() || args.recipe.is_some() || !is_model(&args.data[0]);
    let (model, documents) = if trains { train(args, run)? } else { load(args, run)? };
    let findings = find(args, &model, documents.as_deref(), run)?;
    if let Some(path) = &args.output {
        run.stage("write", None, || model.save(path))?;
    }
    if let Some(path) = &args.report {
        write_page(path, &page::page(&findings, &args.data))?;
    }
    if everywhere.json {
        return output::print_json(&findings.json(args, run));
    }
    let mut text = findings.table();
    let written: Vec<String> = args.output.iter().chain(&args.report).map(|path| path.display().to_string()).collect();
    if !written.is_empty() {
        let time = format!("{:.2} s", started.elapsed().as_secs_f64());
        text.push('\n');
        text.push_str(&output::facts(&[("written to", written.join(", ")), ("time", time)]));
    }
    output::print_text(&text)
}

fn write_page(path: &Path, page: &str) -> anyhow::Result<()> {
    output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))
}

/// Whether a file begins as models do: the length of a JSON header, then the header.
fn is_model(path: &str) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else { return false };
    let mut start = [0u8; 9];
    let size = file.metadata().map_or(0, |about| about.len());
    if file.read_exact(&mut start).is_err() {
        return false;
    }
    let [length @ .., brace] = start;
    u64::from_le_bytes(length) < size && brace == b'{'
}

/// Reads documents, whole rows where a field is asked for.
fn read(data: &[String], args: &Topics, run: &Run) -> anyhow::Result<Vec<Document>> {
    let options = ReadOptions { keep: args.over.is_some(), ..input::options(&args.reading)? };
    run.watch("read", None, || {
        let mut source = input::open(data, &options)?;
        let documents = (&mut source).collect::<Result<Vec<Document>, _>>()?;
        input::report_skipped(&source, run);
        Ok(documents)
    })
}

fn train(args: &Topics, run: &Run) -> anyhow::Result<(Model, Option<Vec<Document>>)> {
    let recipe = match &args.recipe {
        Some(recipe) => Recipe::parse(recipe)?,
        None => Recipe::parse(&usual_recipe(args.topics))?,
    };
    if args.recipe.is_some() && args.topics.is_some() {
        return Err(WrongCall("give the number of topics in --recipe or with -n, not both".into()).into());
    }
    let documents = read(&args.data, args, run)?;
    let mut corpus = corpus(&documents, &recipe, run)?;
    corpus.sources = input::names(args.data.iter());
    Ok((recipe.fit(&corpus, run)?, Some(documents)))
}

fn corpus(documents: &[Document], recipe: &Recipe, run: &Run) -> anyhow::Result<Corpus> {
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let ids = documents.iter().map(|document| document.id.clone()).collect();
    Ok(Corpus::from_columns_with_ids(&texts, ids, labels, None, recipe.words(), run)?)
}

fn load(args: &Topics, run: &Run) -> anyhow::Result<(Model, Option<Vec<Document>>)> {
    let path = PathBuf::from(&args.data[0]);
    let (model, _) = super::inspect::open(&path, run)?;
    let documents = if args.data.len() > 1 { Some(read(&args.data[1..], args, run)?) } else { None };
    if documents.is_none() && (args.over.is_some() || args.stable) {
        return Err(WrongCall("--over and --stable need documents: name some after the model".into()).into());
    }
    Ok((model, documents))
}

fn no_topics(model: &Model) -> anyhow::Error {
    WrongCall(format!(
        "`{}` has no topics; train with `dirichlet`, `scdv`, `bowv` or `lsi`, or give documents alone",
        model.recipe()
    ))
    .into()
}

fn find(args: &Topics, model: &Model, documents: Option<&[Document]>, run: &Run) -> anyhow::Result<Findings> {
    let words = args.words as usize;
    let (stage, table) = model.topics().ok_or_else(|| no_topics(model))?;
    let tokens = documents.map(|documents| model.tokenize(documents, run)).transpose()?;
    // A mixture knows P(c|w); how often words are is known from documents.
    let table = match &tokens {
        Some(tokens) if table.is_soft() => table.with_frequencies(tokens),
        _ => table,
    };
    let topics = describe(&table, words);
    let shares = match &tokens {
        Some(tokens) => run.stage("documents", None, || model.topic_shares(tokens, run))?,
        None => None,
    };
    let coherence = coherence(args, model, &topics, tokens.as_ref(), run)?;
    let returns = match documents {
        Some(documents) if args.stable => Some(returns(model, documents, &table, words, run)?),
        _ => None,
    };
    let labels = documents.zip(shares.as_ref()).and_then(|(documents, shares)| {
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        (labels.n_classes() > 0).then(|| by_label(shares, &labels))
    });
    let over = match (&args.over, documents, &shares) {
        (Some(field), Some(documents), Some(shares)) => {
            Some((field.clone(), over_field(shares, &values(documents, field)?)))
        }
        _ => None,
    };
    let named: Vec<String> = names(&topics, NAME).into_iter().map(|name| name.join(", ")).collect();
    let topics = topics.into_iter().zip(coherence).zip(named).map(|((topic, coherence), name)| {
        let number = topic.number;
        Shown {
            name,
            coherence,
            stability: returns.as_ref().map(|returns| returns[number]),
            documents: documents
                .zip(shares.as_ref())
                .map_or(Vec::new(), |(documents, shares)| closest(documents, shares, number, args.documents as usize)),
            labels: labels.as_ref().map_or(Vec::new(), |labels| heaviest_labels(labels, number)),
            topic,
        }
    });
    Ok(Findings {
        recipe: model.recipe().to_string(),
        stage,
        n_documents: documents.map(<[Document]>::len),
        topics: topics.collect(),
        places: if args.report.is_some() { layout(&table)? } else { Vec::new() },
        labels,
        over,
    })
}

/// How well the words of each topic go together in the documents, or in others.
fn coherence(
    args: &Topics,
    model: &Model,
    topics: &[Topic],
    tokens: Option<&Tokens>,
    run: &Run,
) -> anyhow::Result<Vec<Option<Coherence>>> {
    let other = match args.reference.is_empty() {
        true => None,
        false => {
            let options = input::without_labels(&input::options(&args.reading)?);
            let mut source = input::open(&args.reference, &options)?;
            let read = run.stage("reference", None, || Corpus::read(&mut source, model.recipe().words(), run))?;
            Some(read.tokens)
        }
    };
    let Some(tokens) = other.as_ref().or(tokens) else { return Ok(vec![None; topics.len()]) };
    run.stage("coherence", None, || {
        let reference = Reference::new(tokens).with_words(topics.iter().flat_map(Topic::words));
        Ok(topics.iter().map(|topic| reference.coherence(&topic.words())).collect())
    })
    .map_err(anyhow::Error::from)
}

/// The topics of other seeds, and how much of each shown one they have.
fn returns(
    model: &Model,
    documents: &[Document],
    table: &TopicTable,
    words: usize,
    run: &Run,
) -> anyhow::Result<Vec<f64>> {
    let corpus = corpus(documents, model.recipe(), run)?;
    let mut others = Vec::new();
    for more in 1..FITS {
        let own = run.with_seed(run.seed().wrapping_add(more));
        let (_, other) = model.recipe().fit(&corpus, &own)?.topics().ok_or_else(|| no_topics(model))?;
        others.push(if other.is_soft() { other.with_frequencies(&corpus.tokens) } else { other });
    }
    Ok(stability(table, &others, words))
}

/// The text of a field in every document.
fn values(documents: &[Document], field: &str) -> anyhow::Result<Vec<String>> {
    let text = |document: &Document| match document.row.as_ref().and_then(|row| row.get(field)) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    let values: Vec<String> = documents.iter().map(text).collect();
    if values.iter().all(String::is_empty) {
        let known = documents.iter().find_map(|document| document.row.as_ref());
        let known = known.map_or(String::new(), |row| {
            format!("; there is {}", row.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        });
        return Err(WrongCall(format!("no document has the field `{field}`{known}")).into());
    }
    Ok(values)
}

fn closest(documents: &[Document], shares: &Dense, topic: usize, count: usize) -> Vec<(String, f32, String)> {
    let rows = closest_documents(shares, topic, count).into_iter();
    rows.map(|(row, share)| (documents[row].id.clone(), share, corpuscle::report::snippet(&documents[row].text, 160)))
        .collect()
}

fn heaviest_labels(labels: &Grouped, topic: usize) -> Vec<(String, f32)> {
    let all = labels.names.iter().enumerate().map(|(at, name)| (name.clone(), labels.shares.row(at)[topic]));
    let mut all: Vec<(String, f32)> = all.collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(LABELS);
    all
}

impl Findings {
    /// The mean over topics of a figure of their coherence.
    pub(super) fn mean(&self, of: fn(&Coherence) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.topics.iter().filter_map(|shown| shown.coherence.as_ref().map(of)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// How many topics come back with other seeds, when that was tried.
    pub(super) fn returning(&self) -> Option<usize> {
        let known: Vec<f64> = self.topics.iter().filter_map(|shown| shown.stability).collect();
        (!known.is_empty()).then(|| known.iter().filter(|&&share| share >= COMES_BACK).count())
    }

    /// The topics that have words, heaviest first; those without have nothing to show.
    pub(super) fn with_words(&self) -> impl Iterator<Item = &Shown> {
        self.topics.iter().filter(|shown| !shown.topic.top.is_empty())
    }

    fn table(&self) -> String {
        // Words that the documents do not have leave a topic without coherence, and its cells empty.
        let coherent = self.topics.iter().any(|shown| shown.coherence.is_some());
        let stable = self.topics.iter().any(|shown| shown.stability.is_some());
        let mut heading = vec!["topic", "words", "weight"];
        heading.extend(coherent.then_some(["UMass", "NPMI"]).into_iter().flatten());
        heading.extend(stable.then_some("comes back"));
        let rows = self.with_words().map(|shown| {
            let mut row = vec![
                shown.topic.number.to_string(),
                shown.topic.words().join(" "),
                format!("{:.2} %", 100.0 * shown.topic.weight),
            ];
            if coherent {
                let cell = |show: fn(&Coherence) -> String| shown.coherence.as_ref().map_or(String::new(), show);
                row.extend([cell(|c| format!("{:.1}", c.umass)), cell(|c| format!("{:.3}", c.npmi))]);
            }
            row.extend(shown.stability.map(|share| format!("{:.0} %", 100.0 * share)));
            row
        });
        let mut text = output::table(&heading, 2, rows);
        let mut facts = vec![("recipe", self.recipe.clone())];
        let empty = self.topics.len() - self.with_words().count();
        if empty > 0 {
            facts.push(("without words", format!("{empty} of {} topics", self.topics.len())));
        }
        if let (Some(umass), Some(npmi)) = (self.mean(|c| c.umass), self.mean(|c| c.npmi)) {
            facts.push(("mean coherence", format!("UMass {umass:.2}, NPMI {npmi:.3}")));
        }
        if let Some(returning) = self.returning() {
            facts.push((
                "come back",
                format!(
                    "{returning} of {} topics, with half of their words or more, in {FITS} fits",
                    self.topics.len()
                ),
            ));
        }
        text.push('\n');
        text.push_str(&output::facts(&facts));
        text
    }

    fn json(&self, args: &Topics, run: &Run) -> Value {
        let topics: Vec<Value> = self.topics.iter().map(Shown::json).collect();
        let grouped = |grouped: &Grouped| {
            let rows = grouped.names.iter().enumerate().map(|(at, name)| {
                json!({"value": name, "documents": grouped.documents[at], "shares": grouped.shares.row(at)})
            });
            rows.collect::<Vec<_>>()
        };
        json!({
            "recipe": self.recipe,
            "stage": self.stage,
            "documents": self.n_documents,
            "coherence": {"umass": self.mean(|c| c.umass), "umass_mean": self.mean(|c| c.umass_mean), "npmi": self.mean(|c| c.npmi)},
            "come_back": self.returning(),
            "topics": topics,
            "labels": self.labels.as_ref().map(grouped),
            "over": self.over.as_ref().map(|(field, over)| json!({"field": field, "groups": grouped(over)})),
            "model": args.output.as_ref().map(|path| path.display().to_string()),
            "report": args.report.as_ref().map(|path| path.display().to_string()),
            "seconds": output::seconds(run),
        })
    }
}

impl Shown {
    fn json(&self) -> Value {
        json!({
            "topic": self.topic.number,
            "words": self.topic.words(),
            "probabilities": self.topic.top.iter().map(|word| word.probability).collect::<Vec<_>>(),
            "weight": self.topic.weight,
            "coherence": self.coherence.map(|coherence| coherence.umass),
            "umass_mean": self.coherence.map(|coherence| coherence.umass_mean),
            "npmi": self.coherence.map(|coherence| coherence.npmi),
            "comes_back": self.stability,
            "documents": self.documents.iter().map(|(id, share, text)| json!({"id": id, "share": share, "text": text})).collect::<Vec<_>>(),
            "labels": self.labels.iter().map(|(label, share)| json!({"label": label, "share": share})).collect::<Vec<_>>(),
        })
    }
}
