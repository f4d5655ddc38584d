//! `corpuscle predict`: one row out for every row in, ids kept, in order.

use std::io::{self, BufWriter, Write};

use corpuscle::Run;
use corpuscle::classify::Selection;
use corpuscle::corpus::Document;
use corpuscle::recipe::{Model, Predictions, for_each_batch};
use serde_json::{Map, Value, json};

use super::inspect;
use crate::args::{Everywhere, Predict, RowFormat};
use crate::input;
use crate::output::{self, WrongCall, percent};

pub(crate) fn run(args: &Predict, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let options = input::options(&args.reading)?;
    let (model, _) = inspect::open(&args.model, run)?;
    if args.proba && !model.has_probabilities() {
        return Err(WrongCall(format!(
            "this model has no probabilities: its recipe `{}` was trained without calibration or on too few documents",
            model.recipe()
        ))
        .into());
    }
    if args.novelty && args.format == RowFormat::Fasttext && !everywhere.json {
        return Err(
            WrongCall("rows of fastText hold labels only; ask for the novelty in another --format".into()).into()
        );
    }
    let mut withheld = args.abstain.map(|rate| Withheld::new(&model, rate)).transpose()?;
    let mut documents = input::open(&args.data, &options)?;
    if everywhere.json {
        let mut rows = Vec::new();
        predict_all(&model, &mut documents, args, &mut withheld, run, |document, prediction| {
            rows.push(as_json(&model, document, prediction, args));
            Ok(())
        })?;
        let skipped = input::report_skipped(&documents, run);
        if let (Some(withheld), false) = (&withheld, everywhere.quiet) {
            super::say(&withheld.text());
        }
        let documents = rows.len();
        let seconds = output::seconds(run);
        return output::print_json(
            &json!({"documents": documents, "skipped": skipped, "predictions": rows, "seconds": seconds}),
        );
    }
    match &args.output {
        None => write_rows(&model, &mut documents, args, &mut withheld, run, io::stdout().lock())?,
        Some(path) => {
            input::check_writable(path)?;
            output::write_beside(path, |file| write_rows(&model, &mut documents, args, &mut withheld, run, file))?;
        }
    }
    input::report_skipped(&documents, run);
    if let (Some(withheld), false) = (&withheld, everywhere.quiet) {
        super::say(&withheld.text());
    }
    Ok(())
}

/// Which answers are given, and how many were so far.
struct Withheld {
    rate: f64,
    selection: Option<Selection>,
    documents: usize,
    answered: usize,
}

impl Withheld {
    fn new(model: &Model, rate: f64) -> anyhow::Result<Self> {
        Ok(Withheld { rate, selection: model.selection(rate)?, documents: 0, answered: 0 })
    }

    /// Whether an answer so confident is withheld.
    fn holds(&mut self, confidence: f32) -> bool {
        let answered = self.selection.is_some_and(|selection| confidence >= selection.threshold);
        self.documents += 1;
        self.answered += usize::from(answered);
        !answered
    }

    fn text(&self) -> String {
        let (rate, share) = (percent(self.rate), percent(self.answered as f64 / self.documents.max(1) as f64));
        match self.selection {
            Some(selection) => format!(
                "answered {} of {} documents ({share}): those of confidence {:.3} or more, of which at most {rate} are wrong with \
                 probability 0.95 if they are like the training documents",
                output::count(self.answered),
                output::count(self.documents),
                selection.threshold
            ),
            None => format!(
                "answered none of {} documents: no threshold keeps the error among answers at {rate} with probability 0.95; ask for a \
                 higher rate, or train on more documents",
                output::count(self.documents)
            ),
        }
    }
}

/// One document's share of a batch of predictions.
struct Prediction<'a> {
    all: &'a Predictions,
    row: usize,
    /// Whether the answer is withheld; `None` where that was not asked for, as the novelty.
    abstained: Option<bool>,
    novelty: Option<f64>,
}

fn predict_all(
    model: &Model,
    documents: &mut corpuscle::corpus::Documents,
    args: &Predict,
    withheld: &mut Option<Withheld>,
    run: &Run,
    mut each: impl FnMut(&Document, &Prediction<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // What a classifier counts for itself would be counted twice.
    let quiet = run.quiet();
    run.watch("predict", None, || {
        for_each_batch(documents, run, |batch| {
            let texts: Vec<&str> = batch.iter().map(|document| document.text.as_str()).collect();
            let x = model.represent_texts(&texts, &quiet)?;
            let predictions = model.predict_matrix(&x, &quiet)?;
            let novelty = if args.novelty { Some(model.novelty(&x, &predictions, &quiet)?) } else { None };
            let confidences = withheld.as_ref().and_then(|_| model.confidences(&predictions));
            for (row, document) in batch.iter().enumerate() {
                let confidence = confidences.as_ref().map_or(0.0, |confidences| confidences[row]);
                let abstained = withheld.as_mut().map(|withheld| withheld.holds(confidence));
                let novelty = novelty.as_ref().map(|novelty| novelty[row]);
                each(document, &Prediction { all: &predictions, row, abstained, novelty })?;
            }
            Ok(())
        })
    })
}

fn write_rows(
    model: &Model,
    documents: &mut corpuscle::corpus::Documents,
    args: &Predict,
    withheld: &mut Option<Withheld>,
    run: &Run,
    to: impl Write,
) -> anyhow::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let delimiter = if args.format == RowFormat::Csv { ',' } else { '\t' };
    let mut heading = matches!(args.format, RowFormat::Csv | RowFormat::Tsv).then(|| {
        let mut names = vec!["id", if model.is_multi_label() { "labels" } else { "label" }];
        names.extend((args.proba && args.top.is_none()).then_some("probability"));
        names.extend(args.top.is_some().then_some("top"));
        names.extend(args.abstain.is_some().then_some("abstained"));
        names.extend(args.novelty.then_some("novelty"));
        names.join(&delimiter.to_string())
    });
    predict_all(model, documents, args, withheld, run, |document, prediction| {
        // The heading waits for the first row, so that data that cannot be read give no output at all.
        if let Some(heading) = heading.take() {
            writeln!(to, "{heading}")?;
        }
        match args.format {
            RowFormat::Jsonl => {
                serde_json::to_writer(&mut to, &as_json(model, document, prediction, args)).map_err(io::Error::from)?;
                writeln!(to)?;
            }
            RowFormat::Fasttext => {
                let labels: Vec<String> = names(model, prediction)
                    .iter()
                    .map(|name| format!("__label__{}", name.replace(' ', "_")))
                    .collect();
                writeln!(to, "{}", labels.join(" "))?;
            }
            RowFormat::Csv | RowFormat::Tsv => {
                let mut cells = vec![document.id.clone(), names(model, prediction).join("|")];
                if let Some(k) = args.top {
                    let top = top(model, prediction, k, args.proba);
                    cells.push(
                        top.iter().map(|(name, value)| format!("{name}:{value:.4}")).collect::<Vec<_>>().join("|"),
                    );
                } else if args.proba {
                    cells.push(best_probability(prediction).map_or(String::new(), |p| format!("{p:.4}")));
                }
                cells.extend(prediction.abstained.map(|abstained| abstained.to_string()));
                cells.extend(prediction.novelty.map(|p| format!("{p:.4}")));
                let cells: Vec<String> = cells.iter().map(|cell| quoted(cell, delimiter)).collect();
                writeln!(to, "{}", cells.join(&delimiter.to_string()))?;
            }
        }
        Ok(())
    })?;
    to.flush()?;
    Ok(())
}

/// A cell in quotes when it needs them.
fn quoted(cell: &str, delimiter: char) -> String {
    if cell.contains([delimiter, '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
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

fn as_json(model: &Model, document: &Document, prediction: &Prediction<'_>, args: &Predict) -> Value {
    let mut row = Map::new();
    row.insert("id".into(), document.id.clone().into());
    let names = names(model, prediction);
    match model.is_multi_label() {
        // An empty list is an answer.
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
    Value::Object(row)
}
