//! The model that learns along, on threads of its own.
//!
//! Once: the pile is cut into words, represented (tf-idf beside 100 dimensions of LSI: learnt from all documents, labels or
//! not), prepared for [suggestions](Suggester), and laid out as a map. Then, whenever labels have changed: a classifier over that
//! representation is fitted again, which takes a moment because the representation stands; every document is predicted; and labels
//! are held out fold by fold to see which the others contradict and how often the model is right. What comes of it is handed over
//! as a whole ([`Learnt`]), and so is the next batch of suggestions; who answers requests never waits for a fit.
//!
//! What a class is about stands among the documents as one more document with that label, so that names and descriptions
//! work before the first label.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use corpuscle::Run;
use corpuscle::corpus::Labels;
use corpuscle::experiment::{Doubt, Reason, SuggestParams, Suggester, Suggestion};
use corpuscle::matrix::Matrix;
use corpuscle::recipe::{Corpus, Recipe, Represented};
use corpuscle::report::map::MapParams;
use corpuscle::text::WordsParams;
use serde_json::json;

use super::learn::{Learnt, learn, recipe};
use super::order::Why;
use super::store::{Act, Change, Store};
use crate::door::Door;
use crate::{Error, Result};

/// How often labels are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Documents on the map, at most.
const MAPPED: usize = 3000;
/// Documents suggested ahead: more than anybody labels while a fit goes on.
const AHEAD: usize = 100;

/// The pile, looked through.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// A row for each document, then one for each class that was described.
    pub(crate) represented: Represented,
    suggester: Suggester,
}

/// Where documents lie: places and coordinates from 0 to 1.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) places: Vec<u32>,
    pub(crate) points: Vec<[f32; 2]>,
}

/// The learner's side that others look at.
#[derive(Debug)]
pub(crate) struct Learner {
    prepared: OnceLock<Prepared>,
    map: OnceLock<Map>,
    learnt: RwLock<Option<Arc<Learnt>>>,
    /// Documents to label next, the first first.
    suggested: RwLock<Option<Arc<Vec<Suggestion>>>>,
    /// How texts are cut into words.
    words: OnceLock<WordsParams>,
    /// For single texts.
    one: Run,
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

    /// What to label next; none while the pile has not been looked through.
    pub(crate) fn suggested(&self) -> Option<Arc<Vec<Suggestion>>> {
        self.suggested.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A reason whose words are written as in a text: what the learner knows are stems. Those the text does not have are left out.
    pub(crate) fn in_words_of(&self, text: &str, why: Why) -> Why {
        let (Why::Suggested(Reason::Group { documents, labels, words }), Some(how)) = (&why, self.words.get()) else {
            return why;
        };
        let written: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let Ok(tokens) = how.tokenize(&written, &self.one) else { return why };
        let place = |stem: &String| (0..written.len()).find(|&at| tokens.words(at).eq([stem.as_str()]));
        let words = words.iter().filter_map(place).map(|at| written[at].to_lowercase()).collect();
        Why::Suggested(Reason::Group { documents: *documents, labels: *labels, words })
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
            suggested: RwLock::new(None),
            words: OnceLock::new(),
            one: Run::new(run.seed(), 1)?.quiet(),
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
        // Descriptions of classes are among the rows: they have a label always, so they are never suggested and speak for
        // their part of the pile.
        let suggester =
            SuggestParams::default().prepare_matrix(represented.matrix(), represented.column_names(), run)?;
        door.journal.note("prepared", json!({"documents": n}));
        let _ = self.words.set(recipe.words().clone());
        let prepared = self.prepared.get_or_init(|| Prepared { represented, suggester });
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
            let Answers { lists, drawn, skipped } = answers(store, &described, corpus.len());
            corpus.labels = Labels::from_lists(lists.iter().map(Option::as_deref));
            if corpus.labels.n_classes() < 2 || corpus.labels.labelled_rows().len() < 2 {
                self.suggest(prepared, &corpus.labels, &skipped, None, run)?;
                self.does("waiting for labels");
                continue;
            }
            self.does("learning");
            match learn(&recipe, &prepared.represented, &corpus, &drawn, n, run) {
                Ok((learnt, doubt)) => {
                    let classes = corpus.labels.n_classes();
                    let asked = SuggestParams::default().is_enough(learnt.labelled, classes).then_some(&doubt);
                    self.suggest(prepared, &corpus.labels, &skipped, asked, run)?;
                    if let Some(change) = measure(&learnt, &mut measured) {
                        // A curve with a point less is no reason to stop.
                        let _ = store.write_waiting(vec![change]);
                    }
                    *self.learnt.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(learnt));
                }
                Err(corpuscle::Error::Cancelled) => break,
                Err(error) => {
                    door.journal.note("not learnt", json!({"reason": error.to_string()}));
                    self.suggest(prepared, &corpus.labels, &skipped, None, run)?;
                }
            }
            self.does("waiting for labels");
        }
        Ok(())
    }

    /// The next batch of suggestions.
    fn suggest(
        &self,
        prepared: &Prepared,
        labels: &Labels,
        skipped: &[usize],
        doubt: Option<&Doubt>,
        run: &Run,
    ) -> Result<()> {
        let batch = prepared.suggester.next_without(skipped, labels, doubt, AHEAD, &run.quiet())?;
        *self.suggested.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(batch));
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

/// What has been answered so far.
struct Answers {
    /// The labels of every row.
    lists: Vec<Option<Vec<String>>>,
    /// Labelled places that were drawn at random.
    drawn: Vec<u32>,
    /// Places somebody has skipped and nobody labelled.
    skipped: Vec<usize>,
}

fn answers(store: &Store, described: &[(String, String)], rows: usize) -> Answers {
    let pile = store.pile();
    let mut answers = Answers { lists: vec![None; rows], drawn: Vec::new(), skipped: Vec::new() };
    for (place, standing) in pile.standings() {
        if let Some(list) = answers.lists.get_mut(place as usize) {
            list.clone_from(&standing.labels);
        }
        if standing.labels.is_some() && standing.drawn {
            answers.drawn.push(place);
        }
        if standing.labels.is_none() && !standing.opinions.is_empty() {
            answers.skipped.push(place as usize);
        }
    }
    for (list, (name, _)) in answers.lists[rows - described.len()..].iter_mut().zip(described) {
        *list = Some(vec![name.clone()]);
    }
    answers
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
