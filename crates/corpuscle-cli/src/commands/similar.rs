//! `corpuscle similar`: the words nearest to a word, by the model's word vectors.

use corpuscle::Run;
use serde_json::{Map, Value, json};

use super::inspect;
use crate::args::{Everywhere, Similar};
use crate::output::{self, WrongCall};

pub(crate) fn run(args: &Similar, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, _) = inspect::open(&args.model, run)?;
    let Some(space) = model.word_space() else {
        return Err(WrongCall(format!(
            "this model has no word vectors: its recipe is `{}`; train one with scdv, bowv, concepts or average",
            model.recipe()
        ))
        .into());
    };
    let vectors = space.vectors();
    let mut found = Vec::with_capacity(args.words.len());
    for word in &args.words {
        found.push((word, vectors.neighbours(word, args.top as usize)?));
    }
    if everywhere.json {
        let lists = found.into_iter().map(|(word, near)| {
            let list: Vec<Value> =
                near.into_iter().map(|near| json!({"word": near.word, "cosine": near.cosine})).collect();
            (word.clone(), Value::from(list))
        });
        return output::print_json(&json!({"words": vectors.len(), "similar": lists.collect::<Map<_, _>>()}));
    }
    let rows = found.into_iter().flat_map(|(word, near)| {
        near.into_iter().map(move |near| vec![word.clone(), near.word, format!("{:.3}", near.cosine)])
    });
    output::print_text(&output::table(&["word", "similar", "cosine"], 2, rows))
}
