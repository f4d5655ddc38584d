//! `corpuscle inspect`: what a model file holds.

use anyhow::Context;
use corpuscle::Run;
use corpuscle::recipe::Model;
use serde_json::json;

use crate::args::{Everywhere, Inspect};
use crate::output;

pub(crate) fn run(args: &Inspect, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, size) = open(&args.model, run)?;
    let metadata = model.metadata();
    let widths = model.widths()?;
    let notes = model.notes();
    if everywhere.json {
        let stages: Vec<_> = widths.iter().map(|(name, columns)| json!({"stage": name, "columns": columns})).collect();
        return output::print_json(&json!({
            "recipe": model.recipe().to_string(),
            "full_recipe": model.recipe().full(),
            "classes": metadata.classes,
            "multi_label": model.is_multi_label(),
            "stages": stages,
            "classifier": notes.iter().map(|(name, value)| (name.clone(), value.clone().into()))
                .collect::<serde_json::Map<_, _>>(),
            "updatable": model.is_updatable(),
            "provenance": metadata.about,
            "version": metadata.version,
            "format": metadata.format,
            "bytes": size,
            "sha256": metadata.sha256,
        }));
    }
    let about = &metadata.about;
    let mut facts = vec![
        ("recipe", model.recipe().to_string()),
        ("classes", class_list(&metadata.classes)),
        ("labels", if model.is_multi_label() { "any number per document" } else { "one per document" }.to_string()),
        (
            "stages",
            widths
                .iter()
                .map(|(name, n)| format!("{name} ({} columns)", output::count(*n)))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    ];
    let known = facts.len();
    facts.extend([
        (
            "trained on",
            format!(
                "{} documents ({} labelled), {} tokens, seed {}",
                output::count(about.documents),
                output::count(about.labelled),
                output::count(about.tokens as usize),
                about.seed
            ),
        ),
        ("from", about.sources.join(", ")),
        ("updatable", if model.is_updatable() { "yes: term counts and labels are kept" } else { "" }.to_string()),
        ("written by", format!("corpuscle {} (format {})", metadata.version, metadata.format)),
        ("size", output::bytes(size)),
        ("sha256", metadata.sha256.clone()),
    ]);
    let mut facts: Vec<(String, String)> = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    facts.splice(known..known, notes);
    facts.retain(|(_, value)| !value.is_empty());
    output::print_text(&output::facts(&facts))
}

/// Loads a model, with the file's size.
pub(super) fn open(path: &std::path::Path, run: &Run) -> anyhow::Result<(Model, u64)> {
    let model = Model::load(path, run).with_context(|| format!("cannot load the model {}", path.display()))?;
    let size = std::fs::metadata(path)?.len();
    Ok((model, size))
}

fn class_list(classes: &[String]) -> String {
    const SHOWN: usize = 12;
    match classes.len() {
        0 => "none".to_string(),
        n if n <= SHOWN => format!("{n}: {}", classes.join(", ")),
        n => format!("{n}: {}, … and {} more", classes[..SHOWN].join(", "), n - SHOWN),
    }
}
