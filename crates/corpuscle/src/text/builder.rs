//! Takes texts in batches and makes [`Tokens`] of them.

use std::mem;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::chars::Pieces;
use super::filter::Filter;
use super::intern::{Interner, RawWords};
use super::marks::{NEGATED_BIT, ends_clause, is_negation, mark};
use super::merge::{DROPPED, MOST_WORDS, TOO_MANY_WORDS, merge};
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
    readings: Vec<Reading>,
}

/// Texts read by one scanner, for all views that share it.
struct Reading {
    /// What the scanner does.
    params: WordsParams,
    /// The workers not at work now. They live as long as the builder, so that words are merged once.
    workers: Vec<Worker>,
    pieces: Vec<Piece>,
}

struct Worker {
    number: usize,
    scanner: Scanner,
    interner: Interner,
    /// Whether signs between words are told, for negations.
    tells_signs: bool,
}

/// The bit of a word's number that says that a sign stands before it.
const AFTER_SIGN: u32 = 1 << 31;

/// Some documents in a row, in the word numbers of the worker that read them.
#[derive(Clone)]
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
        let views = || std::iter::once(params).chain(&params.views);
        let mut readings: Vec<Reading> = Vec::new();
        for view in views() {
            if readings.iter().any(|reading| reading.params.scans_like(view)) {
                continue;
            }
            let tells_signs = views().any(|other| other.negate > 0 && other.scans_like(view));
            let worker =
                |number| Worker { number, scanner: Scanner::new(view), interner: Interner::default(), tells_signs };
            let workers = (0..run.threads().max(1)).map(worker).collect();
            readings.push(Reading { params: view.alone(), workers, pieces: Vec::new() });
        }
        TokensBuilder { params: params.clone(), run: run.clone(), readings }
    }

    /// Adds documents after those already there.
    pub fn push<S: AsRef<str> + Sync>(&mut self, texts: &[S]) -> Result<()> {
        self.readings.iter_mut().try_for_each(|reading| reading.push(texts, &self.run))
    }

    /// The tokens of all documents.
    pub fn finish(self) -> Result<Tokens> {
        self.run.check()?;
        let TokensBuilder { params, run, readings } = self;
        let all: Vec<WordsParams> = std::iter::once(&params).chain(&params.views).map(WordsParams::alone).collect();
        let mut found: Vec<Option<Tokens>> = all.iter().map(|_| None).collect();
        for reading in readings {
            let own = |at: &usize| all[*at].scans_like(&reading.params);
            let own: Vec<usize> = (0..all.len()).filter(own).collect();
            let Reading { mut workers, pieces, .. } = reading;
            workers.sort_by_key(|worker| worker.number);
            let raw: Vec<RawWords> = workers.into_iter().map(|worker| worker.interner.into_words()).collect();
            let mut pieces = Some(pieces);
            for (place, &at) in own.iter().enumerate() {
                run.check()?;
                // The last view takes the pieces themselves.
                let pieces = if place + 1 == own.len() { pieces.take() } else { pieces.clone() };
                found[at] = Some(run.install(|| view(&all[at], &raw, pieces.unwrap_or_default()))?);
            }
        }
        let mut found = found.into_iter().flatten();
        let tokens = found.next().unwrap_or_default();
        Ok(tokens.with_views(found.collect()))
    }
}

impl Reading {
    fn push<S: AsRef<str> + Sync>(&mut self, texts: &[S], run: &Run) -> Result<()> {
        let idle = Mutex::new(mem::take(&mut self.workers));
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |piece: &&[S]| {
            run.check()?;
            // There is a worker for each thread of the pool, so one is always idle.
            let mut worker = lock().pop().ok_or_else(|| Error::data("texts were pushed from a foreign thread pool"))?;
            let result = worker.read(piece);
            lock().push(worker);
            result
        };
        let pieces: Result<Vec<Piece>> = run.install(|| cut(texts).par_iter().map(read).collect());
        self.workers = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.pieces.extend(pieces?);
        Ok(())
    }
}

/// The tokens of one view, from words as they stand in the texts.
fn view(params: &WordsParams, raw: &[RawWords], mut pieces: Vec<Piece>) -> Result<Tokens> {
    let (lexicon, maps) = merge(raw, &Filter::new(params))?;
    let copy = |piece: &Piece, place: &mut [u32]| place.copy_from_slice(&piece.ids);
    let (ids, offsets) = if params.negate > 0 {
        let negations = |words: &RawWords| words.iter().map(|word| is_negation(word, params.tokenizer)).collect();
        let negations: Vec<Vec<bool>> = raw.par_iter().map(negations).collect();
        pieces.par_iter_mut().for_each(|piece| piece.negate(&maps, &negations, params.negate));
        join(pieces, copy)
    } else if maps.par_iter().any(|map| map.contains(&DROPPED)) {
        pieces.par_iter_mut().for_each(|piece| piece.renumber(&maps[piece.worker]));
        join(pieces, copy)
    } else {
        // No word is left out, so every word has its place already and gets its number on the way there.
        join(pieces, |piece, place| {
            let map = &maps[piece.worker];
            place.iter_mut().zip(&piece.ids).for_each(|(to, word)| *to = map[(word & !AFTER_SIGN) as usize]);
        })
    };
    if let Some(chars) = params.chars {
        let (grams, pieces) = Pieces::cut(&lexicon, chars)?;
        return Ok(Tokens::packed(params, grams, ids, offsets, pieces));
    }
    if params.is_plain() {
        return Ok(Tokens::from_parts(params, lexicon, ids, offsets));
    }
    let (lexicon, ids, offsets) = mark(&lexicon, &ids, &offsets, params.position)?;
    Ok(Tokens::from_parts(params, lexicon, ids, offsets))
}

impl Worker {
    fn read<S: AsRef<str>>(&mut self, texts: &[S]) -> Result<Piece> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        // English has about 6 bytes a word, separators counted.
        let mut ids: Vec<u32> = Vec::with_capacity(bytes / 6);
        let mut lengths = Vec::with_capacity(texts.len());
        let Worker { number, scanner, interner, tells_signs } = self;
        for text in texts {
            let before = ids.len();
            if *tells_signs {
                let mut last = 0;
                scanner.scan(text.as_ref(), |padded, start, end| {
                    let sign = ends_clause(padded.get(last..start).unwrap_or_default());
                    last = end;
                    ids.push(interner.id(padded, start, end) | if sign { AFTER_SIGN } else { 0 });
                });
            } else {
                scanner.scan(text.as_ref(), |padded, start, end| ids.push(interner.id(padded, start, end)));
            }
            let length = u32::try_from(ids.len() - before);
            lengths.push(length.map_err(|_| Error::data("a document has more than 4 294 967 295 words"))?);
            if interner.len() >= MOST_WORDS {
                return Err(Error::data(TOO_MANY_WORDS));
            }
        }
        ids.shrink_to_fit();
        Ok(Piece { worker: *number, ids, lengths })
    }
}

impl Piece {
    /// Final numbers in place of the worker's, without the words left out.
    fn renumber(&mut self, map: &[u32]) {
        self.rewrite(|_, word| map[(word & !AFTER_SIGN) as usize]);
    }

    /// The same, with a bit on the `most` words after a negation, up to a sign.
    fn negate(&mut self, maps: &[Vec<u32>], negations: &[Vec<bool>], most: usize) {
        let (map, negations) = (&maps[self.worker], &negations[self.worker]);
        let mut left = 0;
        self.rewrite(|is_first, word| {
            if is_first || word & AFTER_SIGN != 0 {
                left = 0;
            }
            let word = (word & !AFTER_SIGN) as usize;
            match (negations[word], left, map[word]) {
                (true, ..) => {
                    left = most;
                    map[word]
                }
                (false, 0, id) => id,
                (false, _, id) => {
                    left -= 1;
                    if id == DROPPED { id } else { id | NEGATED_BIT }
                }
            }
        });
    }

    /// `word(is_first, word)` in place of each word; those that become [`DROPPED`] are left out.
    fn rewrite(&mut self, mut word: impl FnMut(bool, u32) -> u32) {
        let (mut from, mut to) = (0, 0);
        for length in &mut self.lengths {
            let begin = to;
            for at in from..from + *length as usize {
                let id = word(at == from, self.ids[at]);
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

/// All pieces one after the other as `write(piece, place)` puts them there, and where each document begins; each piece is freed
/// as soon as it is written.
fn join(pieces: Vec<Piece>, write: impl Fn(&Piece, &mut [u32]) + Sync) -> (Vec<u32>, Vec<u64>) {
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
    places.into_par_iter().zip(pieces).for_each(|(place, piece)| write(&piece, place));
    (ids, offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Chars, Stemmer, StopList, Tokenizer};
    use proptest::prelude::*;

    fn all_options() -> Vec<WordsParams> {
        let mut options = Vec::new();
        for tokenizer in [Tokenizer::Unicode, Tokenizer::Sklearn, Tokenizer::Letters] {
            let plain = WordsParams { tokenizer, ..WordsParams::default() };
            let stem = Some(Stemmer::from_name("porter").unwrap());
            let stop = Some(StopList::English.into());
            options.push(WordsParams { stem, stop, min_length: 3, ..plain.clone() });
            options.push(WordsParams { position: true, negate: 2, stem, ..plain.clone() });
            options.push(WordsParams { chars: Some(Chars { min: 2, max: 4 }), ..plain.clone() });
            options.push(WordsParams { negate: 1, ..plain.clone() });
            let views = options.iter().map(WordsParams::alone).collect();
            options.push(WordsParams { views, ..plain.clone() });
            options.push(plain);
        }
        options
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn batches_and_threads_change_nothing(
            texts in proptest::collection::vec("([a-cA-C]{1,2}|the|running|not|isn't|é漢字|[a-b]{17}|[ .'])( |\\PC)", 0..30)
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
                prop_assert_eq!(&builder.finish().unwrap(), &whole);
                for view in &params.views {
                    prop_assert_eq!(whole.view(view).unwrap(), &view.tokenize(&texts, &Run::new(0, 3).unwrap()).unwrap());
                }
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
