//! An explanation as text, as JSON, and as a page with the terms highlighted.

use corpuscle::classify::Metric;
use corpuscle::recipe::Model;
use corpuscle::report::html::{Explanation, Neighbour, Report, Section};
use corpuscle::report::snippet;
use serde_json::{Value, json};

use super::super::page::spans;
use super::Explained;
use super::near::Near;
use crate::output::{self, percent};

/// Characters of a neighbour's text.
const SNIPPET: usize = 160;
/// On a terminal, fewer.
const SHORT_SNIPPET: usize = 70;

pub(super) fn as_json(explained: &Explained<'_>, top: usize) -> Value {
    let terms = explained.terms.iter().take(top);
    json!({
        "id": explained.document.id, "predicted": explained.predicted, "runner_up": explained.runner_up,
        "score": explained.score, "margin": explained.margin, "probability": explained.probability,
        "labels": explained.document.labels,
        "adds_up": explained.weighing == corpuscle::recipe::Weighing::Adds,
        "weighing": explained.weighing.name(),
        "terms": terms.map(|part| json!({"term": part.term, "amount": part.amount})).collect::<Vec<_>>(),
        "counts_as": explained.counts_as.iter().map(|(word, list)| (word.clone(), json!(list)))
            .collect::<serde_json::Map<_, _>>(),
        "neighbours": explained.near.as_ref().map(|near| near.iter().map(near_as_json).collect::<Vec<_>>()),
    })
}

fn near_as_json(near: &Near) -> Value {
    let measure = match near.metric {
        Metric::Cosine => "cosine",
        Metric::Euclidean => "distance",
    };
    json!({
        "id": near.id, "row": near.row, "labels": near.labels, measure: near.value,
        "text": near.text.as_ref().map(|text| snippet(text, SNIPPET)),
    })
}

pub(super) fn text(explained: &Explained<'_>, top: usize) -> String {
    let sure = explained.probability.map_or(String::new(), |p| format!(" ({})", percent(f64::from(p))));
    let rest = match (&explained.runner_up, explained.margin) {
        (Some(second), Some(margin)) => format!(", by {margin:.3} before {second}"),
        _ => String::new(),
    };
    let mut text = format!("{}: {}{sure}{rest}\n", explained.document.id, explained.predicted);
    let rows = explained.terms.iter().take(top).map(|part| vec![part.term.clone(), format!("{:+.4}", part.amount)]);
    text.push_str(&output::table(&["term", explained.weighing.about()], 1, rows));
    if let Some(signs) = signs(explained.terms.iter().take(top).map(|part| part.term.as_str())) {
        text.push_str(&format!("{signs}\n"));
    }
    for (word, list) in &explained.counts_as {
        text.push_str(&format!("{word} counts as {}\n", list.join(", ")));
    }
    if let Some(near) = &explained.near {
        let rows = near.iter().map(|near| {
            let begins = near.text.as_ref().map_or(String::new(), |text| snippet(text, SHORT_SNIPPET));
            vec![near.name(), near.labels.join(", "), near.nearness(), begins]
        });
        text.push_str(&output::table(&["nearest documents", "labelled", "near", "text"], 4, rows));
    }
    text
}

/// What the signs on terms that are not plain words mean; `None` when there is none.
fn signs<'a>(terms: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut found = [false; 4];
    for term in terms {
        found[0] |= term.starts_with('-') || term.ends_with('-');
        found[1] |= term.starts_with('^') || term.ends_with('$');
        found[2] |= term.starts_with('¬') || term.contains(" ¬");
        found[3] |= term.contains(" … ");
    }
    let about = ["- a part of a word", "^ $ the first words and the last", "¬ negated", "… with other words between"];
    let said: Vec<&str> = about.into_iter().zip(found).filter(|(_, found)| *found).map(|(about, _)| about).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The documents with their terms highlighted.
pub(super) fn page(model: &Model, explained: &[Explained<'_>], top: usize) -> anyhow::Result<String> {
    let explanations = explained.iter().map(|explained| highlighted(model, explained, top));
    let report = Report {
        title: "Why each document was put where it was".into(),
        question: format!("Which words made `{}` decide as it did?", model.recipe()),
        sections: vec![Section::Explanations {
            heading: format!("{} documents", output::count(explained.len())),
            explanations: explanations.collect::<anyhow::Result<_>>()?,
        }],
    };
    Ok(report.render())
}

fn highlighted(model: &Model, explained: &Explained<'_>, top: usize) -> anyhow::Result<Explanation> {
    let document = explained.document;
    let near = explained.near.iter().flatten().map(|near| Neighbour {
        name: near.name(),
        label: near.labels.join(", "),
        nearness: near.nearness(),
        text: near.text.clone().unwrap_or_default(),
    });
    Ok(Explanation {
        id: document.id.clone(),
        predicted: explained.predicted.clone(),
        truth: document.labels.as_ref().filter(|labels| !labels.is_empty()).map(|labels| labels.join(", ")),
        confidence: explained.probability.map_or(String::new(), |p| percent(f64::from(p))),
        text: document.text.clone(),
        spans: spans(model, &document.text, &explained.terms)?,
        terms: explained.terms.iter().take(top).map(|part| (part.term.clone(), part.amount)).collect(),
        weighing: explained.weighing.about().into(),
        runner_up: match (&explained.runner_up, explained.margin) {
            (Some(second), Some(margin)) => format!("Runner-up: {second}, {margin:.3} behind in score."),
            _ => String::new(),
        },
        neighbours: near.collect(),
    })
}
