use super::*;
use crate::Run;
use crate::corpus::{Document, demo};

const SMALL: &str = r#"{"name": "x", "title": "x", "paper": "x", "file": "x",
    "classes": ["billing", "login", "network"], "parts": {"share": {"train": 0.5, "per_class": 30}}, "runs": 2,
    "grid": {"rank": [2, 8]}, "figures": ["accuracy", "eer"],
    "systems": [{"name": "a", "recipe": "tfidf | lsi({rank}) | svm(calibrate=0)", "paper": {"accuracy": 50.0}},
                {"name": "b", "recipe": "tfidf | svm(calibrate=0)"}],
    "claims": [{"better": "b", "than": "a", "or_equal": true}], "confusions": ["b"],
    "sprinkling": {"recipe": "binary", "rank": 5, "terms": [0, 8]}, "note": ""}"#;

#[test]
fn a_protocol_runs_and_chooses_values() {
    let run = Run::new(42, 2).unwrap();
    let protocol = Protocol::parse(SMALL).unwrap();
    let result = protocol.run(&demo().unwrap().train, 0, None, &run).unwrap();
    assert_eq!((result.documents, result.runs, result.points.len()), (90, 2, 1));
    let point = &result.points[0];
    assert!(point.chosen[0].len() == 2 && point.chosen[0].iter().all(|chosen| [2.0, 8.0].contains(&chosen["rank"])));
    assert!(point.chosen[1].is_empty() && point.spread(1, Figure::Accuracy).0 > 0.6);
    assert!(point.spread(1, Figure::Eer).0 < 0.5);
    assert_eq!(result.confusions[0].1.counts.iter().flatten().sum::<u64>(), 90);
    assert!(
        result.sprinkling[1].within_over_between < result.sprinkling[0].within_over_between,
        "sprinkling pulls classes together"
    );
}

#[test]
fn draws_made_at_once_are_those_made_one_after_another() {
    let protocol = Protocol::parse(SMALL).unwrap();
    let printed = |threads: usize| {
        let result = protocol.run(&demo().unwrap().train, 0, Some(3), &Run::new(7, threads).unwrap()).unwrap();
        serde_json::to_string(&result).unwrap()
    };
    assert_eq!(printed(1), printed(2));
    assert_eq!(printed(1), printed(8));
    let refused = Protocol::parse(&SMALL.replace("tfidf | svm(calibrate=0)", "tfidf(min_df=900) | svm(calibrate=0)"));
    let run = Run::new(7, 2).unwrap();
    assert!(refused.unwrap().run(&demo().unwrap().train, 0, Some(3), &run).is_err());
}

#[test]
fn a_curve_has_a_point_for_each_value_and_constant_systems_stay() {
    let run = Run::new(42, 2).unwrap();
    let curve = SMALL.replace(
        "\"grid\": {\"rank\": [2, 8]}",
        "\"along\": {\"name\": \"rank\", \"label\": \"dimensions\", \"values\": [1, 4, 8]}",
    );
    let result = Protocol::parse(&curve).unwrap().run(&demo().unwrap().train, 0, Some(2), &run).unwrap();
    assert_eq!(result.points.iter().map(|point| point.at).collect::<Vec<_>>(), [Some(1.0), Some(4.0), Some(8.0)]);
    let values = |point: usize, system: usize| result.points[point].values[system][&Figure::Accuracy].clone();
    assert_eq!(values(0, 1), values(2, 1));
    assert_ne!(values(0, 0), values(2, 0));
    assert!(result.claims.is_empty() && result.points.iter().all(|point| point.claims.len() == 1));
}

#[test]
fn claims_between_places_and_about_sprinkling_are_tested_once() {
    let run = Run::new(42, 2).unwrap();
    let claims = r#"[{"better": "a", "than": "a", "at": 8, "than_at": 1},
        {"better": "a", "than": "a", "at": 1, "than_at": 8, "times": 0.01},
        {"better": "sprinkled", "than": "sprinkled", "at": 8, "than_at": 0, "by": "within_over_between"}]"#;
    let curve = SMALL
        .replace(
            "\"grid\": {\"rank\": [2, 8]}",
            "\"along\": {\"name\": \"rank\", \"label\": \"dimensions\", \"values\": [1, 8]}",
        )
        .replace("[{\"better\": \"b\", \"than\": \"a\", \"or_equal\": true}]", claims);
    let result = Protocol::parse(&curve).unwrap().run(&demo().unwrap().train, 0, Some(3), &run).unwrap();
    assert!(result.points.iter().all(|point| point.claims.is_empty()));
    let held: Vec<bool> = result.claims.iter().map(|tested| tested.holds).collect();
    assert_eq!((held.len(), held[0], held[1], held[2]), (3, true, true, true), "{:?}", result.claims);
    let gain = result.claims[0].test.unwrap().difference;
    let accuracy = |point: usize| result.points[point].spread(0, Figure::Accuracy).0;
    assert!((gain - (accuracy(1) - accuracy(0))).abs() < 1e-12);
    assert_eq!((result.claims_held(), result.claims_tested()), ((3, 3), 3));
    let once = Protocol::parse(&curve).unwrap().run(&demo().unwrap().train, 0, Some(1), &run).unwrap();
    assert_eq!((once.claims_held(), once.claims_tested()), ((0, 3), 0));
}

#[test]
fn fixed_numbers_are_drawn_and_parts_do_not_meet() {
    let text = SMALL.replace(
        "{\"share\": {\"train\": 0.5, \"per_class\": 30}}",
        "{\"counts\": {\"train\": 12, \"development\": 4, \"test\": 5}}",
    );
    let protocol = Protocol::parse(&text).unwrap();
    let (documents, _) = protocol.taking_part(&demo().unwrap().train, 0).unwrap();
    let draw = protocol.draw(&documents, 0, 0, 42).unwrap();
    assert_eq!((draw.train.len(), draw.development.len(), draw.test.len()), (36, 12, 15));
    let mut rows: Vec<usize> = [&draw.train[..], &draw.development, &draw.test].concat();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 63);
    assert_eq!(draw, protocol.draw(&documents, 0, 0, 42).unwrap());
    assert_ne!(draw, protocol.draw(&documents, 0, 1, 42).unwrap());
    let protocol = Protocol::parse(&text.replace("\"train\": 12", "\"train\": 1200")).unwrap();
    assert!(protocol.draw(&documents, 0, 0, 42).is_err());
}

#[test]
fn protocols_that_make_no_sense_are_refused() {
    assert!(Protocol::parse("{}").is_err());
    for (from, to) in [
        ("lsi(", "lsj("),
        ("\"than\": \"a\"", "\"than\": \"z\""),
        ("{rank}", "{rang}"),
        ("[2, 8]", "[]"),
        ("[\"accuracy\", \"eer\"]", "[\"eer\"]"),
        ("\"runs\": 2", "\"runs\": 0"),
        ("\"confusions\": [\"b\"]", "\"confusions\": [\"c\"]"),
        ("\"or_equal\": true", "\"by\": \"umass\""),
        ("\"or_equal\": true", "\"by\": \"within_over_between\""),
        ("\"or_equal\": true", "\"by\": \"within_over_between\", \"at\": 8, \"than_at\": 3"),
        ("\"or_equal\": true", "\"at\": 8, \"than_at\": 2"),
    ] {
        assert!(SMALL.contains(from) && Protocol::parse(&SMALL.replace(from, to)).is_err(), "{to} was taken");
    }
    let protocol = Protocol::parse(&SMALL.replace("\"login\"", "\"nobody\"")).unwrap();
    assert!(protocol.taking_part(&demo().unwrap().train, 0).is_err());
}

#[test]
fn given_parts_stay_and_a_curve_over_labels_hides_labels() {
    let run = Run::new(42, 2).unwrap();
    let demo = demo().unwrap();
    let learnt = demo.train.len();
    let documents = [demo.train, demo.test].concat();
    let text = SMALL
        .replace(
            "{\"share\": {\"train\": 0.5, \"per_class\": 30}}",
            "{\"given\": {\"train\": \"train\", \"test\": \"test\", \"transductive\": true}}",
        )
        .replace(", \"confusions\": [\"b\"]", "");
    let protocol = Protocol::parse(&text).unwrap();
    assert_eq!(protocol.selections().len(), 2);
    let (picked, first) = protocol.taking_part(&documents, learnt).unwrap();
    let wanted = |part: &[Document]| {
        part.iter().filter(|d| d.labels.iter().flatten().all(|l| protocol.classes.contains(l))).count()
    };
    assert_eq!((first, picked.len()), (wanted(&documents[..learnt]), wanted(&documents)));
    let draw = protocol.draw(&picked, first, 3, 42).unwrap();
    assert!(draw.train.iter().all(|&row| row < first) && draw.test.iter().all(|&row| row >= first));
    assert_eq!((draw.train.len() + draw.test.len(), &draw.unlabelled), (picked.len(), &draw.test));

    let axis = "\"along\": {\"name\": \"labels\", \"label\": \"labels\", \"values\": [20, 100, 9999]}";
    let curve = text.replace("\"grid\": {\"rank\": [2, 8]}", axis).replace("{rank}", "8");
    let result = Protocol::parse(&curve).unwrap().run(&documents, learnt, Some(3), &run).unwrap();
    assert_eq!(result.points[2].at, Some(first as f64));
    let accuracy = |point: usize| result.points[point].spread(1, Figure::Accuracy).0;
    assert!(accuracy(0) < accuracy(1) && accuracy(0) < accuracy(2));
}

#[test]
fn a_family_is_one_protocol_on_several_corpora() {
    let json = include_str!("../../../../../reproduce/few-labels.json");
    let family = Protocol::parse_family(json).unwrap();
    let names: Vec<&str> = family.iter().map(|protocol| protocol.name.as_str()).collect();
    assert!(names.len() > 4 && names.contains(&"few-labels-banking77"), "{names:?}");
    assert!(family.iter().all(|protocol| protocol.systems.len() == family[0].systems.len()));
    assert!(family[0].title.starts_with("Few labels: ") && family[0].file != family[1].file);
    assert!(Protocol::parse_family(r#"{"name": "alone"}"#).unwrap_err().to_string().contains("corpora"));
    assert!(Protocol::parse_family(r#"{"corpora": [{"nam": "a"}]}"#).is_err());
}
