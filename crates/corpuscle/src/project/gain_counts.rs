//! What the information gain of terms needs of documents, counted on any part of them and merged.
//!
//! Of the labelled documents: n (all), n_c (of class c), n_t (with term t), n_tc (both), whole numbers only. Merging adds
//! them up, so any grouping and any order of parts gives the same gains to the bit. Parts must have the same columns and
//! the same classes (see `corpus::LabelCounts` for how to come by them). O(non-zeros) to count; 12 bytes for every pair
//! of a term and a class that meet.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::{GainCounts, InformationGainParams, Projector, Target};
//! let run = Run::new(1, 1)?;
//! let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)]]));
//! let labels = Labels::from_single([Some("a"), Some("b")]);
//! let part = |row| GainCounts::of(&x.select_rows(&[row]), &labels.select(&[row]), &run);
//! let mut counts = part(1)?;
//! counts.merge(&part(0)?)?;
//! let params = InformationGainParams { terms: 1 };
//! assert_eq!(params.model_of(&counts, &run)?, params.fit(&x, &Target::new(&labels), &run)?.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rayon::prelude::*;

use super::information_gain::sparse_only;
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Columns in one piece of work.
const PIECE: usize = 4096;

/// Documents by term and class.
#[derive(Debug, Clone, PartialEq)]
pub struct GainCounts {
    classes: Vec<String>,
    /// Whether some labelled document has not exactly one label.
    multi: bool,
    /// All documents, labelled or not.
    documents: u64,
    /// n: the labelled ones.
    labelled: u64,
    /// n_c.
    of_class: Vec<u64>,
    /// n_t.
    with_term: Vec<u64>,
    meetings: Meetings,
}

/// n_tc where it is not 0: term `t` meets the classes `classes[ends[t - 1]..ends[t]]`, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
struct Meetings {
    ends: Vec<u64>,
    classes: Vec<u32>,
    counts: Vec<u64>,
}

impl Meetings {
    fn of(&self, term: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let from = if term == 0 { 0 } else { self.ends[term - 1] as usize };
        let range = from..self.ends[term] as usize;
        self.classes[range.clone()].iter().map(|&class| class as usize).zip(self.counts[range].iter().copied())
    }

    fn push(&mut self, class: usize, count: u64) {
        self.classes.push(class as u32);
        self.counts.push(count);
    }

    fn end(&mut self) {
        self.ends.push(self.classes.len() as u64);
    }

    fn append(&mut self, mut other: Meetings) {
        let base = self.classes.len() as u64;
        self.ends.extend(other.ends.iter().map(|&end| base + end));
        self.classes.append(&mut other.classes);
        self.counts.append(&mut other.counts);
    }
}

impl GainCounts {
    /// Counts the labelled rows of a matrix of terms; a term is present where its value is not 0.
    pub fn of(x: &Matrix, labels: &Labels, run: &Run) -> Result<Self> {
        sparse_only(x)?;
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels for `ig`", expected: x.rows(), found: labels.len() });
        }
        run.install(|| Self::count(x, labels, run))
    }

    fn count(x: &Matrix, labels: &Labels, run: &Run) -> Result<Self> {
        let rows = labels.labelled_rows();
        let classes = labels.n_classes();
        let lists: Vec<&[u32]> = rows.iter().map(|&row| labels.of(row).unwrap_or(&[])).collect();
        let mut of_class = vec![0u64; classes];
        lists.iter().flat_map(|list| *list).for_each(|&class| of_class[class as usize] += 1);
        let by_term = x.sparse().select_rows(&rows).transpose();
        let pieces: Result<Vec<(Vec<u64>, Meetings)>> = (0..by_term.rows().div_ceil(PIECE))
            .into_par_iter()
            .map_init(
                || (vec![0u64; classes], Vec::new()),
                |(counts, met), piece| {
                    run.check()?;
                    let (mut with_term, mut meetings) = (Vec::with_capacity(PIECE), Meetings::default());
                    for term in piece * PIECE..by_term.rows().min((piece + 1) * PIECE) {
                        let (documents, values) = by_term.row(term);
                        let mut present = 0;
                        for (&document, _) in documents.iter().zip(values).filter(|&(_, &value)| value != 0.0) {
                            present += 1;
                            for &class in lists[document as usize] {
                                if counts[class as usize] == 0 {
                                    met.push(class as usize);
                                }
                                counts[class as usize] += 1;
                            }
                        }
                        with_term.push(present);
                        met.sort_unstable();
                        for class in met.drain(..) {
                            meetings.push(class, std::mem::take(&mut counts[class]));
                        }
                        meetings.end();
                    }
                    Ok((with_term, meetings))
                },
            )
            .collect();
        let (mut with_term, mut meetings) = (Vec::with_capacity(by_term.rows()), Meetings::default());
        for (mut present, met) in pieces? {
            with_term.append(&mut present);
            meetings.append(met);
        }
        Ok(GainCounts {
            classes: labels.classes().to_vec(),
            multi: labels.is_multi_label(),
            documents: x.rows() as u64,
            labelled: rows.len() as u64,
            of_class,
            with_term,
            meetings,
        })
    }

    /// Adds the counts of other documents with the same columns and classes.
    pub fn merge(&mut self, other: &GainCounts) -> Result<()> {
        let (expected, found) = (self.with_term.len(), other.with_term.len());
        if expected != found {
            return Err(Error::Shape { what: "columns of the counts for `ig`", expected, found });
        }
        if self.classes != other.classes {
            return Err(Error::data(
                "counts for `ig` with different classes cannot be merged; number the labels of all parts alike",
            ));
        }
        let mut merged = Meetings::default();
        for term in 0..expected {
            let (mut left, mut right) = (self.meetings.of(term).peekable(), other.meetings.of(term).peekable());
            while let Some(class) = [left.peek(), right.peek()].into_iter().flatten().map(|&(class, _)| class).min() {
                let of = |found: Option<(usize, u64)>| found.map_or(0, |(_, count)| count);
                let count = of(left.next_if(|one| one.0 == class)) + of(right.next_if(|one| one.0 == class));
                merged.push(class, count);
            }
            merged.end();
        }
        self.meetings = merged;
        self.multi |= other.multi;
        self.documents += other.documents;
        self.labelled += other.labelled;
        self.of_class.iter_mut().zip(&other.of_class).for_each(|(sum, count)| *sum += count);
        self.with_term.iter_mut().zip(&other.with_term).for_each(|(sum, count)| *sum += count);
        Ok(())
    }

    /// All documents counted, labelled or not.
    pub fn n_documents(&self) -> u64 {
        self.documents
    }

    /// The labelled documents counted.
    pub fn n_labelled(&self) -> u64 {
        self.labelled
    }

    /// How many columns there are.
    pub fn n_columns(&self) -> usize {
        self.with_term.len()
    }

    /// The classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Whether some labelled document has not exactly one label.
    pub fn is_multi_label(&self) -> bool {
        self.multi
    }

    /// The gain of every column in nats, 0 without labelled documents.
    pub fn gains(&self, run: &Run) -> Result<Vec<f64>> {
        run.install(|| self.gains_here(run))
    }

    fn gains_here(&self, run: &Run) -> Result<Vec<f64>> {
        let all = usize::try_from(self.labelled).map_err(|_| Error::data("more documents than can be counted"))?;
        if all == 0 {
            return Ok(vec![0.0; self.n_columns()]);
        }
        // n ln n for every count there can be.
        let f: Vec<f64> = (0..=all).map(|n| if n == 0 { 0.0 } else { n as f64 * (n as f64).ln() }).collect();
        let f = |n: u64| f[n as usize];
        let all = self.labelled;
        let gain = |term: usize| {
            if term.is_multiple_of(65_536) {
                run.check()?;
            }
            let with_term = self.with_term[term];
            let term_sum = f(with_term) + f(all - with_term);
            let total: f64 = if self.multi {
                let mut met = self.meetings.of(term).peekable();
                let gain = |(class, &size): (usize, &u64)| {
                    let both = met.next_if(|one| one.0 == class).map_or(0, |(_, count)| count);
                    let with_class = f(both) + f(size - both);
                    let without = f(with_term - both) + f(all - size - (with_term - both));
                    f(all) - f(size) - f(all - size) - term_sum + with_class + without
                };
                self.of_class.iter().enumerate().map(gain).sum()
            } else {
                // Classes in order, so that terms with equal counts get equal sums.
                let change = |(class, both): (usize, u64)| {
                    let size = self.of_class[class];
                    f(both) + f(size - both) - f(size)
                };
                f(all) - term_sum + self.meetings.of(term).map(change).sum::<f64>()
            };
            Ok((total / all as f64).max(0.0))
        };
        (0..self.n_columns()).into_par_iter().with_min_len(256).map(gain).collect()
    }

    /// Puts the counts into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_strings("classes", &self.classes);
        out.put_u64("documents", &[self.documents, self.labelled, u64::from(self.multi)]);
        out.put_u64("of_class", &self.of_class);
        out.put_u64("with_term", &self.with_term);
        out.put_u64("ends", &self.meetings.ends);
        out.put_u32("met", &self.meetings.classes);
        out.put_u64("both", &self.meetings.counts);
    }

    /// Takes counts out of a store, checking them whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let classes = store.strings("classes")?;
        let documents = store.u64s("documents", Some(3))?;
        let with_term = store.u64s("with_term", None)?;
        let met = store.u32s("met", None)?;
        let counts = GainCounts {
            of_class: store.u64s("of_class", Some(classes.len()))?,
            classes,
            multi: documents[2] != 0,
            documents: documents[0],
            labelled: documents[1],
            meetings: Meetings {
                ends: store.u64s("ends", Some(with_term.len()))?,
                counts: store.u64s("both", Some(met.len()))?,
                classes: met,
            },
            with_term,
        };
        if counts.is_whole() { Ok(counts) } else { Err(Error::model("the counts for `ig` are damaged")) }
    }

    /// Whether the numbers can be of documents: what [`GainCounts::gains`] relies on.
    fn is_whole(&self) -> bool {
        let ends = &self.meetings.ends;
        let cut = ends.is_sorted() && ends.last().copied().unwrap_or(0) == self.meetings.classes.len() as u64;
        let sizes = self.labelled <= self.documents && self.of_class.iter().all(|&size| size <= self.labelled);
        cut && sizes
            && (0..self.n_columns()).all(|term| {
                let present = self.with_term[term];
                let mut before = None;
                let ordered = self.meetings.of(term).all(|(class, both)| {
                    let ascends = before < Some(class);
                    before = Some(class);
                    // Documents outside the class with the term must fit among those outside the class.
                    let fits = |&size: &u64| both <= size && both <= present && present - both <= self.labelled - size;
                    ascends && both > 0 && self.of_class.get(class).is_some_and(fits)
                });
                // A class that the term does not meet has room for all documents with the term outside of it.
                let mut met = self.meetings.of(term).map(|(class, _)| class).peekable();
                let room = self
                    .of_class
                    .iter()
                    .enumerate()
                    .all(|(class, &size)| met.next_if_eq(&class).is_some() || present <= self.labelled - size);
                present <= self.labelled && ordered && (!self.multi || room)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Csr;
    use crate::project::{InformationGainParams, Projector, Target};
    use crate::store::tests::round_trip;
    use proptest::prelude::*;

    fn bytes(counts: &GainCounts) -> Vec<(String, Vec<u8>)> {
        let mut out = StoreWriter::new();
        counts.save(&mut out);
        out.into_entries().into_iter().map(|(name, entry)| (name, entry.bytes)).collect()
    }

    proptest! {
        #[test]
        fn any_grouping_and_order_of_parts_gives_the_same_bytes_and_gains(
            rows in proptest::collection::vec(
                (proptest::collection::btree_map(0u32..6, 0u8..3, 0..6), proptest::option::of(
                    proptest::collection::vec(0u32..3, 0..3))), 1..15),
            single in any::<bool>(),
            owners in proptest::collection::vec(0usize..4, 15),
            order in Just([0usize, 1, 2, 3]).prop_shuffle(),
            left in any::<bool>(),
        ) {
            let run = Run::new(0, 2).unwrap();
            let x = Matrix::from(Csr::from_rows(
                6,
                rows.iter().map(|(row, _)| row.iter().map(|(&column, &value)| (column, f32::from(value))).collect()),
            ));
            let classes = ["z", "a", "m"].map(String::from).to_vec();
            let lists = rows.iter().map(|(_, list)| {
                list.clone().map(|list| if single { vec![list.first().copied().unwrap_or(0)] } else { list })
            });
            let labels = Labels::with_classes(classes, lists).unwrap();
            let whole = GainCounts::of(&x, &labels, &run).unwrap();
            let parts = order.map(|part| {
                let own: Vec<usize> = (0..rows.len()).filter(|&row| owners[row] == part).collect();
                let counts = GainCounts::of(&x.select_rows(&own), &labels.select(&own), &run).unwrap();
                round_trip(|out| counts.save(out), GainCounts::load).unwrap()
            });
            let [mut a, mut b, mut c, d] = parts;
            if left {
                a.merge(&b).unwrap();
                a.merge(&c).unwrap();
                a.merge(&d).unwrap();
            } else {
                c.merge(&d).unwrap();
                b.merge(&c).unwrap();
                a.merge(&b).unwrap();
            }
            prop_assert_eq!(bytes(&a), bytes(&whole));
            let bits = |gains: Vec<f64>| gains.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            prop_assert_eq!(bits(a.gains(&run).unwrap()), bits(whole.gains(&run).unwrap()));
            let params = InformationGainParams { terms: 3 };
            match (params.fit(&x, &Target::new(&labels), &run).map(|(model, _)| model), params.model_of(&a, &run)) {
                (Ok(fitted), Ok(made)) => {
                    prop_assert_eq!(bits(made.gains().to_vec()), bits(fitted.gains().to_vec()));
                    prop_assert_eq!(made, fitted);
                }
                (Err(fitted), Err(made)) => prop_assert_eq!(fitted.to_string(), made.to_string()),
                (fitted, made) => prop_assert!(false, "{fitted:?} {made:?}"),
            }
        }
    }

    #[test]
    fn counts_that_do_not_fit_together_are_refused() {
        let run = Run::new(0, 1).unwrap();
        let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0)], vec![(0, 1.0), (1, 1.0)]]));
        let labels = Labels::from_single([Some("a"), Some("b")]);
        let mut counts = GainCounts::of(&x, &labels, &run).unwrap();
        assert!(GainCounts::of(&x, &labels.select(&[0]), &run).is_err());
        assert!(
            counts.merge(&GainCounts::of(&x, &Labels::from_single([Some("a"), Some("c")]), &run).unwrap()).is_err()
        );
        let wider = Matrix::from(Csr::from_rows(3, [vec![], vec![]]));
        assert!(counts.merge(&GainCounts::of(&wider, &labels, &run).unwrap()).is_err());
        let with = |change: &dyn Fn(&mut StoreWriter)| {
            round_trip(
                |out| {
                    counts.save(out);
                    change(out);
                },
                GainCounts::load,
            )
        };
        assert!(with(&|_| {}).is_ok());
        assert!(with(&|out| out.put_u64("of_class", &[1, 3])).is_err());
        assert!(with(&|out| out.put_u64("with_term", &[3, 1])).is_err());
        assert!(with(&|out| out.put_u64("both", &[1, 2, 1])).is_err());
        assert!(with(&|out| out.put_u32("met", &[1, 0, 1])).is_err());
        assert!(with(&|out| out.put_u64("ends", &[2, 9])).is_err());
    }
}
