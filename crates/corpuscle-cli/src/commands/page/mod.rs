//! What the commands put on a report page.

mod comparison;
mod documents;
mod spans;

use corpuscle::Run;
use corpuscle::metrics::DetCurve;
use corpuscle::project::TopicVariability;
use corpuscle::recipe::{Model, Weighing};
use corpuscle::report::html::{Compared, Explanation, Report, Section};
use corpuscle::report::svg::{Bar, BarChart, DetChart, DetSeries};

use super::abstained::Abstained;
use super::demo::{CUE, Explained, Story};
use super::evaluate::Measured;
use super::label_curve;
use crate::output::percent;

pub(super) use comparison::comparison;
pub(super) use spans::spans;

/// The page of `evaluate --report`.
pub(super) fn evaluation(
    model: &Model,
    measured: &Measured,
    abstained: Option<&Abstained>,
    sources: &[String],
    run: &Run,
) -> anyhow::Result<String> {
    let mut sections = documents::evaluation(measured);
    sections.extend(abstained.into_iter().flat_map(Abstained::sections));
    sections.extend(det(&[("", measured)])?);
    sections.extend(variability(model, measured, run)?);
    sections.extend(documents::map(model, measured, &documents::Mapped::ALL, run)?);
    sections.extend(documents::mistakes(measured));
    sections.extend(documents::doubts(measured, "this model, which may have learnt from them")?);
    sections
        .push(Section::Facts { heading: "Protocol".into(), rows: protocol(model, measured, &sources.join(", "), run) });
    let report = Report {
        title: "How well the model does".into(),
        question: format!("What does `{}` get right on {}?", model.recipe(), sources.join(", ")),
        sections,
    };
    Ok(report.render())
}

/// The page of `demo`.
pub(super) fn demo(story: &Story, run: &Run) -> anyhow::Result<String> {
    let Story { outcomes, curves, mind, best, explained, train } = story;
    let winner = &outcomes[*best];
    let rows = outcomes
        .iter()
        .map(|outcome| Compared {
            name: format!("{}: {}", outcome.name, outcome.model.recipe()),
            accuracy: outcome.measured.evaluation.accuracy,
            macro_f1: outcome.measured.evaluation.macro_f1,
            train_seconds: outcome.train_seconds,
            predict_seconds: outcome.predict_seconds,
            ..Compared::default()
        })
        .collect();
    let mut sections = vec![
        Section::Chart {
            heading: "What few labels are worth".into(),
            chart: label_curve::chart(curves),
            caption: "Accuracy on the test messages when only some of the training messages have a label, means over draws; bars \
                      are standard deviations. Representations learn from all messages, classifiers from the labelled ones."
                .into(),
        },
        Section::Comparison { heading: "Methods compared, all labels given".into(), rows },
        Section::Text {
            heading: "How to read this".into(),
            paragraphs: vec![format!(
                "All recipes learnt from the same {train} messages and were tested on the same {}. With so few test \
                 messages, differences under about 5 points are chance. Below, the most accurate recipe: {}.",
                winner.measured.evaluation.documents,
                winner.model.recipe()
            )],
        },
    ];
    sections.push(Section::Text {
        heading: "What a word brings to mind".into(),
        paragraphs: vec![format!("“{CUE}”: {}.", mind.join(", "))],
    });
    sections.extend(documents::evaluation(&winner.measured));
    let names: Vec<String> = outcomes.iter().map(|outcome| outcome.name.to_string()).collect();
    let curves: Vec<(&str, &Measured)> =
        names.iter().zip(outcomes).map(|(name, outcome)| (name.as_str(), &outcome.measured)).collect();
    sections.extend(det(&curves)?);
    sections.push(Section::Explanations {
        heading: "Why a message was put where it was".into(),
        explanations: vec![explanation(&outcomes[0].model, explained)?],
    });
    sections.extend(documents::map(&winner.model, &winner.measured, &documents::Mapped::ALL, run)?);
    sections.extend(documents::mistakes(&winner.measured));
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
        ("Recipe", model.recipe().to_string()),
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
    let tokens = model.tokenize(&measured.documents(0..measured.texts.len()), &run.quiet())?;
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

/// The explained message with its terms marked where they stand.
fn explanation(model: &Model, explained: &Explained) -> anyhow::Result<Explanation> {
    Ok(Explanation {
        id: explained.id.clone(),
        predicted: explained.predicted.clone(),
        truth: Some(explained.truth.clone()),
        confidence: explained.probability.map_or(String::new(), |p| percent(f64::from(p))),
        text: explained.text.clone(),
        spans: spans(model, &explained.text, &explained.contributions)?,
        terms: explained.contributions.iter().take(12).map(|c| (c.term.clone(), c.amount)).collect(),
        weighing: Weighing::Adds.about().into(),
        ..Explanation::default()
    })
}
