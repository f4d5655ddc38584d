use proptest::prelude::*;

use super::index::{BLOCK, Length};
use super::*;
use crate::classify::{ClassWeight, Classifier, ClassifierModel};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix, Row};
use crate::project::Target;
use crate::store::tests::round_trip;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

const BOTH: [Metric; 2] = [Metric::Cosine, Metric::Euclidean];

/// The k nearest rows, everything in `f64`, nothing clever.
fn brute_force(x: &Matrix, query: &Row<'_>, k: usize, metric: Metric) -> Vec<u32> {
    let squared = |row: &Row<'_>| Length::of(row).squared;
    let score = |row: Row<'_>| {
        let (a, b) = (squared(query), squared(&row));
        match metric {
            Metric::Cosine if a > 0.0 && b > 0.0 => -query.inner(&row) / (a * b).sqrt(),
            Metric::Cosine => 0.0,
            Metric::Euclidean => (a + b - 2.0 * query.inner(&row)).max(0.0),
        }
    };
    let mut all: Vec<(f64, u32)> = (0..x.rows()).map(|row| (score(x.row(row)), row as u32)).collect();
    all.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap().then(a.1.cmp(&b.1)));
    all.iter().take(k).map(|&(_, row)| row).collect()
}

fn assert_exact(x: &Matrix, queries: &Matrix, k: usize, threads: usize) {
    let run = Run::new(1, threads).unwrap();
    let labels = Labels::from_single(vec![Some("a"); x.rows()]);
    for metric in BOTH {
        let model = KnnParams { metric, ..KnnParams::default() }.fit(x, &Target::new(&labels), &run).unwrap();
        let found = model.neighbours(queries, k, &run).unwrap();
        assert_eq!((found.len(), found.per_query()), (queries.rows(), k.min(x.rows())));
        for query in 0..queries.rows() {
            let (rows, values) = found.of(query);
            assert_eq!(rows, brute_force(x, &queries.row(query), k, metric), "{metric:?}, query {query}");
            let ordered = |pair: &[f32]| if metric == Metric::Cosine { pair[0] >= pair[1] } else { pair[0] <= pair[1] };
            assert!(values.windows(2).all(ordered));
        }
    }
}

/// Rows with few distinct values, so that near and exact ties abound; `sparse`, `dense` columns, the last `negative`
/// of them V ᵀx for V some unit vectors, which keeps every squared length at 0 or well above.
fn rows(n: usize, sparse: usize, dense: usize, negative: usize) -> impl Strategy<Value = Matrix> {
    let row = proptest::collection::btree_map(0..sparse.max(1) as u32, -2i8..4, 0..=sparse.min(6));
    let own = proptest::collection::vec(-2i8..4, dense);
    proptest::collection::vec((row, own), 1..=n).prop_map(move |rows| {
        let scale = 0.37f32;
        let csr = Csr::from_rows(
            sparse,
            rows.iter().map(|(row, _)| row.iter().map(|(&c, &v)| (c, scale * f32::from(v))).collect()),
        );
        let values = rows.iter().flat_map(|(row, own)| {
            let own = own.iter().map(|&v| scale * f32::from(v));
            let taken = (0..negative as u32).map(|c| scale * f32::from(row.get(&c).copied().unwrap_or(0)));
            own.chain(taken).collect::<Vec<_>>()
        });
        let dense = Dense::new(rows.len(), dense + negative, values.collect::<Vec<f32>>()).unwrap();
        Matrix::new(csr, dense, negative).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sparse_rows(x in rows(120, 12, 0, 0), queries in rows(9, 12, 0, 0), k in 1usize..12) {
        assert_exact(&x, &queries, k, 1);
    }

    #[test]
    fn dense_rows(x in rows(120, 0, 5, 0), queries in rows(9, 0, 5, 0), k in 1usize..12) {
        assert_exact(&x, &queries, k, 2);
    }

    #[test]
    fn mixed_rows(x in rows(120, 12, 3, 0), queries in rows(9, 12, 3, 0), k in 1usize..12) {
        assert_exact(&x, &queries, k, 2);
    }

    #[test]
    fn rows_with_a_negative_part(x in rows(120, 12, 2, 3), queries in rows(9, 12, 2, 3), k in 1usize..130) {
        assert_exact(&x, &queries, k, 2);
    }

    #[test]
    fn adding_equals_fitting_at_once(x in rows(60, 12, 1, 0), cut in 0.0f64..1.0, queries in rows(9, 12, 1, 0)) {
        let run = Run::new(1, 1).unwrap();
        let all: Vec<usize> = (0..x.rows()).collect();
        let (first, second) = all.split_at(1 + (cut * (x.rows() - 1) as f64) as usize);
        let labels = Labels::from_single((0..x.rows()).map(|i| ["a", "b", "c"][i % 3]).map(Some));
        let weights: Vec<f32> = (0..x.rows()).map(|i| (1 + i % 4) as f32).collect();
        for metric in BOTH {
            let params = KnnParams { k: 5, metric, class_weight: ClassWeight::Balanced, ..KnnParams::default() };
            let at_once = params.fit(&x, &Target::new(&labels).with_weights(Some(&weights)), &run).unwrap();
            let (early, late) = weights.split_at(first.len());
            let mut grown = params.fit(&x.select_rows(first), &Target::new(&labels.select(first)).with_weights(Some(early)), &run).unwrap();
            grown.add(&x.select_rows(second), &labels.select(second), Some(late), &run).unwrap();
            prop_assert_eq!(grown.neighbours(&queries, 5, &run).unwrap(), at_once.neighbours(&queries, 5, &run).unwrap());
            let scores = at_once.scores(&queries, &run).unwrap();
            prop_assert_eq!(&grown.scores(&queries, &run).unwrap(), &scores);
            let back = round_trip(|out| grown.save(out).unwrap(), |store| KnnModel::load(store, &run)).unwrap();
            prop_assert_eq!(&back.scores(&queries, &run).unwrap(), &scores);
            for row in 0..scores.rows() {
                let sum: f32 = scores.row(row).iter().map(|score| score.max(0.0)).sum();
                prop_assert!((sum - 1.0).abs() < 1e-5 || (metric == Metric::Cosine && sum == 0.0));
            }
        }
    }
}

/// Text-like rows: a few columns nearly everywhere, most hardly anywhere.
fn text_like(n: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let rows = (0..n).map(|_| {
        let entries = (0..25).map(|_| ((next().powi(5) * 3000.0) as u32, next() as f32 + 0.1));
        entries.collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
    });
    Csr::from_rows(3000, rows.collect::<Vec<_>>()).into()
}

#[test]
fn several_blocks_many_neighbours_any_number_of_threads() {
    let (x, queries) = (text_like(BLOCK + 1000, 1), text_like(130, 2));
    assert_exact(&x, &queries, 10, 8);
    assert_exact(&x, &queries.select_rows(&[0, 1, 2]), 700, 1);
    let labels = Labels::from_single((0..x.rows()).map(|i| ["a", "b", "c"][i % 3]).map(Some));
    let scores = |threads| {
        let run = Run::new(1, threads).unwrap();
        KnnParams::default().fit(&x, &Target::new(&labels), &run).unwrap().scores(&queries, &run).unwrap()
    };
    let one = scores(1);
    assert_eq!(one, scores(2));
    assert_eq!(one, scores(8));
}

#[test]
fn values_near_overflow_and_underflow_are_compared_all_the_same() {
    let values = [3e38, -3e38, 1e30, 1e15, 1.0, 1e-20, 1e-38, 1e-45, 0.0];
    let mut rows = Vec::new();
    for a in values {
        for b in values {
            rows.push(vec![(0, a), (1, b)]);
        }
    }
    let sparse = Matrix::from(Csr::from_rows(2, rows.clone()));
    assert_exact(&sparse, &sparse, 7, 1);
    let dense = Dense::new(rows.len(), 2, rows.iter().flatten().map(|&(_, v)| v).collect::<Vec<f32>>()).unwrap();
    assert_exact(&dense.clone().into(), &dense.into(), 7, 1);
}

#[test]
fn votes_are_what_the_header_says() {
    let run = Run::new(1, 1).unwrap();
    let x = Matrix::from(Dense::from_rows(&[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]));
    let query = Matrix::from(Dense::from_rows(&[[3.0, 4.0], [0.0, 0.0]]));
    let labels = Labels::from_single(["a", "b", "b"].map(Some));
    let params = KnnParams { k: 9, ..KnnParams::default() };
    let close = |found: &[f32], expected: [f32; 2]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
    };
    let scores = params.fit(&x, &Target::new(&labels), &run).unwrap().scores(&query, &run).unwrap();
    close(scores.row(0), [0.6 / 1.4, 0.8 / 1.4]);
    close(scores.row(1), [0.0, 0.0]);
    let scores = params
        .fit(&x, &Target::new(&labels).with_weights(Some(&[2.0, 1.0, 5.0])), &run)
        .unwrap()
        .scores(&query, &run)
        .unwrap();
    close(scores.row(0), [1.2 / 2.0, 0.8 / 2.0]);
    let balanced = KnnParams { class_weight: ClassWeight::Balanced, vote: Vote::Majority, ..params.clone() };
    close(balanced.fit(&x, &Target::new(&labels), &run).unwrap().scores(&query, &run).unwrap().row(0), [0.5, 0.5]);
    let near = KnnParams { metric: Metric::Euclidean, ..params.clone() };
    let found = near.fit(&x, &Target::new(&labels), &run).unwrap().scores(&query, &run).unwrap();
    let votes = [20f32, 18.0, 32.0].map(|squared| 1.0 / (squared.sqrt() + 1e-6));
    let sum: f32 = votes.iter().sum();
    close(found.row(0), [votes[0] / sum, (votes[1] + votes[2]) / sum]);

    let lists = [vec!["a".to_string(), "b".to_string()], vec!["b".to_string()], vec![]];
    let several = Labels::from_lists(lists.iter().map(|row| Some(row.as_slice())));
    close(params.fit(&x, &Target::new(&several), &run).unwrap().scores(&query, &run).unwrap().row(0), [0.6 / 1.4, 1.0]);
}

#[test]
fn classes_without_votes_are_ranked_by_their_nearest_document() {
    let run = Run::new(1, 1).unwrap();
    let x = Matrix::from(Dense::from_rows(&[[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]]));
    let labels = Labels::from_single(["a", "b", "c", "c"].map(Some));
    let query = Matrix::from(Dense::from_rows(&[[2.0, 0.0]]));
    let params = KnnParams { k: 1, ..KnnParams::default() };
    let scores = params.fit(&x, &Target::new(&labels), &run).unwrap().scores(&query, &run).unwrap();
    assert!(scores.row(0).iter().zip([1.0, -0.2, -0.4]).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", scores.row(0));
    let params = KnnParams { metric: Metric::Euclidean, ..params };
    let scores = params.fit(&x, &Target::new(&labels), &run).unwrap().scores(&query, &run).unwrap();
    let distances = [1.0, (1.44f32 + 0.36).sqrt(), (1.96f32 + 0.64).sqrt()];
    let expected = [1.0, distances[0] / distances[1] - 1.0, distances[0] / distances[2] - 1.0];
    assert!(scores.row(0).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{:?}", scores.row(0));
}

#[test]
fn unlabelled_documents_and_those_without_weight_are_no_neighbours() {
    let run = Run::new(1, 1).unwrap();
    let x = Matrix::from(Dense::from_rows(&[[1.0], [2.0], [3.0], [4.0]]));
    let labels = Labels::from_single([Some("a"), None, Some("a"), Some("b")]);
    let mut model =
        KnnParams::default().fit(&x, &Target::new(&labels).with_weights(Some(&[1.0, 1.0, 0.0, 1.0])), &run).unwrap();
    assert_eq!(model.neighbours(&x, 9, &run).unwrap().of(0).0, [0, 3]);
    model.add(&x, &Labels::from_single([None, Some("new"), None, None]), None, &run).unwrap();
    assert_eq!(model.neighbours(&x, 9, &run).unwrap().of(0).0, [0, 3, 5]);
    assert_eq!(model.classes(), ["a", "b", "new"]);
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let run = Run::new(1, 1).unwrap();
    let x = text_like(20, 3);
    let labels = Labels::from_single(vec![Some("a"); 20]);
    assert!(KnnParams { k: 0, ..KnnParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap_err().is_usage());
    assert!(KnnParams::default().fit(&x, &Target::new(&labels.select(&[0])), &run).is_err());
    assert!(KnnParams::default().fit(&x, &Target::new(&Labels::from_single(vec![None::<&str>; 20])), &run).is_err());
    let mut model = KnnParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
    assert!(model.neighbours(&x, 0, &run).unwrap_err().is_usage());
    assert_eq!(model.neighbours(&x, 50, &run).unwrap().per_query(), 20);
    assert_eq!(model.scores(&x.select_rows(&[]), &run).unwrap().rows(), 0);
    assert!(model.neighbours(&x.select_rows(&[]), 3, &run).unwrap().is_empty());
    let narrow = Matrix::from(Csr::empty(1, 2));
    assert!(matches!(model.scores(&narrow, &run), Err(Error::Shape { .. })));
    assert!(matches!(model.add(&narrow, &labels.select(&[0]), None, &run), Err(Error::Shape { .. })));
    let dense = Matrix::from(Dense::from_rows(&[[f32::NAN]]));
    assert!(KnnParams::default().fit(&dense, &Target::new(&labels.select(&[0])), &run).is_err());
    run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(model.neighbours(&x, 3, &run), Err(Error::Cancelled)));
}

#[test]
fn damaged_stores_are_refused() {
    let run = Run::new(1, 1).unwrap();
    let labels = Labels::from_single(["a", "b"].map(Some));
    let model = KnnParams::default().fit(&text_like(2, 3), &Target::new(&labels), &run).unwrap();
    let load = |store: &StoreReader<'_>| -> Result<KnnModel> { KnnModel::load(store, &run) };
    let damages: [fn(&mut StoreWriter); 8] = [
        |out| out.put_u64("offsets", &[0, 2, 1]),
        |out| out.put_u64("offsets", &[0, 1]),
        |out| out.put_u32("ids", &[0, 2]),
        |out| out.put_u32("rows", &[1, 1]),
        |out| out.put_u32("rows", &[0, 2]),
        |out| out.put_f32("weights", &[2], &[1.0, 0.0]),
        |out| out.put_strings("classes", ["a", "a"]),
        |out| out.put_u32("ids", &[0]),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let result = round_trip(
            |out| {
                model.save(out).unwrap();
                damage(out);
            },
            load,
        );
        assert!(matches!(result, Err(Error::BadModel { .. })), "damage {number}");
    }
    // A file may claim four billion columns; that must not cost memory.
    let wide = Matrix::from(Csr::from_rows(u32::MAX as usize, [vec![(4_000_000_000, 1.0)], vec![(7, 1.0)]]));
    let model = KnnParams::default().fit(&wide, &Target::new(&labels), &run).unwrap();
    let back = round_trip(|out| model.save(out).unwrap(), load).unwrap();
    assert_eq!(back.neighbours(&wide, 1, &run).unwrap().of(1).0, [1]);
}

#[test]
fn the_plain_vote_ranks_no_class_that_got_none() {
    let run = Run::new(42, 1).unwrap();
    let x = Matrix::from(Dense::from_rows(&[[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]));
    let labels = Labels::from_single(["a", "b", "c"].map(Some));
    let new = Matrix::from(Dense::from_rows(&[[1.0, 0.1]]));
    let scores = |rest: Rest| {
        let model = KnnParams { k: 1, rest, ..KnnParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap();
        model.scores(&new, &run).unwrap().row(0).to_vec()
    };
    let ranked = scores(Rest::Nearest);
    assert!(ranked[1] < 0.0 && ranked[2] < ranked[1], "{ranked:?}");
    assert_eq!(scores(Rest::Equal), [1.0, 0.0, 0.0]);
}
