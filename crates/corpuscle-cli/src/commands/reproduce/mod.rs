//! `corpuscle reproduce`: a paper's table or figure, ours beside theirs.

mod page;
mod searches;
mod text;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use corpuscle::Run;
use corpuscle::corpus::ReadOptions;
use corpuscle::experiment::{Protocol, Reproduction};
use corpuscle::retrieve::SearchProtocol;
use serde_json::{Map, Value, json};

use crate::args::{Everywhere, Reproduce};
use crate::input;
use crate::output::{self, WrongCall};

/// Draws with `--quick`.
const QUICK: usize = 2;

const PROTOCOLS: &[&str] = &[
    include_str!("../../../reproduce/sprinkling-hierarchical.json"),
    include_str!("../../../reproduce/sprinkling-ordinal.json"),
    include_str!("../../../reproduce/sprinkling-orthogonal.json"),
    include_str!("../../../reproduce/sprinkling-dimensions.json"),
    include_str!("../../../reproduce/sprinkling-dimensions-ordinal.json"),
    include_str!("../../../reproduce/sprinkling-dimensions-orthogonal.json"),
    include_str!("../../../reproduce/sprinkling-times.json"),
    include_str!("../../../reproduce/varnorm-switchboard.json"),
    include_str!("../../../reproduce/varnorm-newsgroups.json"),
    include_str!("../../../reproduce/varnorm-directions-switchboard.json"),
    include_str!("../../../reproduce/varnorm-directions-newsgroups.json"),
    include_str!("../../../reproduce/dcot-labels-reuters.json"),
    include_str!("../../../reproduce/dcot-labels-snippets.json"),
    include_str!("../../../reproduce/dcot-labels-reuters-each-class.json"),
    include_str!("../../../reproduce/dcot-noise.json"),
    include_str!("../../../reproduce/dcot-noise-snippets.json"),
    include_str!("../../../reproduce/dcot-terms.json"),
    include_str!("../../../reproduce/dcot-times.json"),
    include_str!("../../../reproduce/scdv-newsgroups.json"),
    include_str!("../../../reproduce/scdv-reuters.json"),
    include_str!("../../../reproduce/scdv-reuters-topics.json"),
    include_str!("../../../reproduce/scdv-clusters.json"),
    include_str!("../../../reproduce/scdv-dimensions.json"),
    include_str!("../../../reproduce/scdv-sparsity.json"),
    include_str!("../../../reproduce/scdv-times.json"),
    include_str!("../../../reproduce/scdv-topics.json"),
    include_str!("../../../reproduce/scdv-senses.json"),
];

/// Papers' systems where the papers do not have them: on a corpus of ours, without test texts, without headers. `--all` is for what stands in a
/// paper.
const VARIANTS: &[&str] = &[
    include_str!("../../../reproduce/dcot-labels-newsgroups.json"),
    include_str!("../../../reproduce/scdv-newsgroups-inductive.json"),
    include_str!("../../../reproduce/scdv-newsgroups-stripped.json"),
    include_str!("../../../reproduce/scdv-newsgroups-stripped-inductive.json"),
];

/// Protocols of our own, each on several corpora.
const FAMILIES: &[&str] = &[include_str!("../../../reproduce/few-labels.json")];

pub(crate) fn run(args: &Reproduce, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let parsed = |list: &[&str]| list.iter().map(|json| Protocol::parse(json)).collect::<Result<Vec<_>, _>>();
    let (papers, variants) = (parsed(PROTOCOLS)?, parsed(VARIANTS)?);
    let searches = searches::all()?;
    let families = FAMILIES.iter().map(|json| Protocol::parse_family(json)).collect::<Result<Vec<_>, _>>()?;
    let protocols: Vec<Protocol> =
        papers.iter().cloned().chain(variants).chain(families.into_iter().flatten()).collect();
    let Some(folder) = args.data.as_ref().filter(|_| !args.list) else {
        return list(&protocols, &searches, everywhere);
    };
    if let Some(path) = &args.report {
        input::check_writable(path)?;
    }
    if args.all {
        return run_all(&papers, &searches, folder, args, everywhere, run);
    }
    let Some(name) = &args.name else { return list(&protocols, &searches, everywhere) };
    let members = |name: &str| -> Vec<Protocol> {
        let begins = format!("{name}-");
        protocols.iter().filter(|protocol| protocol.name.starts_with(&begins)).cloned().collect()
    };
    if !protocols.iter().any(|protocol| protocol.name == *name) && !members(name).is_empty() {
        return run_all(&members(name), &[], folder, args, everywhere, run);
    }
    if let Some(protocol) = searches.iter().find(|protocol| protocol.name == *name) {
        return searches::shown(protocol, folder, args, everywhere, run);
    }
    let own;
    let protocol = if name.ends_with(".json") {
        let json = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
        if let Ok(protocol) = SearchProtocol::parse(&json) {
            return searches::shown(&protocol, folder, args, everywhere, run);
        }
        own = Protocol::parse(&json)?;
        &own
    } else {
        protocols.iter().find(|protocol| protocol.name == *name).ok_or_else(|| {
            let names = protocols.iter().map(|protocol| protocol.name.as_str());
            let names: Vec<&str> = names.chain(searches.iter().map(|protocol| protocol.name.as_str())).collect();
            WrongCall(format!("there is no protocol `{name}`; there are {}", names.join(", ")))
        })?
    };
    let done = one(protocol, folder, args, run)?;
    if let Some(path) = &args.report {
        let page = page::page(&done, run);
        output::write_beside(path, |file| Ok(file.write_all(page.as_bytes())?))?;
    }
    if everywhere.json {
        return output::print_json(&as_json(&done.protocol, &done.result, run));
    }
    output::print_text(&text::text(&done.protocol, &done.result, run))
}

/// A protocol that was run.
struct Done {
    protocol: Protocol,
    result: Reproduction,
    /// Only where there is a page to show them on.
    maps: Vec<page::DocumentMap>,
}

impl Done {
    /// How many of the claims hold, in words.
    fn verdict(&self) -> String {
        verdict(self.result.claims_held(), self.result.claims_tested())
    }
}

/// So many claims hold of so many, of which so many could be tested.
fn verdict((held, all): (usize, usize), tested: usize) -> String {
    match (tested, all) {
        (_, 0) => "no claim".to_string(),
        (0, all) => format!("{all}, not tested with one draw"),
        _ => format!("{held} of {all} hold"),
    }
}

/// Reads what a protocol needs and runs it.
fn one(protocol: &Protocol, folder: &Path, args: &Reproduce, run: &Run) -> anyhow::Result<Done> {
    let protocol = protocol.filled(args.quick);
    let file = folder.join(&protocol.file).display().to_string();
    let (mut documents, mut learnt) = (Vec::new(), 0);
    for (part, filter) in protocol.selections().into_iter().enumerate() {
        let filters = filter.into_iter().collect();
        let (text, label) = (protocol.text.clone(), protocol.label.clone());
        let options = ReadOptions { text, label, filters, ..ReadOptions::default() };
        let mut source = input::open(std::slice::from_ref(&file), &options)?;
        documents.extend(run.watch("read", None, || (&mut source).collect::<Result<Vec<_>, _>>())?);
        if part == 0 {
            learnt = documents.len();
        }
    }
    let runs = args.runs.map(|runs| runs as usize).or(args.quick.then_some(QUICK));
    let run = &run.keep_sharing();
    let result = protocol.run(&documents, learnt, runs, run)?;
    let maps = match args.report {
        Some(_) => page::maps(&protocol, &documents, learnt, run)?,
        None => Vec::new(),
    };
    Ok(Done { protocol, result, maps })
}

/// Every protocol whose data are there. Each is printed as soon as it is done; one that fails is named at the end and does not
/// keep the others from being run.
fn run_all(
    protocols: &[Protocol],
    searches: &[SearchProtocol],
    folder: &Path,
    args: &Reproduce,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<()> {
    // Tables and figures of one paper begin alike: word vectors are trained once for all of them.
    let run = &run.sharing();
    let (mut done, mut skipped, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed: Vec<String> = Vec::new();
    for (number, protocol) in protocols.iter().enumerate() {
        if !folder.join(&protocol.file).is_file() {
            skipped.push(format!("{}: {} is not there", protocol.name, protocol.file));
            continue;
        }
        if !everywhere.quiet {
            let now = format!("{} of {}: {}\n", number + 1, protocols.len(), protocol.title);
            std::io::stderr().write_all(now.as_bytes())?;
        }
        let started = Instant::now();
        let one = match one(protocol, folder, args, run) {
            Ok(one) => one,
            Err(error) => {
                // Somebody who stops the work stops all of it.
                run.check()?;
                failed.push(format!("{}: {error:#}", protocol.name));
                continue;
            }
        };
        seconds.push(started.elapsed().as_secs_f64());
        if !everywhere.json {
            output::print_text(&(text::text(&one.protocol, &one.result, run) + "\n"))?;
        }
        done.push(one);
        if let Some(path) = &args.report {
            let page = page::all(&done, &[], &[&skipped[..], &failed].concat(), run);
            output::write_beside(path, |file| Ok(file.write_all(page.as_bytes())?))?;
        }
    }
    let mut searched: Vec<searches::Done> = Vec::new();
    for protocol in searches {
        if let Some(file) = searches::missing(protocol, folder) {
            skipped.push(format!("{}: {file} is not there", protocol.name));
            continue;
        }
        let started = Instant::now();
        match searches::one(protocol, folder, args, run) {
            Ok(one) => {
                seconds.push(started.elapsed().as_secs_f64());
                if !everywhere.json {
                    output::print_text(&(one.text() + "\n"))?;
                }
                searched.push(one);
            }
            Err(error) => {
                run.check()?;
                failed.push(format!("{}: {error:#}", protocol.name));
            }
        }
        if let Some(path) = &args.report {
            let page = page::all(&done, &searched, &[&skipped[..], &failed].concat(), run);
            output::write_beside(path, |file| Ok(file.write_all(page.as_bytes())?))?;
        }
    }
    if everywhere.json {
        let mut all = Vec::with_capacity(done.len());
        for (Done { protocol, result, .. }, seconds) in done.iter().zip(&seconds) {
            let mut one = as_json(protocol, result, run);
            one["seconds"] = json!(output::round(*seconds, 3));
            all.push(one);
        }
        for (done, seconds) in searched.iter().zip(&seconds[done.len()..]) {
            let mut one = done.json(run);
            one["seconds"] = json!(output::round(*seconds, 3));
            all.push(one);
        }
        output::print_json(&json!({"protocols": all, "skipped": skipped, "failed": failed}))?;
        return whole(&failed);
    }
    let tables = done.iter().map(|one| (&one.protocol.name, one.verdict()));
    let tables = tables.chain(searched.iter().map(|one| (&one.protocol.name, one.verdict())));
    let rows =
        tables.zip(&seconds).map(|((name, verdict), seconds)| vec![name.clone(), verdict, format!("{seconds:.0} s")]);
    let mut text = output::table(&["protocol", "claims", "time"], 1, rows);
    skipped.iter().for_each(|line| text.push_str(&format!("not run: {line}\n")));
    output::print_text(&text)?;
    whole(&failed)
}

/// An error that names what failed, if anything did.
fn whole(failed: &[String]) -> anyhow::Result<()> {
    match failed {
        [] => Ok(()),
        failed => anyhow::bail!("{} of the protocols failed: {}", failed.len(), failed.join("; ")),
    }
}

fn list(protocols: &[Protocol], searches: &[SearchProtocol], everywhere: &Everywhere) -> anyhow::Result<()> {
    if everywhere.json {
        let mut all: Vec<Value> = protocols.iter().map(|protocol| json!(protocol)).collect();
        all.extend(searches.iter().map(|protocol| json!(protocol)));
        return output::print_json(&json!({"protocols": all}));
    }
    let row = |protocol: &Protocol| vec![protocol.name.clone(), protocol.file.clone(), protocol.paper.clone()];
    let found = |protocol: &SearchProtocol| {
        let names: Vec<&str> = protocol.collections.iter().map(|of| of.documents.as_str()).collect();
        vec![protocol.name.clone(), names.join(", "), protocol.paper.clone()]
    };
    let rows = protocols.iter().map(row).chain(searches.iter().map(found));
    output::print_text(&output::table(&["protocol", "data", "paper"], 3, rows))
}

fn as_json(protocol: &Protocol, result: &Reproduction, run: &Run) -> Value {
    let points: Vec<Value> = result
        .points
        .iter()
        .map(|point| {
            let systems = protocol.systems.iter().enumerate().map(|(number, system)| {
                let mut figures = Map::new();
                for &figure in &protocol.figures {
                    let (mean, deviation) = point.spread(number, figure);
                    let paper = system.paper.get(&figure).map(|v| if figure.is_share() { v / 100.0 } else { *v });
                    let values = &point.values[number].get(&figure);
                    let name = figure.title().replace(' ', "_").to_lowercase();
                    figures.insert(name, json!({"mean": mean, "deviation": deviation, "paper": paper, "runs": values}));
                }
                json!({
                    "name": system.name, "recipe": system.recipe, "figures": figures, "chosen": point.chosen[number],
                })
            });
            json!({"at": point.at, "systems": systems.collect::<Vec<_>>(), "claims": point.claims})
        })
        .collect();
    json!({
        "protocol": protocol.name, "paper": protocol.paper, "note": protocol.note, "documents": result.documents,
        "runs": result.runs, "seed": run.seed(), "along": protocol.along.as_ref().map(|along| &along.name),
        "points": points, "claims": result.claims, "confusions": result.confusions.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "per_class": result.per_class.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "sprinkling": result.sprinkling,
        "spread": result.spread,
        "topics": result.topics,
        "senses": result.senses.iter().map(|(word, senses)| json!({
            "word": word,
            "senses": senses.iter().map(|(words, p)| json!({"words": words, "probability": p})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "reconstruction": result.reconstruction.iter().map(|(word, terms)| json!({
            "word": word, "terms": terms,
        })).collect::<Vec<_>>(),
        "variability": result.variability.iter().map(|(topic, before, after)| json!({
            "topic": topic, "before": before, "after": after,
        })).collect::<Vec<_>>(),
        "seconds": output::seconds(run),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_of_the_folder_is_known_by_the_name_of_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reproduce");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.filter_map(|name| Some(name.strip_suffix(".json")?.to_string())).collect();
        let mut known: Vec<String> =
            PROTOCOLS.iter().chain(VARIANTS).map(|json| Protocol::parse(json).unwrap().name).collect();
        let family = |json: &&str| serde_json::from_str::<Value>(json).unwrap()["name"].as_str().unwrap().to_string();
        known.extend(FAMILIES.iter().map(family));
        known.extend(super::searches::all().unwrap().into_iter().map(|protocol| protocol.name));
        files.sort();
        known.sort();
        assert_eq!(known, files);
    }
}
