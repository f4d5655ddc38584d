//! `corpuscle drift`: whether documents still look like those a model was trained on.
//!
//! Three signs. Novelty: each document's p-value of being like the training documents is about uniform while nothing changes, so
//! at most one in twenty has 0.05 or less; clearly more than that is drift. Unknown words ([`words`]): clearly more than held-out training
//! documents would have are drift too; a classifier may be sure of a foreign document by the few words it knows. Class
//! shares: what the model takes the documents for, beside the same for documents from before; shown, not judged.

mod page;
mod seen;
mod words;

use corpuscle::Run;
use corpuscle::corpus::ReadOptions;
use corpuscle::metrics::Proportion;
use corpuscle::recipe::Model;
use serde_json::json;

use self::seen::Seen;
use self::words::{Unknown, Vocabulary};

use super::inspect::open;
use crate::args::{Drift, Everywhere};
use crate::{input, output};

/// The p-value at and below which a document counts as strange.
const STRANGE: f64 = 0.05;
/// Classes of p-values, and of shares, in the charts.
const STEPS: usize = 20;

/// Half of the sum of the differences of class shares: 0 for the same, 1 for nothing in common.
fn moved(new: &Seen, before: &Seen) -> f64 {
    (0..new.classes.len()).map(|class| (new.share(class) - before.share(class)).abs()).sum::<f64>() / 2.0
}

pub(crate) fn run(args: &Drift, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    if let Some(path) = &args.report {
        input::check_writable(path)?;
    }
    let (model, _) = open(&args.model, run)?;
    let options = input::with_numbers(input::without_labels(&input::options(&args.reading)?), model.number_fields());
    let options = ReadOptions { filters: input::options(&args.reading)?.filters, ..options };
    let own = Vocabulary::of(&model);
    let quiet = &run.quiet();
    let before = match args.before.is_empty() {
        true => None,
        false => {
            let options = ReadOptions { filters: Vec::new(), ..options.clone() };
            Some(run.watch("before", None, || Seen::of(&args.before, &options, &model, own.as_ref(), quiet))?)
        }
    };
    let known = own.or_else(|| before.as_ref().map(Vocabulary::of_documents));
    let new = run.watch("new", None, || Seen::of(&args.data, &options, &model, known.as_ref(), quiet))?;
    let told = Told::of(&model, &new, before.as_ref(), known.as_ref(), args.top as usize);
    if let Some(path) = &args.report {
        let page = told.page(args, &new, before.as_ref()).render();
        output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    }
    if everywhere.json {
        return output::print_json(&told.json(&new, before.as_ref(), run));
    }
    output::print_text(&told.text(&new, before.as_ref()))
}

/// What there is to say.
struct Told {
    /// Share of strange documents, with its interval; none where the model cannot tell.
    strange: Option<(f64, f64, f64)>,
    /// None where nothing tells which words are known.
    unknown: Option<Unknown>,
    moved: Option<f64>,
    /// Class, share now, share before.
    classes: Vec<(String, f64, Option<f64>)>,
    /// Word, documents now, documents before.
    words: Vec<(String, usize, Option<usize>)>,
}

impl Told {
    fn of(model: &Model, new: &Seen, before: Option<&Seen>, known: Option<&Vocabulary>, top: usize) -> Self {
        let strange = new.novelty.map(|_| {
            let share = Proportion::new(new.strange, new.documents);
            (share.value(), share.low, share.high)
        });
        let mut classes: Vec<(String, f64, Option<f64>)> = model
            .classes()
            .iter()
            .enumerate()
            .map(|(class, name)| (name.clone(), new.share(class), before.map(|before| before.share(class))))
            .collect();
        let change = |row: &(String, f64, Option<f64>)| row.2.map_or(row.1, |before| (row.1 - before).abs());
        classes.sort_by(|a, b| change(b).total_cmp(&change(a)).then_with(|| a.0.cmp(&b.0)));
        let mut words: Vec<(String, usize, Option<usize>)> = new
            .words
            .iter()
            .filter(|(word, _)| known.is_some_and(|known| !known.knows(word)))
            .map(|(word, found)| {
                let documents = |before: &Seen| before.words.get(word).map_or(0, |found| found.documents);
                (word.clone(), found.documents, before.map(documents))
            })
            .collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        words.truncate(top);
        classes.truncate(top);
        Told {
            strange,
            unknown: known.map(|known| Unknown::of(new, known.expected(before))),
            moved: before.map(|before| moved(new, before)),
            classes,
            words,
        }
    }

    /// Whether more documents are strange than one in twenty: the whole interval is above.
    fn are_strange(&self) -> Option<bool> {
        self.strange.map(|(_, low, _)| low > STRANGE)
    }

    fn has_unknown(&self) -> Option<bool> {
        self.unknown.and_then(|unknown| unknown.are_many())
    }

    /// None where nothing tells.
    fn drifted(&self) -> Option<bool> {
        let signs = [self.are_strange(), self.has_unknown()];
        signs.iter().any(Option::is_some).then(|| signs.contains(&Some(true)))
    }

    fn json(&self, new: &Seen, before: Option<&Seen>, run: &Run) -> serde_json::Value {
        json!({
            "documents": new.documents,
            "before": before.map(|before| before.documents),
            "drifted": self.drifted(),
            "novelty": self.strange.map(|(share, low, high)| json!({
                "share": share, "low": low, "high": high, "expected": STRANGE, "histogram": new.novelty,
            })),
            "class_shift": self.moved,
            "classes": self.classes.iter()
                .map(|(name, now, before)| json!({"label": name, "share": now, "before": before})).collect::<Vec<_>>(),
            "unknown_words": self.unknown.map(|unknown| json!({
                "share": unknown.share, "low": unknown.low, "high": unknown.high, "expected": unknown.expected,
                "many": unknown.are_many(), "histogram": new.unknown_steps,
            })),
            "new_words": self.words.iter()
                .map(|(word, now, before)| json!({"word": word, "documents": now, "before": before})).collect::<Vec<_>>(),
            "seconds": output::seconds(run),
        })
    }

    fn verdict(&self) -> String {
        let (strange, unknown) = (self.are_strange() == Some(true), self.has_unknown() == Some(true));
        match (self.drifted(), strange, unknown) {
            (None, ..) => {
                "nothing tells: this model has no out-of-fold scores and names no words; give documents from \
                           before to compare words with"
                    .to_string()
            }
            (_, true, true) => {
                "these documents are unlike those trained on: many are strange, many words are unknown".into()
            }
            (_, true, false) => "these documents are unlike those trained on: many are strange".into(),
            (_, false, true) => "these documents are unlike those trained on: many words are unknown".into(),
            (_, false, false) => "no sign that these documents differ from those trained on".into(),
        }
    }

    fn text(&self, new: &Seen, before: Option<&Seen>) -> String {
        let mut facts = vec![("verdict", self.verdict()), ("documents", output::count(new.documents))];
        if let Some((share, low, high)) = self.strange {
            let interval = format!("{} to {}", output::percent(low), output::percent(high));
            facts.push(("strange", format!("{} (95 %: {interval}; 5 % expected)", output::percent(share))));
        }
        if let (Some(moved), Some(before)) = (self.moved, before) {
            let documents = output::count(before.documents);
            facts.push((
                "class shares",
                format!("{} moved against {documents} documents before", output::percent(moved)),
            ));
        }
        if let Some(unknown) = self.unknown {
            facts.push(("unknown words", format!("{} ({})", output::percent(unknown.share), interval(&unknown))));
        }
        let mut text = output::facts(&facts) + "\n";
        let share = |share: Option<f64>| share.map_or_else(|| "–".to_string(), output::percent);
        let rows = self.classes.iter().map(|(name, now, before)| vec![name.clone(), share(Some(*now)), share(*before)]);
        text += &output::table(&["class", "share", "before"], 1, rows);
        if !self.words.is_empty() {
            let count = |count: Option<usize>| count.map_or_else(|| "–".to_string(), output::count);
            let rows =
                self.words.iter().map(|(word, now, before)| vec![word.clone(), count(Some(*now)), count(*before)]);
            text += "\n";
            text += &output::table(&["new word", "documents", "before"], 1, rows);
        }
        text
    }
}

/// An interval in words, with what is expected.
fn interval(unknown: &Unknown) -> String {
    let interval = format!("95 %: {} to {}", output::percent(unknown.low), output::percent(unknown.high));
    match unknown.expected {
        Some(expected) => format!("{interval}; about {} expected", output::percent(expected)),
        None => format!("{interval}; what to expect is not known without documents from before"),
    }
}
