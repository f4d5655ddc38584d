//! A reproduction as a page.

use std::collections::BTreeMap;

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::experiment::{Protocol, Reproduction, System};
use corpuscle::project::SprinklePoint;
use corpuscle::report::html::{Report, Section};
use corpuscle::report::map::{MapParams, sample_evenly};
use corpuscle::report::svg::{Bar, BarChart, HeatMap, LineChart, PointGroup, Scatter, Series};

use corpuscle::vectorize::Spread;

use super::Done;
use super::searches;
use super::text::{self, Table, draws};

pub(super) fn page(Done { protocol, result, maps }: &Done, run: &Run) -> String {
    let (heading, paragraphs) = ("What this is".into(), vec![protocol.paper.clone(), protocol.note.clone()]);
    let sections =
        std::iter::once(Section::Text { heading, paragraphs }).chain(sections(protocol, result, maps, run)).collect();
    Report { title: protocol.title.clone(), question: QUESTION.to_string(), sections }.render()
}

/// Points of a map.
const MOST_POINTS: usize = 2000;

/// What every page asks.
pub(super) const QUESTION: &str = "Does what the paper reports hold here?";

/// All protocols on one page: first every claim with its verdict, then one after the other.
pub(super) fn all(done: &[Done], searches: &[searches::Done], skipped: &[String], run: &Run) -> String {
    let tables = done.iter().map(|one| (&one.protocol.title, one.verdict()));
    let tables = tables.chain(searches.iter().map(|one| (&one.protocol.title, one.verdict())));
    let rows = tables.map(|(title, verdict)| vec![title.clone(), verdict]);
    let columns = ["table or figure", "claims"].map(String::from).to_vec();
    let mut all = vec![Section::Table { heading: "Every table and figure".into(), columns, rows: rows.collect() }];
    // The interval stands in each chapter's own table.
    let claims = done.iter().flat_map(|Done { protocol, result, .. }| {
        let rows = text::claims(protocol, result).rows.into_iter();
        rows.filter_map(|row| {
            let [claim, verdict, difference, p, _] = <[String; 5]>::try_from(row).ok()?;
            Some(vec![format!("{}: {claim}", protocol.title), verdict, difference, p])
        })
    });
    let columns = ["claim", "verdict", "difference", "p"].map(String::from).to_vec();
    all.push(Section::Table { heading: "Every claim with its verdict".into(), columns, rows: claims.collect() });
    if !skipped.is_empty() {
        all.push(Section::Text { heading: "Not run".into(), paragraphs: skipped.to_vec() });
    }
    for Done { protocol, result, maps } in done {
        let paragraphs = vec![protocol.paper.clone(), protocol.note.clone()];
        all.push(Section::Chapter { heading: protocol.title.clone(), paragraphs });
        all.extend(sections(protocol, result, maps, run));
    }
    for done in searches {
        let paragraphs = vec![done.protocol.paper.clone(), done.protocol.note.clone()];
        all.push(Section::Chapter { heading: done.protocol.title.clone(), paragraphs });
        all.extend(done.sections());
    }
    Report { title: "Four papers, ours beside theirs".into(), question: QUESTION.to_string(), sections: all }.render()
}

fn sections(protocol: &Protocol, result: &Reproduction, maps: &[DocumentMap], run: &Run) -> Vec<Section> {
    let mut sections = Vec::new();
    if protocol.systems.is_empty() {
        // Only words are looked at.
    } else if protocol.along.is_some() {
        sections.push(curve(protocol, result));
        sections.push(table("Means and standard deviations", text::curve(protocol, result)));
        let rows = text::chosen_rows(protocol, result);
        if !rows.is_empty() {
            let columns = ["system", "at", "values"].map(String::from).to_vec();
            sections.push(table("Chosen on the validation part", Table { columns, rows }));
        }
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
        sections.push(sprinkling(result));
        sections.push(table("The same as numbers", text::sprinkling(result)));
    }
    if !result.reconstruction.is_empty() {
        sections.push(table("What words bring to mind", text::reconstruction(protocol, result)));
    }
    if !result.topics.is_empty() {
        sections.push(table("Mean coherence of all topics", text::coherence(protocol, result)));
        sections.push(table("Topics with most of the words of a theme", text::themes(protocol, result)));
    }
    if !result.senses.is_empty() {
        sections.push(table("Senses of words", text::senses(protocol, result)));
    }
    sections.extend(maps.iter().map(map));
    if let Some(values) = &result.spread {
        sections.push(histogram(values));
        sections.push(Section::Facts { heading: "Zeros and storage".into(), rows: text::storage(values) });
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
    sections
}

fn table(heading: &str, Table { columns, rows }: Table) -> Section {
    Section::Table { heading: heading.into(), columns, rows }
}

fn curve(protocol: &Protocol, result: &Reproduction) -> Section {
    let figure = protocol.figures[0];
    let scale = if figure.is_share() { 100.0 } else { 1.0 };
    let ours = protocol.systems.iter().enumerate().filter(|(_, system)| system.recipe.is_some());
    let series = ours.clone().map(|(number, system)| Series {
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
    let spread: Vec<Vec<f64>> = ours
        .map(|(number, _)| result.points.iter().map(|point| scale * finite(point.spread(number, figure).1)).collect())
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

/// Figure 4 of the sprinkling paper: distortion against W/B, a point for each number of terms.
fn sprinkling(result: &Reproduction) -> Section {
    let line = |name: &str, of: fn(&SprinklePoint) -> f64| Series {
        name: name.into(),
        points: result.sprinkling.iter().map(|point| (of(point), point.mean_square_distortion)).collect(),
    };
    let chart = LineChart {
        title: "Classes drawn together, and the matrix distorted".into(),
        x_label: "within-class over between-class scatter".into(),
        y_label: "mean square distortion".into(),
        series: vec![
            line("documents", |point| point.within_over_between),
            line("terms typical of a class", |point| point.terms_within_over_between),
        ],
        log_x: false,
    };
    Section::Chart {
        heading: "What sprinkling does to classes and to the matrix".into(),
        chart: chart.render(),
        caption: "From right to left with more sprinkled terms: further left is better separated, further up is more lost of the \
                  original matrix."
            .into(),
    }
}

/// Documents laid out in the plane, near each other where a system finds them alike.
pub(super) struct DocumentMap {
    system: String,
    classes: Vec<String>,
    points: Vec<[f64; 2]>,
}

/// The maps that a protocol asks for.
pub(super) fn maps(
    protocol: &Protocol,
    documents: &[Document],
    learnt: usize,
    run: &Run,
) -> anyhow::Result<Vec<DocumentMap>> {
    let mut maps = Vec::with_capacity(protocol.maps.len());
    for (system, x, labels) in protocol.mapped(documents, learnt, run)? {
        let first = |row: usize| labels.of(row).and_then(|classes| classes.first().copied());
        let shown = sample_evenly(&(0..labels.len()).map(first).collect::<Vec<_>>(), MOST_POINTS);
        let name = |&row: &usize| first(row).map_or_else(String::new, |class| labels.classes()[class as usize].clone());
        let points = MapParams::default().lay_out(&x.select_rows(&shown), &run.quiet())?.points;
        maps.push(DocumentMap { system, classes: shown.iter().map(name).collect(), points });
    }
    Ok(maps)
}

fn map(map: &DocumentMap) -> Section {
    let mut groups: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (class, point) in map.classes.iter().zip(&map.points) {
        groups.entry(class).or_default().push((point[0], point[1]));
    }
    let groups = groups.into_iter().map(|(name, points)| PointGroup { name: name.into(), points }).collect();
    Section::Chart {
        heading: format!("A map of documents: {}", map.system),
        chart: Scatter { title: format!("{}: documents it finds alike are near each other", map.system), groups }
            .render(),
        caption: format!("{} test documents, as evenly from every class as it has them; t-SNE.", map.points.len()),
    }
}

/// Figure 3 of the SCDV paper: how many values are how large before small ones are made zero.
fn histogram(values: &Spread) -> Section {
    let bins = values.histogram.len() as f64;
    let middle = |bin: usize| f64::from(values.limit) * ((2.0 * bin as f64 + 1.0) / bins - 1.0);
    // Nearly all values are near zero: only on a scale of powers of ten can the others be seen.
    let points = values.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let points = points.map(|(bin, &count)| (middle(bin), (count as f64).log10())).collect();
    let chart = LineChart {
        title: "Values of document vectors before the cut".into(),
        x_label: "value".into(),
        y_label: "log10 of how many".into(),
        series: vec![Series { name: "values".into(), points }],
        log_x: false,
    };
    let caption = "Each point is a bin of equal width; a step of one upwards is ten times as many values.".into();
    Section::Chart { heading: "How large the values are".into(), chart: chart.render(), caption }
}

fn variability(result: &Reproduction) -> Section {
    let bar = |label: &str, value: f64, note: &str| Bar { label: label.into(), value, note: note.into() };
    let bars = result
        .variability
        .iter()
        .flat_map(|(topic, before, after)| [bar(topic, *before, "before"), bar("", *after, "after")]);
    let chart = BarChart {
        title: "Intra-topic variability before and after varnorm".into(),
        x_label: "Q: sum of squared distances of all pairs of a topic".into(),
        bars: bars.collect(),
        note_label: String::new(),
        most: None,
    };
    Section::Chart {
        heading: "How much documents of one topic differ".into(),
        chart: chart.render(),
        caption: format!("Training documents, as in Figure 1 of the paper; means of {}.", draws(result.runs)),
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
    let recipe = |system: &System| system.recipe.clone().unwrap_or_else(|| "only in the paper".into());
    rows.extend(protocol.systems.iter().map(|system| (system.name.clone(), recipe(system))));
    rows
}
