//! What the commands put on a report page.

use std::collections::HashMap;

use corpuscle::Run;
use corpuscle::metrics::DetCurve;
use corpuscle::project::TopicVariability;
use corpuscle::recipe::Model;
use corpuscle::report::html::{Compared, Explanation, Mistake, Report, Section, Span, evaluation_sections};
use corpuscle::report::svg::{Bar, BarChart, DetChart, DetSeries};

use super::demo::{Explained, Outcome};
use super::evaluate::Measured;
use crate::output::percent;

const MOST_MISTAKES: usize = 25;

/// The page of `evaluate --report`.
pub(super) fn evaluation(model: &Model, measured: &Measured, sources: &[String], run: &Run) -> anyhow::Result<String> {
    let mut sections = evaluation_sections(&measured.evaluation);
    sections.extend(det(&[("", measured)])?);
    sections.extend(variability(model, measured, run)?);
    sections.extend(mistakes(measured));
    sections
        .push(Section::Facts { heading: "Protocol".into(), rows: protocol(model, measured, &sources.join(", "), run) });
    let report = Report {
        title: "How well the model does".into(),
        question: format!("What does `{}` get right on {}?", model.metadata().recipe, sources.join(", ")),
        sections,
    };
    Ok(report.render())
}

/// The page of `demo`.
pub(super) fn demo(
    outcomes: &[Outcome],
    best: usize,
    explained: &Explained,
    train: usize,
    run: &Run,
) -> anyhow::Result<String> {
    let winner = &outcomes[best];
    let rows = outcomes
        .iter()
        .map(|outcome| Compared {
            name: outcome.model.metadata().recipe.clone(),
            accuracy: outcome.measured.evaluation.accuracy,
            macro_f1: outcome.measured.evaluation.macro_f1,
            train_seconds: outcome.train_seconds,
            predict_seconds: outcome.predict_seconds,
            ..Compared::default()
        })
        .collect();
    let mut sections = vec![
        Section::Comparison { heading: "Recipes compared".into(), rows },
        Section::Text {
            heading: "How to read this".into(),
            paragraphs: vec![format!(
                "All recipes learnt from the same {train} messages and were tested on the same {}. With so few test \
                 messages, differences under about 5 points are chance. Below, the most accurate recipe: {}.",
                winner.measured.evaluation.documents,
                winner.model.metadata().recipe
            )],
        },
    ];
    sections.extend(evaluation_sections(&winner.measured.evaluation));
    let curves: Vec<(&str, &Measured)> =
        outcomes.iter().map(|outcome| (outcome.model.metadata().recipe.as_str(), &outcome.measured)).collect();
    sections.extend(det(&curves)?);
    sections.push(Section::Explanations {
        heading: "Why a message was put where it was".into(),
        explanations: vec![explanation(&outcomes[0].model, explained)?],
    });
    sections.extend(mistakes(&winner.measured));
    sections.push(Section::Facts {
        heading: "Protocol".into(),
        rows: protocol(&winner.model, &winner.measured, "the embedded demo corpus, test part", run),
    });
    let report = Report {
        title: "Corpuscle on 512 help-desk messages".into(),
        question: "Which team should get a message, and which recipe finds out best?".into(),
        sections,
    };
    Ok(report.render())
}

fn protocol(model: &Model, measured: &Measured, tested_on: &str, run: &Run) -> Vec<(String, String)> {
    let metadata = model.metadata();
    let about = &metadata.about;
    let mut rows = vec![
        ("Recipe", metadata.recipe.clone()),
        (
            "Trained on",
            format!("{} ({} documents, {} labelled)", about.sources.join(", "), about.documents, about.labelled),
        ),
        ("Tested on", format!("{tested_on} ({} documents)", measured.evaluation.documents)),
        ("Classes", model.classes().len().to_string()),
        ("Seed", format!("{} in training, {} here", about.seed, run.seed())),
        ("Version", format!("corpuscle {}", metadata.version)),
    ];
    if !measured.unseen.is_empty() {
        rows.push(("Labels unknown to the model", measured.unseen.join(", ")));
    }
    rows.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Misses against false alarms of every model.
fn det(models: &[(&str, &Measured)]) -> anyhow::Result<Option<Section>> {
    let mut series = Vec::new();
    for (name, measured) in models {
        let curve = DetCurve::of(&measured.truth, &measured.scores)?;
        if curve.eer().is_some() {
            series.push(DetSeries::of(*name, &curve));
        }
    }
    if series.is_empty() {
        return Ok(None);
    }
    Ok(Some(Section::Chart {
        heading: "Misses against false alarms".into(),
        chart: DetChart { title: "Every document against every class".into(), series }.render(),
        caption:
            "Each (document, class) pair is one trial. Where a curve meets the diagonal both errors are equal: the \
                  equal error rate. Lower left is better."
                .into(),
    }))
}

/// How much documents of one topic differ before and after `varnorm`, when the recipe has it.
fn variability(model: &Model, measured: &Measured, run: &Run) -> anyhow::Result<Option<Section>> {
    if measured.texts.len() != measured.truth.len() {
        return Ok(None);
    }
    let tokens = model.recipe().words().tokenize(&measured.texts, &run.quiet())?;
    let Some((before, after)) = model.variability(&tokens, &measured.truth, &run.quiet())? else {
        return Ok(None);
    };
    let total = |topics: &[TopicVariability]| topics.iter().map(|topic| topic.total).sum::<f64>();
    let removed = 1.0 - total(&after) / total(&before).max(f64::MIN_POSITIVE);
    let mut topics: Vec<_> = before.iter().zip(&after).filter(|(topic, _)| topic.documents > 1).collect();
    topics.sort_by(|a, b| b.0.mean().total_cmp(&a.0.mean()).then_with(|| a.0.topic.cmp(&b.0.topic)));
    if topics.is_empty() {
        return Ok(None);
    }
    let bar = |label: &str, topic: &TopicVariability, note: &str| Bar {
        label: label.to_string(),
        value: topic.mean(),
        note: note.to_string(),
    };
    let bars =
        topics.iter().flat_map(|(before, after)| [bar(&before.topic, before, "before"), bar("", after, "after")]);
    let chart = BarChart {
        title: "Mean squared distance between two documents of a topic".into(),
        x_label: "mean squared distance".into(),
        bars: bars.collect(),
        note_label: "varnorm".into(),
        most: None,
    };
    Ok(Some(Section::Chart {
        heading: "Intra-topic variability".into(),
        chart: chart.render(),
        caption: format!(
            "How far apart documents of one topic are, before and after `varnorm`, on the documents evaluated here. Over \
             all pairs {} of it is removed.",
            percent(removed)
        ),
    }))
}

/// The mistakes the model was surest of.
fn mistakes(measured: &Measured) -> Option<Section> {
    let certainty = |row: usize, class: u32| match &measured.probabilities {
        Some(all) => all.row(row)[class as usize],
        None => measured.scores.row(row)[class as usize],
    };
    let mut wrong: Vec<(f32, usize, u32)> = Vec::new();
    for (row, labels) in measured.labels.iter().enumerate() {
        let Some(&class) = labels.first() else { continue };
        if measured.truth.of(row).is_some() && !measured.truth.has(row, class) {
            wrong.push((certainty(row, class), row, class));
        }
    }
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    wrong.truncate(MOST_MISTAKES);
    if wrong.is_empty() || measured.texts.is_empty() {
        return None;
    }
    let name = |class: u32| measured.truth.classes()[class as usize].clone();
    let list = wrong
        .into_iter()
        .map(|(certainty, row, class)| Mistake {
            id: measured.ids[row].clone(),
            truth: measured
                .truth
                .of(row)
                .unwrap_or(&[])
                .iter()
                .map(|&class| name(class))
                .collect::<Vec<_>>()
                .join(", "),
            predicted: name(class),
            confidence: match &measured.probabilities {
                Some(_) => percent(f64::from(certainty)),
                None => format!("score {certainty:.2}"),
            },
            text: measured.texts[row].clone(),
        })
        .collect();
    Some(Section::Mistakes { heading: "Mistakes the model was surest of".into(), mistakes: list })
}

/// The explained message with its terms marked where they stand.
fn explanation(model: &Model, explained: &Explained) -> anyhow::Result<Explanation> {
    let amounts: HashMap<&str, f64> = explained.contributions.iter().map(|c| (c.term.as_str(), c.amount)).collect();
    let mut spans = Vec::new();
    let mut start = 0;
    for piece in explained.text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        let offset = start + word.find(inner).unwrap_or(0);
        let amount: f64 =
            model.recipe().words().tokens_of(inner)?.iter().filter_map(|token| amounts.get(token.as_str())).sum();
        if amount != 0.0 {
            spans.push(Span { start: offset, end: offset + inner.len(), contribution: amount });
        }
        start += piece.len();
    }
    Ok(Explanation {
        id: explained.id.clone(),
        predicted: explained.predicted.clone(),
        truth: Some(explained.truth.clone()),
        confidence: explained.probability.map_or(String::new(), |p| percent(f64::from(p))),
        text: explained.text.clone(),
        spans,
        terms: explained.contributions.iter().take(12).map(|c| (c.term.clone(), c.amount)).collect(),
    })
}
