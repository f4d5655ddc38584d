//! `corpuscle senses`: words that live in several clusters of a model.

use corpuscle::Run;
use corpuscle::topics::{WordSenses, examples, most_ambiguous, senses_of};
use serde_json::json;

use super::inspect;
use crate::args::{Everywhere, Senses};
use crate::input;
use crate::output::{self, WrongCall};

pub(crate) fn run(args: &Senses, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, _) = inspect::open(&args.model, run)?;
    let Some((stage, table)) = model.topics().filter(|(_, table)| table.n_topics() > 1) else {
        return Err(WrongCall(format!(
            "`{}` has no clusters of words; train with `scdv`, which puts a word into several",
            model.recipe()
        ))
        .into());
    };
    let (top, words) = (args.top as usize, args.words_shown as usize);
    let mut found = match args.words.is_empty() {
        true => most_ambiguous(&table, args.least, top, words),
        false => args
            .words
            .iter()
            .map(|word| known(&table, word, args.least, words, &model, run))
            .collect::<Result<_, _>>()?,
    };
    if !args.examples.is_empty() {
        let options = input::without_labels(&input::options(&args.reading)?);
        let mut source = input::open(&args.examples, &options)?;
        let mut texts = Vec::new();
        for document in &mut source {
            texts.push(document?.text);
        }
        run.stage("sentences", None, || {
            examples(&mut found, &table, &texts, model.recipe().words(), args.sentences as usize)
        })?;
        input::report_skipped(&source, run);
    }
    if everywhere.json {
        return output::print_json(&json!({"recipe": model.recipe().to_string(), "stage": stage, "words": found}));
    }
    if found.is_empty() {
        return output::print_text(&format!(
            "no word is in two clusters with a probability of {} or more\n",
            args.least
        ));
    }
    output::print_text(&text(&found))
}

/// The senses of a word, cut and stemmed as the recipe does it.
fn known(
    table: &corpuscle::topics::TopicTable,
    word: &str,
    least: f64,
    words: usize,
    model: &corpuscle::recipe::Model,
    run: &Run,
) -> anyhow::Result<WordSenses> {
    let tokens = model.recipe().words().tokenize(&[word], run)?;
    let own = tokens.words(0).next().unwrap_or(word).to_string();
    senses_of(table, &own, least, words).ok_or_else(|| {
        corpuscle::Error::data(format!("the model does not know the word `{word}`: it is a stop word, or too rare"))
            .into()
    })
}

fn text(found: &[WordSenses]) -> String {
    let mut text = String::new();
    for word in found {
        text.push_str(&format!("{}\n", word.word));
        for sense in &word.senses {
            text.push_str(&format!("  {:.2}  {}\n", sense.probability, sense.words.join(" ")));
            for example in &sense.examples {
                text.push_str(&format!("        “{}”\n", corpuscle::report::snippet(&example.text, 160)));
            }
        }
    }
    text
}
