//! Lines typed at a terminal, each answered at once.

use std::io::{self, BufRead, Write};

use corpuscle::Run;
use corpuscle::recipe::Model;

use super::{Prediction, best_probability, names, top};
use crate::args::Predict;

pub(super) fn run(model: &Model, args: &Predict, quiet: bool, run: &Run) -> anyhow::Result<()> {
    if !quiet {
        crate::commands::say("type a document and press Enter; Ctrl-D ends");
    }
    answer(model, args, io::stdin().lock(), io::stdout(), quiet, &run.quiet())
}

fn answer(
    model: &Model,
    args: &Predict,
    mut lines: impl BufRead,
    mut to: impl Write,
    quiet: bool,
    run: &Run,
) -> anyhow::Result<()> {
    let mut line = String::new();
    loop {
        if !quiet {
            write!(io::stderr(), "> ")?;
        }
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        let all = model.predict(&[line.trim()], run)?;
        let prediction = Prediction { all: &all, row: 0, abstained: None, novelty: None };
        match args.top {
            Some(k) => {
                let proba = args.proba || model.has_probabilities();
                for (name, value) in top(model, &prediction, k, proba) {
                    writeln!(to, "{name}\t{value:.4}")?;
                }
            }
            None => {
                let labels = names(model, &prediction).join("|");
                let probability = best_probability(&prediction).filter(|_| model.has_probabilities());
                writeln!(to, "{labels}{}", probability.map_or(String::new(), |p| format!("\t{p:.4}")))?;
            }
        }
        to.flush()?;
    }
}
