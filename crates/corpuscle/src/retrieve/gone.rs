//! Which documents a commit takes out: those of some ids that came in before a number.
//!
//! A document replaces those of its id that came before it, and a deletion those that came before the deletion, so for each id the last
//! number says everything. One pass over each segment finds them, however many ids there are.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

/// Ids, each with the number from which on its documents stay.
#[derive(Debug, Clone)]
pub(super) struct Gone(pub(super) Arc<FxHashMap<String, u64>>);

impl Query for Gone {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Gone {
    /// The documents of a segment that go.
    fn of(&self, reader: &SegmentReader) -> tantivy::Result<BitSet> {
        let mut going = BitSet::with_max_value(reader.max_doc());
        let Some(ids) = reader.fast_fields().str("id")? else { return Ok(going) };
        let mut limits: FxHashMap<u64, u64> = FxHashMap::default();
        for (id, &limit) in self.0.iter() {
            if let Some(place) = ids.dictionary().term_ord(id)? {
                limits.insert(place, limit);
            }
        }
        if limits.is_empty() {
            return Ok(going);
        }
        let numbers = reader.fast_fields().u64("number")?;
        let goes = |&doc: &DocId| {
            let limit = ids.ords().first(doc).and_then(|place| limits.get(&place));
            limit.is_some_and(|&limit| numbers.first(doc).is_some_and(|number| number < limit))
        };
        (0..reader.max_doc()).filter(goes).for_each(|doc| {
            going.insert(doc);
        });
        Ok(going)
    }
}

impl Weight for Gone {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(self.of(reader)?), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument("deletions have no score".to_string()))
    }
}
