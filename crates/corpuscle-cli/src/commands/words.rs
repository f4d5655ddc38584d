//! `corpuscle words`: trains word vectors and writes them in the format of another program.

use std::time::Instant;

use corpuscle::Run;
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::words::{Architecture, SkipGramParams, VectorFormat};
use serde_json::json;

use crate::args::{Everywhere, VectorFileFormat, Words};
use crate::input;
use crate::output;

pub(crate) fn run(args: &Words, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    // A recipe needs something after its words; here it is only there to be read.
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    let params = SkipGramParams {
        dim: args.dim,
        window: args.window,
        negatives: args.negatives,
        min_count: args.min_count,
        subsample: args.subsample,
        epochs: args.epochs,
        architecture: match (args.cbow, args.lsi) {
            (true, _) => Architecture::Cbow,
            (false, true) => Architecture::Lsi,
            (false, false) => Architecture::SkipGram,
        },
        deterministic: !args.nondeterministic,
        ..SkipGramParams::default()
    };
    params.check()?;
    let format = match args.format {
        Some(VectorFileFormat::Text) => VectorFormat::Text,
        Some(VectorFileFormat::Binary) => VectorFormat::Binary,
        Some(VectorFileFormat::Glove) => VectorFormat::Glove,
        None => VectorFormat::of_name(&args.output),
    };
    input::check_writable(&args.output)?;
    let options = input::without_labels(&input::options(&args.reading)?);
    let options = corpuscle::corpus::ReadOptions { filters: input::options(&args.reading)?.filters, ..options };
    let mut documents = input::open(&args.data, &options)?;
    let corpus = run.stage("read", None, || Corpus::read(&mut documents, recipe.words(), run))?;
    let skipped = input::report_skipped(&documents, run);
    let steps = (corpus.tokens.n_tokens() * params.epochs) as u64;
    let vectors = run.stage("words", Some(steps), || params.fit(&corpus.tokens, run))?;
    run.watch("write", None, || output::write_beside(&args.output, |file| Ok(vectors.write(file, format)?)))?;
    let size = std::fs::metadata(&args.output)?.len();
    let seconds = started.elapsed().as_secs_f64();
    if everywhere.json {
        return output::print_json(&json!({
            "output": args.output.display().to_string(),
            "documents": corpus.len(),
            "skipped": skipped,
            "tokens": corpus.tokens.n_tokens(),
            "words": vectors.len(),
            "dim": vectors.dim(),
            "bytes": size,
            "seconds": output::seconds(run),
            "total_seconds": output::round(seconds, 6),
        }));
    }
    output::print_text(&output::facts(&[
        ("words", format!("{} × {}", output::count(vectors.len()), output::count(vectors.dim()))),
        (
            "from",
            format!("{} tokens of {} documents", output::count(corpus.tokens.n_tokens()), output::count(corpus.len())),
        ),
        ("written to", format!("{} ({})", args.output.display(), output::bytes(size))),
        ("time", format!("{seconds:.2} s")),
    ]))
}
