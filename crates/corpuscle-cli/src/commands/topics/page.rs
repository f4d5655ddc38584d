//! The page of `corpuscle topics --report`.

use corpuscle::report::html::{Metric, Report, Section};
use corpuscle::report::svg::{Bubbles, Disc, StackGroup, StackPart, Stacks};
use corpuscle::topics::Grouped;

use super::{Findings, Shown};
use crate::output::count;

/// Topics listed for a label.
const FEW: usize = 3;

pub(super) fn page(findings: &Findings, data: &[String]) -> String {
    let mut sections = vec![headline(findings), map(findings), table(findings)];
    sections.extend(findings.over.as_ref().map(|(field, over)| along(findings, field, over)));
    sections.extend(findings.labels.as_ref().map(|labels| by_label(findings, labels)));
    if findings.topics.iter().any(|shown| !shown.documents.is_empty()) {
        sections.push(documents(findings));
    }
    let mut facts = vec![("recipe".to_string(), findings.recipe.clone()), ("data".to_string(), data.join(", "))];
    facts.extend(findings.n_documents.map(|n| ("documents".to_string(), count(n))));
    sections.push(Section::Facts { heading: "How it was made".into(), rows: facts });
    let question = match findings.n_documents {
        Some(n) => format!("What are {} documents about?", count(n)),
        None => "What topics has the model found?".to_string(),
    };
    Report { title: format!("{} topics", findings.topics.len()), question, sections }.render()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn headline(findings: &Findings) -> Section {
    let empty = findings.topics.len() - findings.with_words().count();
    let note = if empty > 0 { format!("{empty} without a word of their own") } else { String::new() };
    let mut metrics = vec![Metric { name: "Topics".into(), value: findings.topics.len().to_string(), note }];
    metrics.extend(findings.n_documents.map(|n| Metric {
        name: "Documents".into(),
        value: count(n),
        note: String::new(),
    }));
    metrics.extend(findings.mean(|c| c.npmi).map(|npmi| Metric {
        name: "Coherence (NPMI)".into(),
        value: format!("{npmi:.3}"),
        note: "mean over topics; −1 to 1".into(),
    }));
    metrics.extend(findings.mean(|c| c.umass).map(|umass| Metric {
        name: "Coherence (UMass)".into(),
        value: format!("{umass:.1}").replace('-', "−"),
        note: "mean over topics; nearer 0 is better".into(),
    }));
    metrics.extend(findings.returning().map(|n| Metric {
        name: "Come back".into(),
        value: format!("{n} of {}", findings.topics.len()),
        note: "with half of their words in fits with other seeds".into(),
    }));
    Section::Headline { heading: "At a glance".into(), metrics }
}

fn map(findings: &Findings) -> Section {
    let disc = |shown: &Shown| Disc {
        mark: shown.topic.number.to_string(),
        name: shown.name.clone(),
        at: findings.places.get(shown.topic.number).copied().unwrap_or_default(),
        share: shown.topic.weight,
        tip: format!(
            "Topic {}, {} of all words: {}",
            shown.topic.number,
            percent(shown.topic.weight),
            shown.topic.words().join(", ")
        ),
    };
    let chart = Bubbles { title: "Topics".into(), discs: findings.with_words().map(disc).collect() }.render();
    let caption = "Topics with like words stand near each other; the area of a disc is the topic's share of all words. Names are the words that tell a topic from the others. Hover for all.";
    Section::Chart { heading: "Map".into(), chart, caption: caption.into() }
}

fn table(findings: &Findings) -> Section {
    let mut columns = vec!["Words".to_string(), "Topic".to_string(), "Weight".to_string()];
    let (coherent, stable) = (findings.mean(|c| c.npmi).is_some(), findings.returning().is_some());
    columns.extend(coherent.then_some(["NPMI", "UMass"]).into_iter().flatten().map(String::from));
    columns.extend(stable.then(|| "Comes back".to_string()));
    let row = |shown: &Shown| {
        let mut row = vec![shown.topic.words().join(", "), shown.topic.number.to_string(), percent(shown.topic.weight)];
        if coherent {
            let npmi = shown.coherence.map_or(String::new(), |c| format!("{:.3}", c.npmi).replace('-', "−"));
            let umass = shown.coherence.map_or(String::new(), |c| format!("{:.1}", c.umass).replace('-', "−"));
            row.extend([npmi, umass]);
        }
        row.extend(shown.stability.map(|share| format!("{:.0} %", 100.0 * share)));
        row
    };
    Section::Table { heading: "Words of topics".into(), columns, rows: findings.with_words().map(row).collect() }
}

fn along(findings: &Findings, field: &str, over: &Grouped) -> Section {
    let parts = findings
        .topics
        .iter()
        .map(|shown| StackPart { mark: shown.topic.number.to_string(), name: shown.name.clone() });
    let group = |(at, name): (usize, &String)| StackGroup {
        name: name.clone(),
        note: format!("{} documents", count(over.documents[at])),
        shares: findings.topics.iter().map(|shown| f64::from(over.shares.row(at)[shown.topic.number])).collect(),
    };
    let chart = Stacks {
        title: format!("Topics over {field}"),
        groups: over.names.iter().enumerate().map(group).collect(),
        parts: parts.collect(),
    };
    let caption = "The mean share of topics in the documents of a column: the eight that change most, and all others together. Hover for more.";
    Section::Chart { heading: format!("Over {field}"), chart: chart.render(), caption: caption.into() }
}

fn by_label(findings: &Findings, labels: &Grouped) -> Section {
    let row = |(at, label): (usize, &String)| {
        let mut shares: Vec<(&Shown, f32)> =
            findings.topics.iter().map(|shown| (shown, labels.shares.row(at)[shown.topic.number])).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let list = shares.iter().take(FEW);
        let list: Vec<String> = list
            .map(|(shown, share)| format!("{}: {} ({:.0} %)", shown.topic.number, shown.name, 100.0 * share))
            .collect();
        (format!("{label} ({})", count(labels.documents[at])), list.join(" · "))
    };
    Section::Facts { heading: "Labels and topics".into(), rows: labels.names.iter().enumerate().map(row).collect() }
}

fn documents(findings: &Findings) -> Section {
    let row = |shown: &Shown| {
        let list: Vec<String> =
            shown.documents.iter().map(|(id, share, text)| format!("{id} ({:.0} %): {text}", 100.0 * share)).collect();
        (format!("{}: {}", shown.topic.number, shown.name), list.join("\n"))
    };
    Section::Facts { heading: "Closest documents".into(), rows: findings.with_words().map(row).collect() }
}
