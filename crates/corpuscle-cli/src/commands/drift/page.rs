//! The page of `corpuscle drift`.

use corpuscle::recipe::drift::STEPS;
use corpuscle::report::html::{Metric, Report, Section};
use corpuscle::report::svg::{Bar, BarChart, Chart};

use super::seen::Seen;
use super::{DriftReport, interval};
use crate::args::Drift;
use crate::output;

impl DriftReport {
    /// Everything, with charts.
    pub(super) fn page(&self, args: &Drift, new: &Seen, before: Option<&Seen>) -> Report {
        let mut metrics = Vec::new();
        if let Some(share) = self.verdict.strange {
            let note = format!("95 %: {} to {}; 5 % expected", output::percent(share.low), output::percent(share.high));
            metrics.push(Metric::percent("Strange documents", share.value(), &note));
        }
        metrics
            .extend(self.moved.map(|moved| Metric::percent("Class shares moved", moved, "against documents before")));
        metrics.extend(
            self.verdict.unknown.map(|unknown| Metric::percent("Unknown words", unknown.share, &interval(&unknown))),
        );
        let mut sections = vec![
            Section::Headline { heading: "How they differ".into(), metrics },
            Section::Text {
                heading: "In a sentence".into(),
                paragraphs: vec![format!("{}.", self.verdict.sentence())],
            },
        ];
        if let Some(counts) = new.tally.novelty() {
            let title = "Documents by their p-value of being like the training ones";
            let chart = histogram(title, counts, |edge| format!("{edge:.2}"));
            sections.push(Section::Chart {
                heading: "Novelty".into(),
                chart,
                caption: "About level while nothing has changed; piled up at the top when documents are foreign."
                    .into(),
            });
        }
        if let Some(unknown) = &self.verdict.unknown {
            let chart = histogram("Documents by their share of unknown words", new.tally.unknown_steps(), |edge| {
                format!("{:.0} %", 100.0 * edge)
            });
            let expected = unknown.expected.map_or_else(String::new, |expected| {
                format!(
                    " Of training documents, had they been held out, about {} would be unknown.",
                    output::percent(expected)
                )
            });
            sections.push(Section::Chart {
                heading: "Unknown words".into(),
                chart,
                caption: format!("{} of all words are unknown to the model.{expected}", output::percent(unknown.share)),
            });
        }
        let percent = |share: Option<f64>| share.map_or_else(|| "–".to_string(), output::percent);
        sections.push(Section::Table {
            heading: "Class shares".into(),
            columns: vec!["class".into(), "now".into(), "before".into()],
            rows: self
                .classes
                .iter()
                .map(|(name, now, before)| vec![name.clone(), percent(Some(*now)), percent(*before)])
                .collect(),
        });
        let count = |count: Option<usize>| count.map_or_else(|| "–".to_string(), output::count);
        sections.push(Section::Table {
            heading: "New words".into(),
            columns: vec!["word".into(), "documents".into(), "before".into()],
            rows: self
                .words
                .iter()
                .map(|(word, now, before)| vec![word.clone(), count(Some(*now)), count(*before)])
                .collect(),
        });
        sections.push(Section::Facts {
            heading: "What was compared".into(),
            rows: vec![
                ("model".into(), args.model.display().to_string()),
                ("new documents".into(), output::count(new.tally.documents())),
                (
                    "documents before".into(),
                    before.map_or_else(|| "none given".into(), |before| output::count(before.tally.documents())),
                ),
            ],
        });
        let question = "Do documents still look like those the model was trained on?".to_string();
        Report { title: "Drift".into(), question, sections }
    }
}

/// Shares of documents in each twentieth from 0 to 1.
fn histogram(title: &str, counts: &[usize; STEPS], edge: impl Fn(f64) -> String) -> Chart {
    let all = counts.iter().sum::<usize>().max(1);
    let bar = |(step, &count): (usize, &usize)| Bar {
        label: format!("{} to {}", edge(step as f64 / STEPS as f64), edge((step + 1) as f64 / STEPS as f64)),
        value: count as f64 / all as f64,
        note: output::count(count),
    };
    BarChart {
        title: title.into(),
        bars: counts.iter().enumerate().map(bar).collect(),
        x_label: "share of documents".into(),
        note_label: "documents".into(),
        most: None,
    }
    .render()
}
