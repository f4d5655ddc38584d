//! A reproduction as a page.

use corpuscle::Run;
use corpuscle::experiment::{Protocol, Reproduction};
use corpuscle::report::html::{Report, Section};
use corpuscle::report::svg::{Bar, BarChart, HeatMap, LineChart, Series};

use super::text::{self, Table, draws};

pub(super) fn page(protocol: &Protocol, result: &Reproduction, run: &Run) -> String {
    let mut sections = vec![Section::Text {
        heading: "What this is".into(),
        paragraphs: vec![protocol.paper.clone(), protocol.note.clone()],
    }];
    if protocol.along.is_some() {
        sections.push(curve(protocol, result));
        sections.push(table("Means and standard deviations", text::curve(protocol, result)));
    } else {
        for point in &result.points {
            sections.push(table("Ours beside the paper's", text::systems(protocol, point)));
        }
    }
    if !protocol.claims.is_empty() {
        sections.push(table("Claims of the paper", text::claims(protocol, result)));
    }
    for (system, by_class) in text::by_class(protocol, result) {
        sections.push(table(&format!("{system}, class by class"), by_class));
    }
    if !result.sprinkling.is_empty() {
        sections.extend(sprinkling(result));
        sections.push(table("The same as numbers", text::sprinkling(result)));
    }
    if !result.variability.is_empty() {
        sections.push(variability(result));
        sections.push(table("Variability as numbers", text::variability(result)));
    }
    for (name, confusion) in &result.confusions {
        sections.push(Section::Chart {
            heading: format!("Who was taken for whom: {name}"),
            chart: HeatMap { title: &format!("{name}, summed over the draws"), confusion }.render(),
            caption: "Rows are the true classes, columns the ones decided.".into(),
        });
    }
    sections.push(Section::Facts { heading: "Protocol".into(), rows: facts(protocol, result, run) });
    Report { title: protocol.title.clone(), question: "Does what the paper reports hold here?".to_string(), sections }
        .render()
}

fn table(heading: &str, Table { columns, rows }: Table) -> Section {
    Section::Table { heading: heading.into(), columns, rows }
}

fn curve(protocol: &Protocol, result: &Reproduction) -> Section {
    let figure = protocol.figures[0];
    let scale = if figure.is_share() { 100.0 } else { 1.0 };
    let series = protocol.systems.iter().enumerate().map(|(number, system)| Series {
        name: system.name.clone(),
        points: result
            .points
            .iter()
            .filter_map(|point| Some((point.at?, scale * point.spread(number, figure).0)))
            .collect(),
    });
    let x_label = protocol.along.as_ref().map_or_else(String::new, |along| along.label.clone());
    let unit = if figure.is_share() { ", per cent" } else { "" };
    let chart = LineChart {
        title: protocol.title.clone(),
        x_label,
        y_label: format!("{}{unit}", figure.title()),
        series: series.collect(),
        log_x: protocol.along.as_ref().is_some_and(|along| along.name == "labels"),
    };
    let spread: Vec<Vec<f64>> = (0..protocol.systems.len())
        .map(|number| result.points.iter().map(|point| scale * finite(point.spread(number, figure).1)).collect())
        .collect();
    Section::Chart {
        heading: "The curve".into(),
        chart: chart.render_with_spread(&spread),
        caption: format!("Means of {}; bars reach one standard deviation up and down.", draws(result.runs)),
    }
}

/// One draw has no spread, and its bar no length.
fn finite(deviation: f64) -> f64 {
    if deviation.is_finite() { deviation } else { 0.0 }
}

fn sprinkling(result: &Reproduction) -> [Section; 2] {
    let line = |title: &str, y_label: &str, of: fn(&(usize, f64, f64)) -> f64, caption: &str| Section::Chart {
        heading: title.into(),
        chart: LineChart {
            title: title.into(),
            x_label: "sprinkled terms per class".into(),
            y_label: y_label.into(),
            series: vec![Series {
                name: y_label.into(),
                points: result.sprinkling.iter().map(|point| (point.0 as f64, of(point))).collect(),
            }],
            log_x: false,
        }
        .render(),
        caption: caption.into(),
    };
    [
        line(
            "Classes drawn together",
            "W/B ratio",
            |point| point.1,
            "Within-class over between-class scatter: lower is better separated.",
        ),
        line(
            "The matrix distorted",
            "mean square distortion",
            |point| point.2,
            "What is lost of the original matrix: the price of the separation.",
        ),
    ]
}

fn variability(result: &Reproduction) -> Section {
    let bar = |label: &str, value: f64, note: &str| Bar { label: label.into(), value, note: note.into() };
    let bars = result
        .variability
        .iter()
        .flat_map(|(topic, before, after)| [bar(topic, *before, "before"), bar("", *after, "after")]);
    let chart = BarChart {
        title: "Intra-topic variability before and after varnorm".into(),
        x_label: "sum of squared distances to the mean of the topic".into(),
        bars: bars.collect(),
        note_label: String::new(),
        most: None,
    };
    Section::Chart {
        heading: "How much documents of one topic differ".into(),
        chart: chart.render(),
        caption: format!("Test documents, means of {}.", draws(result.runs)),
    }
}

fn facts(protocol: &Protocol, result: &Reproduction, run: &Run) -> Vec<(String, String)> {
    let mut rows = vec![
        ("Data".to_string(), protocol.file.clone()),
        ("Documents in a draw".into(), result.documents.to_string()),
        ("Draws".into(), result.runs.to_string()),
        ("Seed".into(), run.seed().to_string()),
        ("Version".into(), env!("CARGO_PKG_VERSION").into()),
    ];
    rows.extend(protocol.systems.iter().map(|system| (system.name.clone(), system.recipe.clone())));
    rows
}
