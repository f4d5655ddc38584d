//! I have many texts and few labels. What helps?
//!
//! `dcot` learns from texts alone which words stand for each other, so unlabelled texts are worth something to it. Here all but
//! three labels per class are hidden, five times anew, and it is set against plain tf-idf, which learns from labelled texts only.
//!
//! `cargo run --release -p corpuscle --example few_labels`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::corpus::{self, Labels};
use corpuscle::experiment::{draw_labels, mean_and_deviation};
use corpuscle::metrics::{Predictions, accuracy};
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::{Result, Run};

pub(crate) fn main() -> Result<()> {
    let run = Run::new(42, 0)?;
    let demo = corpus::demo()?;
    let texts: Vec<&str> = demo.test.iter().map(|document| document.text.as_str()).collect();
    let truth = Labels::from_lists(demo.test.iter().map(|document| document.labels.as_deref()));

    for text in
        ["words(stem=english) | tfidf | svm(calibrate=0)", "words(stem=english) | tfidf | dcot | svm(calibrate=0)"]
    {
        let recipe = Recipe::parse(text)?;
        let mut corpus = Corpus::read(demo.train.iter().cloned().map(Ok), recipe.words(), &run)?;
        let all = corpus.labels.clone();
        let few = 3 * all.n_classes();
        let mut found = Vec::new();
        for draw in 0..5 {
            // The texts stay; of the labels only those that were drawn can be seen.
            corpus.labels = all.only(&draw_labels(&all, few, true, draw, &run));
            let model = recipe.fit(&corpus, &run)?;
            let predicted = Predictions::best(&model.predict(&texts, &run)?.scores)?;
            found.push(accuracy(&truth.align(model.classes()), &predicted)?);
        }
        let (mean, deviation) = mean_and_deviation(&found).unwrap_or_default();
        println!("{few} labels of {}: accuracy {mean:.3} ± {deviation:.3}  {recipe}", all.len());
    }
    Ok(())
}
