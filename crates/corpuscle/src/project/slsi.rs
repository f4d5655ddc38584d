//! Supervised latent semantic indexing: singular vectors of single classes, picked one at a time by how well they tell classes
//! apart.
//!
//! Until there are `rank` directions: for every class, the leading singular vectors of what is left of its documents once the
//! directions picked so far are taken out; of all these, the one along which the documents of all classes have the largest
//! ratio of between-class to within-class variance,
//!
//! Σ_c n_c (μ_c − μ)² / Σ_c Σ_{i in c} (z_i − μ_c)²,  z = what is left of x, along v,
//!
//! is picked. A document x becomes its coordinates along the directions, which are orthonormal. J. Sun and others, "Supervised latent
//! semantic indexing for document categorization" (2004), as told by S. Chakraborti and others, "Supervised latent semantic
//! indexing using adaptive sprinkling" (2007): k steps over m classes, k · m decomposition in all, no figures given.
//!
//! What is left open, and what was chosen: the measure of discrimination (above); how many vectors of each class stand for election at
//! a step (`candidates`); that what is picked is taken out of the documents of all classes before the next step. A
//! document of several classes counts for each. Directions end early, with a warning, when nothing is left.
//!
//! "What is left of x" is never written out: it is x beside its coordinates, which count negatively ([`crate::matrix`]).
//! O(nnz · rank) products and rank · classes small decompositions; that is what the authors of sprinkling hold
//! against it.
//!
//! ```
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::{Projector, SlsiParams, Target};
//! use corpuscle::Run;
//! // The first column is the loudest and says nothing about the class.
//! let row = |noise: f32, own: u32| vec![(0, noise), (own, 1.0)];
//! let x = Matrix::from(Csr::from_rows(3, [row(5.0, 1), row(-5.0, 1), row(5.0, 2), row(-5.0, 2)]));
//! let labels = Labels::from_single([Some("a"), Some("a"), Some("b"), Some("b")]);
//! let params = SlsiParams { rank: 1, ..SlsiParams::default() };
//! let (_, z) = params.fit(&x, &Target::new(&labels), &Run::new(42, 1)?)?;
//! assert!((z.row(0).dense[0] - z.row(2).dense[0]).abs() > 0.9);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::class_spaces::ClassSpacesModel;
use super::lsi::{check_found, check_rank};
use super::members::Members;
use super::{Columns, Projector, ProjectorModel, Target};
use crate::matrix::svd::{TruncatedSvd, truncated_svd};
use crate::matrix::{Csr, Dense, Matrix};
use crate::params::{Checks, Param, Params};
use crate::store::StoreReader;
use crate::{Result, Run, param};

/// Parameters of supervised latent semantic indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlsiParams {
    /// Directions to pick.
    pub rank: usize,
    /// Leading vectors of each class to pick from at each step.
    pub candidates: usize,
}

impl Default for SlsiParams {
    fn default() -> Self {
        SlsiParams { rank: 50, candidates: 3 }
    }
}

/// Steps of the solver for the few vectors that stand for election: 32 vectors are searched.
const STEPS: usize = 2;
/// Directions shorter than this share of the documents' mean length are rounding errors of those taken out before.
const NOISE: f64 = 1e-5;

impl Params for SlsiParams {
    const NAME: &'static str = "slsi";
    const ABOUT: &'static str = "singular vectors of single classes, picked by how well they tell classes apart";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("rank", rank, "directions to pick"),
            param!("candidates", candidates, "leading vectors of each class to pick from at each step"),
        ]
    }

    fn check(&self) -> Result<()> {
        let right = (1..=16).contains(&self.candidates);
        let checks = check_rank(Checks::of(Self::NAME), self.rank);
        checks.that(right, "candidates", &self.candidates, "must be from 1 to 16").done()
    }
}

impl Projector for SlsiParams {
    type Model = ClassSpacesModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(ClassSpacesModel, Matrix)> {
        self.check()?;
        let (labelled, members) = Members::of(Self::NAME, x, target.labels())?;
        let picked = run.install(|| self.pick(&labelled, &members, run))?;
        check_found(Self::NAME, self.rank, picked.origins.len(), run)?;
        let model = ClassSpacesModel::new(x.cols(), &picked.directions, picked.origins)?;
        let z = model.transform(x, run)?;
        Ok((model, z))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<ClassSpacesModel> {
        ClassSpacesModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }
}

/// The directions so far.
struct Picked {
    /// Weights of input columns, one direction after the other.
    directions: Vec<f32>,
    origins: Vec<u32>,
    /// The coordinates of all labelled documents along them, one row per direction.
    coordinates: Vec<Vec<f32>>,
}

/// A vector that stands for election.
struct Candidate {
    ratio: f64,
    class: u32,
    /// Weights of the columns of what is left, and all documents along it.
    weights: Vec<f32>,
    along: Vec<f32>,
}

impl SlsiParams {
    fn pick(&self, x: &Matrix, members: &Members, run: &Run) -> Result<Picked> {
        let mut picked = Picked { directions: Vec::new(), origins: Vec::new(), coordinates: Vec::new() };
        let classes: Vec<(usize, Vec<usize>, Matrix)> = members
            .present()
            .into_iter()
            .map(|class| {
                let own = (0..members.len()).filter(|&member| members.classes[member] as usize == class);
                let rows: Vec<usize> = own.map(|member| members.rows[member] as usize).collect();
                let documents = x.select_rows(&rows);
                (class, rows, documents)
            })
            .collect();
        let mean = (0..x.rows()).map(|row| x.row(row).norm_squared()).sum::<f64>() / x.rows().max(1) as f64;
        let every: Vec<usize> = (0..x.rows()).collect();
        while picked.origins.len() < self.rank {
            run.check()?;
            let left = picked.left_of(x, &every)?;
            let mut best: Option<Candidate> = None;
            for (class, rows, documents) in &classes {
                let svd = truncated_svd(&picked.left_of(documents, rows)?, self.candidates, STEPS, run)?;
                for candidate in self.candidates(&svd, *class as u32, &left, members, NOISE * mean.sqrt())? {
                    // The first of equals stays, so that classes are asked in their order.
                    if best.as_ref().is_none_or(|best| candidate.ratio > best.ratio) {
                        best = Some(candidate);
                    }
                }
            }
            let Some(best) = best else { break };
            picked.add(x.cols(), best);
            run.advance(1);
        }
        Ok(picked)
    }

    fn candidates(
        &self,
        svd: &TruncatedSvd,
        class: u32,
        left: &Matrix,
        members: &Members,
        noise: f64,
    ) -> Result<Vec<Candidate>> {
        let found = svd.singular_values.iter().take_while(|&&value| value > noise).count();
        let along = left.multiply(&svd.vectors, &vec![0.0; svd.vectors.cols()])?;
        let column = |of: &Dense, at: usize| (0..of.rows()).map(|row| of.row(row)[at]).collect::<Vec<f32>>();
        let candidate = |at: usize| {
            let (weights, along) = (column(&svd.vectors, at), column(&along, at));
            Candidate { ratio: ratio(&along, members), class, weights, along }
        };
        Ok((0..found).map(candidate).filter(|candidate| candidate.ratio.is_finite()).collect())
    }
}

impl Picked {
    /// What is left of documents: themselves beside their coordinates, which count negatively.
    fn left_of(&self, documents: &Matrix, rows: &[usize]) -> Result<Matrix> {
        let width = self.coordinates.len();
        let mut values = Vec::with_capacity(rows.len() * width);
        rows.iter().for_each(|&row| values.extend(self.coordinates.iter().map(|coordinates| coordinates[row])));
        let taken = Matrix::new(Csr::empty(rows.len(), 0), Dense::new(rows.len(), width, values)?, width)?;
        documents.beside(&taken)
    }

    /// Takes a direction: weights of coordinates are weights of the columns these were made from.
    fn add(&mut self, inputs: usize, candidate: Candidate) {
        let mut direction = candidate.weights[..inputs].to_vec();
        for (before, &weight) in self.directions.chunks_exact(inputs).zip(&candidate.weights[inputs..]) {
            direction.iter_mut().zip(before).for_each(|(to, &from)| *to += weight * from);
        }
        self.directions.extend(direction);
        self.origins.push(candidate.class);
        self.coordinates.push(candidate.along);
    }
}

/// Between-class over within-class variance of numbers given for documents.
fn ratio(along: &[f32], members: &Members) -> f64 {
    let mut sums = vec![0f64; members.counts.len()];
    let (mut total, mut squares) = (0f64, 0f64);
    for (&row, &class) in members.rows.iter().zip(&members.classes) {
        let value = f64::from(along[row as usize]);
        sums[class as usize] += value;
        total += value;
        squares += value * value;
    }
    let own = |(sum, &count): (&f64, &usize)| if count > 0 { sum * sum / count as f64 } else { 0.0 };
    let means: f64 = sums.iter().zip(&members.counts).map(own).sum();
    let between = (means - total * total / members.len().max(1) as f64).max(0.0);
    let within = (squares - means).max(0.0);
    // Classes that are each at one point are told apart perfectly; rounding must not decide by how much.
    between / within.max(1e-9 * squares)
}
