//! `corpuscle stages`: what recipes are made of.

use corpuscle::recipe::{StageKind, presets, stages};
use serde_json::json;

use crate::args::Everywhere;
use crate::output;

pub(crate) fn run(everywhere: &Everywhere) -> anyhow::Result<()> {
    if everywhere.json {
        let list: Vec<_> = stages::all()
            .map(|stage| {
                let parameters: Vec<_> =
                    stage.parameters.iter().map(|p| json!({"name": p.name, "about": p.about})).collect();
                json!({"name": stage.name, "kind": kind(stage.kind), "about": stage.about, "parameters": parameters})
            })
            .collect();
        let presets: Vec<_> = presets::all().map(|(name, recipe)| json!({"name": name, "recipe": recipe})).collect();
        return output::print_json(&json!({"stages": list, "presets": presets}));
    }
    let mut text =
        String::from("A recipe is a line of stages: words, then a vectorizer, any projections, a classifier.\n");
    text.push_str("`|` feeds, `+` puts representations side by side, `*` weighs one.\n");
    for stage in stages::all() {
        text.push_str(&format!("\n{}  ({})  {}\n", stage.name, kind(stage.kind), stage.about));
        let width = stage.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
        for parameter in stage.parameters {
            text.push_str(&format!("    {:width$}  {}\n", parameter.name, parameter.about));
        }
    }
    text.push_str("\npresets\n");
    let width = presets::all().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, recipe) in presets::all() {
        text.push_str(&format!("    {name:width$}  {recipe}\n"));
    }
    output::print_text(&text)
}

fn kind(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Words => "text to words",
        StageKind::Vectorize => "words to matrix",
        StageKind::Project => "matrix to matrix",
        StageKind::Classify => "matrix to scores",
    }
}
