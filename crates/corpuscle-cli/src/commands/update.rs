//! `corpuscle update`: new documents into a model, without the old texts.

use std::time::Instant;

use corpuscle::Run;
use corpuscle::recipe::Corpus;

use super::{inspect, train};
use crate::args::{Everywhere, Update};
use crate::input;

pub(crate) fn run(args: &Update, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    input::check_writable(&args.output)?;
    let (model, _) = inspect::open(&args.model, run)?;
    anyhow::ensure!(
        model.is_updatable(),
        "{} was not trained with --updatable, so it has not kept what an update needs; train it again as \
         `corpuscle train … --updatable` and update that model",
        args.model.display()
    );
    let options = input::with_numbers(input::labelled_options(&args.reading)?, model.number_fields());
    let mut documents = input::open(&args.data, &options)?;
    let mut corpus = run.stage("read", None, || Corpus::read(&mut documents, model.recipe().words(), run))?;
    corpus.sources = input::names(args.data.iter());
    let skipped = input::report_skipped(&documents, run);
    let updated = model.update(&corpus, run)?;
    train::finish(&updated, &args.output, skipped, started, None, everywhere, run)
}
