//! One file per command.

mod abstained;
mod compare;
mod demo;
mod doctor;
mod drift;
mod embed;
mod evaluate;
mod expand;
mod explain;
mod inspect;
mod label_curve;
mod manual;
mod page;
mod predict;
mod recommend;
mod reproduce;
mod retrieval;
mod senses;
mod serving;
mod similar;
mod stages;
mod suggest;
mod terms;
mod topics;
mod train;
mod tune;
mod update;
mod words;

use std::sync::Arc;

use corpuscle::Run;

use crate::args::{Cli, Command, Everywhere};
use crate::progress::Terminal;

/// Carries out the command.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<()> {
    let everywhere = &cli.everywhere;
    let run = start(everywhere)?;
    match &cli.command {
        Command::Demo(args) => demo::run(args, everywhere, &run),
        Command::Train(args) => train::run(args, everywhere, &run),
        Command::Update(args) => update::run(args, everywhere, &run),
        Command::Predict(args) => predict::run(args, everywhere, &run),
        Command::Evaluate(args) => evaluate::run(args, everywhere, &run),
        Command::Compare(args) => compare::run(args, everywhere, &run),
        Command::Tune(args) => tune::run(args, everywhere, &run),
        Command::Recommend(args) => recommend::run(args, everywhere, &run),
        Command::Suggest(args) => suggest::run(args, everywhere, &run),
        Command::Embed(args) => embed::run(args, everywhere, &run),
        Command::Inspect(args) => inspect::run(args, everywhere, &run),
        Command::Explain(args) => explain::run(args, everywhere, &run),
        Command::Terms(args) => terms::run(args, everywhere, &run),
        Command::Expand(args) => expand::run(args, everywhere, &run),
        Command::Reproduce(args) => reproduce::run(args, everywhere, &run),
        Command::Similar(args) => similar::run(args, everywhere, &run),
        Command::Words(args) => words::run(args, everywhere, &run),
        Command::Index(args) => retrieval::index(args, everywhere, &run),
        Command::Search(args) => retrieval::search(args, everywhere, &run),
        Command::EvaluateSearch(args) => retrieval::evaluate(args, everywhere, &run),
        Command::TuneSearch(args) => retrieval::tune(args, everywhere, &run),
        Command::SimilarDocuments(args) => retrieval::similar(args, everywhere, &run),
        Command::Duplicates(args) => retrieval::duplicates(args, everywhere, &run),
        Command::Topics(args) => topics::run(args, everywhere, &run),
        Command::Senses(args) => senses::run(args, everywhere, &run),
        Command::Label(args) => serving::label(args, everywhere, &run),
        Command::Serve(args) => serving::serve(args, everywhere, &run),
        Command::Drift(args) => drift::run(args, everywhere, &run),
        Command::Stages => stages::run(everywhere),
        Command::Doctor => doctor::run(everywhere, &run),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::pages(args),
    }
}

/// The same run with its terminal at hand, for commands that show more than a bar; none when nothing is to be shown.
fn watched(everywhere: &Everywhere, run: &Run) -> (Run, Option<Arc<Terminal>>) {
    if everywhere.quiet {
        return (run.clone(), None);
    }
    let terminal = Arc::new(Terminal::new());
    (run.clone().with_progress(Arc::<Terminal>::clone(&terminal)), Some(terminal))
}

/// A line for people, on stderr.
fn say(line: &str) {
    Terminal::new().say(line);
}

fn start(everywhere: &Everywhere) -> anyhow::Result<Run> {
    let run = Run::new(everywhere.seed, everywhere.threads)?;
    Ok(if everywhere.quiet { run } else { run.with_progress(Arc::new(Terminal::new())) })
}
