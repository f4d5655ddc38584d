//! `corpuscle reproduce`: a paper's table, ours beside theirs.

use corpuscle::Run;
use corpuscle::corpus::ReadOptions;
use corpuscle::experiment::{Protocol, Reproduction, TTest};
use serde_json::{Value, json};

use crate::args::{Everywhere, Reproduce};
use crate::input;
use crate::output::{self, WrongCall, percent};

/// Draws with `--quick`.
const QUICK: usize = 2;

const PROTOCOLS: &[&str] = &[
    include_str!("../../../../reproduce/sprinkling-hierarchical.json"),
    include_str!("../../../../reproduce/sprinkling-ordinal.json"),
    include_str!("../../../../reproduce/sprinkling-orthogonal.json"),
];

pub(crate) fn run(args: &Reproduce, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let protocols = PROTOCOLS.iter().map(|json| Protocol::parse(json)).collect::<Result<Vec<_>, _>>()?;
    let (Some(name), Some(folder), false) = (&args.name, &args.data, args.list) else {
        return list(&protocols, everywhere);
    };
    let Some(protocol) = protocols.iter().find(|protocol| protocol.name == *name) else {
        let names: Vec<&str> = protocols.iter().map(|protocol| protocol.name.as_str()).collect();
        return Err(WrongCall(format!("there is no protocol `{name}`; there are {}", names.join(", "))).into());
    };
    let options = ReadOptions { text: protocol.text.clone(), ..ReadOptions::default() };
    let file = folder.join(&protocol.file).display().to_string();
    let mut source = input::open(&[file], &options)?;
    let documents = run.watch("read", None, || (&mut source).collect::<Result<Vec<_>, _>>())?;
    let documents = protocol.pick(documents, run.seed())?;
    let result = protocol.run(&documents, args.quick.then_some(QUICK), run)?;
    if everywhere.json {
        return output::print_json(&as_json(protocol, &result, run));
    }
    output::print_text(&text(protocol, &result, run))
}

fn list(protocols: &[Protocol], everywhere: &Everywhere) -> anyhow::Result<()> {
    if everywhere.json {
        return output::print_json(&json!({"protocols": protocols}));
    }
    let row = |protocol: &Protocol| vec![protocol.name.clone(), protocol.file.clone(), protocol.paper.clone()];
    output::print_text(&output::table(&["protocol", "data", "paper"], 3, protocols.iter().map(row)))
}

fn holds(test: &Option<TTest>) -> bool {
    test.is_some_and(|test| test.difference > 0.0 && test.p < 0.05)
}

fn as_json(protocol: &Protocol, result: &Reproduction, run: &Run) -> Value {
    let systems: Vec<Value> = protocol
        .systems
        .iter()
        .zip(&result.comparison.recipes)
        .zip(&result.ranks)
        .map(|((system, outcomes), ranks)| {
            let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
            json!({
                "name": system.name, "recipe": system.recipe, "accuracy": accuracy, "accuracy_deviation": deviation,
                "paper": system.paper.map(|value| value / 100.0), "ranks": ranks, "splits": outcomes.splits,
            })
        })
        .collect();
    let claims: Vec<Value> = result
        .claims
        .iter()
        .map(|(better, worse, test)| json!({"better": better, "worse": worse, "test": test, "holds": holds(test)}))
        .collect();
    json!({
        "protocol": protocol.name, "paper": protocol.paper, "note": protocol.note, "documents": result.documents,
        "seed": run.seed(), "systems": systems, "claims": claims, "seconds": output::seconds(run),
    })
}

fn text(protocol: &Protocol, result: &Reproduction, run: &Run) -> String {
    let runs = result.comparison.recipes.first().map_or(0, |outcomes| outcomes.splits.len());
    let mut text = format!(
        "{}\n{}\n{}\n{} documents, {runs} draws, seed {}\n\n",
        protocol.title,
        protocol.paper,
        protocol.note,
        output::count(result.documents),
        run.seed()
    );
    let rows = protocol.systems.iter().zip(&result.comparison.recipes).zip(&result.ranks).map(
        |((system, outcomes), ranks)| {
            let (accuracy, deviation) = outcomes.spread(|outcome| outcome.accuracy);
            let mut chosen = ranks.clone();
            chosen.sort_unstable();
            chosen.dedup();
            vec![
                system.name.clone(),
                format!("{} ± {:.2}", percent(accuracy), 100.0 * deviation),
                system.paper.map_or(String::new(), |value| format!("{value:.2} %")),
                system.paper.map_or(String::new(), |value| format!("{:+.2}", 100.0 * accuracy - value)),
                chosen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            ]
        },
    );
    text.push_str(&output::table(&["system", "ours", "paper", "difference", "ranks chosen"], 1, rows));
    text.push_str("\nclaims of the paper (paired t-test, p < 0.05)\n");
    let rows = result.claims.iter().map(|(better, worse, test)| {
        let figures = test.map_or([String::new(), String::new()], |test| {
            [format!("{:+.2}", 100.0 * test.difference), format!("{:.1e}", test.p)]
        });
        let [difference, p] = figures;
        vec![
            format!("{better} above {worse}"),
            difference,
            p,
            if holds(test) { "holds" } else { "does not hold" }.into(),
        ]
    });
    text.push_str(&output::table(&["claim", "difference", "p", ""], 1, rows));
    text
}
