use super::*;
use crate::corpus::demo;
use crate::text::WordsParams;

fn prepared(run: &Run) -> (Suggester, Labels) {
    let documents = demo().unwrap().train;
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let texts: Vec<String> = documents.into_iter().map(|document| document.text).collect();
    let tokens = WordsParams::default().tokenize(&texts, run).unwrap();
    // Fewer groups than documents, so that they are clustered.
    let params = SuggestParams { rank: 20, groups: 60, ..SuggestParams::default() };
    (params.prepare(&tokens, run).unwrap(), labels)
}

fn rows(batch: &[Suggestion]) -> Vec<usize> {
    batch.iter().map(|suggestion| suggestion.row).collect()
}

#[test]
fn batches_are_new_documents_and_the_same_on_any_threads() {
    let run = Run::new(7, 1).unwrap();
    let (suggester, truth) = prepared(&run);
    let mut labelled: Vec<usize> = Vec::new();
    for round in 0..6 {
        let batch = suggester.next(&truth.only(&labelled), None, 20, &run).unwrap();
        assert_eq!(batch.len(), 20);
        assert!(rows(&batch).iter().all(|row| !labelled.contains(row)), "round {round}");
        let mut distinct = rows(&batch);
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 20);
        for threads in [2, 8] {
            let run = Run::new(7, threads).unwrap();
            assert_eq!(prepared(&run).0.next(&truth.only(&labelled), None, 20, &run).unwrap(), batch);
        }
        let wavers = batch.iter().filter(|one| matches!(one.reason, Reason::Wavers { .. })).count();
        // The demo has 8 classes: from 80 labels on, half of a batch is by margin.
        assert_eq!(wavers, if labelled.len() >= 10 * truth.n_classes() { 10 } else { 0 }, "round {round}");
        labelled.extend(rows(&batch));
    }
}

#[test]
fn large_groups_come_first_and_say_what_they_are_about() {
    let run = Run::new(1, 2).unwrap();
    let texts: Vec<String> = (0..106)
        .map(|row| match row {
            0..60 => format!("card has not arrived delivery {}", ["late", "today", "week"][row % 3]),
            60..85 => format!("exchange rate wrong amount {}", ["euro", "dollar"][row % 2]),
            85..105 => format!("passcode forgotten reset {}", ["app", "phone"][row % 2]),
            _ => String::new(),
        })
        .collect();
    let tokens = WordsParams::default().tokenize(&texts, &run).unwrap();
    let suggester = SuggestParams { groups: 40, ..SuggestParams::default() }.prepare(&tokens, &run).unwrap();
    let none = Labels::none(texts.len());
    let batch = suggester.next(&none, None, 3, &run).unwrap();
    let group_of = |row: usize| {
        if row < 60 {
            0
        } else if row < 85 {
            1
        } else {
            2
        }
    };
    assert_eq!(rows(&batch).into_iter().map(group_of).collect::<Vec<_>>(), [0, 1, 2]);
    let Reason::Group { documents, labels, words } = &batch[0].reason else { panic!("{batch:?}") };
    assert_eq!((*documents, *labels, words.len()), (60, 0, 3));
    let said = batch[0].reason.to_string();
    assert!(said.starts_with("stands for a group of 60 documents without a label: "), "{said}");
    // A label in the largest group sends the next one elsewhere, and a document without words is never asked about.
    let labels = Labels::with_classes(vec!["a".into()], (0..106).map(|row| (row == 3).then(|| vec![0]))).unwrap();
    let next = suggester.next(&labels, None, 2, &run).unwrap();
    assert!(rows(&next).into_iter().all(|row| group_of(row) > 0), "{next:?}");
    assert_eq!(suggester.next(&none, None, 500, &run).unwrap().len(), 105);
}

#[test]
fn what_a_model_says_is_asked_for_by_margin_once_a_group() {
    let run = Run::new(2, 1).unwrap();
    let (suggester, truth) = prepared(&run);
    let mut scores = crate::matrix::Dense::zeros(truth.len(), truth.n_classes());
    for row in 0..truth.len() {
        scores.row_mut(row)[2] = 1.0 + row as f32;
        scores.row_mut(row)[0] = 1.0;
    }
    let doubt = Doubt::of_scores(truth.classes(), &scores, false).unwrap();
    assert_eq!((doubt.margin(0), doubt.margin(5)), (0.0, 5.0));
    let batch = suggester.next(&Labels::none(truth.len()), Some(&doubt), 10, &run).unwrap();
    let wavers: Vec<&Suggestion> = batch.iter().filter(|one| matches!(one.reason, Reason::Wavers { .. })).collect();
    assert_eq!((wavers.len(), wavers[0].row), (5, 0));
    let (one, other) = (&truth.classes()[2], &truth.classes()[0]);
    assert_eq!(wavers[1].reason.to_string(), format!("the model wavers between {one} and {other}"));
    let groups: std::collections::BTreeSet<_> = wavers.iter().map(|one| suggester.groups.of_row(one.row)).collect();
    assert_eq!(groups.len(), 5);
    // With several labels a document the class nearest to its threshold counts.
    let several = Doubt::of_scores(&truth.classes()[..3], &crate::matrix::Dense::from_rows(&[[3.0, -0.5, 1.0]]), true);
    let several = several.unwrap();
    assert_eq!(several.margin(0), 0.5);
    assert_eq!(several.reason(0).to_string(), format!("the model wavers whether to give {}", truth.classes()[1]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let run = Run::new(2, 1).unwrap();
    let (suggester, truth) = prepared(&run);
    assert!(suggester.next(&Labels::none(3), None, 5, &run).is_err());
    let short = Doubt::of_scores(truth.classes(), &crate::matrix::Dense::zeros(2, truth.n_classes()), false).unwrap();
    assert!(suggester.next(&Labels::none(truth.len()), Some(&short), 5, &run).is_err());
    assert!(Doubt::of_scores(truth.classes(), &crate::matrix::Dense::zeros(2, 1), false).is_err());
    assert!(SuggestParams { rank: 0, ..SuggestParams::default() }.check().unwrap_err().is_usage());
    assert!(suggester.next(&Labels::none(truth.len()), None, 0, &run).unwrap().is_empty());
    let names = vec!["one".to_string()];
    assert!(SuggestParams::default().prepare_matrix(&suggester.x, names, &run).is_err());
}

#[test]
fn what_was_skipped_is_not_asked_about_again() {
    let run = Run::new(3, 1).unwrap();
    let (suggester, truth) = prepared(&run);
    let none = Labels::none(truth.len());
    let first = rows(&suggester.next(&none, None, 10, &run).unwrap());
    let second = rows(&suggester.next_without(&first, &none, None, 10, &run).unwrap());
    assert_eq!(second.len(), 10);
    assert!(second.iter().all(|row| !first.contains(row)));
    // As a label in its place would, a skip sends the next question elsewhere.
    assert_eq!(second, rows(&suggester.next(&truth.only(&first), None, 10, &run).unwrap()));
}
