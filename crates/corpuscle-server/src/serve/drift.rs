//! Whether the texts a model is asked about are still like those it was trained on.
//!
//! Of the last [`WINDOW`] texts of `/v1/predict` the class, the p-value of being like the training documents and, of some, the number of unknown words are
//! remembered; no text and no word is. [`corpuscle::recipe::drift`] judges them, as `corpuscle drift` does a file. Who looks
//! all the time is deceived by chance more often than who looks once, so drift begins where it is clear by [`SURE`] standard errors, and ends
//! where it is no longer clear by the usual two. A look is O([`WINDOW`]); a model that is loaded anew begins anew.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::response::Response;
use corpuscle::Run;
use corpuscle::recipe::Model;
use corpuscle::recipe::drift::{Tally, USUAL, Verdict, Vocabulary};
use serde_json::{Value, json};

use super::Serving;
use super::predict::Predicted;
use crate::clock;
use crate::journal::Journal;
use crate::metrics::escaped;
use crate::refusal::Refusal;
use crate::request;

/// Texts that are remembered.
const WINDOW: usize = 2000;
/// Texts from which on something is said.
const LEAST: usize = 50;
/// Standard errors that make drift clear: one look in 30 000 is deceived by chance.
const SURE: f64 = 4.0;
/// The words of so many texts are counted one by one, and then those of one text in [`SAMPLED`]: each is cut into words once more.
const DENSE: u64 = 64;
const SAMPLED: u64 = 4;
/// Classes that are named, the most frequent first.
const NAMED: usize = 10;

/// What is remembered of a text.
#[derive(Debug, Clone, Copy)]
struct One {
    class: Option<u32>,
    novelty: Option<f64>,
    /// Unknown words out of all.
    words: Option<(u32, u32)>,
}

#[derive(Debug, Default)]
struct Recent {
    texts: VecDeque<One>,
    /// Texts so far, and how many there were at the last look.
    taken: u64,
    looked: u64,
    /// When drift began, while it lasts.
    since: Option<String>,
}

/// What a model has seen of late.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The words it knows; none where its columns are no words.
    known: Option<Vocabulary>,
    /// Texts whose words may be counted.
    asked: AtomicU64,
    recent: Mutex<Recent>,
}

impl Watch {
    pub(crate) fn new(model: &Model) -> Self {
        Watch { known: Vocabulary::of(model), asked: AtomicU64::new(0), recent: Mutex::default() }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unknown words of a text out of all, where it is its turn.
    fn words(&self, model: &Model, text: &str, run: &Run) -> Option<(u32, u32)> {
        let known = self.known.as_ref()?;
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        if number >= DENSE && !number.is_multiple_of(SAMPLED) {
            return None;
        }
        let tokens = model.recipe().words().tokenize(&[text], run).ok()?;
        let unknown = tokens.words(0).filter(|word| !known.knows(word)).count();
        Some((unknown as u32, tokens.words(0).len() as u32))
    }

    /// Remembers what was said of texts; the unknown words of those whose words were counted, out of all of theirs.
    pub(crate) fn take<T: AsRef<str>>(
        &self,
        model: &Model,
        texts: &[T],
        said: &[Predicted],
        run: &Run,
    ) -> Option<(u64, u64)> {
        let one = |(text, said): (&T, &Predicted)| One {
            class: said.class,
            novelty: said.novelty,
            words: self.words(model, text.as_ref(), run),
        };
        // Counted before the others are made to wait; of many texts the last are what stays.
        let ones: Vec<One> = texts.iter().zip(said).map(one).collect();
        let mut recent = self.recent();
        recent.taken += ones.len() as u64;
        let last = &ones[ones.len().saturating_sub(WINDOW)..];
        let too_many = (recent.texts.len() + last.len()).saturating_sub(WINDOW);
        recent.texts.drain(..too_many);
        recent.texts.extend(last);
        drop(recent);
        let counted = ones.iter().filter_map(|one| one.words);
        counted.map(|(unknown, all)| (u64::from(unknown), u64::from(all))).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Looks again where there is something new, and notes in the log when drift begins and when it ends.
    pub(crate) fn look(&self, name: &str, version: &str, journal: &Journal) {
        let mut recent = self.recent();
        if recent.looked == recent.taken {
            return;
        }
        recent.looked = recent.taken;
        let tally = recent.tally();
        if tally.documents() < LEAST {
            return;
        }
        let verdict = Verdict::of(&tally, self.known.as_ref(), None, recent.errors());
        let event = match (recent.since.is_some(), verdict.drifted() == Some(true)) {
            (false, true) => "drift",
            (true, false) => "drift ended",
            _ => return,
        };
        recent.since = (event == "drift").then(clock::now);
        drop(recent);
        let (novelty, unknown) =
            (verdict.strange.map(|share| share.value()), verdict.unknown.map(|unknown| unknown.share));
        journal.note(
            event,
            json!({"model": name, "version": version, "documents": tally.documents(), "strange": novelty, "unknown_words": unknown}),
        );
    }

    /// What there is to say now.
    fn report(&self) -> DriftReport {
        let recent = self.recent();
        let (tally, errors) = (recent.tally(), recent.errors());
        let verdict = Verdict::of(&tally, self.known.as_ref(), None, errors);
        DriftReport { tally, errors, verdict, since: recent.since.clone() }
    }
}

impl Recent {
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for one in &self.texts {
            tally.take(one.class, one.novelty, one.words.map(|(unknown, all)| (unknown as usize, all as usize)));
        }
        tally
    }

    /// What is clear: more, before anything was said.
    fn errors(&self) -> f64 {
        if self.since.is_some() { USUAL } else { SURE }
    }
}

struct DriftReport {
    tally: Tally,
    errors: f64,
    verdict: Verdict,
    since: Option<String>,
}

impl DriftReport {
    /// None while there are too few texts, and where nothing tells.
    fn drifted(&self) -> Option<bool> {
        self.verdict.drifted().filter(|_| self.tally.documents() >= LEAST).map(|_| self.since.is_some())
    }

    fn sentence(&self) -> String {
        match self.tally.documents() {
            few @ 0..LEAST => format!("too few texts to tell: {few} so far, {LEAST} are needed"),
            _ => self.verdict.sentence().to_string(),
        }
    }

    fn json(&self, model: &Model) -> Value {
        let (novelty, unknown_words) = self.verdict.json(&self.tally);
        let mut classes: Vec<(usize, f64)> = (0..model.classes().len())
            .map(|class| (class, self.tally.share(class)))
            .filter(|one| one.1 > 0.0)
            .collect();
        classes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let named = classes.iter().take(NAMED);
        let named = named.map(|&(class, share)| json!({"label": model.classes().get(class), "share": share}));
        json!({
            "documents": self.tally.documents(), "window": WINDOW, "least": LEAST,
            "drifted": self.drifted(), "since": self.since, "verdict": self.sentence(), "errors": self.errors,
            "novelty": novelty, "unknown_words": unknown_words, "classes": named.collect::<Vec<_>>(),
        })
    }
}

/// `GET /v1/drift`.
pub(super) async fn handle(State(serving): State<Arc<Serving>>) -> Result<Response, Refusal> {
    serving.models.watch(&serving.door);
    let about = |named: &super::models::Named| {
        let loaded = named.now();
        let mut report = loaded.watch.report().json(&loaded.model);
        report["name"] = json!(named.name);
        report["version"] = json!(loaded.version);
        report
    };
    let models: Vec<Value> = serving.models.iter().map(about).collect();
    request::answer(&json!({"models": models}))
}

/// Values of this moment, for Prometheus.
pub(super) fn write_gauges(serving: &Serving, out: &mut String) {
    serving.models.watch(&serving.door);
    let reports: Vec<(String, DriftReport)> =
        serving.models.iter().map(|named| (escaped(&named.name), named.now().watch.report())).collect();
    type Gauge = fn(&DriftReport) -> Option<f64>;
    let gauges: [(&str, &str, Gauge); 5] = [
        ("corpuscle_drifted", "Whether recent texts are unlike those trained on.", |report| {
            report.drifted().map(|drifted| f64::from(u8::from(drifted)))
        }),
        ("corpuscle_recent_texts", "Texts that this is judged by.", |report| Some(report.tally.documents() as f64)),
        (
            "corpuscle_recent_novel_share",
            "Share of them whose p-value of being like the training ones is 0.05 or less.",
            |report| report.verdict.strange.map(|share| share.value()),
        ),
        ("corpuscle_recent_unknown_words_share", "Share of their words that the model does not know.", |report| {
            report.verdict.unknown.map(|unknown| unknown.share)
        }),
        ("corpuscle_expected_unknown_words_share", "The same for texts like the training ones.", |report| {
            report.verdict.unknown.and_then(|unknown| unknown.expected)
        }),
    ];
    for (name, about, value) in gauges {
        let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} gauge");
        for (model, report) in &reports {
            if let Some(value) = value(report) {
                let _ = writeln!(out, "{name}{{model=\"{model}\"}} {value}");
            }
        }
    }
}
