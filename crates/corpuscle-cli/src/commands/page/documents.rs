//! The parts of a page in which documents can be looked at: cells of the confusion matrix, the map, mistakes, doubts.

use std::collections::{BTreeMap, HashMap};

use corpuscle::Run;
use corpuscle::metrics::doubtful_labels;
use corpuscle::recipe::Model;
use corpuscle::report::html::{CellDocuments, Mistake, Section, ShownDocument, evaluation_sections_with};
use corpuscle::report::map::{MapParams, sample_evenly};
use corpuscle::report::svg::{PointGroup, Scatter};

use super::super::evaluate::Measured;
use crate::output::{count, percent};

const MOST_MISTAKES: usize = 25;
/// Documents of one cell, and of all cells together: a page is to stay a few megabytes.
const MOST_IN_CELL: usize = 50;
const MOST_IN_CELLS: usize = 6000;
/// Points of a map.
const MOST_POINTS: usize = 5000;

/// How sure the model was of the class it gave (or would give) first.
fn certainty(measured: &Measured, row: usize, class: u32) -> f32 {
    let of = measured.probabilities.as_ref().unwrap_or(&measured.scores);
    of.row(row).get(class as usize).copied().unwrap_or(0.0)
}

fn in_words(measured: &Measured, certainty: f32) -> String {
    match &measured.probabilities {
        Some(_) => format!("{:.1}\u{a0}%", 100.0 * certainty),
        None => format!("score {certainty:.2}"),
    }
}

fn shown(measured: &Measured, row: usize) -> ShownDocument {
    let predicted = measured.labels[row].first().copied();
    ShownDocument {
        id: measured.ids[row].clone(),
        truth: measured.truth.of(row).and_then(|labels| labels.first().copied()),
        predicted,
        confidence: predicted.map_or(String::new(), |class| in_words(measured, certainty(measured, row, class))),
        text: measured.texts[row].clone(),
    }
}

/// Everything an evaluation shows; where texts were kept, cells of the confusion matrix open.
pub(super) fn evaluation(measured: &Measured) -> Vec<Section> {
    let (cells, most) = cells(measured);
    let about = format!("Click a cell to see its documents, the surest first, {most} at most.");
    evaluation_sections_with(&measured.evaluation, cells, &about)
}

/// The documents of every cell, and how many of one cell are shown at most.
fn cells(measured: &Measured) -> (Vec<CellDocuments>, usize) {
    let Some(confusion) = &measured.evaluation.confusion else { return (Vec::new(), 0) };
    if measured.texts.is_empty() {
        return (Vec::new(), 0);
    }
    // The matrix has only the classes that occur.
    let places: HashMap<&str, usize> =
        confusion.classes.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let place = |class: u32| places.get(measured.truth.classes()[class as usize].as_str()).copied();
    let mut members: BTreeMap<(usize, usize), Vec<(f32, usize)>> = BTreeMap::new();
    for (row, said) in measured.labels.iter().enumerate() {
        if let (Some(&[label]), Some(&said)) = (measured.truth.of(row), said.first())
            && let (Some(from), Some(to)) = (place(label), place(said))
        {
            members.entry((from, to)).or_default().push((certainty(measured, row, said), row));
        }
    }
    let fits = |most: usize| members.values().map(|rows| rows.len().min(most)).sum::<usize>() <= MOST_IN_CELLS;
    let most = (1..=MOST_IN_CELL).rev().find(|&most| fits(most)).unwrap_or(1);
    let mut left = MOST_IN_CELLS;
    let mut cells = Vec::new();
    for ((row, column), mut rows) in members {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let total = rows.len();
        rows.truncate(most.min(left));
        left -= rows.len();
        let documents = rows.iter().map(|&(_, row)| shown(measured, row)).collect();
        cells.push(CellDocuments { row, column, total, documents });
    }
    (cells, most)
}

/// Which documents may go on a map.
pub(super) struct Mapped<'a> {
    /// Their rows, ascending; all when not given.
    pub(super) rows: Option<&'a [usize]>,
    /// What they are called.
    pub(super) about: &'a str,
}

impl Mapped<'_> {
    pub(super) const ALL: Mapped<'static> = Mapped { rows: None, about: "documents" };
}

/// The map of the documents as the recipe represents them.
pub(super) fn map(
    model: &Model,
    measured: &Measured,
    mapped: &Mapped<'_>,
    run: &Run,
) -> anyhow::Result<Option<Section>> {
    if measured.texts.is_empty() {
        return Ok(None);
    }
    let labels: Vec<Option<u32>> = (0..measured.truth.len())
        .map(|row| match mapped.rows.is_none_or(|rows| rows.binary_search(&row).is_ok()) {
            true => measured.truth.of(row).and_then(|labels| labels.first().copied()),
            false => None,
        })
        .collect();
    let rows = sample_evenly(&labels, MOST_POINTS);
    if rows.len() < 3 {
        return Ok(None);
    }
    let mapped_documents = measured.documents(rows.iter().copied());
    let params = MapParams::default();
    let layout = run.watch("map", Some(params.iterations as u64), || {
        let x = model.represent_documents(&mapped_documents, &run.quiet())?;
        params.lay_out(&x, run)
    })?;
    let classes = measured.truth.classes().to_vec();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); classes.len()];
    let mut groups: Vec<PointGroup> =
        classes.iter().map(|name| PointGroup { name: name.clone(), points: Vec::new() }).collect();
    for (&row, point) in rows.iter().zip(&layout.points) {
        if let Some(class) = labels[row] {
            groups[class as usize].points.push((point[0], point[1]));
            members[class as usize].push(row);
        }
    }
    let scatter = Scatter { title: "Documents that the recipe finds alike are near each other".into(), groups };
    let groups = scatter.layout().into_iter().map(|drawn| {
        drawn.into_iter().flat_map(|class| &members[class]).map(|&row| shown(measured, row)).collect::<Vec<_>>()
    });
    let labelled = labels.iter().flatten().count();
    let which = match rows.len() < labelled {
        true => format!(
            "{} of the {} {}, as evenly from every class as it has documents.",
            count(rows.len()),
            count(labelled),
            mapped.about
        ),
        false => format!("All {} {}.", count(labelled), mapped.about),
    };
    let first = if measured.truth.is_multi_label() { "first label" } else { "label" };
    Ok(Some(Section::Map {
        heading: "Map of the documents".into(),
        groups: groups.collect(),
        chart: scatter.render(),
        classes,
        caption: format!(
            "{which} Colour and shape are a document's {first}, not what the model said. Only nearness means something: \
             axes, empty space and the distance of far groups do not (t-SNE from the principal components of the \
             recipe's representation; divergence {:.2}). Point at a dot for its text; click a name in the legend to pick \
             out its class.",
            layout.divergence
        ),
    }))
}

/// The mistakes the model was surest of.
pub(super) fn mistakes(measured: &Measured) -> Option<Section> {
    let mut wrong: Vec<(f32, usize, u32)> = Vec::new();
    for (row, labels) in measured.labels.iter().enumerate() {
        let Some(&class) = labels.first() else { continue };
        if measured.truth.of(row).is_some() && !measured.truth.has(row, class) {
            wrong.push((certainty(measured, row, class), row, class));
        }
    }
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let all = wrong.len();
    wrong.truncate(MOST_MISTAKES);
    if wrong.is_empty() || measured.texts.is_empty() {
        return None;
    }
    let list = wrong.iter().map(|&(certainty, row, class)| Mistake {
        id: measured.ids[row].clone(),
        truth: labels_in_words(measured, row),
        predicted: measured.truth.classes()[class as usize].clone(),
        confidence: in_words(measured, certainty),
        text: measured.texts[row].clone(),
    });
    Some(Section::Mistakes {
        heading: "Mistakes the model was surest of".into(),
        about: format!("{} of {}.", wrong.len(), count(all)),
        mistakes: list.collect(),
    })
}

/// Documents whose labels may be wrong; `by` says whose probabilities these are.
pub(super) fn doubts(measured: &Measured, by: &str) -> anyhow::Result<Option<Section>> {
    let Some(probabilities) = &measured.probabilities else { return Ok(None) };
    if measured.texts.is_empty() || measured.truth.is_multi_label() {
        return Ok(None);
    }
    let doubts = doubtful_labels(&measured.truth, probabilities)?;
    if doubts.is_empty() {
        return Ok(None);
    }
    let name = |class: u32| measured.truth.classes()[class as usize].clone();
    let list = doubts.iter().take(MOST_MISTAKES).map(|doubt| Mistake {
        id: measured.ids[doubt.row].clone(),
        truth: name(doubt.given),
        predicted: name(doubt.suggested),
        confidence: format!(
            "{:.1}\u{a0}%, label {:.1}\u{a0}%",
            100.0 * doubt.suggested_probability,
            100.0 * doubt.given_probability
        ),
        text: measured.texts[doubt.row].clone(),
    });
    Ok(Some(Section::Mistakes {
        heading: "Labels that may be wrong".into(),
        about: format!(
            "The label given is less likely than it usually is for documents of its class, and another is at least as likely \
             as usual for its own (confident learning), by the probabilities of {by}. {} of {} ({} of the documents), the \
             widest margin first.",
            doubts.len().min(MOST_MISTAKES),
            count(doubts.len()),
            percent(doubts.len() as f64 / measured.evaluation.documents.max(1) as f64)
        ),
        mistakes: list.collect(),
    }))
}

fn labels_in_words(measured: &Measured, row: usize) -> String {
    let labels = measured.truth.of(row).unwrap_or(&[]);
    labels.iter().map(|&class| measured.truth.classes()[class as usize].as_str()).collect::<Vec<_>>().join(", ")
}
