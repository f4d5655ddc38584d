//! What is done with an input of a fuzzer, a function for each kind of input: `fuzz/` hands in what libFuzzer makes up, the tests beside this
//! file the committed seeds and what a small mutator makes of them. A fault is a panic, an assertion, a time without end or memory without
//! bound; errors are what most inputs should end in.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

use corpuscle::Run;
use corpuscle::corpus::{Document, Format, ReadOptions, read_all, read_descriptions};
use corpuscle::recipe::syntax::Expression;
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::retrieve::{Index, Search, Searcher, trec};
use corpuscle::text::{Stemmer, Stop, StopList, Tokenizer, WordsParams};
use corpuscle::words::WordVectors;
use sha2::{Digest, Sha256};

/// What is done with an input.
type Body = fn(&[u8]);

/// Every target by its name.
pub(crate) const TARGETS: &[(&str, Body)] = &[
    ("compressed", compressed),
    ("csv", |data| documents("a.csv", Some(Format::Csv), data, false)),
    ("excel", |data| documents("a.xlsx", Some(Format::Excel), data, true)),
    ("fasttext", |data| documents("a.txt", Some(Format::FastText), data, false)),
    ("index", index),
    ("jsonl", |data| documents("a.jsonl", Some(Format::JsonLines), data, false)),
    ("lines", |data| documents("a.txt", Some(Format::Lines), data, false)),
    ("model", model),
    ("names", names),
    ("parquet", |data| documents("a.parquet", Some(Format::Parquet), data, true)),
    ("query", query),
    ("recipe", recipe),
    ("sgml", |data| documents("a.sgm", Some(Format::ReutersSgml), data, false)),
    ("tokenize", tokenize),
    ("trec", trec_files),
    ("tsv", |data| documents("a.tsv", Some(Format::Tsv), data, false)),
    ("update", update),
    ("vectors", vectors),
];

fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| Run::new(1, 1).expect("one thread"))
}

/// Decoders of others panic on some damaged files; the library turns that into an error. A fuzzer's own hook would end the process
/// before, so it is replaced: what is not caught still ends it. `CORPUSCLE_FUZZ_LOUD=1` shows every panic.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("CORPUSCLE_FUZZ_LOUD").is_none() {
            std::panic::set_hook(Box::new(|_| {}));
        }
    });
}

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

/// The input as a file, in memory where the system has a folder for that.
fn file(name: &str, data: &[u8]) -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let place = folder.get_or_insert_with(|| {
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder for inputs")
        });
        let path = place.path().join(name);
        std::fs::write(&path, data).expect("room for the input");
        path
    })
}

/// Reads the input as documents of a format. The first byte says how. `may_break`: the decoder is another's and may panic, which must come
/// out as an error.
fn documents(name: &str, format: Option<Format>, data: &[u8], may_break: bool) {
    if may_break {
        quiet();
    }
    let Some((&how, data)) = data.split_first() else { return };
    let path = file(name, data);
    let options = ReadOptions {
        format,
        skip_bad: how & 1 > 0,
        keep: how & 2 > 0,
        find_text: how & 4 > 0,
        find_label: how & 4 > 0,
        label_separator: (how & 8 > 0).then_some('|'),
        quoting: how & 16 == 0,
        max_line: if how & 32 > 0 { 100 } else { 1 << 20 },
        encoding: match how >> 6 {
            0 => None,
            1 => "windows-1252".parse().ok(),
            2 => "shift_jis".parse().ok(),
            _ => "utf-16le".parse().ok(),
        },
        ..Default::default()
    };
    match read_all(&[&path], &options) {
        Ok(documents) => {
            assert!(documents.iter().all(|document| document.weight.is_finite() && document.weight >= 0.0));
        }
        Err(error) => {
            // A panic of the reading thread shows as this error.
            assert!(may_break || !error.to_string().contains("broke down"), "{error}");
        }
    }
}

/// A format found out, behind gzip or zstd: the input as it is, and packed, so that inputs get past the checksum of gzip.
pub(crate) fn compressed(data: &[u8]) {
    documents("unknown", None, data, false);
    let Some((&how, plain)) = data.split_first() else { return };
    let mut encoder = flate2::write::GzEncoder::new(vec![how], flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, plain).expect("memory");
    documents("unknown", None, &encoder.finish().expect("memory"), false);
}

/// A recipe: what is read is written so that it reads the same.
pub(crate) fn recipe(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(expression) = Expression::parse(text) {
        let printed = expression.to_string();
        let again = Expression::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again.to_string(), printed);
    }
    match Recipe::parse(text) {
        Ok(recipe) => {
            for printed in [recipe.to_string(), recipe.full()] {
                let again = Recipe::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
                assert_eq!(again.to_string(), recipe.to_string());
                assert_eq!(again.full(), recipe.full());
            }
        }
        Err(error) => assert!(error.to_string().len() < 5000 + 8 * text.len().min(4000)),
    }
}

/// The file with a checksum that fits, so that what was altered gets past it.
pub(crate) fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let key = b"\"sha256\":\"";
    if let Some(place) = bytes.windows(key.len()).position(|window| window == key).map(|place| place + key.len())
        && place + 64 <= bytes.len()
    {
        bytes[place..place + 64].fill(b'0');
        let digits: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        bytes[place..place + 64].copy_from_slice(digits.as_bytes());
    }
    bytes
}

const TEXTS: [&str; 4] =
    ["my invoice is wrong, refund the charge", "", "passwort vergessen \u{0} 東京 ไทย", "a a a a a a a a a"];

/// A model file: what is accepted predicts, explains and is written again.
pub(crate) fn model(data: &[u8]) {
    let Ok(model) = Model::from_bytes(&sealed(data), run()) else { return };
    let numbers = |document: Document| {
        let fields = model.number_fields().into_iter();
        // A file may say that a list of numbers is as wide as it likes.
        fields
            .fold(document, |document, of| document.with_numbers(of.field, vec![0.5; of.width.unwrap_or(1).min(1000)]))
    };
    let documents: Vec<Document> = TEXTS.iter().map(|text| numbers(Document::new("1", *text))).collect();
    let _ = model.predict_documents(&documents, run());
    let _ = model.represent_documents(&documents, run());
    for class in 0..model.classes().len().min(2) as u32 {
        let _ = model.weigh_document(&documents[0], class, Some(0), run());
        let _ = model.left_out(TEXTS[2], class, run());
    }
    if let Ok(mut predictor) = model.predictor(run()) {
        TEXTS.iter().for_each(|text| drop(predictor.predict(text)));
    }
    let _ = model.near_terms("invoice", 3, run());
    let written = model.to_bytes().expect("what was loaded can be written");
    let again = Model::from_bytes(&written, run()).expect("what was written loads");
    assert!(again.to_bytes().expect("again") == written, "a model is not the same after its file");
}

/// What an updatable model keeps: documents are added to what is accepted.
pub(crate) fn update(data: &[u8]) {
    let Ok(model) = Model::from_bytes(&sealed(data), run()) else { return };
    if !model.is_updatable() {
        return;
    }
    let documents = [
        Document::new("1", "a new invoice came").labelled("billing"),
        Document::new("2", "log me in").labelled("new class"),
        Document::new("3", ""),
    ];
    if let Ok(corpus) = Corpus::read(documents.into_iter().map(Ok), model.recipe().words(), run())
        && let Ok(updated) = model.update(&corpus, run())
    {
        let _ = updated.predict(&TEXTS, run());
        let bytes = updated.to_bytes().expect("what was updated can be written");
        Model::from_bytes(&bytes, run()).expect("what was written loads");
    }
}

/// A small index, made once.
fn made() -> &'static (tempfile::TempDir, Searcher) {
    static MADE: OnceLock<(tempfile::TempDir, Searcher)> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let index = Index::create(folder.path().join("index"), &WordsParams::default()).expect("an index");
        let mut writer = index.writer(run()).expect("a writer");
        for (number, text) in TEXTS.iter().chain(&["invoice invoice", "the refund of an invoice"]).enumerate() {
            writer.add(Document::new(number.to_string(), *text)).expect("a document");
        }
        writer.commit().expect("a commit");
        let searcher = index.searcher().expect("a searcher");
        (folder, searcher)
    })
}

/// An index folder one of whose files is replaced: the first byte says which, the rest is what stands there.
pub(crate) fn index(data: &[u8]) {
    quiet();
    let Some((&which, data)) = data.split_first() else { return };
    let (folder, _) = made();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.path().join("index"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_none_or(|kind| kind != "lock"))
        .collect();
    files.sort();
    let other = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    for (number, path) in files.iter().enumerate() {
        let to = other.path().join(path.file_name().expect("a name"));
        if number == usize::from(which) % files.len() {
            // A few bytes of it changed, or something else altogether.
            let mut bytes = std::fs::read(path).expect("a file");
            match data {
                [0, rest @ ..] => {
                    for change in rest.chunks_exact(4) {
                        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len().max(1);
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = change[2] ^ change[3];
                        }
                    }
                }
                [1, low, high, ..] => bytes.truncate(usize::from(u16::from_le_bytes([*low, *high]))),
                rest => bytes = rest.to_vec(),
            }
            std::fs::write(to, bytes).expect("room");
        } else {
            std::fs::copy(path, to).expect("room");
        }
    }
    if let Ok(index) = Index::open(other.path())
        && let Ok(searcher) = index.searcher()
    {
        let _ = searcher.search("invoice refund", &Search::default(), None, 5, run());
    }
}

/// A query over a sound index.
pub(crate) fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (_, searcher) = made();
    let hits = searcher.search(&text, &Search::default(), None, 3, run()).expect("any text is a query");
    assert!(hits.len() <= 3 && hits.iter().all(|hit| hit.score.is_finite()));
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

/// Queries, judgements and runs as TREC writes them.
pub(crate) fn trec_files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = trec::queries(text, "x");
    let _ = trec::qrels(text, "x");
    let _ = trec::runs(text, "x");
}

/// Names of classes.
pub(crate) fn names(data: &[u8]) {
    if let Ok(pairs) = read_descriptions(&file("names.tsv", data)) {
        assert!(!pairs.is_empty() && pairs.iter().all(|(class, about)| !class.is_empty() && !about.is_empty()));
    }
}

/// Word vectors, as text and as word2vec's binary form.
pub(crate) fn vectors(data: &[u8]) {
    for name in ["a.vec", "a.bin"] {
        if let Ok(vectors) = WordVectors::read(file(name, data)) {
            assert!(vectors.dim() > 0);
        }
    }
}

/// Tokenizers, each with several ways to go on with words.
pub(crate) fn tokenize(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let ways = [
        WordsParams::default(),
        WordsParams {
            stem: Stemmer::from_name("porter").ok(),
            stop: Some(Stop::List(StopList::English)),
            ..Default::default()
        },
        WordsParams { tokenizer: Tokenizer::Sklearn, lowercase: false, ..Default::default() },
    ];
    for words in ways {
        let tokens = words.tokens_of(&text).expect("any text is made of words");
        // A text has no more words than characters, marks of places aside.
        assert!(tokens.len() <= 2 * text.chars().count() + 2, "{} words", tokens.len());
        assert!(tokens.iter().all(|token| !token.is_empty()));
    }
    let lines = [
        "words(strip=headers+quotes+signatures) | tfidf",
        "chars(min=1, max=6) | tfidf",
        "words(position=true, negate=3) | tfidf",
    ];
    static RECIPES: OnceLock<Vec<Recipe>> = OnceLock::new();
    for recipe in RECIPES.get_or_init(|| lines.map(|line| Recipe::parse(line).expect("a recipe")).to_vec()) {
        let documents = [Document::new("1", text.as_ref())];
        Corpus::read(documents.into_iter().map(Ok), recipe.words(), run()).expect("any text is a document");
    }
}
