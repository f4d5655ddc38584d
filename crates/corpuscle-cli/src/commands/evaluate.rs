//! `corpuscle evaluate`: every metric of a model on labelled documents.

use std::sync::Arc;

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels};
use corpuscle::matrix::Dense;
use corpuscle::metrics::{Evaluation, LevelScore, OrdinalScores, Predictions, levels, ordinal};
use corpuscle::recipe::{Model, for_each_batch};
use serde_json::{Value, json};

use super::abstained::Abstained;
use super::inspect;
use crate::args::{Evaluate, Everywhere};
use crate::input;
use crate::output::{self, percent};

/// Class names beyond this many are not shown as a matrix on a terminal.
const WIDEST_CONFUSION: usize = 24;

pub(crate) fn run(args: &Evaluate, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    if let Some(path) = &args.report {
        input::check_writable(path)?;
    }
    let (model, _) = inspect::open(&args.model, run)?;
    if let Some(rate) = args.abstain {
        // Said before anything is read.
        model.selection(rate)?;
    }
    let options = input::with_numbers(input::labelled_options(&args.reading)?, model.number_fields());
    let mut documents = input::open(&args.data, &options)?;
    let measured = measure(&model, &mut documents, args.report.is_some(), run)?;
    let skipped = input::report_skipped(&documents, run);
    let evaluation = &measured.evaluation;
    warn_of_oddities(&measured, run);
    let abstained = args.abstain.map(|rate| Abstained::of(&model, &measured, rate)).transpose()?;
    if let Some(path) = &args.report {
        let page =
            super::page::evaluation(&model, &measured, abstained.as_ref(), &input::names(args.data.iter()), run)?;
        output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    }
    let structure = Structure::of(&measured, args)?;
    if everywhere.json {
        let mut value = serde_json::to_value(evaluation)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("recipe".into(), model.recipe().to_string().into());
            fields.insert("skipped".into(), skipped.into());
            fields.insert("unseen_labels".into(), json!(measured.unseen));
            if let Some(abstained) = &abstained {
                fields.insert("abstain".into(), abstained.json());
            }
            if let Some(ordinal) = &structure.ordinal {
                fields.insert("mean_absolute_error".into(), ordinal.mean_absolute_error.into());
                fields.insert("within_one".into(), ordinal.within_one.into());
            }
            if let Some(levels) = &structure.levels {
                fields.insert("levels".into(), serde_json::to_value(levels)?);
            }
            fields.insert("seconds".into(), output::seconds(run));
        }
        return output::print_json(&value);
    }
    let abstained = abstained.map_or(String::new(), |abstained| abstained.text());
    output::print_text(&(structure.text() + &abstained + &text(evaluation)))
}

/// The figures of labels with an order or in a tree, when such were declared.
struct Structure {
    ordinal: Option<OrdinalScores>,
    levels: Option<Vec<LevelScore>>,
}

impl Structure {
    fn of(measured: &Measured, args: &Evaluate) -> anyhow::Result<Self> {
        let predicted = Predictions::lists(&measured.labels);
        let ordinal = match args.ordinal.is_empty() {
            true => None,
            false => Some(ordinal(&measured.truth, &predicted, &args.ordinal)?),
        };
        let levels = match &args.hierarchy {
            None => None,
            Some(separator) => Some(levels(&measured.truth, &predicted, separator)?),
        };
        Ok(Structure { ordinal, levels })
    }

    fn text(&self) -> String {
        let mut facts = Vec::new();
        if let Some(ordinal) = &self.ordinal {
            facts.push(("mean absolute error", format!("{:.3}", ordinal.mean_absolute_error)));
            facts.push(("at most one off", percent(ordinal.within_one)));
        }
        let mut text = output::facts(&facts);
        if let Some(levels) = &self.levels {
            let row = |level: &LevelScore| {
                vec![level.level.to_string(), output::count(level.classes), percent(level.accuracy)]
            };
            text.push_str(&output::table(&["level", "classes", "accuracy"], 0, levels.iter().map(row)));
            text.push('\n');
        }
        text
    }
}

/// A model's figures on some documents, with what a report needs to show of them.
pub(super) struct Measured {
    pub(super) evaluation: Evaluation,
    pub(super) truth: Labels,
    pub(super) scores: Dense,
    pub(super) probabilities: Option<Dense>,
    /// How sure each answer is; `None` without probabilities.
    pub(super) confidences: Option<Vec<f32>>,
    pub(super) labels: Vec<Vec<u32>>,
    pub(super) ids: Vec<String>,
    /// Empty unless texts were asked for.
    pub(super) texts: Vec<String>,
    /// The fields of numbers beside the texts.
    pub(super) numbers: Vec<Vec<(Arc<str>, Vec<f32>)>>,
    /// Labels of the data that the model does not know.
    pub(super) unseen: Vec<String>,
}

impl Measured {
    /// The documents of some rows, where texts were asked for.
    pub(super) fn documents(&self, rows: impl IntoIterator<Item = usize>) -> Vec<Document> {
        let document = |row: usize| Document {
            numbers: self.numbers[row].clone(),
            ..Document::new(self.ids[row].clone(), self.texts[row].clone())
        };
        rows.into_iter().map(document).collect()
    }
}

/// Predicts all documents batch by batch and compares with their labels.
pub(super) fn measure<I>(model: &Model, documents: I, keep_texts: bool, run: &Run) -> anyhow::Result<Measured>
where
    I: IntoIterator<Item = corpuscle::Result<Document>>,
    I::IntoIter: Send,
{
    let quiet = run.quiet();
    let classes = model.classes().len();
    let (mut ids, mut texts, mut lists, mut labels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut numbers = Vec::new();
    let (mut scores, mut probabilities) = (Dense::zeros(0, classes), Some(Dense::zeros(0, classes)));
    let mut confidences: Option<Vec<f32>> = Some(Vec::new());
    run.watch("predict", None, || {
        for_each_batch(documents, run, |batch| {
            let predictions = model.predict_documents(&batch, &quiet)?;
            scores.append_rows(&predictions.scores)?;
            confidences = confidences.take().zip(model.confidences(&predictions)).map(|(mut all, new)| {
                all.extend(new);
                all
            });
            labels.extend(predictions.labels);
            probabilities = match (probabilities.take(), predictions.probabilities) {
                (Some(mut all), Some(new)) => {
                    all.append_rows(&new)?;
                    Some(all)
                }
                _ => None,
            };
            for document in batch {
                ids.push(document.id);
                lists.push(document.labels);
                if keep_texts {
                    texts.push(document.text);
                    numbers.push(document.numbers);
                }
            }
            anyhow::Ok(())
        })
    })?;
    if ids.is_empty() {
        return Err(corpuscle::Error::data("there are no documents: the data are empty, or a filter left none").into());
    }
    let found = Labels::from_lists(lists.iter().map(Option::as_deref));
    if found.labelled_rows().is_empty() {
        let n = ids.len();
        let reason = format!("none of the {n} documents has a label to compare with; name the field with --label");
        return Err(corpuscle::Error::data(reason).into());
    }
    let truth = found.align(model.classes());
    let unseen = truth.classes()[classes..].to_vec();
    let evaluation = run.stage("metrics", None, || {
        let predicted = match model.is_multi_label() || truth.is_multi_label() {
            true => Predictions::lists(&labels),
            false => Predictions::single(labels.iter().filter_map(|row| row.first().copied()).collect()),
        };
        let evaluation = Evaluation::of(&truth, &predicted, Some(&scores))?;
        match &probabilities {
            Some(probabilities) => evaluation.with_probabilities(&truth, probabilities),
            None => Ok(evaluation),
        }
    })?;
    Ok(Measured { evaluation, truth, scores, probabilities, confidences, labels, ids, texts, numbers, unseen })
}

fn warn_of_oddities(measured: &Measured, run: &Run) {
    if measured.evaluation.unlabelled > 0 {
        run.warn(&format!("{} documents have no label and take no part", measured.evaluation.unlabelled));
    }
    if !measured.unseen.is_empty() {
        run.warn(&format!(
            "{} labels were not in the training data, so their documents count as mistakes: {}",
            measured.unseen.len(),
            measured.unseen.iter().take(10).cloned().collect::<Vec<_>>().join(", ")
        ));
    }
}

/// The figures for a person.
pub(super) fn text(evaluation: &Evaluation) -> String {
    let e = evaluation;
    let mut facts = vec![
        ("documents", output::count(e.documents)),
        (if e.multi_label { "exact match" } else { "accuracy" }, percent(e.accuracy)),
    ];
    if let Some(eer) = e.eer {
        facts.push(("equal error rate", percent(eer)));
    }
    for (name, value) in [("log loss", e.log_loss), ("Brier score", e.brier)] {
        facts.extend(value.map(|value| (name, format!("{value:.4}"))));
    }
    if let Some(error) = e.calibration_error {
        facts.push(("calibration error", percent(error)));
    }
    if let Some(lrap) = e.lrap {
        facts.push(("label ranking average precision", percent(lrap)));
    }
    if let Some(error) = e.coverage_error {
        facts.push(("coverage error", format!("{error:.3}")));
    }
    if let Some(loss) = e.hamming_loss {
        facts.push(("Hamming loss", percent(loss)));
    }
    for (name, at) in [("precision", &e.precision_at), ("nDCG", &e.ndcg_at), ("nDCG (SCDV)", &e.ndcg_at_scdv)] {
        if let Some(at) = at {
            let list: Vec<String> = at.iter().map(|(k, value)| format!("@{k} {}", percent(*value))).collect();
            facts.push((name, list.join("   ")));
        }
    }
    let mut text = output::facts(&facts);
    text.push('\n');
    let average = |name: &str, p: f64, r: f64, f: f64| vec![name.to_string(), percent(p), percent(r), percent(f)];
    text.push_str(&output::table(
        &["average", "precision", "recall", "F1"],
        1,
        [
            average("micro", e.micro_precision, e.micro_recall, e.micro_f1),
            average("macro", e.macro_precision, e.macro_recall, e.macro_f1),
            average("weighted", e.weighted_precision, e.weighted_recall, e.weighted_f1),
        ],
    ));
    text.push('\n');
    text.push_str(&output::table(
        &["class", "documents", "predicted", "precision", "recall", "F1"],
        1,
        e.per_class.iter().map(|class| {
            vec![
                class.class.clone(),
                output::count(class.support as usize),
                output::count(class.predicted as usize),
                percent(class.precision),
                percent(class.recall),
                percent(class.f1),
            ]
        }),
    ));
    if let Some(confusion) = &e.confusion
        && confusion.classes.len() <= WIDEST_CONFUSION
    {
        // Columns are numbered: twenty long names side by side would not fit any terminal.
        text.push_str("\nconfusion (rows: true class, columns: predicted, by number)\n");
        let numbers: Vec<String> = (1..=confusion.classes.len()).map(|n| n.to_string()).collect();
        let mut heading = vec!["", ""];
        heading.extend(numbers.iter().map(String::as_str));
        let rows = confusion.classes.iter().zip(&confusion.counts).zip(&numbers).map(|((class, counts), number)| {
            let mut row = vec![class.clone(), number.clone()];
            row.extend(counts.iter().map(|&n| if n == 0 { "·".to_string() } else { n.to_string() }));
            row
        });
        text.push_str(&output::table(&heading, 1, rows));
    }
    text
}
