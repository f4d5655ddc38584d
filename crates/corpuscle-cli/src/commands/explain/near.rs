//! The training documents nearest to a document: those the model has kept, or those handed over.

use corpuscle::Run;
use corpuscle::classify::{Classifier, KnnModel, KnnParams, Metric};
use corpuscle::corpus::{Document, Filter, Labels, ReadOptions};
use corpuscle::matrix::Matrix;
use corpuscle::project::Target;
use corpuscle::recipe::Model;

use crate::args::Explain;
use crate::input;

/// A training document near the explained one.
pub(super) struct Near {
    /// Its id; a model keeps none.
    pub(super) id: Option<String>,
    /// Its number among the training documents, from 1.
    pub(super) row: usize,
    pub(super) labels: Vec<String>,
    pub(super) value: f32,
    pub(super) metric: Metric,
    /// Its text; a model keeps none.
    pub(super) text: Option<String>,
}

impl Near {
    /// Its id, or else its number.
    pub(super) fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("training document {}", self.row))
    }

    /// How near it is.
    pub(super) fn nearness(&self) -> String {
        match self.metric {
            Metric::Cosine => format!("cosine {:.3}", self.value),
            Metric::Euclidean => format!("distance {:.3}", self.value),
        }
    }
}

/// Documents given with `--neighbours`, represented by the model's recipe.
pub(super) struct Training {
    documents: Vec<Document>,
    index: KnnModel,
}

impl Training {
    /// Reads them; `None` when none were given.
    pub(super) fn read(
        args: &Explain,
        options: &ReadOptions,
        model: &Model,
        run: &Run,
    ) -> anyhow::Result<Option<Self>> {
        if args.neighbours.is_empty() {
            return Ok(None);
        }
        let filters = args.neighbours_where.iter().map(|text| text.parse::<Filter>()).collect::<Result<Vec<_>, _>>()?;
        let mut source = input::open(&args.neighbours, &ReadOptions { filters, ..options.clone() })?;
        let documents: Vec<Document> =
            run.watch("read neighbours", None, || (&mut source).collect::<Result<_, _>>())?;
        input::report_skipped(&source, run);
        if documents.is_empty() {
            let reason = "--neighbours: there are no documents: the data are empty, or a filter left none";
            return Err(corpuscle::Error::data(reason).into());
        }
        let index = run.watch("represent neighbours", None, || {
            let x = model.represent_documents(&documents, &run.quiet())?;
            // Documents without a label can be near too, so all get one.
            let labels = Labels::from_single(documents.iter().map(|_| Some("")));
            KnnParams { metric: Metric::Cosine, ..KnnParams::default() }.fit(&x, &Target::new(&labels), &run.quiet())
        })?;
        Ok(Some(Training { documents, index }))
    }

    /// The nearest ones to the first row of `x`.
    pub(super) fn nearest(&self, x: &Matrix, count: usize, run: &Run) -> anyhow::Result<Vec<Near>> {
        let found = self.index.neighbours(x, count, run)?;
        let (rows, values) = found.of(0);
        Ok(rows
            .iter()
            .zip(values)
            .map(|(&row, &value)| {
                let document = &self.documents[row as usize];
                Near {
                    id: Some(document.id.clone()),
                    row: row as usize + 1,
                    labels: document.labels.clone().unwrap_or_default(),
                    value,
                    metric: Metric::Cosine,
                    text: Some(document.text.clone()),
                }
            })
            .collect())
    }
}

/// The nearest of the documents that the model itself has kept, when it has.
pub(super) fn kept(model: &Model, x: &Matrix, count: usize, run: &Run) -> anyhow::Result<Option<Vec<Near>>> {
    let Some(found) = model.nearest_kept(x, count, run)? else { return Ok(None) };
    let near = found.into_iter().next().unwrap_or_default().into_iter().map(|near| Near {
        id: None,
        row: near.row as usize + 1,
        labels: near.labels.iter().map(|&class| model.classes()[class as usize].clone()).collect(),
        value: near.value,
        metric: near.metric,
        text: None,
    });
    Ok(Some(near.collect()))
}
