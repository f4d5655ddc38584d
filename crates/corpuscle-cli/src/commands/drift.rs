//! `corpuscle drift`: whether documents still look like those a model was trained on.
//!
//! Three signs. Novelty: each document's p-value of being like the training documents is about uniform while nothing changes, so
//! at most one in twenty has 0.05 or less; clearly more than that is drift. Class shares: what the model takes the documents for,
//! beside the same for documents from before. New words: those the model has never seen, by how many documents have them.

use std::collections::HashMap;

use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions};
use corpuscle::metrics::Proportion;
use corpuscle::recipe::{Model, for_each_batch};
use corpuscle::report::html::{Metric, Report, Section};
use corpuscle::report::svg::{Bar, BarChart};
use serde_json::json;

use super::inspect::open;
use crate::args::{Drift, Everywhere};
use crate::{input, output};

/// The p-value at and below which a document counts as strange.
const STRANGE: f64 = 0.05;
/// Classes of p-values in the chart.
const STEPS: usize = 20;

/// What was seen of some documents.
#[derive(Default)]
struct Seen {
    documents: usize,
    /// How many have a p-value in each twentieth; none where the model cannot tell.
    novelty: Option<[usize; STEPS]>,
    /// How many have 0.05 or less.
    strange: usize,
    /// Documents by class.
    classes: Vec<usize>,
    /// Documents that have a word.
    words: HashMap<String, usize>,
    tokens: usize,
    unknown: usize,
}

impl Seen {
    /// Looks through documents; `known` tells whether the model knows a word, where that can be told.
    fn of(
        data: &[String],
        options: &ReadOptions,
        model: &Model,
        known: Option<&std::collections::HashSet<String>>,
        run: &Run,
    ) -> anyhow::Result<Self> {
        let mut seen = Seen { classes: vec![0; model.classes().len()], ..Seen::default() };
        let mut source = input::open(data, options)?;
        for_each_batch(&mut source, run, |batch: Vec<Document>| -> anyhow::Result<()> {
            let tokens = model.tokenize(&batch, run)?;
            let x = model.represent(&tokens, run)?;
            let said = model.predict_matrix(&x, run)?;
            seen.documents += batch.len();
            for &class in said.labels.iter().flatten() {
                seen.classes[class as usize] += 1;
            }
            if let Ok(values) = model.novelty(&x, &said, run) {
                let counts = seen.novelty.get_or_insert([0; STEPS]);
                for value in values {
                    counts[((value * STEPS as f64).ceil() as usize).clamp(1, STEPS) - 1] += 1;
                    seen.strange += usize::from(value <= STRANGE);
                }
            }
            for document in 0..tokens.n_documents() {
                let mut own: Vec<u32> = tokens.document(document).to_vec();
                seen.tokens += own.len();
                seen.unknown += own
                    .iter()
                    .filter(|&&word| known.is_some_and(|known| !known.contains(tokens.lexicon().term(word))))
                    .count();
                own.sort_unstable();
                own.dedup();
                for word in own {
                    *seen.words.entry(tokens.lexicon().term(word).to_string()).or_default() += 1;
                }
            }
            Ok(())
        })?;
        input::report_skipped(&source, run);
        if seen.documents == 0 {
            return Err(
                corpuscle::Error::data("there are no documents: the data are empty, or a filter left none").into()
            );
        }
        Ok(seen)
    }

    fn share(&self, class: usize) -> f64 {
        self.classes[class] as f64 / self.documents as f64
    }
}

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
    let names: std::collections::HashSet<String> = model.feature_names().into_iter().collect();
    let known = (!names.is_empty()).then_some(&names);
    let quiet = &run.quiet();
    let new = run.watch("new", None, || Seen::of(&args.data, &options, &model, known, quiet))?;
    let before = match args.before.is_empty() {
        true => None,
        false => {
            let options = ReadOptions { filters: Vec::new(), ..options };
            Some(run.watch("before", None, || Seen::of(&args.before, &options, &model, known, quiet))?)
        }
    };
    let told = Told::of(&model, &new, before.as_ref(), known.is_some(), args.top as usize);
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
    drifted: Option<bool>,
    moved: Option<f64>,
    /// Class, share now, share before.
    classes: Vec<(String, f64, Option<f64>)>,
    /// Word, documents now, documents before.
    words: Vec<(String, usize, Option<usize>)>,
    unknown: Option<f64>,
}

impl Told {
    fn of(model: &Model, new: &Seen, before: Option<&Seen>, knows_words: bool, top: usize) -> Self {
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
        let names: std::collections::HashSet<String> = model.feature_names().into_iter().collect();
        // Words the model has never seen; where it does not name any, words that documents from before did not have.
        let is_new = |word: &str| match (knows_words, before) {
            (true, _) => !names.contains(word),
            (false, Some(before)) => !before.words.contains_key(word),
            (false, None) => false,
        };
        let mut words: Vec<(String, usize, Option<usize>)> = new
            .words
            .iter()
            .filter(|(word, _)| is_new(word))
            .map(|(word, &count)| {
                (word.clone(), count, before.map(|before| before.words.get(word).copied().unwrap_or(0)))
            })
            .collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        words.truncate(top);
        classes.truncate(top);
        Told {
            strange,
            // Clearly more than one in twenty: the whole interval is above.
            drifted: strange.map(|(_, low, _)| low > STRANGE),
            moved: before.map(|before| moved(new, before)),
            classes,
            words,
            unknown: knows_words.then(|| new.unknown as f64 / new.tokens.max(1) as f64),
        }
    }

    fn json(&self, new: &Seen, before: Option<&Seen>, run: &Run) -> serde_json::Value {
        json!({
            "documents": new.documents,
            "before": before.map(|before| before.documents),
            "drifted": self.drifted,
            "novelty": self.strange.map(|(share, low, high)| json!({
                "share": share, "low": low, "high": high, "expected": STRANGE, "histogram": new.novelty,
            })),
            "class_shift": self.moved,
            "classes": self.classes.iter()
                .map(|(name, now, before)| json!({"label": name, "share": now, "before": before})).collect::<Vec<_>>(),
            "unknown_words": self.unknown,
            "new_words": self.words.iter()
                .map(|(word, now, before)| json!({"word": word, "documents": now, "before": before})).collect::<Vec<_>>(),
            "seconds": output::seconds(run),
        })
    }

    fn verdict(&self) -> &'static str {
        match self.drifted {
            Some(true) => "these documents are unlike those trained on",
            Some(false) => "no sign that these documents differ from those trained on",
            None => "this model cannot tell foreign documents: it has no out-of-fold scores",
        }
    }

    fn text(&self, new: &Seen, before: Option<&Seen>) -> String {
        let mut facts = vec![("verdict", self.verdict().to_string()), ("documents", output::count(new.documents))];
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
            facts.push(("unknown words", format!("{} of all words", output::percent(unknown))));
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

    fn page(&self, args: &Drift, new: &Seen, before: Option<&Seen>) -> Report {
        let mut metrics = Vec::new();
        if let Some((share, low, high)) = self.strange {
            let note = format!("95 %: {} to {}; 5 % expected", output::percent(low), output::percent(high));
            metrics.push(Metric::percent("Strange documents", share, &note));
        }
        metrics
            .extend(self.moved.map(|moved| Metric::percent("Class shares moved", moved, "against documents before")));
        metrics.extend(self.unknown.map(|unknown| Metric::percent("Unknown words", unknown, "of all words")));
        let mut sections = vec![
            Section::Headline { heading: "How they differ".into(), metrics },
            Section::Text { heading: "In a sentence".into(), paragraphs: vec![format!("{}.", self.verdict())] },
        ];
        if let Some(counts) = new.novelty {
            let bar = |(step, &count): (usize, &usize)| Bar {
                label: format!("{:.2} to {:.2}", step as f64 / STEPS as f64, (step + 1) as f64 / STEPS as f64),
                value: count as f64 / new.documents as f64,
                note: output::count(count),
            };
            let chart = BarChart {
                title: "Documents by their p-value of being like the training ones".into(),
                bars: counts.iter().enumerate().map(bar).collect(),
                x_label: "share of documents".into(),
                note_label: "documents".into(),
                most: None,
            };
            sections.push(Section::Chart {
                heading: "Novelty".into(),
                chart: chart.render(),
                caption: "About level while nothing has changed; piled up at the top when documents are foreign."
                    .into(),
            });
        }
        let percent = |share: Option<f64>| share.map_or_else(|| "–".to_string(), output::percent);
        sections.push(Section::Table {
            heading: "Class shares".into(),
            columns: vec!["class".into(), "now".into(), "before".into()],
            rows: self
                .classes
                .iter()
                .map(|(name, now, before)| vec![name.clone(), percent(Some(*now)), percent(*before)])
                .collect(),
        });
        let count = |count: Option<usize>| count.map_or_else(|| "–".to_string(), output::count);
        sections.push(Section::Table {
            heading: "New words".into(),
            columns: vec!["word".into(), "documents".into(), "before".into()],
            rows: self
                .words
                .iter()
                .map(|(word, now, before)| vec![word.clone(), count(Some(*now)), count(*before)])
                .collect(),
        });
        sections.push(Section::Facts {
            heading: "What was compared".into(),
            rows: vec![
                ("model".into(), args.model.display().to_string()),
                ("new documents".into(), output::count(new.documents)),
                (
                    "documents before".into(),
                    before.map_or_else(|| "none given".into(), |before| output::count(before.documents)),
                ),
            ],
        });
        let question = "Do documents still look like those the model was trained on?".to_string();
        Report { title: "Drift".into(), question, sections }
    }
}
