//! A reproduction as text and as the rows of tables.

use corpuscle::Run;
use corpuscle::experiment::{ClassMeans, Figure, Point, Protocol, Reproduction, mean_and_deviation};
use corpuscle::vectorize::Spread;

use crate::output::{self, percent};

/// A table: what its columns are called, and its rows; the first column is text.
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn text(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        output::table(&columns, 1, self.rows.iter().cloned())
    }
}

pub(super) fn text(protocol: &Protocol, result: &Reproduction, run: &Run) -> String {
    let mut text = format!(
        "{}\n{}\n{}\n{} documents, {}, seed {}\n\n",
        protocol.title,
        protocol.paper,
        protocol.note,
        output::count(result.documents),
        draws(result.runs),
        run.seed()
    );
    text.push_str(&match &protocol.along {
        _ if protocol.systems.is_empty() => String::new(),
        Some(_) => curve(protocol, result).text() + &chosen_along(protocol, result),
        None => result.points.iter().map(|point| systems(protocol, point).text()).collect(),
    });
    if !protocol.claims.is_empty() {
        text.push_str("\nclaims of the paper (paired t-test, p < 0.05)\n");
        text.push_str(&claims(protocol, result).text());
    }
    for (by_class, table) in by_class(protocol, result) {
        text.push_str(&format!("\n{by_class}, class by class\n{}", table.text()));
    }
    if !result.sprinkling.is_empty() {
        text.push_str("\nwhat sprinkling does to the classes and to the matrix\n");
        text.push_str(&sprinkling(result).text());
    }
    if !result.reconstruction.is_empty() {
        text.push_str("\nwhat words bring to mind, ours and the paper's\n");
        text.push_str(&reconstruction(protocol, result).text());
    }
    if !result.topics.is_empty() {
        text.push_str("\nmean coherence of all topics, over the runs\n");
        text.push_str(&coherence(protocol, result).text());
        text.push_str("\ntopics with most of the words of a theme\n");
        text.push_str(&themes(protocol, result).text());
    }
    if !result.senses.is_empty() {
        text.push_str("\nsenses of words, ours and the paper's\n");
        text.push_str(&senses(protocol, result).text());
    }
    if let Some(values) = &result.spread {
        text.push_str("\nvalues of the training documents\n");
        text.push_str(&output::facts(&storage(values)));
    }
    if !result.variability.is_empty() {
        text.push_str(
            "\nhow much training documents of one topic differ: Q, the sum of squared distances of all pairs\n",
        );
        text.push_str(&variability(result).text());
    }
    text
}

/// "1 draw", "5 draws".
pub(super) fn draws(runs: usize) -> String {
    format!("{runs} draw{}", if runs == 1 { "" } else { "s" })
}

fn shown(figure: Figure, value: f64) -> String {
    if !value.is_finite() {
        String::new()
    } else if figure.is_share() {
        percent(value)
    } else {
        format!("{value:.2}")
    }
}

fn spread(figure: Figure, (mean, deviation): (f64, f64)) -> String {
    let scale = if figure.is_share() { 100.0 } else { 1.0 };
    if deviation.is_finite() {
        format!("{} ± {:.2}", shown(figure, mean), scale * deviation)
    } else {
        shown(figure, mean)
    }
}

/// Every system with its figures, the paper's and the difference.
pub(super) fn systems(protocol: &Protocol, point: &Point) -> Table {
    let mut columns = vec!["system".to_string()];
    for figure in &protocol.figures {
        columns.push(figure.title().into());
        if protocol.systems.iter().any(|system| system.paper.contains_key(figure)) {
            columns.extend(["paper".into(), "difference".into()]);
        }
    }
    let tuned = point.chosen.iter().any(|chosen| !chosen.is_empty());
    if tuned {
        columns.push("chosen".into());
    }
    let rows = protocol.systems.iter().enumerate().map(|(number, system)| {
        let mut row = vec![system.name.clone()];
        for &figure in &protocol.figures {
            let (mean, deviation) = point.spread(number, figure);
            row.push(match &system.recipe {
                Some(_) => spread(figure, (mean, deviation)),
                None => "–".to_string(),
            });
            if protocol.systems.iter().any(|system| system.paper.contains_key(&figure)) {
                let (unit, scale) = if figure.is_share() { (" %", 100.0) } else { ("", 1.0) };
                match system.paper.get(&figure) {
                    Some(value) => row.extend([
                        format!("{value:.2}{unit}"),
                        if mean.is_finite() { format!("{:+.2}", scale * mean - value) } else { String::new() },
                    ]),
                    None => row.extend([String::new(), String::new()]),
                }
            }
        }
        if tuned {
            row.push(chosen(point, number));
        }
        row
    });
    Table { columns, rows: rows.collect() }
}

/// The values chosen for each name, without repeats: `rank 20, 50`.
fn chosen(point: &Point, number: usize) -> String {
    let Some(first) = point.chosen[number].first() else {
        return String::new();
    };
    let of = |name: &String| {
        let mut values: Vec<f64> = point.chosen[number].iter().filter_map(|chosen| chosen.get(name).copied()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        format!("{name} {}", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    };
    first.keys().map(of).collect::<Vec<_>>().join("; ")
}

/// The first figure of every system at every point.
pub(super) fn curve(protocol: &Protocol, result: &Reproduction) -> Table {
    let mut columns = vec![protocol.along.as_ref().map_or_else(String::new, |along| along.label.clone())];
    columns.extend(protocol.systems.iter().map(|system| system.name.clone()));
    let figure = protocol.figures[0];
    let rows = result.points.iter().map(|point| {
        let at = point.at.map_or_else(String::new, |at| at.to_string());
        let values = (0..protocol.systems.len()).map(|number| spread(figure, point.spread(number, figure)));
        std::iter::once(at).chain(values).collect()
    });
    Table { columns, rows: rows.collect() }
}

/// What was chosen at every point of the curve; nothing where nothing was.
fn chosen_along(protocol: &Protocol, result: &Reproduction) -> String {
    let rows: Vec<Vec<String>> = chosen_rows(protocol, result);
    if rows.is_empty() {
        return String::new();
    }
    "\nchosen on the validation part\n".to_string() + &output::table(&["system", "at", "values"], 3, rows)
}

/// System, place and values wherever values were chosen.
pub(super) fn chosen_rows(protocol: &Protocol, result: &Reproduction) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (number, system) in protocol.systems.iter().enumerate() {
        for point in &result.points {
            let values = chosen(point, number);
            if !values.is_empty() {
                rows.push(vec![system.name.clone(), point.at.map_or_else(String::new, |at| at.to_string()), values]);
            }
        }
    }
    rows
}

/// Every claim, at every point where it is about each, and whether it holds.
pub(super) fn claims(protocol: &Protocol, result: &Reproduction) -> Table {
    let many = result.points.len() > 1;
    let at_points = result.points.iter().flat_map(|point| point.claims.iter().map(move |tested| (tested, point.at)));
    let rows = at_points.chain(result.claims.iter().map(|tested| (tested, None))).map(|(tested, at)| {
        let claim = &tested.claim;
        let how = match (claim.or_equal, claim.by.is_cost()) {
            (true, _) => "not worse than",
            (false, true) => "below",
            (false, false) => "above",
        };
        let (scale, digits) = (if claim.by.is_share() { 100.0 } else { 1.0 }, claim.by.decimals());
        let [difference, interval, p] = tested.test.map_or([const { String::new() }; 3], |test| {
            [
                format!("{:+.digits$}", scale * test.difference),
                format!("{:+.digits$} … {:+.digits$}", scale * test.low, scale * test.high),
                format!("{:.1e}", test.p),
            ]
        });
        let axis = protocol.along.as_ref().map_or("terms", |along| along.name.as_str());
        let place = |at: Option<f64>| at.map_or_else(String::new, |at| format!(" at {axis} {at}"));
        let times = claim.times.map_or_else(String::new, |times| format!("{times} × "));
        let what = format!(
            "{}{} {how} {times}{}{} by {}{}",
            claim.better,
            place(claim.at),
            claim.than,
            place(claim.than_at),
            claim.by.title(),
            place(at.filter(|_| many && protocol.along.is_some())),
        );
        let verdict = match (tested.test, tested.holds) {
            (None, _) => "one draw, not tested",
            (_, true) => "holds",
            (_, false) => "does not hold",
        };
        vec![what, verdict.into(), difference, p, interval]
    });
    // What matters most stays where a terminal is narrow.
    let columns = ["claim", "verdict", "difference", "p", "95 % interval"].map(String::from).to_vec();
    Table { columns, rows: rows.collect() }
}

/// Precision and recall of every class, the paper's and the differences, for each system the protocol names.
pub(super) fn by_class(protocol: &Protocol, result: &Reproduction) -> Vec<(String, Table)> {
    let one = |(system, means): &(String, Vec<ClassMeans>)| {
        let paper =
            protocol.per_class.iter().find(|by_class| by_class.system == *system).map(|by_class| &by_class.paper);
        let paper = paper.filter(|paper| !paper.is_empty());
        let mut columns = vec!["class"];
        for figure in ["precision", "recall"] {
            columns.push(figure);
            if paper.is_some() {
                columns.extend(["paper", "difference"]);
            }
        }
        let rows = means.iter().map(|means| {
            let mut row = vec![means.class.clone()];
            for (place, value) in [means.precision, means.recall].into_iter().enumerate() {
                row.push(percent(value));
                if let Some(paper) = paper {
                    row.extend(match paper.get(&means.class) {
                        Some(of) => [format!("{:.2} %", of[place]), format!("{:+.2}", 100.0 * value - of[place])],
                        None => [String::new(), String::new()],
                    });
                }
            }
            row
        });
        (system.clone(), Table { columns: columns.into_iter().map(String::from).collect(), rows: rows.collect() })
    };
    result.per_class.iter().map(one).collect()
}

/// W/B ratios and distortion over the number of sprinkled terms.
pub(super) fn sprinkling(result: &Reproduction) -> Table {
    let rows = result.sprinkling.iter().map(|point| {
        vec![
            point.terms.to_string(),
            format!("{:.4}", point.within_over_between),
            format!("{:.4}", point.terms_within_over_between),
            format!("{:.5}", point.mean_square_distortion),
        ]
    });
    let columns = ["terms per class", "W/B of documents", "W/B of terms", "mean square distortion"];
    Table { columns: columns.map(String::from).to_vec(), rows: rows.collect() }
}

/// Zeros and bytes before and after small values are made zero.
pub(super) fn storage(values: &Spread) -> Vec<(String, String)> {
    let ([before, after], [whole, cut]) = (values.zeros(), values.sparse_bytes());
    vec![
        ("zeros before".into(), percent(before)),
        ("zeros after".into(), percent(after)),
        ("as a dense matrix".into(), output::bytes(values.dense_bytes())),
        ("as a sparse matrix before".into(), output::bytes(whole)),
        ("as a sparse matrix after".into(), output::bytes(cut)),
    ]
}

/// The terms reconstructed of each word beside the paper's, and how many they have in common.
pub(super) fn reconstruction(protocol: &Protocol, result: &Reproduction) -> Table {
    let rows = result.reconstruction.iter().map(|(word, ours)| {
        let asked = protocol.reconstruction.iter().flat_map(|asked| &asked.words).find(|(other, _)| other == word);
        let theirs = asked.map_or(&[][..], |(_, terms)| terms);
        let both = ours.iter().filter(|&term| theirs.contains(term)).count();
        let word = if word.is_empty() { "(empty document)" } else { word };
        let ours = if ours.is_empty() { "not a word of our documents".to_string() } else { ours.join(" ") };
        vec![word.to_string(), ours, theirs.join(" "), format!("{both} of {}", theirs.len())]
    });
    let columns = ["word", "ours, largest first", "paper", "in common"].map(String::from).to_vec();
    Table { columns, rows: rows.collect() }
}

/// The variability of every topic before and after, and what was removed of it.
pub(super) fn variability(result: &Reproduction) -> Table {
    let rows = result.variability.iter().map(|(topic, before, after)| {
        let removed = percent(1.0 - after / before.max(f64::MIN_POSITIVE));
        vec![topic.clone(), format!("{before:.2}"), format!("{after:.2}"), removed]
    });
    Table { columns: ["topic", "before", "after", "removed"].map(String::from).to_vec(), rows: rows.collect() }
}

/// Every model's mean coherence, and the paper's.
pub(super) fn coherence(protocol: &Protocol, result: &Reproduction) -> Table {
    let rows = protocol.topics.iter().flat_map(|asked| &asked.systems).map(|system| {
        let found = result.topics.iter().find(|found| found.name == system.name);
        let spread = |of: fn(&(f64, f64)) -> f64, digits: usize| {
            let values: Vec<f64> = found.map_or(Vec::new(), |found| found.coherence.iter().map(of).collect());
            match (values.as_slice(), mean_and_deviation(&values)) {
                ([], _) => String::new(),
                ([only], _) => format!("{only:.digits$}"),
                (_, Some((mean, deviation))) => format!("{mean:.digits$} ± {deviation:.digits$}"),
                (_, None) => String::new(),
            }
        };
        let paper = system.paper.map_or(String::new(), |value| format!("{value:.2}"));
        vec![system.name.clone(), spread(|both| both.0, 2), paper, spread(|both| both.1, 3)]
    });
    let columns = ["topics", "UMass", "paper", "NPMI"].map(String::from).to_vec();
    Table { columns, rows: rows.collect() }
}

/// The topics of themes, and the paper's coherence of its own.
pub(super) fn themes(protocol: &Protocol, result: &Reproduction) -> Table {
    let mut rows = Vec::new();
    let (systems, themes) =
        protocol.topics.as_ref().map_or((&[][..], &[][..]), |asked| (&asked.systems, &asked.themes));
    for (at, (theme, _)) in themes.iter().enumerate() {
        for system in systems {
            let found = result.topics.iter().find(|found| found.name == system.name);
            let (words, umass) = found
                .and_then(|found| found.themes.get(at))
                .map_or_else(Default::default, |(words, umass)| (words.join(" "), format!("{umass:.2}")));
            let paper = system.paper_themes.get(at).map_or(String::new(), |value| format!("{value:.2}"));
            rows.push(vec![format!("{theme}, {}", system.name), words, umass, paper]);
        }
    }
    Table { columns: ["theme", "words", "UMass", "paper"].map(String::from).to_vec(), rows }
}

/// The senses of words, each with its cluster, beside the paper's.
pub(super) fn senses(protocol: &Protocol, result: &Reproduction) -> Table {
    let mut rows = Vec::new();
    for (word, ours) in &result.senses {
        let asked = protocol.senses.iter().flat_map(|asked| &asked.words).find(|(other, _)| other == word);
        let theirs = asked.map_or(&[][..], |(_, senses)| senses);
        for at in 0..ours.len().max(theirs.len()) {
            let name = if at == 0 { word.clone() } else { String::new() };
            let own = ours.get(at).map_or_else(Default::default, |(words, p)| (words.join(" "), format!("{p:.2}")));
            let paper = theirs.get(at).map_or_else(Default::default, |(words, p)| (words.clone(), format!("{p:.2}")));
            rows.push(vec![name, own.0, own.1, paper.0, paper.1]);
        }
    }
    let columns = ["word", "words of the cluster", "P(c|w)", "paper", "P(c|w)"].map(String::from).to_vec();
    Table { columns, rows }
}
