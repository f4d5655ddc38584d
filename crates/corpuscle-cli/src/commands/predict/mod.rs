//! `corpuscle predict`: one row out for every row in, ids kept, in order.

mod ask;
mod rows;
mod table;
mod withheld;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use corpuscle::Run;
use corpuscle::corpus::{Document, Documents, Format, ReadOptions};
use corpuscle::recipe::{Model, Predictions, for_each_batch};
use serde_json::{Map, Value, json};

use super::inspect;
use crate::args::{Everywhere, Predict, RowFormat};
use crate::input;
use crate::output::{self, WrongCall};
use rows::{Names, Rows};
use withheld::Withheld;

pub(crate) fn run(args: &Predict, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let options = input::options(&args.reading)?;
    let named = args.format.or_else(|| args.output.as_deref().and_then(by_name));
    let wrong = |reason: &str| Err(WrongCall(reason.to_string()).into());
    match named {
        Some(RowFormat::Fasttext) if args.keep => return wrong("fastText lines have no columns to keep the data in"),
        Some(RowFormat::Fasttext) if args.novelty && !everywhere.json => {
            return wrong("rows of fastText hold labels only; ask for the novelty in another --format");
        }
        Some(RowFormat::Parquet) if args.output.is_none() => {
            return wrong("Parquet is written to a file; name one with -o");
        }
        _ => {}
    }
    let (model, _) = inspect::open(&args.model, run)?;
    if args.proba && !model.has_probabilities() {
        return Err(WrongCall(format!(
            "this model has no probabilities: its recipe `{}` was trained without calibration or on too few documents",
            model.recipe()
        ))
        .into());
    }
    let fields = model.number_fields();
    if args.data.is_empty() && io::stdin().is_terminal() {
        if let Some(numbers) = fields.first() {
            return wrong(&format!("this model reads the field `{}`; name data that have it", numbers.field));
        }
        if args.output.is_some() || args.keep || args.novelty || args.abstain.is_some() || everywhere.json {
            return wrong("name the data, or `-` for standard input");
        }
        return ask::run(&model, args, everywhere.quiet, run);
    }
    let mut withheld = args.abstain.map(|rate| Withheld::new(&model, rate)).transpose()?;
    let data = if args.data.is_empty() { vec!["-".to_string()] } else { args.data.clone() };
    let options = ReadOptions { keep: args.keep, ..input::with_numbers(options, fields) };
    let mut documents = input::open(&data, &options)?;
    if everywhere.json {
        let mut rows = Vec::new();
        let mut names = None;
        predict_all(&model, &mut documents, args, &mut withheld, run, |batch, predicted| {
            let names = names.get_or_insert_with(|| Names::beside(&batch, &model, args, run));
            for (row, document) in batch.into_iter().enumerate() {
                let prediction = predicted.of(row);
                rows.push(Value::Object(match args.keep {
                    true => kept(&model, document, &prediction, args, names, false)?,
                    false => as_json(&model, &document, &prediction, args),
                }));
            }
            Ok(())
        })?;
        let skipped = input::report_skipped(&documents, run);
        say_withheld(withheld.as_ref(), everywhere);
        let documents = rows.len();
        let seconds = output::seconds(run);
        return output::print_json(
            &json!({"documents": documents, "skipped": skipped, "predictions": rows, "seconds": seconds}),
        );
    }
    match &args.output {
        None => write_rows(&model, &mut documents, args, &mut withheld, named, run, Box::new(io::stdout()))?,
        Some(path) => {
            input::check_writable(path)?;
            output::write_beside(path, |file| {
                write_rows(&model, &mut documents, args, &mut withheld, named, run, Box::new(file.try_clone()?))
            })?;
        }
    }
    input::report_skipped(&documents, run);
    say_withheld(withheld.as_ref(), everywhere);
    Ok(())
}

/// What share was answered, on stderr.
fn say_withheld(withheld: Option<&Withheld>, everywhere: &Everywhere) {
    if let (Some(withheld), false) = (withheld, everywhere.quiet) {
        super::say(&withheld.text());
    }
}

/// The format that the name of an output stands for.
fn by_name(path: &Path) -> Option<RowFormat> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "csv" => Some(RowFormat::Csv),
        "tsv" => Some(RowFormat::Tsv),
        "jsonl" | "ndjson" => Some(RowFormat::Jsonl),
        "parquet" => Some(RowFormat::Parquet),
        _ => None,
    }
}

/// The format where nothing is said: that of the data, where people read it.
fn as_data(data: Option<Format>, keep: bool) -> RowFormat {
    match data {
        _ if !keep => RowFormat::Tsv,
        Some(Format::JsonLines) => RowFormat::Jsonl,
        Some(Format::Tsv) => RowFormat::Tsv,
        _ => RowFormat::Csv,
    }
}

/// What was predicted for a batch.
struct Predicted {
    all: Predictions,
    /// Whether each answer is withheld; empty where that was not asked for, as the novelties.
    abstained: Vec<bool>,
    novelty: Vec<f64>,
}

impl Predicted {
    fn of(&self, row: usize) -> Prediction<'_> {
        let (abstained, novelty) = (self.abstained.get(row).copied(), self.novelty.get(row).copied());
        Prediction { all: &self.all, row, abstained, novelty }
    }
}

/// One document's share of a batch of predictions.
struct Prediction<'a> {
    all: &'a Predictions,
    row: usize,
    abstained: Option<bool>,
    novelty: Option<f64>,
}

fn predict_all(
    model: &Model,
    documents: &mut Documents,
    args: &Predict,
    withheld: &mut Option<Withheld>,
    run: &Run,
    mut each: impl FnMut(Vec<Document>, &Predicted) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // What a classifier counts for itself would be counted twice.
    let quiet = run.quiet();
    run.watch("predict", None, || {
        for_each_batch(documents, run, |batch| {
            let x = model.represent_documents(&batch, &quiet)?;
            let all = model.predict_matrix(&x, &quiet)?;
            let novelty = if args.novelty { model.novelty(&x, &all, &quiet)? } else { Vec::new() };
            let mut abstained = Vec::new();
            if let Some(withheld) = withheld {
                let confidences = model.confidences(&all).unwrap_or_else(|| vec![0.0; batch.len()]);
                abstained.extend(confidences.iter().map(|&confidence| withheld.holds(confidence)));
            }
            each(batch, &Predicted { all, abstained, novelty })
        })
    })
}

fn write_rows(
    model: &Model,
    documents: &mut Documents,
    args: &Predict,
    withheld: &mut Option<Withheld>,
    format: Option<RowFormat>,
    run: &Run,
    to: Box<dyn Write + Send>,
) -> anyhow::Result<()> {
    let mut to = Some(to);
    let mut open: Option<(Names, Rows)> = None;
    let format = format.unwrap_or_else(|| as_data(documents.format(), args.keep));
    let as_text = matches!(format, RowFormat::Csv | RowFormat::Tsv);
    predict_all(model, documents, args, withheld, run, |batch, predicted| {
        // What is written first waits for the first row, so that data that cannot be read give no output at all.
        if let Some(to) = to.take() {
            let names = Names::beside(&batch, model, args, run);
            let columns = names.columns(&batch, args.keep);
            let rows = Rows::open(format, columns, &names.label, to)?;
            open = Some((names, rows));
        }
        let Some((names, rows)) = &mut open else { return Ok(()) };
        for (row, document) in batch.into_iter().enumerate() {
            let prediction = predicted.of(row);
            rows.write(match format {
                RowFormat::Jsonl if !args.keep => as_json(model, &document, &prediction, args),
                _ => kept(model, document, &prediction, args, names, as_text)?,
            })?;
        }
        Ok(())
    })?;
    match open {
        Some((_, rows)) => rows.finish(),
        None => Ok(()),
    }
}

/// The row of a document, without --keep its id alone, with what is predicted beside it; `as_text` for cells.
fn kept(
    model: &Model,
    document: Document,
    prediction: &Prediction<'_>,
    args: &Predict,
    columns: &Names,
    as_text: bool,
) -> anyhow::Result<Map<String, Value>> {
    let mut row = match document.row {
        Some(row) => row,
        None => Map::from_iter([("id".to_string(), document.id.into())]),
    };
    let labels = names(model, prediction);
    let label = match model.is_multi_label() {
        // An empty list is an answer.
        true if prediction.abstained == Some(true) => Value::Null,
        true => labels.into(),
        false => labels.first().copied().into(),
    };
    let mut beside = vec![(&columns.label, label)];
    if let Some(column) = &columns.probability {
        let probability = best_probability(prediction);
        let written = |p: f32| if as_text { format!("{p:.4}").into() } else { Value::from(p) };
        beside.push((column, probability.map_or(Value::Null, written)));
    }
    if let (Some(column), Some(k)) = (&columns.top, args.top) {
        let top = top(model, prediction, k, args.proba);
        let what = if args.proba { "probability" } else { "score" };
        let written = |(name, value): (&str, f32)| match as_text {
            true => Value::from(format!("{name}:{value:.4}")),
            false => json!({"label": name, what: value}),
        };
        beside.push((column, top.into_iter().map(written).collect()));
    }
    if let Some(column) = &columns.abstained {
        beside.push((column, prediction.abstained.into()));
    }
    if let Some(column) = &columns.novelty {
        let written = |p: f64| if as_text { format!("{p:.4}").into() } else { Value::from(p) };
        beside.push((column, prediction.novelty.map_or(Value::Null, written)));
    }
    for (column, value) in beside {
        anyhow::ensure!(
            row.insert(column.clone(), value).is_none(),
            "a row has a field `{column}`, which none of the first rows had; put a row that has it first, so that the column \
             with what is predicted gets another name"
        );
    }
    Ok(row)
}

/// The labels of the answer; none where it is withheld.
fn names<'m>(model: &'m Model, prediction: &Prediction<'_>) -> Vec<&'m str> {
    if prediction.abstained == Some(true) {
        return Vec::new();
    }
    prediction.all.labels[prediction.row].iter().map(|&class| model.classes()[class as usize].as_str()).collect()
}

/// The probabilities of a document; the scores where there are none, which `run` has already refused.
fn probabilities<'a>(prediction: &'a Prediction<'_>) -> &'a [f32] {
    prediction.all.probabilities.as_ref().unwrap_or(&prediction.all.scores).row(prediction.row)
}

fn best_probability(prediction: &Prediction<'_>) -> Option<f32> {
    let class = *prediction.all.labels[prediction.row].first()?;
    Some(probabilities(prediction)[class as usize])
}

/// The K best classes with their probabilities or scores.
fn top<'m>(model: &'m Model, prediction: &Prediction<'_>, k: u32, proba: bool) -> Vec<(&'m str, f32)> {
    let values = if proba { probabilities(prediction) } else { prediction.all.scores.row(prediction.row) };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order.truncate(k as usize);
    order.into_iter().map(|class| (model.classes()[class].as_str(), values[class])).collect()
}

fn as_json(model: &Model, document: &Document, prediction: &Prediction<'_>, args: &Predict) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("id".into(), document.id.clone().into());
    let names = names(model, prediction);
    match model.is_multi_label() {
        true if prediction.abstained == Some(true) => row.insert("labels".into(), Value::Null),
        true => row.insert("labels".into(), names.into()),
        false => row.insert("label".into(), names.first().copied().into()),
    };
    if args.proba && args.top.is_none() {
        let probabilities = probabilities(prediction);
        let pairs = model.classes().iter().zip(probabilities).map(|(class, &p)| (class.clone(), Value::from(p)));
        row.insert("probabilities".into(), Value::Object(pairs.collect()));
    }
    if let Some(k) = args.top {
        let what = if args.proba { "probability" } else { "score" };
        let list: Vec<Value> = top(model, prediction, k, args.proba)
            .into_iter()
            .map(|(name, v)| json!({"label": name, what: v}))
            .collect();
        row.insert("top".into(), list.into());
    }
    row.extend(prediction.abstained.map(|abstained| ("abstained".into(), abstained.into())));
    row.extend(prediction.novelty.map(|p| ("novelty".into(), p.into())));
    row
}
