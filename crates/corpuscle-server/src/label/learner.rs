//! The model that learns along, on threads of its own.
//!
//! Once: the pile is cut into words, represented (tf-idf beside 100 dimensions of LSI: learnt from all documents, labels or
//! not), clustered for [`order`](super::order), and laid out as a map. Then, whenever labels have changed: a classifier over that
//! representation is fitted again, which takes a moment because the representation stands; every document is predicted; and labels
//! are held out fold by fold to see which the others contradict and how often the model is right. What comes of it is handed over
//! as a whole ([`Learnt`]); who answers requests never waits for a fit.
//!
//! What a class is about stands among the documents as one more document with that label, so that names and descriptions
//! work before the first label.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use corpuscle::Run;
use corpuscle::corpus::{Labels, blocks};
use corpuscle::matrix::Matrix;
use corpuscle::metrics::Proportion;
use corpuscle::recipe::{Corpus, Model, Recipe, Represented};
use corpuscle::report::map::MapParams;
use serde_json::json;

use super::order::Clusters;
use super::store::{Act, Change, Store};
use crate::door::Door;
use crate::{Error, Result};

/// How often labels are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Documents on the map, at most.
const MAPPED: usize = 3000;
/// Documents in doubt that are kept in order.
const DOUBTFUL: usize = 5000;
/// Folds of held-out labels, and drawn documents from which accuracy is told by those alone.
const FOLDS: usize = 5;
const DRAWN: usize = 20;

/// The pile, looked through.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// A row for each document, then one for each class that was described.
    pub(crate) represented: Represented,
    pub(crate) clusters: Clusters,
}

/// Where documents lie: places and coordinates from 0 to 1.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) places: Vec<u32>,
    pub(crate) points: Vec<[f32; 2]>,
}

/// What the model of a moment says of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guess {
    pub(crate) class: u32,
    pub(crate) probability: f32,
    /// How far the best class is ahead.
    pub(crate) margin: f32,
}

/// A model and what follows from it.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) model: Model,
    /// How many documents had labels.
    pub(crate) labelled: usize,
    /// One for each document.
    pub(crate) guesses: Vec<Guess>,
    /// Places without a label, the least sure first.
    pub(crate) doubtful: Vec<u32>,
    /// What a model that had not seen its label says of a document.
    pub(crate) out_of_fold: HashMap<u32, Guess>,
    /// How often that is right.
    pub(crate) accuracy: Option<Proportion>,
    /// Whether that is measured on documents drawn at random only.
    pub(crate) drawn: bool,
}

/// The learner's side that others look at.
#[derive(Debug)]
pub(crate) struct Learner {
    prepared: OnceLock<Prepared>,
    map: OnceLock<Map>,
    learnt: RwLock<Option<Arc<Learnt>>>,
    /// What it is doing, for people.
    doing: RwLock<&'static str>,
    stop: AtomicBool,
}

impl Learner {
    pub(crate) fn prepared(&self) -> Option<&Prepared> {
        self.prepared.get()
    }

    pub(crate) fn map(&self) -> Option<&Map> {
        self.map.get()
    }

    pub(crate) fn learnt(&self) -> Option<Arc<Learnt>> {
        self.learnt.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn doing(&self) -> &'static str {
        *self.doing.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn does(&self, what: &'static str) {
        *self.doing.write().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Begins. The thread ends when [`Learner::end`] was called.
    pub(crate) fn start(store: Arc<Store>, door: Arc<Door>, run: Run) -> Result<(Arc<Self>, JoinHandle<()>)> {
        let learner = Arc::new(Learner {
            prepared: OnceLock::new(),
            map: OnceLock::new(),
            learnt: RwLock::new(None),
            doing: RwLock::new("looking through the pile"),
            stop: AtomicBool::new(false),
        });
        let own = Arc::clone(&learner);
        let thread = std::thread::Builder::new()
            .name("learn".into())
            .spawn(move || {
                if let Err(error) = own.work(&store, &door, &run) {
                    own.does("not learning: see the log");
                    door.journal.note("learning ended", json!({"reason": error.to_string()}));
                }
            })
            .map_err(|cause| Error::System { what: "no thread to learn on", cause })?;
        Ok((learner, thread))
    }

    /// Has the thread end at its next step.
    pub(crate) fn end(&self, run: &Run) {
        self.stop.store(true, Ordering::Release);
        run.cancel_flag().store(true, Ordering::Relaxed);
    }

    fn work(self: &Arc<Self>, store: &Arc<Store>, door: &Arc<Door>, run: &Run) -> Result<()> {
        let described = described(store);
        let n = store.pile().len();
        let recipe = Recipe::parse(&recipe(n))?;
        let mut corpus = read(store, &described, &recipe, run)?;
        let represented = recipe.represent(&corpus, run)?;
        let rows: Vec<usize> = (0..n).collect();
        let space = represented.matrix().dense().select_rows(&rows);
        let clusters = Clusters::find(&space, run)?;
        door.journal.note("prepared", json!({"documents": n, "clusters": clusters.len()}));
        let prepared = self.prepared.get_or_init(|| Prepared { represented, clusters });
        self.does("waiting for labels");
        self.draw_map(space, run.clone())?;
        let mut seen = u64::MAX;
        let mut measured =
            store.pile().measures().last().and_then(|last| last["labels"].as_u64()).unwrap_or(0) as usize;
        while !self.stop.load(Ordering::Acquire) {
            let version = store.pile().version();
            if version == seen {
                std::thread::sleep(LOOK);
                continue;
            }
            seen = version;
            let (lists, drawn) = labels(store, &described, corpus.len());
            corpus.labels = Labels::from_lists(lists.iter().map(Option::as_deref));
            if corpus.labels.n_classes() < 2 || corpus.labels.labelled_rows().len() < 2 {
                continue;
            }
            self.does("learning");
            match learn(&recipe, prepared, &corpus, &drawn, n, run) {
                Ok(learnt) => {
                    if let Some(change) = measure(&learnt, &mut measured) {
                        // A curve with a point less is no reason to stop.
                        let _ = store.write_waiting(vec![change]);
                    }
                    *self.learnt.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(learnt));
                }
                Err(corpuscle::Error::Cancelled) => break,
                Err(error) => door.journal.note("not learnt", json!({"reason": error.to_string()})),
            }
            self.does("waiting for labels");
        }
        Ok(())
    }

    /// The map, on a thread of its own: it takes longer than a fit and is looked at later.
    fn draw_map(self: &Arc<Self>, space: corpuscle::matrix::Dense, run: Run) -> Result<()> {
        let own = Arc::clone(self);
        let draw = move || {
            let step = space.rows().div_ceil(MAPPED).max(1);
            let places: Vec<u32> = (0..space.rows() as u32).step_by(step).collect();
            let rows: Vec<usize> = places.iter().map(|&place| place as usize).collect();
            let x = Matrix::from(space.select_rows(&rows));
            drop(space);
            if let Ok(layout) = (MapParams { iterations: 500, ..MapParams::default() }).lay_out(&x, &run.quiet()) {
                let points = within(&layout.points);
                let _ = own.map.set(Map { places, points });
            }
        };
        std::thread::Builder::new()
            .name("map".into())
            .spawn(draw)
            .map(|_| ())
            .map_err(|cause| Error::System { what: "no thread to draw the map on", cause })
    }
}

/// Points brought to 0 … 1 with their shape kept.
fn within(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let ends = |axis: usize| {
        points.iter().fold((f64::MAX, f64::MIN), |(low, high), point| (low.min(point[axis]), high.max(point[axis])))
    };
    let ((left, right), (top, bottom)) = (ends(0), ends(1));
    let size = (right - left).max(bottom - top).max(1e-9);
    points.iter().map(|point| [((point[0] - left) / size) as f32, ((point[1] - top) / size) as f32]).collect()
}

/// The recipe for so many documents. Little shrinkage (c = 30): with 60 labels of the demo corpus's eight classes the default of 1 is right
/// on 43 % of new documents, 30 on 53 %, a linear SVM, which has no probabilities of so few, on 55 %.
fn recipe(n: usize) -> String {
    let rare = if n < 500 { 1 } else { 2 };
    let dimensions = (n / 3).clamp(1, 100);
    let tfidf = format!("tfidf(sublinear=true, min_df={rare})");
    format!(
        "words(stem=porter, stop=english) | ({tfidf} + ({tfidf} | lsi({dimensions}) | normalize)) | logistic(c=30, calibrate=0)"
    )
}

/// Classes with what they are about, as texts.
fn described(store: &Store) -> Vec<(String, String)> {
    let pile = store.pile();
    let classes = pile.classes().iter().filter(|class| !class.about.is_empty());
    classes.map(|class| (class.name.clone(), format!("{} {}", class.name, class.about))).collect()
}

fn read(store: &Store, described: &[(String, String)], recipe: &Recipe, run: &Run) -> Result<Corpus> {
    let mut texts = store.texts()?;
    texts.extend(described.iter().map(|(_, text)| text.clone()));
    let none = Labels::none(texts.len());
    Ok(Corpus::from_columns(&texts, none, None, recipe.words(), run)?)
}

/// The labels of every row, and the places of documents drawn at random.
fn labels(store: &Store, described: &[(String, String)], rows: usize) -> (Vec<Option<Vec<String>>>, Vec<u32>) {
    let pile = store.pile();
    let mut lists: Vec<Option<Vec<String>>> = vec![None; rows];
    let mut drawn = Vec::new();
    for (place, standing) in pile.standings() {
        if let Some(list) = lists.get_mut(place as usize) {
            list.clone_from(&standing.labels);
        }
        if standing.labels.is_some() && standing.drawn {
            drawn.push(place);
        }
    }
    for (list, (name, _)) in lists[rows - described.len()..].iter_mut().zip(described) {
        *list = Some(vec![name.clone()]);
    }
    (lists, drawn)
}

/// Fits, predicts all, holds out.
fn learn(
    recipe: &Recipe,
    prepared: &Prepared,
    corpus: &Corpus,
    drawn: &[u32],
    n: usize,
    run: &Run,
) -> corpuscle::Result<Learnt> {
    let quiet = run.quiet();
    let model = recipe.fit_classifier(&prepared.represented, corpus, &quiet)?;
    let x = prepared.represented.matrix();
    let guesses = guess(&model, x, &quiet)?.into_iter().take(n).collect::<Vec<_>>();
    let mut doubtful: Vec<u32> = (0..n as u32).filter(|&place| corpus.labels.of(place as usize).is_none()).collect();
    let order = |&a: &u32, &b: &u32| guesses[a as usize].margin.total_cmp(&guesses[b as usize].margin).then(a.cmp(&b));
    if doubtful.len() > DOUBTFUL {
        doubtful.select_nth_unstable_by(DOUBTFUL, order);
        doubtful.truncate(DOUBTFUL);
    }
    doubtful.sort_by(order);
    let out_of_fold = hold_out(recipe, prepared, corpus, &model, n, &quiet)?;
    let is_right = |place: u32| {
        let guess = out_of_fold.get(&place)?;
        let labels = corpus.labels.of(place as usize)?;
        Some(labels.contains(&guess.class))
    };
    let of = |places: &mut dyn Iterator<Item = u32>| {
        let (mut right, mut all) = (0, 0);
        for is_right in places.filter_map(is_right) {
            all += 1;
            right += usize::from(is_right);
        }
        Proportion::new(right, all)
    };
    let by_chance = of(&mut drawn.iter().copied());
    let enough = by_chance.of >= DRAWN;
    let accuracy = if enough { by_chance } else { of(&mut out_of_fold.keys().copied()) };
    let labelled = (0..n).filter(|&place| corpus.labels.of(place).is_some()).count();
    let accuracy = (accuracy.of >= 5).then_some(accuracy);
    Ok(Learnt { model, labelled, guesses, doubtful, out_of_fold, accuracy, drawn: enough })
}

/// The best class of every row.
fn guess(model: &Model, x: &Matrix, run: &Run) -> corpuscle::Result<Vec<Guess>> {
    let said = model.predict_matrix(x, run)?;
    let row = |row: usize| {
        let values = said.probabilities.as_ref().map_or(said.scores.row(row), |probabilities| probabilities.row(row));
        let (mut best, mut second) = ((0, f32::MIN), f32::MIN);
        for (class, &value) in values.iter().enumerate() {
            if value > best.1 {
                second = best.1;
                best = (class, value);
            } else if value > second {
                second = value;
            }
        }
        Guess { class: best.0 as u32, probability: best.1, margin: best.1 - second }
    };
    Ok((0..x.rows()).map(row).collect())
}

/// What models that have not seen a document's label say of it.
fn hold_out(
    recipe: &Recipe,
    prepared: &Prepared,
    corpus: &Corpus,
    model: &Model,
    n: usize,
    run: &Run,
) -> corpuscle::Result<HashMap<u32, Guess>> {
    let mut found = HashMap::new();
    let labelled = corpus.labels.labelled_rows();
    let held: Vec<usize> = labelled.iter().copied().filter(|&row| row < n).collect();
    // With few labels a fold of one document each leaves the most to learn from; with many, five folds do.
    if held.len() < 6 || corpus.labels.is_multi_label() && held.len() < 20 {
        return Ok(found);
    }
    let own = corpus.labels.select(&held);
    let folds: Vec<Vec<usize>> = match blocks(&own, FOLDS) {
        Ok(folds) => folds,
        Err(_) => (0..FOLDS).map(|fold| (fold..held.len()).step_by(FOLDS).collect()).collect(),
    };
    for fold in folds {
        let out: Vec<usize> = fold.iter().map(|&at| held[at]).collect();
        let rest: Vec<usize> = labelled.iter().copied().filter(|row| !out.contains(row)).collect();
        let labels = corpus.labels.only(&rest);
        let part =
            Corpus { tokens: corpus.tokens.select(&[])?, ids: Vec::new(), labels, weights: None, sources: Vec::new() };
        // A fold without two classes to learn from says nothing.
        let Ok(fitted) = recipe.fit_classifier(&prepared.represented, &part, run) else { continue };
        let guesses = guess(&fitted, &prepared.represented.matrix().select_rows(&out), run)?;
        for (row, guess) in out.into_iter().zip(guesses) {
            // Classes of a fold are those of all: `only` keeps them.
            if (guess.class as usize) < model.classes().len() {
                found.insert(row as u32, guess);
            }
        }
    }
    Ok(found)
}

/// A point of the curve, when there are enough labels more than at the last.
fn measure(learnt: &Learnt, measured: &mut usize) -> Option<Change> {
    let accuracy = learnt.accuracy?;
    if learnt.labelled < *measured + (*measured / 20).max(5) {
        return None;
    }
    *measured = learnt.labelled;
    let value = json!({
        "labels": learnt.labelled, "right": accuracy.count, "of": accuracy.of,
        "accuracy": accuracy.value(), "low": accuracy.low, "high": accuracy.high, "drawn": learnt.drawn,
    });
    Some(Change { author: String::new(), row: None, act: Some(Act::Measure(value)), why: None })
}
