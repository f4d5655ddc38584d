//! `corpuscle drift`: whether documents still look like those a model was trained on.
//! The signs are those of
//! [`corpuscle::recipe::drift`]; class shares are shown beside those of documents from before, new words by how many documents have them.

mod page;
mod seen;

use corpuscle::Run;
use corpuscle::corpus::ReadOptions;
use corpuscle::recipe::Model;
use corpuscle::recipe::drift::{USUAL, Unknown, Verdict, Vocabulary};
use serde_json::json;

use self::seen::Seen;
use super::inspect::open;
use crate::args::{Drift, Everywhere};
use crate::{input, output};

/// Half of the sum of the differences of class shares: 0 for the same, 1 for nothing in common.
fn moved(classes: usize, new: &Seen, before: &Seen) -> f64 {
    (0..classes).map(|class| (new.tally.share(class) - before.tally.share(class)).abs()).sum::<f64>() / 2.0
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
    let known = own.or_else(|| before.as_ref().map(Seen::vocabulary));
    let new = run.watch("new", None, || Seen::of(&args.data, &options, &model, known.as_ref(), quiet))?;
    let report = DriftReport::of(&model, &new, before.as_ref(), known.as_ref(), args.top as usize);
    if let Some(path) = &args.report {
        let page = report.page(args, &new, before.as_ref()).render();
        output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    }
    if everywhere.json {
        return output::print_json(&report.json(&new, before.as_ref(), run));
    }
    output::print_text(&report.text(&new, before.as_ref()))
}

/// What there is to say.
struct DriftReport {
    verdict: Verdict,
    moved: Option<f64>,
    /// Class, share now, share before.
    classes: Vec<(String, f64, Option<f64>)>,
    /// Word, documents now, documents before.
    words: Vec<(String, usize, Option<usize>)>,
}

impl DriftReport {
    fn of(model: &Model, new: &Seen, before: Option<&Seen>, known: Option<&Vocabulary>, top: usize) -> Self {
        let counted = known.and_then(|known| before.map(|before| before.counted(known)));
        let verdict = Verdict::of(&new.tally, known, counted, USUAL);
        let mut classes: Vec<(String, f64, Option<f64>)> = model
            .classes()
            .iter()
            .enumerate()
            .map(|(class, name)| (name.clone(), new.tally.share(class), before.map(|before| before.tally.share(class))))
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
        DriftReport { verdict, moved: before.map(|before| moved(model.classes().len(), new, before)), classes, words }
    }

    fn json(&self, new: &Seen, before: Option<&Seen>, run: &Run) -> serde_json::Value {
        let (novelty, unknown_words) = self.verdict.json(&new.tally);
        json!({
            "documents": new.tally.documents(),
            "before": before.map(|before| before.tally.documents()),
            "drifted": self.verdict.drifted(),
            "novelty": novelty,
            "class_shift": self.moved,
            "classes": self.classes.iter()
                .map(|(name, now, before)| json!({"label": name, "share": now, "before": before})).collect::<Vec<_>>(),
            "unknown_words": unknown_words,
            "new_words": self.words.iter()
                .map(|(word, now, before)| json!({"word": word, "documents": now, "before": before})).collect::<Vec<_>>(),
            "seconds": output::seconds(run),
        })
    }

    fn text(&self, new: &Seen, before: Option<&Seen>) -> String {
        let mut facts =
            vec![("verdict", self.verdict.sentence().to_string()), ("documents", output::count(new.tally.documents()))];
        if let Some(share) = self.verdict.strange {
            let interval = format!("{} to {}", output::percent(share.low), output::percent(share.high));
            facts.push(("strange", format!("{} (95 %: {interval}; 5 % expected)", output::percent(share.value()))));
        }
        if let (Some(moved), Some(before)) = (self.moved, before) {
            let documents = output::count(before.tally.documents());
            facts.push((
                "class shares",
                format!("{} moved against {documents} documents before", output::percent(moved)),
            ));
        }
        if let Some(unknown) = self.verdict.unknown {
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
