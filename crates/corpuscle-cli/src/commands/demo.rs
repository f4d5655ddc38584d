//! `corpuscle demo`: everything at once on the embedded corpus of help-desk messages.

use std::time::Instant;

use corpuscle::Run;
use corpuscle::corpus::{Document, demo};
use corpuscle::recipe::{Contribution, Corpus, Model, Recipe};
use serde_json::json;

use super::evaluate::{Measured, measure};
use super::page;
use crate::args::{Demo, Everywhere};
use crate::input;
use crate::output::{self, percent};

/// What is compared: one recipe of each kind that a newcomer would try.
const RECIPES: &[&str] = &[
    "tfidf(sublinear=true) | svm",
    "words(stem=english, stop=english) | tfidf(ngrams=2, sublinear=true) | svm",
    "words(stem=english) | tfidf(sublinear=true) | logistic(c=10)",
    "words(stem=english, stop=english) | tfidf(sublinear=true) | knn(k=10)",
    "words(stem=english, stop=english) | binary | ig(1000) | knn(k=10)",
];

/// One recipe's outcome.
pub(super) struct Outcome {
    pub(super) model: Model,
    pub(super) measured: Measured,
    pub(super) train_seconds: f64,
    pub(super) predict_seconds: f64,
}

pub(crate) fn run(args: &Demo, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    input::check_writable(&args.report)?;
    let corpus = demo()?;
    let mut outcomes = Vec::new();
    for text in RECIPES {
        outcomes.push(compare(text, &corpus.train, &corpus.test, run)?);
    }
    let best = outcomes
        .iter()
        .enumerate()
        .max_by(|(i, a), (j, b)| {
            a.measured.evaluation.accuracy.total_cmp(&b.measured.evaluation.accuracy).then(j.cmp(i))
        })
        .map_or(0, |(index, _)| index);
    // The explanation needs a linear model, which the first recipe is.
    let explained = explain(&outcomes[0], &corpus.test, run)?;
    let page = page::demo(&outcomes, best, &explained, corpus.train.len(), run)?;
    output::write_beside(&args.report, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    if everywhere.json {
        let rows: Vec<_> = outcomes
            .iter()
            .map(|outcome| {
                json!({
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
            "best": outcomes[best].model.recipe().to_string(),
            "explanation": explained.to_json(),
            "report": args.report.display().to_string(),
            "seconds": output::seconds(run),
        }));
    }
    output::print_text(&text(&outcomes, best, &explained, corpus.train.len(), &args.report))
}

fn compare(recipe: &str, train: &[Document], test: &[Document], run: &Run) -> anyhow::Result<Outcome> {
    let recipe = Recipe::parse(recipe)?;
    let started = Instant::now();
    let mut corpus = Corpus::read(train.iter().cloned().map(Ok), recipe.words(), run)?;
    corpus.sources = vec!["the embedded demo corpus".to_string()];
    let model = recipe.fit(&corpus, run)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let measured = measure(&model, test.iter().cloned().map(Ok), true, run)?;
    Ok(Outcome { model, measured, train_seconds, predict_seconds: started.elapsed().as_secs_f64() })
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

fn text(outcomes: &[Outcome], best: usize, explained: &Explained, train: usize, report: &std::path::Path) -> String {
    let test = outcomes.first().map_or(0, |outcome| outcome.measured.evaluation.documents);
    let classes = outcomes.first().map_or(0, |outcome| outcome.model.classes().len());
    let mut text = format!("{train} help-desk messages to learn from, {test} to be tested on, {classes} topics\n\n");
    text.push_str(&output::table(
        &["recipe", "accuracy", "macro F1", "EER", "train", "predict"],
        1,
        outcomes.iter().enumerate().map(|(index, outcome)| {
            let e = &outcome.measured.evaluation;
            let mark = if index == best { " *" } else { "" };
            vec![
                format!("{}{mark}", outcome.model.recipe().to_string()),
                percent(e.accuracy),
                percent(e.macro_f1),
                e.eer.map_or(String::new(), percent),
                format!("{:.0} ms", 1e3 * outcome.train_seconds),
                format!("{:.0} ms", 1e3 * outcome.predict_seconds),
            ]
        }),
    ));
    text.push_str("* the most accurate; with so few test messages, differences under about 5 points are chance\n\n");
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
