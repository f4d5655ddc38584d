//! Why did a document get its class?
//!
//! Two answers: what each of its words does to the score, and which training documents are nearest to it.
//!
//! `cargo run --release -p corpuscle --example explain`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::corpus;
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::{Result, Run};

fn train(recipe: &str, run: &Run) -> Result<Model> {
    let recipe = Recipe::parse(recipe)?;
    let corpus = Corpus::read(corpus::demo()?.train.into_iter().map(Ok), recipe.words(), run)?;
    recipe.fit(&corpus, run)
}

/// The class of the highest score and the runner-up.
fn best_two(scores: &[f32]) -> (u32, Option<u32>) {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    (order[0], order.get(1).copied())
}

pub(crate) fn main() -> Result<()> {
    let run = Run::new(42, 0)?;
    let demo = corpus::demo()?;
    let text = "I was charged twice for the same invoice, please refund one payment.";
    println!("{text}\n");

    // The last recipe keeps its training documents, so it can show those nearest by.
    for recipe in ["tfidf | svm", "tfidf | lsi(50) | normalize | svm", "tfidf | knn(k=5)"] {
        let model = train(recipe, &run)?;
        let x = model.represent_texts(&[text], &run)?;
        let (class, against) = best_two(model.predict_matrix(&x, &run)?.scores.row(0));
        println!("{recipe}: {}", model.classes()[class as usize]);

        // Which way of weighing is possible depends on the stages; the model takes the most exact one and says which.
        let (weighing, terms) = model.weigh_terms(text, class, against, &run)?;
        println!("  what each word {}:", weighing.about());
        for part in terms.iter().take(5) {
            println!("  {:+.3}  {}", part.amount, part.term);
        }
        for near in model.nearest_kept(&x, 3, &run)?.iter().flatten().flatten() {
            let document = &demo.train[near.row as usize];
            let start: String = document.text.chars().take(60).collect();
            let class = &model.classes()[near.labels[0] as usize];
            println!("  cosine {:.2}: {class}, \"{start}…\"", near.value);
        }
        println!();
    }
    Ok(())
}
