//! What `evaluate --abstain` shows: the error among the answers that would be given, and error against coverage.

use corpuscle::classify::{CoveragePoint, Selection, coverage_curve};
use corpuscle::recipe::Model;
use corpuscle::report::html::Section;
use corpuscle::report::svg::{LineChart, Series};
use serde_json::{Value, json};

use super::evaluate::Measured;
use crate::output::{self, percent};

/// Steps of the curve of error against coverage.
const STEPS: usize = 20;

/// A model that abstains, on labelled documents.
pub(super) struct Abstained {
    asked: f64,
    selection: Option<Selection>,
    answered: f64,
    /// `None` where nothing is answered.
    error: Option<f64>,
    curve: Vec<CoveragePoint>,
}

impl Abstained {
    pub(super) fn of(model: &Model, measured: &Measured, asked: f64) -> anyhow::Result<Self> {
        let selection = model.selection(asked)?;
        let confidences = measured.confidences.as_deref().unwrap_or(&[]);
        // Documents of classes that the model does not know count as mistakes, as everywhere.
        let right = |row: usize, truth: &[u32]| {
            let given = &measured.labels[row];
            given.len() == truth.len() && given.iter().all(|class| truth.contains(class))
        };
        let answers: Vec<(f32, bool)> = confidences
            .iter()
            .enumerate()
            .filter_map(|(row, &confidence)| Some((confidence, right(row, measured.truth.of(row)?))))
            .collect();
        let least = selection.map_or(f32::INFINITY, |selection| selection.threshold);
        let given: Vec<bool> = answers.iter().filter(|answer| answer.0 >= least).map(|answer| answer.1).collect();
        let wrong = given.iter().filter(|&&right| !right).count();
        Ok(Abstained {
            asked,
            selection,
            answered: given.len() as f64 / answers.len().max(1) as f64,
            error: (!given.is_empty()).then(|| wrong as f64 / given.len() as f64),
            curve: coverage_curve(&answers, STEPS),
        })
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "asked": self.asked,
            "answered": self.answered,
            "error": self.error,
            "threshold": self.selection.map(|selection| selection.threshold),
            "bound": self.selection.map(|selection| selection.bound),
            "curve": self.curve,
        })
    }

    /// One sentence.
    fn verdict(&self) -> String {
        match self.selection {
            None => format!(
                "No threshold keeps the error among answers at {}, so nothing is answered.",
                percent(self.asked)
            ),
            Some(selection) => format!(
                "Asked for an error of at most {}, it answers {} of these documents, those of confidence {:.3} or more, and {} of the \
                 answers are wrong.",
                percent(self.asked),
                percent(self.answered),
                selection.threshold,
                self.error.map_or_else(|| "none".to_string(), percent)
            ),
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |p: &CoveragePoint| vec![percent(p.coverage), percent(p.error), format!("{:.3}", p.confidence)];
        self.curve.iter().map(row).collect()
    }

    pub(super) fn text(&self) -> String {
        let table = output::table(&["answered", "error", "confidence from"], 0, self.rows());
        format!("{}\n{table}\n", self.verdict())
    }

    pub(super) fn sections(&self) -> Vec<Section> {
        let points = self.curve.iter().map(|point| (100.0 * point.coverage, 100.0 * point.error)).collect();
        let ends = self.curve.first().zip(self.curve.last());
        let asked = ends.map_or(Vec::new(), |(first, last)| {
            [first, last].map(|point| (100.0 * point.coverage, 100.0 * self.asked)).to_vec()
        });
        let mut series = vec![
            Series { name: "error among the surest answers".into(), points },
            Series { name: format!("error asked for: {}", percent(self.asked)), points: asked },
        ];
        if let Some(error) = self.error {
            series.push(Series {
                name: "where the bound from training puts the threshold".into(),
                points: vec![(100.0 * self.answered, 100.0 * error)],
            });
        }
        let chart = LineChart {
            title: "Error against coverage".into(),
            x_label: "documents answered in %".into(),
            y_label: "wrong answers in %".into(),
            series,
            log_x: false,
        };
        let columns = ["Answered", "Error", "Confidence from"].map(String::from).to_vec();
        vec![
            Section::Chart {
                heading: "Error against coverage".into(),
                chart: chart.render(),
                caption: format!("{} From left to right ever less sure answers are given too.", self.verdict()),
            },
            Section::Table { heading: "Error at every coverage".into(), columns, rows: self.rows() },
        ]
    }
}
