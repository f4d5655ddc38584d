//! `corpuscle stages`: what recipes are made of.

use corpuscle::params::{Kind, json_of};
use corpuscle::recipe::{Parameter, Registry, StageKind, presets};
use serde_json::json;

use crate::args::Everywhere;
use crate::output;

pub(crate) fn run(everywhere: &Everywhere) -> anyhow::Result<()> {
    let registry = Registry::standard();
    if everywhere.json {
        let parameter = |p: &Parameter| {
            json!({
                "name": p.name, "about": p.about, "kind": p.form.kind, "words": p.form.words,
                "default": json_of(p.form.kind, p.default.clone()),
            })
        };
        let list: Vec<_> = registry
            .stages()
            .map(|stage| {
                let parameters: Vec<_> = stage.parameters.iter().map(parameter).collect();
                json!({"name": stage.name, "kind": kind(stage.kind), "about": stage.about, "parameters": parameters})
            })
            .collect();
        let presets: Vec<_> = presets::all().map(|(name, recipe)| json!({"name": name, "recipe": recipe})).collect();
        return output::print_json(&json!({"stages": list, "presets": presets}));
    }
    let mut text =
        String::from("A recipe is a line of stages: words, then a vectorizer, any projections, a classifier.\n");
    text.push_str("`|` feeds, `+` puts representations side by side, `*` weighs one.\n");
    for stage in registry.stages() {
        text.push_str(&format!("\n{}  ({})  {}\n", stage.name, kind(stage.kind), stage.about));
        let shown =
            |p: &Parameter| if p.default.is_empty() { p.name.to_string() } else { format!("{}={}", p.name, p.default) };
        let width = stage.parameters.iter().map(|parameter| shown(parameter).len()).max().unwrap_or(0);
        for parameter in &stage.parameters {
            text.push_str(&format!("    {:width$}  {}{}\n", shown(parameter), parameter.about, choices(parameter)));
        }
    }
    text.push_str("\npresets\n");
    let width = presets::all().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, recipe) in presets::all() {
        text.push_str(&format!("    {name:width$}  {recipe}\n"));
    }
    output::print_text(&text)
}

/// Words that may be given, when they are few and not told already.
fn choices(parameter: &Parameter) -> String {
    let words: Vec<&str> =
        parameter.form.words.iter().copied().filter(|word| !parameter.about.contains(word)).collect();
    // What any text may be is told in the line itself.
    if words.is_empty() || words.len() > 6 || parameter.form.kind == Kind::Text {
        String::new()
    } else {
        format!(" ({})", parameter.form)
    }
}

fn kind(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Words => "text to words",
        StageKind::Vectorize => "words to matrix",
        StageKind::Project => "matrix to matrix",
        StageKind::Classify => "matrix to scores",
        StageKind::Vote => "recipes to scores",
    }
}
