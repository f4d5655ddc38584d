//! Fitting on documents that come in chunks, again and again, because all at once they would not fit memory.
//!
//! Counting needs two passes: one adds up [`TermCounts`], one makes the rows. Both are to the bit what a fit on all documents
//! at once gives: counts are whole numbers, and a row depends on its own document and the counts alone. In memory stand the
//! counts, one chunk, and the matrix.

use super::TermCounts;
use crate::matrix::Csr;
use crate::text::Tokens;
use crate::{Result, Run};

/// Documents in chunks that can be gone through more than once.
pub trait Chunks: Sync {
    /// How many documents there are.
    fn n_documents(&self) -> usize;
    /// How many tokens all documents have together.
    fn n_tokens(&self) -> u64;
    /// Hands on the words of all documents, chunk after chunk.
    fn for_each(&self, run: &Run, work: &mut dyn FnMut(&Tokens) -> Result<()>) -> Result<()>;
}

/// The counts of grams of up to `longest` words of all documents.
pub(super) fn count(chunks: &dyn Chunks, longest: usize, run: &Run) -> Result<TermCounts> {
    // Each stands for twice the chunks of the one after it, so that a count is merged a few times and not with every chunk.
    let mut waiting: Vec<(u32, TermCounts)> = Vec::new();
    chunks.for_each(run, &mut |tokens| {
        let (mut level, mut counts) = (0, TermCounts::of(tokens, longest, run)?);
        while let Some((_, before)) = waiting.pop_if(|(other, _)| *other == level) {
            counts.merge(&before)?;
            level += 1;
        }
        waiting.push((level, counts));
        Ok(())
    })?;
    let mut all = TermCounts::none(longest)?;
    while let Some((_, counts)) = waiting.pop() {
        all.merge(&counts)?;
    }
    Ok(all)
}

/// The rows of all documents, one chunk below the other.
pub(super) fn rows(
    chunks: &dyn Chunks,
    columns: usize,
    run: &Run,
    row_maker: impl Fn(&Tokens) -> Result<Csr>,
) -> Result<Csr> {
    let mut indptr: Vec<u64> = Vec::with_capacity(chunks.n_documents() + 1);
    indptr.push(0);
    // No vector that doubles: at the end that would hold nearly three times the entries.
    let mut parts: Vec<(Vec<u32>, Vec<f32>)> = Vec::new();
    let mut entries = 0u64;
    chunks.for_each(run, &mut |tokens| {
        let x = row_maker(tokens)?;
        indptr.extend(x.indptr()[1..].iter().map(|&end| entries + end));
        entries += x.nnz() as u64;
        let (_, indices, values) = x.into_parts();
        parts.push((indices.into_vec(), values.into_vec()));
        Ok(())
    })?;
    let mut indices = Vec::with_capacity(entries as usize);
    let mut all = Vec::with_capacity(parts.len());
    for (own, values) in parts {
        indices.extend_from_slice(&own);
        all.push(values);
    }
    let mut values = Vec::with_capacity(entries as usize);
    for own in all {
        values.extend_from_slice(&own);
    }
    Csr::new(columns, indptr, indices, values)
}
