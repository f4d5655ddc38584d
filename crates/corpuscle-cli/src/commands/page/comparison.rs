//! The page of `compare --report`: the recipes side by side, and what the best of them did with every document when it
//! had not learnt from it.

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels};
use corpuscle::experiment::{Split, k_folds};
use corpuscle::matrix::Dense;
use corpuscle::metrics::{Evaluation, Predictions};
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::report::html::{Compared, Report, Section};

use super::super::evaluate::Measured;
use super::{det, documents};

/// Folds in which the best recipe judges every document when the comparison was made by draws.
const FOLDS: usize = 5;

/// The page: `rows` are the figures, `best` the recipe whose decisions are shown, `folds` the splits when every document
/// is tested on once, `protocol` how documents were split, in words.
pub(in crate::commands) fn comparison(
    rows: Vec<Compared>,
    best: &Recipe,
    documents: &[Document],
    folds: Option<&[Split]>,
    protocol: &str,
    run: &Run,
) -> anyhow::Result<String> {
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let (own, which);
    let folds = match folds {
        Some(folds) => {
            which = format!("the {} folds of the comparison", folds.len());
            folds
        }
        None => {
            own = k_folds(&labels, FOLDS, run.seed())?;
            which = format!("{FOLDS} folds of their own, since a draw leaves documents out");
            own.as_slice()
        }
    };
    let (model, measured, held_out) =
        run.watch("out of fold", Some(folds.len() as u64), || out_of_fold(best, documents, &labels, folds, run))?;
    let mut sections = vec![
        Section::Comparison { heading: "Recipes compared".into(), rows },
        Section::Text {
            heading: "How to read this".into(),
            paragraphs: vec![
                format!("Every recipe learnt from and was tested on the same documents: {protocol}."),
                format!(
                    "Below, the decisions of the best one, `{best}`, on every document, by a model that had not learnt from \
                     that document ({which})."
                ),
            ],
        },
    ];
    sections.extend(documents::evaluation(&measured));
    sections.extend(det(&[("", &measured)])?);
    let held_out = documents::Mapped { rows: Some(&held_out), about: "documents held out of the first fold" };
    sections.extend(documents::map(&model, &measured, &held_out, run)?);
    sections.extend(documents::mistakes(&measured));
    sections.extend(documents::doubts(&measured, "models that had not learnt from the document")?);
    let report = Report {
        title: "Which recipe is best".into(),
        question: format!(
            "Which of the recipes suits these {} documents best, and where does it fail?",
            documents.len()
        ),
        sections,
    };
    Ok(report.render())
}

/// What the recipe says of every labelled document when it has not learnt from it; with the model of the first fold, and
/// the rows that this one has not learnt from.
fn out_of_fold(
    recipe: &Recipe,
    documents: &[Document],
    labels: &Labels,
    folds: &[Split],
    run: &Run,
) -> anyhow::Result<(Model, Measured, Vec<usize>)> {
    let quiet = run.quiet();
    let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &quiet)?;
    let rows = labels.labelled_rows();
    let truth = labels.select(&rows);
    let classes = truth.n_classes();
    let (mut scores, mut probabilities) = (Dense::zeros(rows.len(), classes), Dense::zeros(rows.len(), classes));
    let mut has_probabilities = true;
    let mut said = vec![Vec::new(); rows.len()];
    let mut first = None;
    for fold in folds {
        run.check()?;
        let model = recipe.fit(&corpus.select(&fold.train)?, &quiet)?;
        let tested = corpus.select(&fold.test)?;
        let predictions = model.predict_matrix(&model.represent(&tested.tokens, &quiet)?, &quiet)?;
        has_probabilities &= predictions.probabilities.is_some();
        let mut places = Vec::with_capacity(fold.test.len());
        for (at, (row, labels)) in fold.test.iter().zip(predictions.labels).enumerate() {
            let Ok(place) = rows.binary_search(row) else { continue };
            scores.row_mut(place).copy_from_slice(predictions.scores.row(at));
            if let Some(all) = &predictions.probabilities {
                probabilities.row_mut(place).copy_from_slice(all.row(at));
            }
            said[place] = labels;
            places.push(place);
        }
        first.get_or_insert((model, places));
        run.advance(1);
    }
    let (model, places) = first.ok_or_else(|| corpuscle::Error::data("there are no folds to test on"))?;
    let predicted = match model.is_multi_label() || truth.is_multi_label() {
        true => Predictions::lists(&said),
        false => Predictions::single(said.iter().map(|row| row.first().copied().unwrap_or(0)).collect()),
    };
    let measured = Measured {
        evaluation: Evaluation::of(&truth, &predicted, Some(&scores))?,
        confidences: None,
        truth,
        scores,
        probabilities: has_probabilities.then_some(probabilities),
        labels: said,
        ids: rows.iter().map(|&row| documents[row].id.clone()).collect(),
        texts: rows.iter().map(|&row| documents[row].text.clone()).collect(),
        numbers: rows.iter().map(|&row| documents[row].numbers.clone()).collect(),
        unseen: Vec::new(),
    };
    Ok((model, measured, places))
}
