//! The commands that find documents, one file each, and what they share.

mod duplicates;
mod evaluate;
mod index;
mod search;
mod similar;
mod tune;

use std::path::Path;

use anyhow::Context;
use corpuscle::Run;
use corpuscle::metrics::RetrievalFigures;
use corpuscle::retrieve::{Feedback, Form, Index, Judged, Mix, Ranking, Search, Searcher, Vectors, trec};
use serde_json::{Map, Value, json};

pub(super) use self::duplicates::run as duplicates;
pub(super) use self::evaluate::run as evaluate;
pub(super) use self::index::run as index;
pub(super) use self::search::run as search;
pub(super) use self::similar::run as similar;
pub(super) use self::tune::run as tune;
use super::inspect;
use crate::args::{Function, Mixing, Rank, Widening};
use crate::output::{self, WrongCall};

/// The ranking flags, checked.
fn how(rank: &Rank) -> anyhow::Result<Search> {
    let stray = |flag: &str, given: bool, function: Function| match given && rank.rank != function {
        true => Err(WrongCall(format!("{flag} is not for this ranking function"))),
        false => Ok(()),
    };
    stray("--k1", rank.k1.is_some(), Function::Bm25)?;
    stray("--b", rank.b.is_some(), Function::Bm25)?;
    stray("--mu", rank.mu.is_some(), Function::Dirichlet)?;
    stray("--smoothing", rank.smoothing.is_some(), Function::JelinekMercer)?;
    let mut ranking = match rank.rank {
        Function::Bm25 => Ranking::BM25,
        Function::Dirichlet => Ranking::DIRICHLET,
        Function::JelinekMercer => Ranking::JELINEK_MERCER,
    };
    match &mut ranking {
        Ranking::Bm25 { k1, b } => (*k1, *b) = (rank.k1.unwrap_or(*k1), rank.b.unwrap_or(*b)),
        Ranking::Dirichlet { mu } => *mu = rank.mu.unwrap_or(*mu),
        Ranking::JelinekMercer { lambda } => *lambda = rank.smoothing.unwrap_or(*lambda),
    }
    let search = Search {
        ranking,
        form: if rank.linear { Form::Linear } else { Form::Log },
        feedback: rank.feedback.map(|widening| match widening {
            Widening::Mixture => Feedback::MIXTURE,
            Widening::Rm3 => Feedback::RELEVANCE,
        }),
        mix: match rank.mix {
            Mixing::Scores => Mix::Scores,
            Mixing::Probabilities => Mix::Probabilities,
        },
        lambda: rank.lambda,
    };
    search.check()?;
    Ok(search)
}

/// The index with what is committed in it.
fn open(folder: &Path) -> anyhow::Result<Searcher> {
    let index = Index::open(folder).with_context(|| folder.display().to_string())?;
    Ok(index.searcher()?)
}

/// The vectors asked for, if any: kept in the folder of the index.
fn vectors(rank: &Rank, folder: &Path, searcher: &Searcher, run: &Run) -> anyhow::Result<Option<Vectors>> {
    let Some(path) = &rank.vectors else { return Ok(None) };
    let (model, _) = inspect::open(path, run)?;
    let vectors = Vectors::kept(folder, searcher, model, run)?;
    Ok(Some(match rank.mix {
        Mixing::Scores => vectors,
        Mixing::Probabilities => vectors.with_words(searcher, run)?,
    }))
}

/// A file of queries or judgements; plain or packed.
fn text(path: &Path) -> anyhow::Result<String> {
    Ok(corpuscle::corpus::read_text(path)?)
}

pub(super) fn queries(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    Ok(trec::queries(&text(path)?, &path.display().to_string())?)
}

pub(super) fn qrels(path: &Path) -> anyhow::Result<trec::Qrels> {
    Ok(trec::qrels(&text(path)?, &path.display().to_string())?)
}

fn judged(query_file: &Path, qrel_file: &Path) -> anyhow::Result<Judged> {
    Ok(Judged::new(queries(query_file)?, qrels(qrel_file)?)?)
}

/// Means as people know them: by name, as fractions.
fn named(figures: &RetrievalFigures) -> Vec<(String, f64)> {
    let mut rows =
        vec![("map".to_string(), figures.average_precision), ("reciprocal_rank".to_string(), figures.reciprocal_rank)];
    let lists = [("precision", &figures.precision_at), ("ndcg", &figures.ndcg_at), ("recall", &figures.recall_at)];
    for (name, list) in lists {
        rows.extend(list.iter().map(|(k, value)| (format!("{name}@{k}"), *value)));
    }
    rows
}

fn as_json(figures: &RetrievalFigures) -> Map<String, Value> {
    let at = |list: &std::collections::BTreeMap<usize, f64>| {
        Value::Object(list.iter().map(|(k, value)| (k.to_string(), json!(value))).collect())
    };
    let mut map = Map::new();
    map.insert("map".into(), json!(figures.average_precision));
    map.insert("reciprocal_rank".into(), json!(figures.reciprocal_rank));
    map.insert("precision_at".into(), at(&figures.precision_at));
    map.insert("ndcg_at".into(), at(&figures.ndcg_at));
    map.insert("recall_at".into(), at(&figures.recall_at));
    map
}

fn per_query(queries: &[(String, RetrievalFigures)]) -> Value {
    let one = |(id, figures): &(String, RetrievalFigures)| {
        let mut of = as_json(figures);
        let average = of.remove("map").unwrap_or_default();
        of.insert("average_precision".into(), average);
        of.insert("query".into(), json!(id));
        Value::Object(of)
    };
    Value::from(queries.iter().map(one).collect::<Vec<_>>())
}

/// Figures as a table.
fn table(figures: &RetrievalFigures) -> String {
    let rows = named(figures).into_iter().map(|(name, value)| vec![name, format!("{value:.4}")]);
    output::table(&["figure", "mean"], 1, rows)
}
