//! `corpuscle train`: documents and a recipe to a model file.

use std::path::Path;
use std::time::{Duration, Instant};

use corpuscle::corpus::{Document, read_descriptions};
use corpuscle::recipe::{Corpus, Model, Recipe, Spilled};
use corpuscle::{Precision, Run};
use serde_json::{Value, json};

use super::recommend;
use crate::args::{self, Everywhere, Reading, Train};
use crate::input;
use crate::output;

/// Time to find a recipe and train it when none is given.
const SEARCH: Duration = Duration::from_secs(20);

/// What else there is to say about a model: how its recipe was found.
pub(super) struct Choice {
    /// Before the facts.
    pub(super) text: String,
    /// Among the facts.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Under `recommendation`.
    pub(super) json: Value,
}

pub(crate) fn run(args: &Train, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    let run = &run.with_precision(match args.precision {
        args::Precision::Compact => Precision::Compact,
        args::Precision::Full => Precision::Full,
    });
    let recipe = args.recipe.as_deref().map(Recipe::parse).transpose()?;
    input::check_writable(&args.output)?;
    let descriptions = args.describe.as_deref().map(read_descriptions).transpose()?.unwrap_or_default();
    let Some(recipe) = recipe else {
        let (documents, skipped) =
            documents(&args.data, &args.unlabelled, descriptions.is_empty(), &args.reading, run)?;
        if !everywhere.quiet {
            let seconds = SEARCH.as_secs();
            super::say(&format!(
                "no --recipe given: comparing some for {seconds} s, as `corpuscle recommend` does for longer"
            ));
        }
        let (model, choice) = recommend::fit(
            documents,
            &descriptions,
            (SEARCH, started),
            &args.data,
            &args.unlabelled,
            args.updatable,
            everywhere,
            run,
        )?;
        return finish(&model, &args.output, skipped, started, Some(&choice), everywhere, run);
    };
    // With names of classes no document need have a label.
    let options = match descriptions.is_empty() {
        true => input::labelled_options(&args.reading)?,
        false => input::options(&args.reading)?,
    };
    let options = input::with_numbers(options, recipe.number_fields());
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
    if let Some(folder) = &args.spill {
        let beside = args.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.as_deref().unwrap_or(beside);
        let mut spilled = run.stage("read", None, || Spilled::read(documents, recipe.words(), folder, run))?;
        spilled.sources = input::names(args.data.iter().chain(&args.unlabelled));
        let skipped =
            input::report_skipped(&labelled, run) + unlabelled.as_ref().map_or(0, |u| input::report_skipped(u, run));
        let model = recipe.fit_spilled(&spilled, run)?;
        return finish(&model, &args.output, skipped, started, None, everywhere, run);
    }
    let mut corpus = run.stage("read", None, || Corpus::read(documents, recipe.words(), run))?;
    corpus.sources = input::names(args.data.iter().chain(&args.unlabelled));
    let skipped =
        input::report_skipped(&labelled, run) + unlabelled.as_ref().map_or(0, |u| input::report_skipped(u, run));
    let model = fitted(&recipe, &mut corpus, &descriptions, args.updatable, everywhere, run)?;
    finish(&model, &args.output, skipped, started, None, everywhere, run)
}

/// Terms shown for each class that was described.
const TERMS_SHOWN: usize = 8;

/// Fits a recipe, with what was said about classes, and shows what names were expanded to.
pub(super) fn fitted(
    recipe: &Recipe,
    corpus: &mut Corpus,
    descriptions: &[(String, String)],
    updatable: bool,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<Model> {
    if !descriptions.is_empty() {
        corpus.labels = corpus.labels.described(descriptions);
        let quiet = run.quiet();
        if !everywhere.quiet && recipe.representation_needs_labels().is_none() {
            let represented = recipe.represent(corpus, &quiet)?;
            if let Some(expanded) = recipe.expand_names(&represented, corpus, TERMS_SHOWN, &quiet)? {
                super::say(&super::expand::table(&expanded));
            }
        }
    }
    Ok(if updatable { recipe.fit_updatable(corpus, run)? } else { recipe.fit(corpus, run)? })
}

/// All documents, those whose labels are ignored last, and how many rows were left out.
pub(super) fn documents(
    data: &[String],
    unlabelled: &[String],
    needs_labels: bool,
    reading: &Reading,
    run: &Run,
) -> anyhow::Result<(Vec<Document>, u64)> {
    let options = if needs_labels { input::labelled_options(reading)? } else { input::options(reading)? };
    run.watch("read", None, || {
        let mut source = input::open(data, &options)?;
        let mut documents = (&mut source).collect::<Result<Vec<Document>, _>>()?;
        let mut skipped = input::report_skipped(&source, run);
        if !unlabelled.is_empty() {
            let mut more = input::open(unlabelled, &input::without_labels(&options))?;
            for document in &mut more {
                documents.push(Document { labels: None, ..document? });
            }
            skipped += input::report_skipped(&more, run);
        }
        Ok((documents, skipped))
    })
}

/// Writes a model and says what it is.
pub(super) fn finish(
    model: &Model,
    path: &Path,
    skipped: u64,
    started: Instant,
    choice: Option<&Choice>,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<()> {
    let bytes = run.stage("write", None, || {
        model.save(path)?;
        model.file_size()
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let about = &model.metadata().about;
    if everywhere.json {
        return output::print_json(&json!({
            "model": path.display().to_string(),
            "recipe": model.recipe().to_string(),
            "documents": about.documents,
            "labelled": about.labelled,
            "skipped": skipped,
            "tokens": about.tokens,
            "classes": model.classes(),
            "multi_label": model.is_multi_label(),
            "bytes": bytes,
            "classifier": model.notes().into_iter().map(|(name, value)| (name, value.into()))
                .collect::<serde_json::Map<_, _>>(),
            "seconds": output::seconds(run),
            "total_seconds": output::round(seconds, 6),
            "recommendation": choice.map(|choice| choice.json.clone()),
        }));
    }
    let stages: Vec<String> = run.seconds().iter().map(|(stage, seconds)| format!("{stage} {seconds:.2} s")).collect();
    let mut facts = vec![
        ("model", format!("{} ({})", path.display(), output::bytes(bytes))),
        ("recipe", model.recipe().to_string()),
        ("documents", format!("{} ({} labelled)", output::count(about.documents), output::count(about.labelled))),
        ("classes", output::count(model.classes().len())),
    ];
    facts.extend(choice.iter().flat_map(|choice| choice.facts.clone()));
    let mut facts: Vec<(String, String)> = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    facts.splice(4..4, model.notes());
    facts.push(("time".to_string(), format!("{seconds:.2} s: {}", stages.join(", "))));
    let before = choice.map_or(String::new(), |choice| format!("{}\n", choice.text));
    output::print_text(&(before + &output::facts(&facts)))
}
