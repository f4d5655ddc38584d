//! `corpuscle evaluate-search`: an index or a run against judgements.

use corpuscle::Run;
use corpuscle::experiment::paired_t_test;
use corpuscle::metrics::RetrievalFigures;
use corpuscle::retrieve::trec;
use serde_json::{Value, json};

use crate::args::{EvaluateSearch, Everywhere};
use crate::output::{self, WrongCall};

type PerQuery = Vec<(String, RetrievalFigures)>;

pub(crate) fn run(args: &EvaluateSearch, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    match (&args.index, &args.queries, &args.runs[..]) {
        (Some(index), Some(queries), []) => {
            let how = super::how(&args.rank)?;
            let judged = super::judged(queries, &args.qrels)?;
            let searcher = super::open(index)?;
            let vectors = super::vectors(&args.rank, index, &searcher, run)?;
            let figures =
                run.watch("search", None, || judged.evaluate(&searcher, &how, vectors.as_ref(), &run.quiet()))?;
            let mut value = whole(&figures);
            value["how"] = json!(how);
            value["seconds"] = output::seconds(run);
            show(&figures, value, everywhere)
        }
        (_, _, [run]) => {
            let figures = of_run(run, &super::qrels(&args.qrels)?)?;
            show(&figures, whole(&figures), everywhere)
        }
        (_, _, [first, second]) => {
            let qrels = super::qrels(&args.qrels)?;
            compared(&of_run(first, &qrels)?, &of_run(second, &qrels)?, everywhere)
        }
        _ => Err(WrongCall("give an index with --queries, or --run once or twice".into()).into()),
    }
}

/// The figures of every judged query; one that the run leaves out has zeros.
fn of_run(path: &std::path::Path, qrels: &trec::Qrels) -> anyhow::Result<PerQuery> {
    let runs = trec::runs(&super::text(path)?, &path.display().to_string())?;
    let none = Vec::new();
    let of =
        |(id, judged): (&String, &_)| Some((id.clone(), RetrievalFigures::of(runs.get(id).unwrap_or(&none), judged)?));
    let figures: PerQuery = qrels.iter().filter_map(of).collect();
    if figures.is_empty() {
        return Err(WrongCall("no query has a document that is judged relevant".into()).into());
    }
    Ok(figures)
}

fn whole(figures: &PerQuery) -> Value {
    let mean = RetrievalFigures::mean(figures.iter().map(|(_, figures)| figures));
    let mut value = Value::Object(super::as_json(&mean));
    value["queries"] = json!(figures.len());
    value["per_query"] = super::per_query(figures);
    value
}

fn show(figures: &PerQuery, value: Value, everywhere: &Everywhere) -> anyhow::Result<()> {
    if everywhere.json {
        return output::print_json(&value);
    }
    let mean = RetrievalFigures::mean(figures.iter().map(|(_, figures)| figures));
    output::print_text(&format!("{} queries\n{}", output::count(figures.len()), super::table(&mean)))
}

fn compared(first: &PerQuery, second: &PerQuery, everywhere: &Everywhere) -> anyhow::Result<()> {
    let mean = |of: &PerQuery| RetrievalFigures::mean(of.iter().map(|(_, figures)| figures));
    let of = |figures: &PerQuery, name: &str| -> Vec<f64> {
        let one = |(_, figures): &(String, RetrievalFigures)| {
            super::named(figures).into_iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| value)
        };
        figures.iter().map(one).collect()
    };
    let (mut rows, mut tests) = (Vec::new(), serde_json::Map::new());
    for ((name, one), (_, other)) in super::named(&mean(first)).into_iter().zip(super::named(&mean(second))) {
        let test = paired_t_test(&of(second, &name), &of(first, &name));
        let p = test.map_or(f64::NAN, |test| test.p);
        rows.push(vec![
            name.clone(),
            format!("{one:.4}"),
            format!("{other:.4}"),
            format!("{:+.4}", other - one),
            format!("{p:.4}"),
        ]);
        tests.insert(
            name,
            json!({"first": one, "second": other, "difference": other - one, "p": test.map(|test| test.p)}),
        );
    }
    if everywhere.json {
        return output::print_json(
            &json!({"queries": first.len(), "first": whole(first), "second": whole(second), "tests": tests}),
        );
    }
    let heading = ["figure", "first", "second", "difference", "p"];
    output::print_text(&format!("{} queries\n{}", output::count(first.len()), output::table(&heading, 1, rows)))
}
