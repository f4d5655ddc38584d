//! The sections that show an evaluation: headline figures, heat map, F1 per class as bars and as a table.

use super::{CellDocuments, Metric, Section};
use crate::metrics::{ClassScore, Evaluation};
use crate::report::svg::{Bar, BarChart, Chart, HeatMap, LineChart, Series};

/// Everything an evaluation has to show, in the order a reader asks for it.
pub fn evaluation_sections(evaluation: &Evaluation) -> Vec<Section> {
    evaluation_sections_with(evaluation, Vec::new(), "")
}

/// The same with documents to look at in the cells of the confusion matrix; `shown` says which they are.
pub fn evaluation_sections_with(evaluation: &Evaluation, cells: Vec<CellDocuments>, shown: &str) -> Vec<Section> {
    let mut sections = vec![Section::Headline { heading: "Results".into(), metrics: headline(evaluation) }];
    if let Some(confusion) = &evaluation.confusion {
        let heading = "Who is taken for whom".to_string();
        let chart = HeatMap { title: "Confusion matrix", confusion }.render();
        let caption = "Each row is a true class, each column a predicted one. Colour is the share of the row.";
        sections.push(match cells.is_empty() {
            true => Section::Chart { heading, chart, caption: caption.into() },
            false => {
                let (classes, caption) = (confusion.classes.clone(), format!("{caption} {shown}"));
                Section::Cells { heading, chart, classes, cells, caption }
            }
        });
    }
    sections.push(Section::Chart {
        heading: "F1 per class".into(),
        chart: f1_bars(&evaluation.per_class),
        caption: "From the hardest class to the easiest.".into(),
    });
    sections.extend(reliability(evaluation));
    sections.push(Section::PerClass { heading: "Every class".into(), classes: evaluation.per_class.clone() });
    sections
}

fn headline(evaluation: &Evaluation) -> Vec<Metric> {
    let mut counted = format!("of {} documents", evaluation.documents);
    if evaluation.unlabelled > 0 {
        counted += &format!("; {} unlabelled left out", evaluation.unlabelled);
    }
    let accuracy = if evaluation.multi_label { "Exact match" } else { "Accuracy" };
    let mut metrics = vec![
        Metric::percent(accuracy, evaluation.accuracy, &counted),
        Metric::percent("Macro F1", evaluation.macro_f1, "mean over classes"),
        Metric::percent("Micro F1", evaluation.micro_f1, "over all decisions"),
        Metric::percent("Weighted F1", evaluation.weighted_f1, "by class size"),
    ];
    if let Some(eer) = evaluation.eer {
        metrics.push(Metric::percent("Equal error rate", eer, "lower is better"));
    }
    for (name, value) in [("Log loss", evaluation.log_loss), ("Brier score", evaluation.brier)] {
        metrics.extend(value.map(|value| Metric::number(name, value, "lower is better")));
    }
    if let Some(value) = evaluation.calibration_error {
        metrics.push(Metric::percent("Calibration error", value, "lower is better"));
    }
    let ranked = [
        ("Precision", &evaluation.precision_at),
        ("nDCG", &evaluation.ndcg_at),
        ("nDCG (SCDV)", &evaluation.ndcg_at_scdv),
    ];
    for (name, values) in ranked {
        for (k, value) in values.iter().flatten() {
            metrics.push(Metric::percent(&format!("{name}@{k}"), *value, ""));
        }
    }
    if let Some(value) = evaluation.lrap {
        metrics.push(Metric::percent("LRAP", value, "label ranking average precision"));
    }
    if let Some(value) = evaluation.coverage_error {
        metrics.push(Metric::number("Coverage error", value, "labels; lower is better"));
    }
    if let Some(value) = evaluation.hamming_loss {
        metrics.push(Metric::percent("Hamming loss", value, "lower is better"));
    }
    metrics
}

fn f1_bars(classes: &[ClassScore]) -> Chart {
    let mut ordered: Vec<&ClassScore> = classes.iter().collect();
    ordered.sort_by(|a, b| a.f1.total_cmp(&b.f1));
    let bars = ordered
        .into_iter()
        .map(|class| Bar { label: class.class.clone(), value: class.f1, note: class.support.to_string() })
        .collect();
    BarChart {
        title: "F1 per class".into(),
        x_label: "F1".into(),
        bars,
        note_label: "documents".into(),
        most: Some(1.0),
    }
    .render()
}

/// How often what is said with about the same probability is true.
fn reliability(evaluation: &Evaluation) -> Option<Section> {
    let error = evaluation.calibration_error?;
    let what = if evaluation.multi_label { "the probability of a label" } else { "the largest probability" };
    let points = evaluation.reliability.iter().map(|bin| (bin.probability, bin.right)).collect();
    let chart = LineChart {
        title: "Share that is true against probability".into(),
        x_label: format!("{what}, mean of each bin"),
        y_label: "share that is true".into(),
        series: vec![
            Series { name: "this model".into(), points },
            Series { name: "as often true as it says".into(), points: vec![(0.0, 0.0), (1.0, 1.0)] },
        ],
        log_x: false,
    };
    let sizes: Vec<String> = evaluation.reliability.iter().map(|bin| bin.count.to_string()).collect();
    let counted = if evaluation.multi_label { "pairs of a document and a label" } else { "documents" };
    Some(Section::Chart {
        heading: "How far its probabilities can be believed".into(),
        chart: chart.render(),
        caption: format!(
            "Below the diagonal the model is too sure of itself, above it not sure enough. The mean distance, weighted by bins, is \
             the calibration error: {:.2} %. From left to right the bins hold {} {counted}; points of few jump about.",
            100.0 * error,
            sizes.join(", ")
        ),
    })
}
