//! `corpuscle train`: documents and a recipe to a model file.

use std::path::Path;
use std::time::Instant;

use corpuscle::Run;
use corpuscle::recipe::{Corpus, Model, Recipe};
use serde_json::json;

use crate::args::{Everywhere, Train};
use crate::input;
use crate::output;

pub(crate) fn run(args: &Train, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    let recipe = Recipe::parse(&args.recipe)?;
    input::check_writable(&args.output)?;
    let options = input::options(&args.reading)?;
    let mut labelled = input::open(&args.data, &options)?;
    let mut unlabelled = match args.unlabelled.is_empty() {
        true => None,
        false => Some(input::open(&args.unlabelled, &input::without_labels(&options))?),
    };
    let documents = (&mut labelled).chain(unlabelled.iter_mut().flatten().map(|document| {
        document.map(|mut document| {
            document.labels = None;
            document
        })
    }));
    let mut corpus = run.stage("read", None, || Corpus::read(documents, recipe.words(), run))?;
    corpus.sources = input::names(args.data.iter().chain(&args.unlabelled));
    let skipped =
        input::report_skipped(&labelled, run) + unlabelled.as_ref().map_or(0, |u| input::report_skipped(u, run));
    let model = match args.updatable {
        true => recipe.fit_updatable(&corpus, run)?,
        false => recipe.fit(&corpus, run)?,
    };
    finish(&model, &args.output, skipped, started, everywhere, run)
}

/// Writes a model and says what it is.
pub(super) fn finish(
    model: &Model,
    path: &Path,
    skipped: u64,
    started: Instant,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<()> {
    let bytes = run.stage("write", None, || {
        let bytes = model.to_bytes()?;
        corpuscle::recipe::model_file::write_whole(path, &bytes)?;
        Ok(bytes.len() as u64)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let about = &model.metadata().about;
    if everywhere.json {
        return output::print_json(&json!({
            "model": path.display().to_string(),
            "recipe": model.metadata().recipe,
            "documents": about.documents,
            "labelled": about.labelled,
            "skipped": skipped,
            "tokens": about.tokens,
            "classes": model.classes(),
            "multi_label": model.is_multi_label(),
            "bytes": bytes,
            "classifier": model.notes().into_iter().map(|(name, value)| (name.to_string(), value.into()))
                .collect::<serde_json::Map<_, _>>(),
            "seconds": output::seconds(run),
            "total_seconds": output::round(seconds, 6),
        }));
    }
    let stages: Vec<String> = run.seconds().iter().map(|(stage, seconds)| format!("{stage} {seconds:.2} s")).collect();
    let mut facts = vec![
        ("model", format!("{} ({})", path.display(), output::bytes(bytes))),
        ("recipe", model.metadata().recipe.clone()),
        ("documents", format!("{} ({} labelled)", output::count(about.documents), output::count(about.labelled))),
        ("classes", output::count(model.classes().len())),
    ];
    facts.extend(model.notes());
    facts.push(("time", format!("{seconds:.2} s: {}", stages.join(", "))));
    output::print_text(&output::facts(&facts))
}
