//! `corpuscle compare`: recipes on the same splits.

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels};
use corpuscle::experiment::{Comparison, Outcomes, TTest, compare, halves, k_folds};
use corpuscle::recipe::Recipe;
use corpuscle::report::html::Compared;
use serde_json::{Value, json};

use super::label_curve;
use crate::args::{Compare, Everywhere};
use crate::input;
use crate::output::{self, percent};

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
    let options = input::options(&args.reading)?;
    let mut source = input::open(&args.data, &options)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    let skipped = input::report_skipped(&source, run);
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let runs = args.runs.unwrap_or(RUNS);
    let (splits, protocol) = match args.folds {
        Some(k) => (k_folds(&labels, k as usize, run.seed())?, format!("{k} folds")),
        None => (
            halves(&labels, runs as usize, args.train, run.seed())?,
            format!("{runs} draws, {} of every label to learn from", percent(args.train)),
        ),
    };
    let comparison = compare(&recipes, &documents, &splits, run)?;
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
    output::print_text(&(heading + &table(&comparison, best, &tests)))
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
            "against_best": test.map(|(test, corrected)| json!({
                "difference": test.difference, "low": test.low, "high": test.high, "p": test.p, "p_holm": corrected,
            })),
            "splits": outcomes.splits,
        })
    });
    figures.collect()
}

fn table(comparison: &Comparison, best: usize, tests: &[Option<(TTest, f64)>]) -> String {
    let points = |value: f64| format!("{:+.2}", 100.0 * value);
    let rows = comparison.recipes.iter().zip(tests).enumerate().map(|(index, (outcomes, test))| {
        let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
        let mut row = vec![
            format!("{}{}", outcomes.recipe, if index == best { " *" } else { "" }),
            format!("{} ± {:.2}", percent(accuracy), 100.0 * deviation),
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
        row
    });
    let heading = ["recipe", "accuracy", "macro F1", "to best", "95 % interval", "p", "train", "predict"];
    output::table(&heading, 1, rows)
        + "* the best mean accuracy; p of a paired t-test against it, corrected for all comparisons (Holm)\n"
}
