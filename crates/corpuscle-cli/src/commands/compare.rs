//! `corpuscle compare`: recipes on the same splits.

use corpuscle::Run;
use corpuscle::corpus::{Document, Filter, Labels};
use corpuscle::experiment::{Comparison, Outcomes, ResultsFile, Split, TTest, compare_with, k_folds, random_splits};
use corpuscle::recipe::Recipe;
use corpuscle::report::html::Compared;
use serde_json::{Value, json};

use super::label_curve;
use crate::args::{Compare, Everywhere};
use crate::input;
use crate::output::{self, WrongCall, percent};
use crate::screen;

/// Draws when nothing is said.
const RUNS: u32 = 10;

pub(crate) fn run(args: &Compare, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let recipes = args.recipes.iter().map(|text| Recipe::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if !args.labels.is_empty() {
        return label_curve::run(args, &recipes, everywhere, run);
    }
    if let Some(path) = &args.report {
        input::check_writable(path)?;
    }
    let Data { documents, labels, splits, protocol, skipped } = read(args, &recipes, run)?;
    let mut kept = match &args.results {
        Some(path) => Some(ResultsFile::open(path, &recipes, &documents, &splits, run.seed())?),
        None => None,
    };
    let resumed = kept.as_ref().map_or(0, ResultsFile::len);
    let (run, terminal) = super::watched(everywhere, run);
    if let (true, Some(terminal)) = (resumed > 0, &terminal) {
        terminal.say(&format!("{resumed} of {} results are in the file already", recipes.len() * splits.len()));
    }
    let live = terminal.filter(|terminal| terminal.redraws());
    let comparison = compare_with(&recipes, &documents, &splits, kept.as_mut(), &run, |comparison| {
        if let Some(terminal) = &live {
            let best = comparison.best().unwrap_or(0);
            let tests = vec![None; comparison.recipes.len()];
            terminal.table(&table(screen::progress_width(), comparison, best, &tests));
        }
    })?;
    let run = &run;
    let best = comparison.best().unwrap_or(0);
    let tests = comparison.tests(best);
    if let Some(path) = &args.report {
        let rows = comparison.recipes.iter().map(compared).collect();
        let folds = args.folds.map(|_| splits.as_slice());
        let page = super::page::comparison(rows, &recipes[best], &documents, folds, &protocol, run)?;
        output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    }
    if everywhere.json {
        return output::print_json(&json!({
            "documents": documents.len(),
            "skipped": skipped,
            "protocol": protocol,
            "resumed": resumed,
            "classes": labels.n_classes(),
            "splits": splits.len(),
            "seed": run.seed(),
            "best": comparison.recipes[best].recipe,
            "recipes": rows(&comparison, &tests),
            "seconds": output::seconds(run),
        }));
    }
    let heading = format!(
        "{} documents, {} classes, {protocol}, seed {}\n\n",
        output::count(documents.len()),
        labels.n_classes(),
        run.seed()
    );
    output::print_text(&(heading + &table(screen::width(), &comparison, best, &tests)))
}

/// What is compared on.
struct Data {
    documents: Vec<Document>,
    labels: Labels,
    splits: Vec<Split>,
    /// How the splits came about.
    protocol: String,
    skipped: u64,
}

fn read(args: &Compare, recipes: &[Recipe], run: &Run) -> anyhow::Result<Data> {
    let fields = recipes.iter().flat_map(Recipe::number_fields);
    let options = input::with_numbers(input::labelled_options(&args.reading)?, fields);
    let mut skipped = 0;
    let mut part = |value: Option<(&str, &str)>| -> anyhow::Result<Vec<Document>> {
        let mut options = options.clone();
        let filter = |(field, value): (&str, &str)| Filter { field: field.into(), value: value.into(), equal: true };
        options.filters.extend(value.map(filter));
        let mut source = input::open(&args.data, &options)?;
        let documents = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
        // A second reading meets the same bad rows again.
        skipped = input::report_skipped(&source, run);
        Ok(documents)
    };
    let labels_of =
        |documents: &[Document]| Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    if let Some(field) = &args.split {
        if args.data.iter().any(|data| data == "-") {
            return Err(
                WrongCall("--split reads the data twice, so they cannot come from standard input".into()).into()
            );
        }
        let mut documents = part(Some((field, "train")))?;
        let learnt = documents.len();
        documents.extend(part(Some((field, "test")))?);
        let labels = labels_of(&documents);
        let test: Vec<usize> = (learnt..documents.len()).filter(|&row| labels.of(row).is_some()).collect();
        let protocol = format!(
            "{} to learn from and {} to test on by the field `{field}`",
            output::count(learnt),
            output::count(test.len())
        );
        let splits = vec![Split { train: (0..learnt).collect(), test }];
        return Ok(Data { documents, labels, splits, protocol, skipped });
    }
    let documents = part(None)?;
    let labels = labels_of(&documents);
    let runs = args.runs.unwrap_or(RUNS);
    let (splits, protocol) = match args.folds {
        Some(k) => (k_folds(&labels, k as usize, run.seed())?, format!("{k} folds")),
        None => (
            random_splits(&labels, runs as usize, args.train, run.seed())?,
            format!("{runs} draws, {} of every label to learn from", percent(args.train)),
        ),
    };
    Ok(Data { documents, labels, splits, protocol, skipped })
}

/// The most memory that a split took; `None` where the system cannot tell.
fn peak(outcomes: &Outcomes) -> Option<u64> {
    outcomes.splits.iter().filter_map(|outcome| outcome.peak_bytes).max()
}

/// A row of the report's table.
fn compared(outcomes: &Outcomes) -> Compared {
    let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
    Compared {
        name: outcomes.recipe.clone(),
        accuracy,
        accuracy_spread: Some(deviation),
        macro_f1: outcomes.spread(|outcome| outcome.macro_f1).0,
        train_seconds: outcomes.spread(|outcome| outcome.train_seconds).0,
        predict_seconds: outcomes.spread(|outcome| outcome.predict_seconds).0,
        ..Compared::default()
    }
}

fn rows(comparison: &Comparison, tests: &[Option<(TTest, f64)>]) -> Vec<Value> {
    let figures = comparison.recipes.iter().zip(tests).map(|(outcomes, test)| {
        let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
        json!({
            "recipe": outcomes.recipe,
            "accuracy": accuracy,
            "accuracy_deviation": deviation,
            "micro_f1": outcomes.spread(|outcome| outcome.micro_f1).0,
            "macro_f1": outcomes.spread(|outcome| outcome.macro_f1).0,
            "eer": outcomes.spread(|outcome| outcome.eer.unwrap_or(f64::NAN)).0,
            "train_seconds": outcomes.spread(|outcome| outcome.train_seconds).0,
            "predict_seconds": outcomes.spread(|outcome| outcome.predict_seconds).0,
            "model_bytes": outcomes.spread(|outcome| outcome.model_bytes as f64).0,
            "peak_bytes": peak(outcomes),
            "against_best": test.map(|(test, corrected)| json!({
                "difference": test.difference, "low": test.low, "high": test.high, "p": test.p, "p_holm": corrected,
            })),
            "splits": outcomes.splits,
        })
    });
    figures.collect()
}

fn table(width: Option<usize>, comparison: &Comparison, best: usize, tests: &[Option<(TTest, f64)>]) -> String {
    let points = |value: f64| format!("{:+.2}", 100.0 * value);
    let rows = comparison.recipes.iter().zip(tests).enumerate().map(|(index, (outcomes, test))| {
        let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
        let mut row = vec![
            format!("{}{}", outcomes.recipe, if index == best { " *" } else { "" }),
            match outcomes.splits.len() {
                0 => "-".to_string(),
                1 => percent(accuracy),
                _ => format!("{} ± {:.2}", percent(accuracy), 100.0 * deviation),
            },
            percent(outcomes.spread(|outcome| outcome.macro_f1).0),
        ];
        row.extend(match test {
            None => ["".to_string(), "".to_string(), "".to_string()],
            Some((test, corrected)) => [
                points(test.difference),
                format!("{} … {}", points(test.low), points(test.high)),
                if *corrected < 1e-4 { "< 0.0001".to_string() } else { format!("{corrected:.4}") },
            ],
        });
        row.push(format!("{:.2} s", outcomes.spread(|outcome| outcome.train_seconds).0));
        row.push(format!("{:.2} s", outcomes.spread(|outcome| outcome.predict_seconds).0));
        row.push(peak(outcomes).map_or("-".to_string(), output::bytes));
        row.push(output::bytes(outcomes.spread(|outcome| outcome.model_bytes as f64).0 as u64));
        row
    });
    let heading =
        ["recipe", "accuracy", "macro F1", "to best", "95 % interval", "p", "train", "predict", "memory", "model"];
    output::table_within(width, &heading, 1, rows)
        + "* the best mean accuracy; p of a paired t-test against it, corrected for all comparisons (Holm)\n"
}
