//! `corpuscle tune`: values for the ranges of a recipe, by cross-validation.

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels};
use corpuscle::experiment::{Space, Trial, TuneParams, Tuning, tune};
use serde_json::{Map, Value, json};

use crate::args::{Everywhere, Tune};
use crate::input;
use crate::output::{self, percent};

/// Width of a column of values.
const WIDTH: usize = 12;

pub(crate) fn run(args: &Tune, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let space = Space::parse(&args.recipe)?;
    let params = TuneParams {
        trials: args.trials.map(|trials| trials as usize),
        budget: args.budget,
        folds: args.folds as usize,
    };
    params.check()?;
    let fields = space.recipe(&space.start())?.number_fields();
    let options = input::with_numbers(input::labelled_options(&args.reading)?, fields);
    let mut source = input::open(&args.data, &options)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    let skipped = input::report_skipped(&source, run);
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let (run, terminal) = super::watched(everywhere, run);
    let say = |line: &str| {
        if let Some(terminal) = &terminal {
            terminal.say(line);
        }
    };
    say(&heading(&space));
    let mut number = 0;
    let tuning = tune(&space, &documents, &params, &run, |trial, better| {
        number += 1;
        say(&row(number, trial, better));
    })?;
    if tuning.exhausted {
        say("every value was tried");
    }
    if everywhere.json {
        return output::print_json(&json!({
            "recipe": tuning.best().recipe,
            "objective": tuning.objective.name(),
            "mean": tuning.best().spread().map(|(mean, _)| mean),
            "deviation": tuning.best().spread().map(|(_, deviation)| deviation),
            "documents": documents.len(),
            "skipped": skipped,
            "classes": labels.n_classes(),
            "folds": params.folds,
            "seed": run.seed(),
            "exhausted": tuning.exhausted,
            "trials": trials(&space, &tuning),
            "seconds": output::seconds(&run),
        }));
    }
    output::print_text(&format!("{}\n", tuning.best().recipe))
}

fn names(space: &Space) -> Vec<String> {
    space.dimensions().iter().map(|dimension| format!("{}.{}", dimension.stage, dimension.parameter)).collect()
}

fn heading(space: &Space) -> String {
    let names: Vec<String> = names(space).iter().map(|name| format!("{name:>WIDTH$}")).collect();
    format!("trial  {:>15}  {:>8}  {}", "mean of folds", "time", names.join("  "))
}

fn row(number: usize, trial: &Trial, better: bool) -> String {
    let values: Vec<String> = trial.values.iter().map(|value| format!("{value:>WIDTH$}")).collect();
    let figure = match trial.spread() {
        Some((mean, deviation)) => format!("{} ± {:.2}", percent(mean), 100.0 * deviation),
        None => "failed".to_string(),
    };
    let time = format!("{:.1} s", trial.seconds);
    let note = match (&trial.failed, better) {
        (Some(why), _) => format!("  {}", why.lines().last().unwrap_or_default().trim()),
        (None, true) => "  *".to_string(),
        (None, false) => String::new(),
    };
    format!("{number:>5}  {figure:>15}  {time:>8}  {}{note}", values.join("  "))
}

fn trials(space: &Space, tuning: &Tuning) -> Vec<Value> {
    let names = names(space);
    let one = |trial: &Trial| {
        let values: Map<String, Value> =
            names.iter().cloned().zip(trial.values.iter().map(|value| Value::from(value.as_str()))).collect();
        json!({
            "recipe": trial.recipe,
            "values": values,
            "mean": trial.spread().map(|(mean, _)| mean),
            "folds": trial.folds,
            "seconds": output::round(trial.seconds, 6),
            "failed": trial.failed,
        })
    };
    tuning.trials.iter().map(one).collect()
}
