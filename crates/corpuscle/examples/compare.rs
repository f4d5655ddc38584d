//! Which recipe is better on my data, and is the difference more than chance?
//!
//! Every recipe is fitted and tested on the same ten random random_splits, so accuracies can be compared pair by pair.
//!
//! `cargo run --release -p corpuscle --example compare`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::corpus::{self, Labels};
use corpuscle::experiment::{compare, corrected_t_test, random_splits};
use corpuscle::recipe::Recipe;
use corpuscle::{Result, Run};

pub(crate) fn main() -> Result<()> {
    let run = Run::new(42, 0)?;
    let documents = corpus::demo()?.train;
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));

    // The first is what the others are measured against.
    let recipes =
        ["tfidf | svm", "words(stem=english) | tfidf(sublinear=true) | svm", "tfidf | lsi(50) | svm", "binary | knn"];
    // Accuracy needs no probabilities, so the fits that only make those are left out.
    let recipes = recipes.iter().map(|text| Ok(Recipe::parse(text)?.uncalibrated())).collect::<Result<Vec<_>>>()?;
    let splits = random_splits(&labels, 10, 0.5, run.seed())?;
    let comparison = compare(&recipes, &documents, &splits, &run)?;

    // `tests` has the plain paired t-test and a p-value corrected for testing several recipes at once.
    let tests = comparison.tests(0);
    for (outcomes, test) in comparison.recipes.iter().zip(&tests) {
        let (mean, deviation) = outcomes.spread(|outcome| outcome.accuracy);
        println!("{mean:.3} ± {deviation:.3}  {}", outcomes.recipe);
        if let Some((test, p)) = test {
            println!("    {:+.3} ({:+.3} to {:+.3}), p = {p:.4}", test.difference, test.low, test.high);
        }
    }

    // Random random_splits of one corpus overlap, which makes the plain test too bold. The corrected one allows for that.
    let accuracies = |index: usize| -> Vec<f64> {
        comparison.recipes[index].splits.iter().map(|outcome| outcome.accuracy).collect()
    };
    let share = splits[0].test.len() as f64 / splits[0].train.len() as f64;
    if let (Some(best), Some(test)) = (comparison.best(), corrected_t_test(&accuracies(1), &accuracies(0), share)) {
        println!("\nbest: {}", comparison.recipes[best].recipe);
        println!("stems against none, with overlap allowed for: {:+.3}, p = {:.4}", test.difference, test.p);
    }
    Ok(())
}
