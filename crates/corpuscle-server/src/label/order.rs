//! Which document to look at next, and why that one.
//!
//! Documents are clustered in a space of a hundred dimensions (k-means over `lsi` at unit length), and in each cluster they
//! are ranked by how near their twenty nearest are: the most typical first. At first each document comes from the cluster with most
//! documents per label, so that labels spread over the whole pile. From ten labels a class on every other one is a document
//! the model is least sure about. One in five is drawn at random: those are the ones accuracy is measured on, because
//! those chosen for being hard, or typical, say nothing about the pile.
//!
//! Everything is laid out beforehand; a choice looks at one number per cluster.

use corpuscle::matrix::Dense;
use corpuscle::words::KmeansParams;
use corpuscle::{Result, Run};

/// Clusters, at most.
const CLUSTERS: usize = 100;
/// Rows that clusters are found on, at most; the others go to the nearest.
const SAMPLE: usize = 20_000;
/// Members of a cluster that are compared with each other.
const COMPARED: usize = 400;
/// Neighbours whose nearness makes a document typical.
const NEIGHBOURS: usize = 20;
/// One in so many is drawn at random.
const RANDOM: usize = 5;

/// Why a document was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The pile has not been looked through yet.
    Start,
    /// Its part of the pile has few labels.
    Spread,
    /// The model is least sure about it.
    Doubt,
    /// To measure by.
    Random,
}

impl Why {
    /// One word for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Why::Start => "start",
            Why::Spread => "spread",
            Why::Doubt => "doubt",
            Why::Random => "random",
        }
    }

    /// The same for people.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Why::Start => "the pile is still being looked through",
            Why::Spread => "typical of a part of the pile with few labels",
            Why::Doubt => "the model is least sure about this one",
            Why::Random => "drawn at random, to measure accuracy by",
        }
    }
}

/// Clusters of the pile, the typical documents of each first.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    members: Vec<Vec<u32>>,
    of: Vec<u32>,
}

impl Clusters {
    /// Finds them; rows of `x` have unit length, or are zero.
    pub(crate) fn find(x: &Dense, run: &Run) -> Result<Self> {
        let n = x.rows();
        let clusters = (n / 10).clamp(1, CLUSTERS);
        // Every so many rows: a sample that needs no chance.
        let step = n.div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = (0..n).step_by(step).collect();
        let found = KmeansParams { clusters: clusters.min(sample.len().max(1)), ..KmeansParams::default() }
            .fit(&x.select_rows(&sample), run)?;
        let of = nearest(x, &found.centres)?;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); found.centres.rows()];
        for (row, &cluster) in of.iter().enumerate() {
            members[cluster as usize].push(row as u32);
        }
        for (cluster, members) in members.iter_mut().enumerate() {
            rank(x, found.centres.row(cluster), members)?;
        }
        Ok(Clusters { members, of })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The first free document of the cluster with most documents per label. `labelled` are the places that have labels.
    pub(crate) fn next(&self, labelled: impl Iterator<Item = u32>, free: impl Fn(u32) -> bool) -> Option<u32> {
        let mut labels = vec![0usize; self.members.len()];
        for place in labelled {
            if let Some(&cluster) = self.of.get(place as usize) {
                labels[cluster as usize] += 1;
            }
        }
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        // Clusters without a label first, the largest of them; then by documents per label.
        let share = |cluster: usize| self.members[cluster].len() as f64 / labels[cluster].max(1) as f64;
        order.sort_by(|&a, &b| {
            (labels[a] > 0).cmp(&(labels[b] > 0)).then(share(b).total_cmp(&share(a))).then(a.cmp(&b))
        });
        order.into_iter().find_map(|cluster| self.members[cluster].iter().copied().find(|&place| free(place)))
    }
}

/// The cluster each row is nearest to.
fn nearest(x: &Dense, centres: &Dense) -> Result<Vec<u32>> {
    // |x − c|² = |x|² − 2 x·c + |c|², of which the first is the same for all centres.
    let lengths: Vec<f32> = (0..centres.rows()).map(|row| centres.row(row).iter().map(|v| v * v).sum()).collect();
    let products = x.matmul_transposed(centres)?;
    let best = |row: &[f32]| {
        let far = |cluster: usize| lengths[cluster] - 2.0 * row[cluster];
        (0..row.len()).min_by(|&a, &b| far(a).total_cmp(&far(b))).unwrap_or(0) as u32
    };
    Ok((0..products.rows()).map(|row| best(products.row(row))).collect())
}

/// Puts the members of a cluster in order: of those nearest to its middle, those with the nearest neighbours first.
fn rank(x: &Dense, centre: &[f32], members: &mut [u32]) -> Result<()> {
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let to_centre: std::collections::HashMap<u32, f32> =
        members.iter().map(|&place| (place, dot(x.row(place as usize), centre))).collect();
    let by = |of: &std::collections::HashMap<u32, f32>, a: u32, b: u32| of[&b].total_cmp(&of[&a]).then(a.cmp(&b));
    members.sort_by(|&a, &b| by(&to_centre, a, b));
    let compared = members.len().min(COMPARED);
    let rows: Vec<usize> = members[..compared].iter().map(|&place| place as usize).collect();
    let part = x.select_rows(&rows);
    let products = part.matmul_transposed(&part)?;
    let near = |row: usize| -> f32 {
        let mut cosines: Vec<f32> = products.row(row).to_vec();
        cosines.swap_remove(row);
        cosines.sort_by(|a, b| b.total_cmp(a));
        cosines.truncate(NEIGHBOURS);
        cosines.iter().sum::<f32>() / cosines.len().max(1) as f32
    };
    let typical: std::collections::HashMap<u32, f32> = (0..compared).map(|row| (members[row], near(row))).collect();
    members[..compared].sort_by(|&a, &b| by(&typical, a, b));
    Ok(())
}

/// All places in an order of chance that depends on the seed only.
pub(crate) fn shuffled(n: usize, run: &Run) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    // SplitMix64: enough to shuffle by, and the same on every machine.
    let mut state = run.seed() ^ 0x6c61_6265_6c21_0000;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    for at in (1..order.len()).rev() {
        order.swap(at, (next() % (at as u64 + 1)) as usize);
    }
    order
}

/// What a choice is made from.
pub(crate) struct Choosing<'a> {
    /// All places by chance.
    pub(crate) shuffled: &'a [u32],
    /// Once the pile has been looked through.
    pub(crate) clusters: Option<&'a Clusters>,
    /// Places the model is least sure about, in order.
    pub(crate) doubtful: &'a [u32],
    /// How many documents and classes have labels.
    pub(crate) labelled: usize,
    pub(crate) classes: usize,
}

impl Choosing<'_> {
    /// The next document that is free. `turn` counts those shown so far.
    pub(crate) fn next(
        &self,
        turn: usize,
        labelled: impl Iterator<Item = u32>,
        free: impl Fn(u32) -> bool,
    ) -> Option<(u32, Why)> {
        let by_chance = || self.shuffled.iter().copied().find(|&place| free(place));
        let Some(clusters) = self.clusters else { return Some((by_chance()?, Why::Start)) };
        if turn % RANDOM == RANDOM - 1 {
            return Some((by_chance()?, Why::Random));
        }
        let enough = self.classes > 1 && self.labelled >= 10 * self.classes;
        if enough
            && turn.is_multiple_of(2)
            && let Some(place) = self.doubtful.iter().copied().find(|&place| free(place))
        {
            return Some((place, Why::Doubt));
        }
        match clusters.next(labelled, &free) {
            Some(place) => Some((place, Why::Spread)),
            None => Some((by_chance()?, Why::Random)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three directions, the first with half of the rows; one row of each stands a little aside.
    fn rows() -> Dense {
        let mut values = Vec::new();
        for row in 0..60 {
            let cluster = if row < 30 { 0 } else { 1 + row % 2 };
            let aside = if row % 10 == 9 { 0.4 } else { 0.01 * (row % 5) as f32 };
            let mut own = [0f32; 4];
            own[cluster] = (1.0 - aside * aside).sqrt();
            own[3] = aside;
            values.extend(own);
        }
        Dense::new(60, 4, values).unwrap()
    }

    #[test]
    fn the_largest_cluster_without_a_label_comes_first_and_its_most_typical() {
        let run = Run::new(42, 1).unwrap();
        let clusters = Clusters::find(&rows(), &run).unwrap();
        assert_eq!(clusters.members.iter().map(Vec::len).sum::<usize>(), 60);
        let mut seen = Vec::new();
        while let Some(place) = clusters.next(seen.iter().copied(), |place| !seen.contains(&place)) {
            seen.push(place);
        }
        assert_eq!(seen.len(), 60);
        // One of each cluster before a second of any.
        let first: std::collections::HashSet<u32> =
            seen[..clusters.len()].iter().map(|&place| clusters.of[place as usize]).collect();
        assert_eq!(first.len(), clusters.len());
        assert!(seen[..3].iter().all(|place| place % 10 != 9), "{seen:?}");
    }

    #[test]
    fn chance_is_the_same_every_time_and_has_everybody() {
        let run = Run::new(7, 1).unwrap();
        let order = shuffled(100, &run);
        assert_eq!(order, shuffled(100, &run));
        assert_ne!(order, shuffled(100, &run.with_seed(8)));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
        assert!(shuffled(0, &run).is_empty());
    }

    #[test]
    fn one_in_five_is_drawn_and_half_of_the_rest_is_doubtful_once_there_are_labels() {
        let run = Run::new(42, 1).unwrap();
        let (clusters, order) = (Clusters::find(&rows(), &run).unwrap(), shuffled(60, &run));
        let choosing =
            |labelled, clusters| Choosing { shuffled: &order, clusters, doubtful: &[5, 6], labelled, classes: 2 };
        let why = |labelled: usize, turn: usize| {
            choosing(labelled, Some(&clusters)).next(turn, [].into_iter(), |_| true).unwrap().1
        };
        let all = |labelled| (0..10).map(|turn| why(labelled, turn)).collect::<Vec<_>>();
        let (few, many) = (all(3), all(20));
        assert_eq!(few.iter().filter(|&&why| why == Why::Random).count(), 2);
        assert!(!few.contains(&Why::Doubt) && many.iter().filter(|&&why| why == Why::Doubt).count() >= 4);
        assert_eq!(choosing(0, None).next(0, [].into_iter(), |_| true).unwrap().1, Why::Start);
        assert_eq!(choosing(0, None).next(0, [].into_iter(), |_| false), None);
    }
}
