//! `corpuscle demo`: everything at once on the embedded corpus of help-desk messages.

use std::sync::Arc;
use std::time::Instant;

use corpuscle::corpus::{Document, demo};
use corpuscle::experiment::{LabelCurve, Split, label_curves};
use corpuscle::recipe::{Contribution, Corpus, Model, Recipe};
use corpuscle::{Run, Silent};
use serde_json::json;

use super::evaluate::{Measured, measure};
use super::page;
use crate::args::{Demo, Everywhere};
use crate::input;
use crate::output::{self, percent};

/// What is compared: the plain way and the four methods, each with the settings that suit short messages. SCDV's word vectors
/// need many passes over so small a corpus.
const METHODS: [(&str, &str); 5] = [
    ("TF-IDF", "tfidf(sublinear=true) | svm"),
    ("VarNorm", "words(stem=english) | tfidf(sublinear=true) | varnorm(8) | discriminant | knn"),
    ("sprinkling", "words(stem=porter, stop=english) | binary | sprinkle(50) | svm"),
    ("SCDV", "words(stem=english, stop=english) | scdv(dim=50, clusters=10, min_count=2, epochs=200) | svm"),
    ("dCoT", "words(stem=english) | tfidf(sublinear=true) | dcot(weight=auto) | svm(self_training=true)"),
];
/// The method whose reconstructions are shown, and for what.
const REMEMBERS: &str = "dCoT";
pub(super) const CUE: &str = "parcel";
/// Numbers of labels of the second table; the other messages are there without theirs.
const LABELS: [Option<usize>; 4] = [Some(40), Some(80), Some(160), None];
/// Draws of those labels.
const DRAWS: usize = 5;

/// One recipe's outcome.
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) model: Model,
    pub(super) measured: Measured,
    pub(super) train_seconds: f64,
    pub(super) predict_seconds: f64,
}

/// Everything the demo has to tell.
pub(super) struct Story {
    pub(super) outcomes: Vec<Outcome>,
    /// Accuracy by the number of labels, each under the method's name.
    pub(super) curves: Vec<LabelCurve>,
    /// What [`CUE`] brings to mind.
    pub(super) mind: Vec<String>,
    /// The most accurate of the outcomes.
    pub(super) best: usize,
    pub(super) explained: Explained,
    /// Messages to learn from.
    pub(super) train: usize,
}

pub(crate) fn run(args: &Demo, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    input::check_writable(&args.report)?;
    let corpus = demo()?;
    let mut outcomes = Vec::new();
    // In silence, for half a second: that self-training has nothing to take in where all messages have labels is no news to warn of.
    let silent = run.clone().with_progress(Arc::new(Silent));
    for (name, text) in METHODS {
        outcomes.push(compare(name, text, &corpus.train, &corpus.test, &silent)?);
    }
    let curves = few_labels(&corpus, run)?;
    let mind = to_mind(&outcomes, run)?;
    let best = outcomes
        .iter()
        .enumerate()
        .max_by(|(i, a), (j, b)| {
            a.measured.evaluation.accuracy.total_cmp(&b.measured.evaluation.accuracy).then(j.cmp(i))
        })
        .map_or(0, |(index, _)| index);
    // The explanation needs a linear model, which the first recipe is.
    let explained = explain(&outcomes[0], &corpus.test, run)?;
    let story = Story { outcomes, curves, mind, best, explained, train: corpus.train.len() };
    let page = page::demo(&story, run)?;
    output::write_beside(&args.report, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    if everywhere.json {
        let rows: Vec<_> = story
            .outcomes
            .iter()
            .map(|outcome| {
                json!({
                    "method": outcome.name,
                    "recipe": outcome.model.recipe().to_string(),
                    "accuracy": outcome.measured.evaluation.accuracy,
                    "macro_f1": outcome.measured.evaluation.macro_f1,
                    "eer": outcome.measured.evaluation.eer,
                    "train_seconds": output::round(outcome.train_seconds, 6),
                    "predict_seconds": output::round(outcome.predict_seconds, 6),
                })
            })
            .collect();
        return output::print_json(&json!({
            "train": corpus.train.len(),
            "test": corpus.test.len(),
            "recipes": rows,
            "few_labels": story.curves.iter().map(|curve| {
                let points = curve.points.iter().map(|point| {
                    json!({"labels": point.labels, "accuracy": point.accuracy().0, "deviation": point.accuracy().1})
                });
                json!({"method": curve.recipe, "points": points.collect::<Vec<_>>()})
            }).collect::<Vec<_>>(),
            "to_mind": json!({"cue": CUE, "terms": story.mind}),
            "best": story.outcomes[story.best].model.recipe().to_string(),
            "explanation": story.explained.to_json(),
            "report": args.report.display().to_string(),
            "seconds": output::seconds(run),
        }));
    }
    output::print_text(&text(&story, &args.report))
}

/// Accuracy of every method by the number of labels; `recipe` of each curve is the method's name.
fn few_labels(corpus: &corpuscle::corpus::Demo, run: &Run) -> anyhow::Result<Vec<LabelCurve>> {
    let recipes = METHODS.iter().map(|(_, text)| Recipe::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let documents: Vec<Document> = corpus.train.iter().chain(&corpus.test).cloned().collect();
    let split =
        Split { train: (0..corpus.train.len()).collect(), test: (corpus.train.len()..documents.len()).collect() };
    let mut curves = label_curves(&recipes, &documents, &split, &LABELS, DRAWS, run)?;
    curves.iter_mut().zip(METHODS).for_each(|(curve, (name, _))| curve.recipe = name.to_string());
    Ok(curves)
}

/// The terms that the cue brings to mind.
fn to_mind(outcomes: &[Outcome], run: &Run) -> anyhow::Result<Vec<String>> {
    let Some(outcome) = outcomes.iter().find(|outcome| outcome.name == REMEMBERS) else { return Ok(Vec::new()) };
    let lists = outcome.model.reconstruct(&[CUE], run)?;
    Ok(lists.into_iter().flatten().flatten().map(|(term, _)| term).filter(|term| term != CUE).take(10).collect())
}

fn compare(
    name: &'static str,
    recipe: &str,
    train: &[Document],
    test: &[Document],
    run: &Run,
) -> anyhow::Result<Outcome> {
    let recipe = Recipe::parse(recipe)?;
    let started = Instant::now();
    let mut corpus = Corpus::read(train.iter().cloned().map(Ok), recipe.words(), run)?;
    corpus.sources = vec!["the embedded demo corpus".to_string()];
    let model = recipe.fit(&corpus, run)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let measured = measure(&model, test.iter().cloned().map(Ok), true, run)?;
    Ok(Outcome { name, model, measured, train_seconds, predict_seconds: started.elapsed().as_secs_f64() })
}

/// One message, what was decided and what carried the decision.
pub(super) struct Explained {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) truth: String,
    pub(super) predicted: String,
    pub(super) probability: Option<f32>,
    pub(super) contributions: Vec<Contribution>,
}

impl Explained {
    fn to_json(&self) -> serde_json::Value {
        let terms: Vec<_> =
            self.contributions.iter().map(|c| json!({"term": c.term, "amount": output::round(c.amount, 6)})).collect();
        json!({
            "id": self.id,
            "text": self.text,
            "truth": self.truth,
            "predicted": self.predicted,
            "probability": self.probability,
            "terms": terms,
        })
    }
}

/// Explains the first message of the test part that was put right with a middling probability: neither trivial nor luck.
fn explain(outcome: &Outcome, test: &[Document], run: &Run) -> anyhow::Result<Explained> {
    let measured = &outcome.measured;
    let right = |row: &usize| {
        let class = measured.labels[*row].first().copied();
        class.is_some_and(|class| measured.truth.has(*row, class))
    };
    let probability = |row: usize| {
        let class = measured.labels[row].first().copied()? as usize;
        measured.probabilities.as_ref().map(|all| all.row(row)[class])
    };
    let middling = |row: &usize| probability(*row).is_some_and(|p| (0.5..0.8).contains(&p));
    let rows = || (0..test.len()).filter(right);
    let row = rows().find(middling).or_else(|| rows().next()).unwrap_or(0);
    let class = measured.labels[row].first().copied().unwrap_or(0);
    let (_, contributions) = outcome.model.weigh_terms(&test[row].text, class, None, run)?;
    let name = |class: u32| measured.truth.classes()[class as usize].clone();
    Ok(Explained {
        id: test[row].id.clone(),
        text: test[row].text.clone(),
        truth: measured.truth.of(row).and_then(|ids| ids.first().copied()).map_or(String::new(), name),
        predicted: name(class),
        probability: probability(row),
        contributions,
    })
}

fn text(story: &Story, report: &std::path::Path) -> String {
    let Story { outcomes, curves, mind, best, explained, train } = story;
    let test = outcomes.first().map_or(0, |outcome| outcome.measured.evaluation.documents);
    let classes = outcomes.first().map_or(0, |outcome| outcome.model.classes().len());
    let mut text = format!("{train} help-desk messages to learn from, {test} to be tested on, {classes} topics\n\n");
    text.push_str(&output::table(
        &["method", "recipe", "accuracy", "macro F1", "EER", "train", "predict"],
        2,
        outcomes.iter().enumerate().map(|(index, outcome)| {
            let e = &outcome.measured.evaluation;
            let mark = if index == *best { " *" } else { "" };
            vec![
                format!("{}{mark}", outcome.name),
                outcome.model.recipe().to_string(),
                percent(e.accuracy),
                percent(e.macro_f1),
                e.eer.map_or(String::new(), percent),
                format!("{:.0} ms", 1e3 * outcome.train_seconds),
                format!("{:.0} ms", 1e3 * outcome.predict_seconds),
            ]
        }),
    ));
    text.push_str("* the most accurate; with so few test messages, differences under about 5 points are chance\n\n");
    text.push_str(&few_labels_text(curves, *train));
    if !mind.is_empty() {
        text.push_str(&format!("What “{CUE}” brings to mind ({REMEMBERS}): {}\n\n", mind.join(", ")));
    }
    let sure = explained.probability.map_or(String::new(), |p| format!(" ({})", percent(f64::from(p))));
    text.push_str(&format!("Why is this message {}{sure}? It is {}.\n\n", explained.predicted, explained.truth));
    text.push_str(&format!("  “{}”\n\n", explained.text));
    let strongest = explained.contributions.first().map_or(1.0, |c| c.amount.abs());
    let width = explained.contributions.iter().take(8).map(|c| c.term.chars().count()).max().unwrap_or(0);
    for c in explained.contributions.iter().take(8) {
        let bar = "█".repeat(((c.amount.abs() / strongest) * 24.0).round().max(1.0) as usize);
        text.push_str(&format!(
            "  {:width$}  {:+.3}  {bar}{}\n",
            c.term,
            c.amount,
            if c.amount < 0.0 { " against" } else { "" }
        ));
    }
    text.push_str(&format!("\nreport: {}\n\nNext, with files of your own:\n", report.display()));
    text.push_str("  corpuscle train tickets.csv --recipe 'tfidf | svm' -o tickets.model\n");
    text.push_str("  corpuscle predict tickets.model new.csv --proba\n");
    text
}

/// The second table, with a bar for each method at the fewest labels.
fn few_labels_text(curves: &[LabelCurve], train: usize) -> String {
    let fewest = curves.first().and_then(|curve| curve.points.first()).map_or(0, |point| point.labels);
    let mut text = format!(
        "The same with few labels: all {train} messages are there, but only some have theirs (mean of {DRAWS} draws)\n\n"
    );
    let counts = curves.first().map(|curve| curve.points.iter().map(|point| point.labels.to_string()));
    let heading: Vec<String> = ["method".to_string()].into_iter().chain(counts.into_iter().flatten()).collect();
    let mut heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let bars = format!("with {fewest} labels");
    heading.push(&bars);
    let rows = curves.iter().map(|curve| {
        let accuracies = curve.points.iter().map(|point| percent(point.accuracy().0));
        let share = curve.points.first().map_or(0.0, |point| point.accuracy().0);
        let bar = "█".repeat((share * 40.0).round() as usize);
        [curve.recipe.clone()].into_iter().chain(accuracies).chain([format!("{bar:<40}")]).collect::<Vec<_>>()
    });
    text.push_str(&output::table(&heading, 1, rows));
    text.push('\n');
    text
}
