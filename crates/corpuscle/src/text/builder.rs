//! Takes texts in batches and makes [`Tokens`] of them.

use std::mem;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::filter::Filter;
use super::intern::Interner;
use super::merge::{DROPPED, merge};
use super::scan::Scanner;
use super::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// About how much text one piece of work has: enough to make its bookkeeping vanish, little enough to share out.
const PIECE_BYTES: usize = 1 << 18;

/// Collects the tokens of texts that come in batches; the texts themselves are not kept.
///
/// ```
/// use corpuscle::Run;
/// use corpuscle::text::WordsParams;
/// let run = Run::new(1, 2)?;
/// let mut builder = WordsParams::default().builder(&run)?;
/// builder.push(&["one two", "two"])?;
/// builder.push(&["three"])?;
/// assert_eq!(builder.finish()?, WordsParams::default().tokenize(&["one two", "two", "three"], &run)?);
/// # Ok::<(), corpuscle::Error>(())
/// ```
pub struct TokensBuilder {
    params: WordsParams,
    run: Run,
    /// The workers not at work now. They live as long as the builder, so that words are merged once.
    workers: Vec<Worker>,
    pieces: Vec<Piece>,
}

struct Worker {
    number: usize,
    scanner: Scanner,
    interner: Interner,
}

/// Some documents in a row, in the word numbers of the worker that read them.
struct Piece {
    worker: usize,
    ids: Vec<u32>,
    lengths: Vec<u32>,
}

impl std::fmt::Debug for TokensBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokensBuilder").field("params", &self.params).finish_non_exhaustive()
    }
}

impl TokensBuilder {
    pub(super) fn new(params: &WordsParams, run: &Run) -> Self {
        let worker = |number| Worker { number, scanner: Scanner::new(params), interner: Interner::default() };
        let workers = (0..run.threads().max(1)).map(worker).collect();
        TokensBuilder { params: params.clone(), run: run.clone(), workers, pieces: Vec::new() }
    }

    /// Adds documents after those already there.
    pub fn push<S: AsRef<str> + Sync>(&mut self, texts: &[S]) -> Result<()> {
        let idle = Mutex::new(mem::take(&mut self.workers));
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |piece: &&[S]| {
            self.run.check()?;
            // There is a worker for each thread of the pool, so one is always idle.
            let mut worker = lock().pop().ok_or_else(|| Error::data("texts were pushed from a foreign thread pool"))?;
            let result = worker.read(piece);
            lock().push(worker);
            result
        };
        let pieces: Result<Vec<Piece>> = self.run.install(|| cut(texts).par_iter().map(read).collect());
        self.workers = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.pieces.extend(pieces?);
        Ok(())
    }

    /// The tokens of all documents.
    pub fn finish(mut self) -> Result<Tokens> {
        self.run.check()?;
        let filter = Filter::new(&self.params);
        self.workers.sort_by_key(|worker| worker.number);
        let interners = self.workers.into_iter().map(|worker| worker.interner).collect();
        let mut pieces = self.pieces;
        self.run.install(|| {
            let (lexicon, maps) = merge(interners, &filter)?;
            pieces.par_iter_mut().for_each(|piece| piece.renumber(&maps[piece.worker]));
            Ok(join(lexicon, pieces))
        })
    }
}

impl Worker {
    fn read<S: AsRef<str>>(&mut self, texts: &[S]) -> Result<Piece> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        // English has about 6 bytes a word, separators counted.
        let mut ids: Vec<u32> = Vec::with_capacity(bytes / 6);
        let mut lengths = Vec::with_capacity(texts.len());
        let Worker { number, scanner, interner } = self;
        for text in texts {
            let before = ids.len();
            scanner.scan(text.as_ref(), |padded, start, end| ids.push(interner.id(padded, start, end)));
            let length = u32::try_from(ids.len() - before);
            lengths.push(length.map_err(|_| Error::data("a document has more than 4 294 967 295 words"))?);
        }
        if interner.len() >= u32::MAX as usize {
            return Err(Error::data("more than 4 294 967 294 distinct words"));
        }
        ids.shrink_to_fit();
        Ok(Piece { worker: *number, ids, lengths })
    }
}

impl Piece {
    /// Final numbers in place of the worker's, without the words left out.
    fn renumber(&mut self, map: &[u32]) {
        let (mut from, mut to) = (0, 0);
        for length in &mut self.lengths {
            let begin = to;
            for at in from..from + *length as usize {
                let id = map[self.ids[at] as usize];
                self.ids[to] = id;
                to += usize::from(id != DROPPED);
            }
            from += *length as usize;
            *length = (to - begin) as u32;
        }
        self.ids.truncate(to);
    }
}

/// Runs of texts of about [`PIECE_BYTES`] each.
fn cut<S: AsRef<str>>(texts: &[S]) -> Vec<&[S]> {
    let mut pieces = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        // Each document counts something, so that a million empty ones do not make one piece.
        bytes += text.as_ref().len() + 16;
        if bytes >= PIECE_BYTES {
            pieces.push(&texts[start..=at]);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < texts.len() {
        pieces.push(&texts[start..]);
    }
    pieces
}

/// All pieces one after the other; each is freed as soon as it is copied.
fn join(lexicon: super::Lexicon, pieces: Vec<Piece>) -> Tokens {
    let mut offsets = Vec::with_capacity(1 + pieces.iter().map(|piece| piece.lengths.len()).sum::<usize>());
    let mut total = 0;
    offsets.push(total);
    for length in pieces.iter().flat_map(|piece| &piece.lengths) {
        total += u64::from(*length);
        offsets.push(total);
    }
    let mut ids = vec![0; total as usize];
    let mut rest = &mut ids[..];
    let mut places = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        let (place, tail) = rest.split_at_mut(piece.ids.len());
        places.push(place);
        rest = tail;
    }
    places.into_par_iter().zip(pieces).for_each(|(place, piece)| place.copy_from_slice(&piece.ids));
    Tokens::from_parts(lexicon, ids, offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Stemmer, StopList, Tokenizer};
    use proptest::prelude::*;

    fn all_options() -> Vec<WordsParams> {
        let mut options = Vec::new();
        for tokenizer in [Tokenizer::Unicode, Tokenizer::Sklearn, Tokenizer::Letters] {
            let plain = WordsParams { tokenizer, ..WordsParams::default() };
            let stem = Some(Stemmer::from_name("porter").unwrap());
            let stop = Some(StopList::English.into());
            options.push(WordsParams { stem, stop, min_length: 3, ..plain.clone() });
            options.push(plain);
        }
        options
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn batches_and_threads_change_nothing(
            texts in proptest::collection::vec("([a-cA-C]{1,2}|the|running|é漢字|[a-b]{17}|[ .'])( |\\PC)", 0..30)
                .prop_map(|words| words.chunks(3).map(|part| part.concat()).collect::<Vec<_>>()),
            batch in 1usize..5,
        ) {
            for params in all_options() {
                let expected: Vec<Vec<String>> = texts.iter().map(|text| params.tokens_of(text).unwrap()).collect();
                let whole = params.tokenize(&texts, &Run::new(0, 1).unwrap()).unwrap();
                prop_assert_eq!(whole.n_documents(), texts.len());
                for (document, expected) in expected.iter().enumerate() {
                    prop_assert_eq!(&whole.words(document).collect::<Vec<_>>(), expected);
                }
                prop_assert!(whole.lexicon().iter().zip(whole.lexicon().iter().skip(1)).all(|(a, b)| a < b));
                let mut builder = params.builder(&Run::new(0, 2).unwrap()).unwrap();
                for part in texts.chunks(batch) {
                    builder.push(part).unwrap();
                }
                prop_assert_eq!(builder.finish().unwrap(), whole);
            }
        }
    }

    #[test]
    fn many_pieces_give_the_same_at_any_thread_count() {
        let texts: Vec<String> =
            (0..60_000).map(|i| format!("Word{} common the {}", i % 977, "x".repeat(i % 30))).collect();
        let params = WordsParams { stop: Some(StopList::English.into()), ..WordsParams::default() };
        let one = params.tokenize(&texts, &Run::new(0, 1).unwrap()).unwrap();
        for threads in [2, 8] {
            assert_eq!(params.tokenize(&texts, &Run::new(0, threads).unwrap()).unwrap(), one);
        }
        assert!(one.lexicon().id("the").is_none());
        assert!(cut(&texts).len() > 8);
    }

    #[test]
    fn a_raised_flag_cancels() {
        let run = Run::new(0, 2).unwrap();
        run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(WordsParams::default().tokenize(&["a"], &run), Err(Error::Cancelled)));
    }

    #[test]
    fn no_documents_make_no_tokens() {
        let tokens = WordsParams::default().tokenize::<&str>(&[], &Run::new(0, 1).unwrap()).unwrap();
        assert_eq!((tokens.n_documents(), tokens.n_terms(), tokens.n_tokens()), (0, 0, 0));
    }
}
