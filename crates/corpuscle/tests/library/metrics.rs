//! The metrics against scikit-learn on random inputs (`fixtures/make_metrics.py`), to 1e-9.

use std::collections::BTreeMap;

use corpuscle::corpus::Labels;
use corpuscle::matrix::Dense;
use corpuscle::metrics::{Evaluation, Predictions, RetrievalFigures};
use serde_json::Value;

fn lists(value: &Value) -> Vec<Vec<u32>> {
    serde_json::from_value(value.clone()).unwrap()
}

fn assert_close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap_or_else(|| panic!("{what}: {theirs} is no number"));
    assert!((ours - theirs).abs() < 1e-9, "{what}: ours {ours}, scikit-learn's {theirs}");
}

fn evaluate(case: &Value) -> Evaluation {
    let names: Vec<String> = (0..case["classes"].as_u64().unwrap()).map(|class| class.to_string()).collect();
    let rows: Vec<Option<Vec<String>>> = lists(&case["truth"])
        .into_iter()
        .map(|row| Some(row.into_iter().map(|class| names[class as usize].clone()).collect()))
        .collect();
    let truth = Labels::from_lists(rows.iter().map(|row| row.as_deref())).align(&names);
    let predicted = lists(&case["predicted"]);
    let predicted = match case["multi"].as_bool().unwrap() {
        true => Predictions::lists(predicted),
        false => Predictions::single(predicted.concat()),
    };
    let scored = case["scored"].as_u64().unwrap() as usize;
    let scores: Vec<f32> = serde_json::from_value(case["scores"].clone()).unwrap();
    let scores = Dense::new(truth.len(), scored, scores).unwrap();
    Evaluation::of(&truth, &predicted, Some(&scores)).unwrap()
}

#[test]
fn every_figure_agrees_with_scikit_learn() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../fixtures/metrics.json")).unwrap();
    assert_eq!(cases.len(), 16);
    for (number, case) in cases.iter().enumerate() {
        let (ours, theirs) = (evaluate(case), &case["expected"]);
        let ours_json = serde_json::to_value(&ours).unwrap();
        for average in ["micro", "macro", "weighted"] {
            for name in ["precision", "recall", "f1"] {
                let ours = ours_json[format!("{average}_{name}")].as_f64().unwrap();
                assert_close(ours, &theirs[average][name], &format!("case {number}: {average} {name}"));
            }
        }
        for name in ["accuracy", "eer", "hamming_loss", "coverage_error", "lrap"] {
            if !theirs[name].is_null() {
                assert_close(ours_json[name].as_f64().unwrap(), &theirs[name], &format!("case {number}: {name}"));
            }
        }
        for name in ["precision_at", "ndcg_at", "ndcg_at_scdv"] {
            for (k, value) in theirs[name].as_object().into_iter().flatten() {
                assert_close(ours_json[name][k].as_f64().unwrap(), value, &format!("case {number}: {name} {k}"));
            }
        }
        let classes = theirs["per_class"].as_array().unwrap();
        assert_eq!(ours.per_class.len(), classes.len(), "case {number}");
        for (ours, theirs) in ours.per_class.iter().zip(classes) {
            assert_eq!(
                (ours.class.clone(), ours.support),
                (theirs["class"].to_string(), theirs["support"].as_u64().unwrap())
            );
            assert_close(ours.precision, &theirs["precision"], "precision of a class");
            assert_close(ours.recall, &theirs["recall"], "recall of a class");
            assert_close(ours.f1, &theirs["f1"], "F1 of a class");
        }
        if let Some(confusion) = &ours.confusion {
            assert_eq!(serde_json::to_value(&confusion.counts).unwrap(), theirs["confusion"], "case {number}");
        }
        for (table, theirs) in ours.label_counts.iter().flatten().zip(theirs["tables"].as_array().into_iter().flatten())
        {
            let ours = [table.true_negative, table.false_positive, table.false_negative, table.true_positive];
            assert_eq!(serde_json::to_value(ours).unwrap(), *theirs, "case {number}, class {}", table.class);
        }
        assert_eq!(case["multi"].as_bool().unwrap(), ours.precision_at.is_some());
    }
}

/// Ranked lists against pytrec_eval (`fixtures/make_retrieval.py`), to 1e-9: ties, graded and negative judgements, short lists.
#[test]
fn ranked_lists_agree_with_pytrec_eval() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../fixtures/retrieval.json")).unwrap();
    assert_eq!(cases.len(), 12);
    for (number, case) in cases.iter().enumerate() {
        let found: BTreeMap<String, f64> = serde_json::from_value(case["found"].clone()).unwrap();
        let judged: BTreeMap<String, i32> = serde_json::from_value(case["judged"].clone()).unwrap();
        let found: Vec<(String, f64)> = found.into_iter().collect();
        let ours = serde_json::to_value(RetrievalFigures::of(&found, &judged).unwrap()).unwrap();
        for name in ["average_precision", "reciprocal_rank"] {
            assert_close(ours[name].as_f64().unwrap(), &case[name], &format!("case {number}: {name}"));
        }
        for name in ["precision_at", "recall_at", "ndcg_at"] {
            for (k, theirs) in case[name].as_object().unwrap() {
                assert_close(ours[name][k].as_f64().unwrap(), theirs, &format!("case {number}: {name} {k}"));
            }
        }
    }
}
