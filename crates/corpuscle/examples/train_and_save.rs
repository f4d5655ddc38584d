//! How do I train a model, keep it in a file and use it later?
//!
//! `cargo run --release -p corpuscle --example train_and_save`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::corpus::{self, Labels};
use corpuscle::metrics::{Evaluation, Predictions};
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::{Error, Result, Run};

pub(crate) fn main() -> Result<()> {
    // Seed 42 and a worker for every core; the result does not depend on how many there are.
    let run = Run::new(42, 0)?;
    // 512 help-desk messages that are always at hand. `corpus::read` takes files of your own.
    let demo = corpus::demo()?;

    // A recipe is the whole way from text to scores in one line.
    let recipe = Recipe::parse("words(stem=english) | tfidf(sublinear=true) | svm")?;
    let train = Corpus::read(demo.train.into_iter().map(Ok), recipe.words(), &run)?;
    let model = recipe.fit(&train, &run)?;
    println!("trained on {} messages in {} classes", train.len(), model.classes().len());

    // One file holds everything that prediction needs. It is written whole or not at all, and checked when it is read.
    let folder = tempfile::tempdir().map_err(|error| Error::data(error.to_string()))?;
    let path = folder.path().join("help-desk.model");
    model.save(&path)?;
    let model = Model::load(&path, &run)?;
    println!("read back: {}\n", model.recipe());

    // New messages: the best class of each, and how sure the model is.
    let texts = ["I was charged twice this month", "I forgot my password and cannot sign in"];
    let found = model.predict(&texts, &run)?;
    for (row, text) in texts.iter().enumerate() {
        let class = found.labels[row][0] as usize;
        let sure = found.probabilities.as_ref().map_or(f32::NAN, |all| all.row(row)[class]);
        println!("{:>10} {:3.0} %  {text}", model.classes()[class], 100.0 * sure);
    }

    // How good is it on messages it has not seen? Their labels are numbered as the model numbers its classes.
    let texts: Vec<&str> = demo.test.iter().map(|document| document.text.as_str()).collect();
    let truth = Labels::from_lists(demo.test.iter().map(|document| document.labels.as_deref()));
    let scores = model.predict(&texts, &run)?.scores;
    let evaluation = Evaluation::of(&truth.align(model.classes()), &Predictions::best(&scores)?, Some(&scores))?;
    println!("\naccuracy on {} other messages: {:.3}", texts.len(), evaluation.accuracy);
    Ok(())
}
