//! The index and its rankings together.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;
use crate::Run;
use crate::corpus::{Document, demo};
use crate::params::Params;
use crate::recipe::{Corpus, Recipe};
use crate::text::WordsParams;

fn run() -> Run {
    Run::new(7, 2).unwrap()
}

fn documents() -> Vec<Document> {
    demo().unwrap().train
}

fn indexed(documents: &[Document]) -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::create(folder.path().join("index"), &WordsParams::default()).unwrap();
    let mut writer = index.writer(&run()).unwrap();
    documents.iter().for_each(|document| writer.add(document.clone()).unwrap());
    assert_eq!(writer.commit().unwrap().documents, documents.len() as u64);
    (folder, index)
}

/// The formulas of `rank.rs` written down again, document by document.
fn by_hand(documents: &[Document], query: &str, how: &Search) -> Vec<(String, f64)> {
    let words = WordsParams::default();
    let texts: Vec<Vec<String>> = documents.iter().map(|d| words.tokens_of(&d.text).unwrap()).collect();
    let count = |text: &[String], term: &String| text.iter().filter(|word| *word == term).count() as f64;
    let tokens: f64 = texts.iter().map(|text| text.len() as f64).sum();
    let mut terms: BTreeMap<String, f64> = BTreeMap::new();
    words.tokens_of(query).unwrap().into_iter().for_each(|term| *terms.entry(term).or_default() += 1.0);
    let facts: Vec<(String, f64, f64, f64)> = terms
        .into_iter()
        .map(|(term, weight)| {
            let held = texts.iter().filter(|text| text.contains(&term)).count() as f64;
            let share = texts.iter().map(|text| count(text, &term)).sum::<f64>() / tokens;
            (term, weight, held, share)
        })
        .filter(|&(_, _, held, _)| held > 0.0)
        .collect();
    let mut scores = Vec::new();
    for (document, text) in documents.iter().zip(&texts) {
        let length = text.len() as f64;
        if !facts.iter().any(|(term, ..)| text.contains(term)) {
            continue;
        }
        let score: f64 = facts
            .iter()
            .map(|(term, weight, held, share)| {
                let tf = count(text, term);
                let probability = match how.ranking {
                    Ranking::Bm25 { k1, b } => {
                        if tf == 0.0 {
                            return 0.0;
                        }
                        let n = documents.len() as f64;
                        let mean = tokens / n;
                        return weight * (1.0 + (n - held + 0.5) / (held + 0.5)).ln() * tf * (k1 + 1.0)
                            / (tf + k1 * (1.0 - b + b * length / mean));
                    }
                    Ranking::Dirichlet { mu } => (tf + mu * share) / (length + mu),
                    Ranking::JelinekMercer { lambda } => (1.0 - lambda) * tf / length + lambda * share,
                };
                // Our sums of logarithms leave out what is the same for every document.
                let same = match how.ranking {
                    Ranking::Dirichlet { .. } | Ranking::Bm25 { .. } => share.ln(),
                    Ranking::JelinekMercer { lambda } => (lambda * share).ln(),
                };
                weight * if how.form == Form::Log { probability.ln() - same } else { probability }
            })
            .sum();
        scores.push((document.id.clone(), score));
    }
    scores
}

#[test]
fn every_ranking_is_what_its_formula_says() {
    let documents = documents();
    let (_folder, index) = indexed(&documents);
    let searcher = index.searcher().unwrap();
    for ranking in [Ranking::BM25, Ranking::DIRICHLET, Ranking::JELINEK_MERCER, Ranking::Bm25 { k1: 0.0, b: 1.0 }] {
        for form in [Form::Log, Form::Linear] {
            let how = Search { ranking, form, ..Search::default() };
            for query in ["the parcel never came", "printer", "invoice invoice wrong vat number zzzz"] {
                let expected: BTreeMap<String, f64> = by_hand(&documents, query, &how).into_iter().collect();
                let found = searcher.search(query, &how, None, 10_000, &run()).unwrap();
                assert_eq!(found.len(), expected.len(), "{query}");
                for hit in &found {
                    let expected = expected[&hit.id];
                    let off = (hit.score - expected).abs();
                    assert!(
                        off <= 1e-9 * expected.abs().max(1.0),
                        "{how:?} {query} {}: {} {expected}",
                        hit.id,
                        hit.score
                    );
                }
                assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
            }
        }
    }
}

#[test]
fn reasons_add_up_to_bm25() {
    let (_folder, index) = indexed(&documents());
    let found = index.searcher().unwrap().search("parcel not delivered", &Search::default(), None, 5, &run()).unwrap();
    for hit in found {
        let sum: f64 = hit.terms.iter().map(|part| part.adds).sum();
        assert!((sum - hit.score).abs() < 1e-9 && hit.cosine.is_none());
    }
}

#[test]
fn a_document_twice_is_replaced_and_a_deleted_one_is_gone() {
    let documents = documents();
    let (_folder, index) = indexed(&documents[..50]);
    let before = index.searcher().unwrap();
    let mut writer = index.writer(&run()).unwrap();
    writer.add(Document::new(documents[0].id.clone(), "zebra zebra")).unwrap();
    writer.add(Document::new(documents[0].id.clone(), "quagga")).unwrap();
    writer.delete(&documents[1].id).unwrap();
    writer.delete("nobody").unwrap();
    let written = writer.commit().unwrap();
    assert_eq!((written.added, written.deleted, written.documents), (2, 2, 49));
    let after = index.searcher().unwrap();
    let how = Search::default();
    assert!(after.search("zebra", &how, None, 10, &run()).unwrap().is_empty());
    assert_eq!(after.search("quagga", &how, None, 10, &run()).unwrap()[0].id, documents[0].id);
    assert_eq!(after.text(&documents[0].id).unwrap().as_deref(), Some("quagga"));
    assert_eq!(after.text(&documents[1].id).unwrap(), None);
    // Statistics are those of the documents that are left: the same as of an index made of them alone.
    let mut left: Vec<Document> = documents[2..50].to_vec();
    left.push(Document::new(documents[0].id.clone(), "quagga"));
    let (_other, fresh) = indexed(&left);
    for ranking in [Ranking::BM25, Ranking::DIRICHLET] {
        let how = Search { ranking, ..Search::default() };
        let ids = |searcher: &Searcher| searcher.ids("the printer is broken", &how, None, 50, &run()).unwrap();
        assert_eq!(ids(&after), ids(&fresh.searcher().unwrap()));
    }
    // What was opened before does not change.
    assert_eq!(before.documents(), 50);
    // A document deleted and added again in one go is there, once; so is one that comes again a segment later.
    let mut writer = index.writer(&run()).unwrap();
    writer.delete(&documents[2].id).unwrap();
    documents.iter().for_each(|document| writer.add(document.clone()).unwrap());
    documents.iter().for_each(|document| writer.add(document.clone()).unwrap());
    writer.delete(&documents[3].id).unwrap();
    assert_eq!(writer.commit().unwrap().documents, documents.len() as u64 - 1);
    let last = index.searcher().unwrap();
    assert!(last.has(&documents[2].id).unwrap() && !last.has(&documents[3].id).unwrap());
    assert_eq!(last.text(&documents[0].id).unwrap().as_deref(), Some(documents[0].text.as_str()));
}

#[test]
fn nothing_is_seen_before_a_commit_and_only_one_may_write() {
    let (_folder, index) = indexed(&documents()[..10]);
    let mut writer = index.writer(&run()).unwrap();
    writer.add(Document::new("new", "zebra")).unwrap();
    let error = index.writer(&run()).err().unwrap().to_string();
    assert!(error.contains("another process is writing"), "{error}");
    assert_eq!(index.searcher().unwrap().documents(), 10);
    drop(writer);
    assert_eq!(index.searcher().unwrap().documents(), 10);
}

#[test]
fn answers_do_not_depend_on_threads_or_batches() {
    let documents = documents();
    let answers = |threads: usize, pieces: usize| {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(1, threads).unwrap();
        let index = Index::create(folder.path().join("i"), &WordsParams::default()).unwrap();
        for piece in documents.chunks(documents.len().div_ceil(pieces)) {
            let mut writer = index.writer(&run).unwrap();
            piece.iter().for_each(|document| writer.add(document.clone()).unwrap());
            writer.commit().unwrap();
        }
        let searcher = index.searcher().unwrap();
        let feedbacks = [None, Some(Feedback::MIXTURE), Some(Feedback::RELEVANCE)];
        let how = feedbacks.map(|feedback| Search { ranking: Ranking::DIRICHLET, feedback, ..Search::default() });
        how.map(|how| searcher.ids("the app crashes when I log in", &how, None, 1000, &run).unwrap())
    };
    let first = answers(1, 1);
    assert!(first[0].len() > 10 && first[1].len() > first[0].len());
    assert_eq!(first, answers(2, 3));
    assert_eq!(first, answers(8, 1));
}

#[test]
fn what_is_kept_of_one_query_does_not_change_the_next() {
    let (_folder, index) = indexed(&documents());
    let queries =
        ["the app crashes when I log in", "invoice invoice refund", "the invoice of the app", "nowhere-at-all", ""];
    let kept = index.searcher().unwrap();
    for round in 0..2 {
        for query in queries {
            for ranking in [Ranking::BM25, Ranking::DIRICHLET] {
                let how = Search { ranking, ..Search::default() };
                let ids = |searcher: &Searcher| searcher.ids(query, &how, None, 50, &run()).unwrap();
                assert_eq!(ids(&kept), ids(&index.searcher().unwrap()), "{query}, round {round}");
            }
        }
    }
}

#[test]
fn vectors_come_in_by_their_share() {
    let documents = documents();
    let (_folder, index) = indexed(&documents);
    let searcher = index.searcher().unwrap();
    let recipe = Recipe::parse("tfidf | lsi(20) | normalize").unwrap();
    let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run()).unwrap();
    let model = recipe.fit(&corpus, &run()).unwrap();
    let vectors = Vectors::of(&searcher, model, &run()).unwrap().with_words(&searcher, &run()).unwrap();
    let ids = |how: &Search, vectors: Option<&Vectors>| -> Vec<String> {
        let found = searcher.search("my parcel never arrived", how, vectors, 20, &run()).unwrap();
        assert!(found.iter().all(|hit| hit.score.is_finite() && hit.cosine.is_some() == vectors.is_some()));
        found.into_iter().map(|hit| hit.id).collect()
    };
    let how = Search { ranking: Ranking::DIRICHLET, ..Search::default() };
    let alone = ids(&how, None);
    assert_eq!(ids(&Search { lambda: 0.0, ..how }, Some(&vectors)), alone);
    assert_ne!(ids(&Search { lambda: 0.9, ..how }, Some(&vectors)), alone);
    let second = Search { mix: Mix::Probabilities, form: Form::Linear, ..how };
    assert_eq!(
        ids(&Search { lambda: 0.0, ..second }, Some(&vectors)),
        ids(&Search { form: Form::Linear, ..how }, None)
    );
    assert_ne!(ids(&Search { lambda: 0.9, ..second }, Some(&vectors)), alone);
    assert!(Search { mix: Mix::Probabilities, ..Search::default() }.check().is_err());
}

#[test]
fn queries_that_say_nothing_find_nothing() {
    let (_folder, index) = indexed(&documents());
    let searcher = index.searcher().unwrap();
    let long = "word ".repeat(10_000) + "printer";
    for feedback in [None, Some(Feedback::MIXTURE), Some(Feedback::RELEVANCE)] {
        let how = Search { feedback, ..Search::default() };
        for query in ["", "   ", "zzzzqq", "\u{0}\u{1f}\u{feff}", "!!!"] {
            assert!(searcher.search(query, &how, None, 10, &run()).unwrap().is_empty(), "{query:?}");
        }
        assert!(!searcher.search(&long, &how, None, 10, &run()).unwrap().is_empty());
        assert!(searcher.search("printer", &how, None, 0, &run()).unwrap().is_empty());
    }
}

#[test]
fn an_index_without_documents_answers() {
    let (_folder, index) = indexed(&[]);
    let searcher = index.searcher().unwrap();
    assert!(searcher.search("printer", &Search::default(), None, 10, &run()).unwrap().is_empty());
    let (_folder, index) = indexed(&[Document::new("a", ""), Document::new("b", "…")]);
    assert!(index.searcher().unwrap().search("printer", &Search::default(), None, 10, &run()).unwrap().is_empty());
}

#[test]
fn damage_is_refused_wherever_it_is() {
    let (folder, index) = indexed(&documents());
    drop(index);
    let path = folder.path().join("index");
    let files: Vec<std::path::PathBuf> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    let matter = |file: &&std::path::PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        !name.starts_with('.') && std::fs::metadata(file).unwrap().len() > 0
    };
    let mut tried = 0;
    for file in files.iter().filter(matter) {
        let whole = std::fs::read(file).unwrap();
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            std::fs::write(file, &whole[..cut]).unwrap();
            // Without its last line end the description still says everything.
            let whole_but_one = file.ends_with("meta.json") && cut + 1 == whole.len();
            assert!(Index::open(&path).is_err() || whole_but_one, "{} cut to {cut}", file.display());
            tried += 1;
        }
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 0x55;
        std::fs::write(file, &changed).unwrap();
        let opened = Index::open(&path);
        // A changed letter in the description may still be a description.
        assert!(opened.is_err() || file.ends_with("meta.json"), "{} changed", file.display());
        std::fs::write(file, &whole).unwrap();
    }
    assert!(tried > 20);
    assert_eq!(Index::open(&path).unwrap().searcher().unwrap().documents(), documents().len() as u64);
    assert!(Index::open(folder.path()).unwrap_err().to_string().contains("no index is in this folder"));
    assert!(Index::open(folder.path().join("nowhere")).is_err());
    assert!(Index::create(&path, &WordsParams::default()).unwrap_err().to_string().contains("not empty"));
}

#[test]
fn a_newer_format_is_refused() {
    let (folder, index) = indexed(&documents()[..3]);
    drop(index);
    let meta = folder.path().join("index/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    assert!(text.contains("\\\"format\\\":2,"), "{text}");
    std::fs::write(&meta, text.replace("\\\"format\\\":2,", "\\\"format\\\":9,")).unwrap();
    let error = Index::open(folder.path().join("index")).unwrap_err().to_string();
    assert!(error.contains("format 9 is newer"), "{error}");
    std::fs::write(&meta, text.replace("\\\"format\\\":2,", "\\\"format\\\":1,")).unwrap();
    let error = Index::open(folder.path().join("index")).unwrap_err().to_string();
    assert!(error.contains("format 1 is no longer known"), "{error}");
}

#[test]
fn feedback_follows_the_published_update() {
    // One document found, background ½: EM by hand for two words.
    let documents = [Document::new("a", "x x x y"), Document::new("b", "y y y y z z z z")];
    let (_folder, index) = indexed(&documents);
    let searcher = index.searcher().unwrap();
    let (px, py) = (3.0 / 12.0, 5.0 / 12.0);
    let (mut x, mut y) = (0.75f64, 0.25f64);
    for _ in 0..50 {
        let tx = 3.0 * x / (x + px);
        let ty = y / (y + py);
        (x, y) = (tx / (tx + ty), ty / (tx + ty));
    }
    let feedback = Feedback::Mixture { documents: 1, terms: 10, alpha: 0.5, background: 0.5 };
    let how = Search { ranking: Ranking::DIRICHLET, feedback: Some(feedback), ..Search::default() };
    let found = searcher.search("x", &how, None, 10, &run()).unwrap();
    let by_hand = |tf_x: f64, tf_y: f64, length: f64| {
        let weights = [(0.5 + 0.5 * x, tf_x, px), (0.5 * y, tf_y, py)];
        weights.iter().map(|(w, tf, p)| w * (1.0 + tf / (500.0 * p)).ln()).sum::<f64>()
            + (500.0 / (length + 500.0)).ln()
    };
    assert_eq!(found.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!((found[0].score - by_hand(3.0, 1.0, 4.0)).abs() < 1e-9);
    assert!((found[1].score - by_hand(0.0, 4.0, 8.0)).abs() < 1e-9);
}

#[test]
fn words_of_the_index_are_kept_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = Recipe::parse("words(stem=porter, stop=english) | counts").unwrap().words().clone();
    words.check().unwrap();
    let index = Index::create(folder.path().join("i"), &words).unwrap();
    let mut writer = index.writer(&run()).unwrap();
    writer.add(Document::new("a", "The cats were running")).unwrap();
    writer.commit().unwrap();
    drop(index);
    let index = Index::open(folder.path().join("i")).unwrap();
    assert_eq!(index.about().words, words);
    let found = index.searcher().unwrap().search("a cat runs", &Search::default(), None, 5, &run()).unwrap();
    assert_eq!(found[0].terms.iter().map(|part| part.term.as_str()).collect::<Vec<_>>(), ["cat", "run"]);
}

/// Twelve documents as queries, those of the same label relevant, and one query without a relevant document.
fn judged(documents: &[Document]) -> Judged {
    let labels: Vec<&str> =
        documents.iter().map(|d| d.labels.as_deref().and_then(|l| l.first()).map_or("", String::as_str)).collect();
    let mut qrels = trec::Qrels::new();
    let mut queries = Vec::new();
    for row in 0..12 {
        let id = row.to_string();
        let relevant = (12..documents.len()).filter(|&other| labels[other] == labels[row]);
        qrels.insert(id.clone(), relevant.map(|other| (documents[other].id.clone(), 1)).collect());
        queries.push((id, documents[row].text.clone()));
    }
    queries.push(("nothing".into(), "relevant".into()));
    Judged::new(queries, qrels).unwrap()
}

fn model(documents: &[Document], recipe: &str) -> crate::recipe::Model {
    let recipe = Recipe::parse(recipe).unwrap();
    let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run()).unwrap();
    recipe.fit(&corpus, &run()).unwrap()
}

#[test]
fn constants_are_chosen_by_other_queries_than_they_are_measured_on() {
    let documents = documents();
    let (_folder, index) = indexed(&documents);
    let searcher = index.searcher().unwrap();
    let judged = judged(&documents);
    assert_eq!(judged.len(), 12);
    let how = Search { ranking: Ranking::DIRICHLET, ..Search::default() };
    let tuned = tune(&judged, &searcher, &how, &[], &run()).unwrap();
    assert_eq!((tuned.queries.len(), tuned.chosen_vectors), (12, None));
    assert!(tuned.mean.average_precision > 0.1 && tuned.mean.average_precision < 1.0);
    let first: Vec<_> = judged.evaluate(&searcher, &tuned.chosen[0], None, &run()).unwrap();
    assert_eq!(tuned.queries[0], first[0]);
    // With vectors: what was worked out once for all shares is what one share alone gives, query by query.
    let vectors = ["tfidf | lsi(5)", "tfidf | lsi(20)"].map(|recipe| {
        Vectors::of(&searcher, model(&documents, recipe), &run()).unwrap().with_words(&searcher, &run()).unwrap()
    });
    let both: Vec<&Vectors> = vectors.iter().collect();
    for mix in [Mix::Scores, Mix::Probabilities] {
        for feedback in [None, Some(Feedback::MIXTURE)] {
            let how = Search { mix, feedback, ..how };
            let tuned = tune(&judged, &searcher, &how, &both, &run()).unwrap();
            let numbers = tuned.chosen_vectors.unwrap();
            for half in [0, 1] {
                let alone = Some(both[numbers[half]]);
                let figures = judged.evaluate(&searcher, &tuned.chosen[half], alone, &run()).unwrap();
                let own = |list: &[(String, crate::metrics::RetrievalFigures)]| {
                    list.iter().skip(half).step_by(2).cloned().collect::<Vec<_>>()
                };
                assert_eq!(own(&tuned.queries), own(&figures), "{mix:?} {feedback:?}");
            }
            let better = tune(&judged, &searcher, &how, &both[1..], &run()).unwrap();
            assert_eq!(better.chosen_vectors, Some([0, 0]));
        }
    }
}

#[test]
fn kept_vectors_are_those_that_were_made() {
    let documents = documents();
    let (folder, index) = indexed(&documents);
    let path = folder.path().join("m.model");
    model(&documents, "tfidf | lsi(5)").save(&path).unwrap();
    let load = || crate::recipe::Model::load(&path, &run()).unwrap();
    let searcher = index.searcher().unwrap();
    let how = Search::default();
    let found = |searcher: &Searcher, vectors: &Vectors| {
        searcher.ids("my parcel never arrived", &how, Some(vectors), 50, &run()).unwrap()
    };
    let fresh = found(&searcher, &Vectors::of(&searcher, load(), &run()).unwrap());
    let files = || std::fs::read_dir(index.folder()).unwrap().count();
    let before = files();
    for _ in 0..2 {
        let kept = Vectors::kept(index.folder(), &searcher, load(), &run()).unwrap();
        assert_eq!((found(&searcher, &kept), files()), (fresh.clone(), before + 1));
    }
    // A document less: the same file, other rows.
    let mut writer = index.writer(&run()).unwrap();
    writer.delete(&fresh[0].0).unwrap();
    writer.commit().unwrap();
    let searcher = index.searcher().unwrap();
    let kept = Vectors::kept(index.folder(), &searcher, load(), &run()).unwrap();
    assert!(found(&searcher, &kept).iter().all(|(id, _)| *id != fresh[0].0));
    // A model that was never in a file has no name to keep its vectors under.
    let count = files();
    Vectors::kept(index.folder(), &searcher, model(&documents, "tfidf | lsi(6)"), &run()).unwrap();
    assert_eq!(files(), count);
}

#[test]
fn a_table_of_retrieval_is_run_and_its_claims_are_tested() {
    let documents = documents();
    let json = |claims: &str| {
        format!(
            "{{\"name\":\"t\",\"title\":\"t\",\"paper\":\"p\",\"words\":\"words\",\"note\":\"\",\"paper_collections\":[\"A\"],
            \"collections\":[{{\"name\":\"c\",\"documents\":\"d\",\"queries\":\"q\",\"qrels\":\"r\"}}],
            \"vectors\":[{{\"name\":\"lsi\",\"recipes\":[\"tfidf | lsi(20)\"]}}],
            \"systems\":[{{\"name\":\"LM\",\"paper\":[0.3]}},{{\"name\":\"LM + LSI\",\"vectors\":\"lsi\"}}],
            \"claims\":[{claims}]}}"
        )
    };
    let claim = "{\"better\":\"LM + LSI\",\"than\":\"LM\"},{\"better\":\"LM\",\"than\":\"LM + LSI\"}";
    let protocol = SearchProtocol::parse(&json(claim)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let judged = judged(&documents);
    let data = (judged.queries().to_vec(), judged.qrels().clone());
    let collection = &protocol.collections[0];
    let figures = protocol.run(collection, &documents, data, &folder.path().join("i"), false, &run()).unwrap();
    assert_eq!((figures.queries, figures.systems.len()), (12, 2));
    let claims = protocol.test(&[figures]).unwrap();
    assert!(claims[0].holds && !claims[1].holds, "{claims:?}");
    for wrong in ["{\"better\":\"LM\",\"than\":\"nobody\"}", "{\"better\":\"LM\"}"] {
        assert!(SearchProtocol::parse(&json(wrong)).is_err());
    }
}

/// As a writer leaves the folder that was killed after it had written everything but what names the commit.
#[test]
fn what_a_killed_writer_left_is_in_nobodys_way() {
    let all = documents();
    let (folder, index) = indexed(&all[..40]);
    let place = folder.path().join("index");
    let committed = std::fs::read(place.join("meta.json")).unwrap();
    let files = || std::fs::read_dir(&place).unwrap().filter_map(|file| file.ok()?.file_name().into_string().ok());
    let deletions = || files().filter(|name| name.ends_with(".del")).count();
    let again = |index: &Index| {
        let mut writer = index.writer(&run())?;
        // Half of them replace documents that are there, so deletions are written.
        all[20..60].iter().try_for_each(|document| writer.add(document.clone()))?;
        writer.commit()
    };
    assert_eq!(again(&index).unwrap().documents, 60);
    assert_eq!(deletions(), 1);
    std::fs::write(place.join("meta.json"), committed).unwrap();
    drop(index);
    let index = Index::open(&place).unwrap();
    assert_eq!(index.searcher().unwrap().documents(), 40);
    assert_eq!(again(&index).unwrap().documents, 60);
    assert_eq!(deletions(), 1, "{:?}", files().collect::<Vec<_>>());
    assert_eq!(Index::open(&place).unwrap().searcher().unwrap().documents(), 60);
}
