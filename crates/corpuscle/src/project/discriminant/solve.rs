//! Ridge regression onto class indicators for any number of shrinkages, and the small eigenproblem after it.
//!
//! Three ways: [`dual`] for few documents, [`conjugate`] for many documents of words, whose cost is linear in them, and
//! [`krylov`] for dense columns, for rows with columns that count negatively, and where its one space for every
//! shrinkage is cheaper.

mod conjugate;

use std::borrow::Cow;

use self::conjugate::{Conjugate, column_scatter};
use super::super::members::{About, Centred, Members};
use super::model::DiscriminantModel;
use crate::corpus::Labels;
use crate::matrix::panel::{LANES, Lane, Linear, Operator, put_panel};
use crate::matrix::small::{
    Small, multiply_in_place, quick_transposed_product, subtract_product, tall_product, transposed_product,
};
use crate::matrix::svd::{check_finite, orthonormal, signs};
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};

/// The residual, relative to the right-hand sides, at which the Krylov space is large enough.
const TOLERANCE: f64 = 1e-6;
/// Steps after which it is used as it is, with a warning.
const MOST_STEPS: usize = 100;
/// Steps that the choice between the ways expects of the Krylov space.
const USUAL_STEPS: f64 = 12.0;
/// The same for words, times the root of the condition number; 3.7 to 4.6 were measured.
const STEPS_BY_CONDITION: f64 = 4.0;
/// Steps of [`conjugate`] at shrinkage 1.
const CONJUGATE_STEPS: f64 = 17.0;
/// A direction shorter than this times the operator's size is rounding error.
const LOST: f64 = 1e-6;
/// Of the small problem, eigenvalues at most this times the largest are noise.
const NOISE: f64 = 1e-10;

/// The labelled documents, ready to be solved for any shrinkage down to the one it was made for.
pub(crate) struct Prepared<'a> {
    x: Cow<'a, Matrix>,
    members: Members,
    /// Classes that have documents.
    present: Vec<usize>,
    /// tr(S_w) / rank, the unit of the shrinkage.
    unit: f64,
    space: Space,
}

/// How (T Tᵀ + ρ I)⁻¹ G is found.
enum Space {
    /// T Tᵀ itself, and G.
    Dual { gram: Small, right: Small },
    /// T Tᵀ in an orthonormal basis of a Krylov space, and G in it.
    Krylov { basis: Vec<Dense>, restricted: Small, right: Small },
    /// Solved anew for each ρ.
    Conjugate(Conjugate),
}

/// Which way to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Dual,
    Krylov,
    Conjugate,
}

impl<'a> Prepared<'a> {
    /// Prepares for shrinkages from `least` upwards. Runs on the workers of the caller.
    pub(crate) fn new(x: &'a Matrix, labels: &Labels, least: f64, run: &Run) -> Result<Self> {
        Self::by(None, x, labels, least, run)
    }

    pub(super) fn by(way: Option<Way>, x: &'a Matrix, labels: &Labels, least: f64, run: &Run) -> Result<Self> {
        check_finite(x)?;
        let (x, members) = Members::of("discriminant", x, labels)?;
        let present = members.present();
        if present.len() < 2 {
            return Err(Error::data("`discriminant` needs documents of at least two classes to tell apart"));
        }
        let (within, squares) = within_scatter(&x, &members);
        let unit = within / rank(&x, &members, &present);
        // Less is what rounding leaves of nothing.
        let differ = within > 1e-6 * squares && unit.is_finite();
        if !differ {
            return Err(Error::data(
                "`discriminant` needs classes whose documents differ; here those of each class are all the same; \
                 after varnorm, remove fewer directions",
            ));
        }
        let scatter = column_scatter(&x, &members);
        let way = way.unwrap_or_else(|| {
            let largest = scatter.iter().copied().fold(0.0, f64::max) / unit;
            cheaper(&x, &members, present.len(), least, largest)
        });
        let indicators = indicators(&members, &present);
        let space = {
            let operator = Operator::new(&x);
            let centred = Centred::new(&operator, &members, About::OverallMean);
            match way {
                Way::Dual => dual(&centred, &indicators, run)?,
                Way::Krylov => krylov(&centred, indicators, least * unit, run)?,
                Way::Conjugate => Space::Conjugate(Conjugate::new(&centred, &indicators, scatter)),
            }
        };
        Ok(Prepared { x, members, present, unit, space })
    }

    /// The directions at a shrinkage; `components` 0 for all useful ones.
    pub(crate) fn directions(&self, components: usize, shrinkage: f64, run: &Run) -> Result<DiscriminantModel> {
        run.check()?;
        let useful = self.present.len() - 1;
        if components > useful {
            run.warn(&format!(
                "discriminant: {} classes are told apart by {useful} directions, so {useful} are kept and not {components}",
                self.present.len()
            ));
        }
        let ridge = shrinkage * self.unit;
        let operator = Operator::new(&self.x);
        let centred = Centred::new(&operator, &self.members, About::OverallMean);
        let weights = match &self.space {
            Space::Dual { gram, right } => {
                centred.transposed_times_dense(&gram.solve_shifted(ridge, right)?.to_dense(right.cols())?)
            }
            Space::Krylov { basis, restricted, right } => {
                let solution = restricted.solve_shifted(ridge, right)?.to_dense(right.cols())?;
                centred.transposed_times_dense(&combine(basis, &solution, self.members.len())?)
            }
            Space::Conjugate(conjugate) => conjugate.solve(&centred, ridge, run)?,
        };
        run.check()?;
        let rows = centred.times_dense(&weights);
        let (between, mut within) = self.scatters(&rows);
        let lengths = transposed_product(&weights, &weights, self.x.negative());
        for row in 0..within.rows() {
            within.row_mut(row).iter_mut().zip(lengths.row(row)).for_each(|(sum, length)| *sum += ridge * length);
        }
        let kept = if components == 0 { useful } else { components.min(useful) };
        let (ratios, factor) = generalised_eigen(&between, &within, kept)?;
        let scale = (self.members.len() as f64).sqrt();
        let factor = factor.scaled_columns(&vec![scale; ratios.len()]).to_dense(ratios.len())?;
        let mut vectors = multiply_in_place(weights, &factor)?;
        let signs = signs(&vectors);
        for row in 0..vectors.rows() {
            vectors.row_mut(row).iter_mut().zip(&signs).for_each(|(value, sign)| *value *= sign);
        }
        let offset = self.offset(&vectors)?;
        Ok(DiscriminantModel::new(vectors, offset, ratios, shrinkage))
    }

    /// Between-class and within-class scatter of rows, one for each member.
    fn scatters(&self, rows: &Dense) -> (Small, Small) {
        let width = rows.cols();
        let mut means = vec![vec![0f64; width]; self.members.counts.len()];
        for (member, &class) in self.members.classes.iter().enumerate() {
            let mean = &mut means[class as usize];
            mean.iter_mut().zip(rows.row(member)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        let mut weighted = Dense::zeros(self.present.len(), width);
        for (at, &class) in self.present.iter().enumerate() {
            let count = self.members.counts[class] as f64;
            means[class].iter_mut().for_each(|sum| *sum /= count);
            // The rows are about the overall mean already.
            let to = weighted.row_mut(at).iter_mut();
            to.zip(&means[class]).for_each(|(to, &mean)| *to = (mean * count.sqrt()) as f32);
        }
        let mut about = rows.clone();
        for (member, &class) in self.members.classes.iter().enumerate() {
            let row = about.row_mut(member).iter_mut();
            row.zip(&means[class as usize]).for_each(|(value, &mean)| *value -= mean as f32);
        }
        (transposed_product(&weighted, &weighted, 0), transposed_product(&about, &about, 0))
    }

    /// What brings the mean of the members to 0 in the directions.
    fn offset(&self, vectors: &Dense) -> Result<Vec<f32>> {
        let rows = self.x.multiply(vectors, &vec![0.0; vectors.cols()])?;
        let mut sums = vec![0f64; vectors.cols()];
        for &row in &self.members.rows {
            sums.iter_mut().zip(rows.row(row as usize)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        Ok(sums.iter().map(|sum| (-sum / self.members.len() as f64) as f32).collect())
    }

    #[cfg(test)]
    pub(super) fn way(&self) -> Way {
        match self.space {
            Space::Dual { .. } => Way::Dual,
            Space::Krylov { .. } => Way::Krylov,
            Space::Conjugate(_) => Way::Conjugate,
        }
    }
}

/// In how many directions documents can differ from their class means.
fn rank(x: &Matrix, members: &Members, present: &[usize]) -> f64 {
    // A column that counts negatively takes one direction away from those before it.
    let columns = x.cols() - 2 * x.negative().min(x.cols() / 2);
    members.len().saturating_sub(present.len()).min(columns).max(1) as f64
}

/// tr(S_w), the squared distances of members to the means of their classes, and the squared lengths of their sparse and
/// dense parts, whose rounding errors it carries.
fn within_scatter(x: &Matrix, members: &Members) -> (f64, f64) {
    let squares: f64 = members.rows.iter().map(|&row| x.row(row as usize).norm_squared()).sum();
    let full = |row: crate::matrix::Row<'_>| {
        let square = |value: &f32| f64::from(*value) * f64::from(*value);
        row.values.iter().map(square).sum::<f64>() + row.dense.iter().map(square).sum::<f64>()
    };
    let stored: f64 = members.rows.iter().map(|&row| full(x.row(row as usize))).sum();
    let mut by_class: Vec<Vec<u32>> = vec![Vec::new(); members.counts.len()];
    members.rows.iter().zip(&members.classes).for_each(|(&row, &class)| by_class[class as usize].push(row));
    let mut sums = vec![0f64; x.cols()];
    let negative_start = x.cols() - x.negative();
    let mut means = 0.0;
    for rows in by_class.iter().filter(|rows| !rows.is_empty()) {
        rows.iter().for_each(|&row| x.row(row as usize).for_each(|column, value| sums[column] += f64::from(value)));
        let mut length = 0.0;
        for &row in rows {
            x.row(row as usize).for_each(|column, _| {
                // Taken once: the next document with this column finds 0.
                let sum = std::mem::take(&mut sums[column]);
                length += if column < negative_start { sum * sum } else { -sum * sum };
            });
        }
        means += length / rows.len() as f64;
    }
    (squares - means, stored)
}

/// The way of the least multiply-adds for shrinkages from `least` upwards; `largest` is the largest scatter of a column
/// in units of the shrinkage.
fn cheaper(x: &Matrix, members: &Members, classes: usize, least: f64, largest: f64) -> Way {
    let (size, stored, classes) = (members.len() as f64, x.stored() as f64, classes as f64);
    let columns = x.cols() as f64;
    let dual = 2.0 * size * stored + size * size * size / 3.0;
    let krylov = |steps: f64, dense: f64| 4.0 * steps * classes * stored + dense * size * (steps * classes).powi(2);
    if dual <= krylov(USUAL_STEPS, 2.0) {
        return Way::Dual;
    }
    // Dense columns are seldom nearly orthogonal, which is what conjugate gradients over columns live on.
    if x.dense().cols() > 0 {
        return Way::Krylov;
    }
    // With fewer documents than words, T Tᵀ has no eigenvalues near 0 (Marchenko and Pastur), whatever the shrinkage.
    let floor = if size < columns { (1.0 - (size / columns).sqrt()).powi(2) } else { 0.0 };
    let steps = (STEPS_BY_CONDITION * (largest / (least + floor)).sqrt()).clamp(2.0, MOST_STEPS as f64);
    let conjugate = CONJUGATE_STEPS / least.sqrt() * classes * (4.0 * stored + 10.0 * columns);
    // A multiply-add of dense blocks takes half as long as one that a sparse row picks.
    if conjugate <= krylov(steps, 1.0) { Way::Conjugate } else { Way::Krylov }
}

/// G about its mean: column j holds 1/√n for the members of the j-th class that has some.
fn indicators(members: &Members, present: &[usize]) -> Dense {
    let mut column = vec![0; members.counts.len()];
    present.iter().enumerate().for_each(|(at, &class)| column[class] = at);
    let mut right = Dense::zeros(members.len(), present.len());
    let means: Vec<f32> =
        present.iter().map(|&class| ((members.counts[class] as f64).sqrt() / members.len() as f64) as f32).collect();
    for (member, &class) in members.classes.iter().enumerate() {
        let row = right.row_mut(member);
        row.iter_mut().zip(&means).for_each(|(to, mean)| *to = -mean);
        row[column[class as usize]] += 1.0 / (members.counts[class as usize] as f32).sqrt();
    }
    right
}

fn dual(centred: &Centred<'_>, indicators: &Dense, run: &Run) -> Result<Space> {
    let size = centred.rows();
    let mut gram = Dense::zeros(size, size);
    let (mut panel, mut image) = (vec![Lane::default(); size], vec![Lane::default(); size]);
    let mut between = vec![Lane::default(); centred.cols()];
    for first in (0..size).step_by(LANES) {
        run.check()?;
        panel.fill(Lane::default());
        (first..size.min(first + LANES)).for_each(|at| panel[at].0[at - first] = 1.0);
        centred.transposed_times(&panel, &mut between);
        centred.times(&between, &mut image);
        put_panel(&image, first, &mut gram);
    }
    Ok(Space::Dual { gram: Small::from(&gram), right: Small::from(indicators) })
}

/// Grows a block Krylov space of T Tᵀ from the indicators until it solves the least ridge.
fn krylov(centred: &Centred<'_>, indicators: Dense, ridge: f64, run: &Run) -> Result<Space> {
    let length = transposed_product(&indicators, &indicators, 0);
    let length: f64 = (0..length.rows()).map(|at| length.row(at)[at]).sum::<f64>().sqrt();
    let (block, found) = orthonormal(indicators.clone(), 1e-4)?;
    let mut basis = vec![first_columns(&block, found)?];
    // All other blocks are orthogonal to the first, and so to the indicators.
    let start = transposed_product(&basis[0], &indicators, 0);
    let mut restricted = Small::zeros(0, 0);
    let mut scale = 0.0f64;
    loop {
        run.check()?;
        let last = basis.len() - 1;
        let mut image = centred.times_dense(&centred.transposed_times_dense(&basis[last]));
        // In exact arithmetic only the last two blocks have a part in the image.
        let mut parts = Vec::new();
        for block in &basis[last.saturating_sub(1)..] {
            let part = quick_transposed_product(block, 0..block.cols(), &image);
            let part_of_image = part.to_dense(part.cols())?;
            subtract_product(&mut image, block, 0..block.cols(), &part_of_image);
            parts.push(part);
        }
        restricted = grown(&restricted, &parts);
        scale = (0..restricted.rows()).fold(scale, |scale, at| scale.max(restricted.row(at)[at].abs()));
        let mut right = Small::zeros(restricted.rows(), start.cols());
        (0..start.rows()).for_each(|row| right.row_mut(row).copy_from_slice(start.row(row)));
        let solution = restricted.solve_shifted(ridge, &right)?;
        let residual = residual(&image, &solution);
        let size: usize = basis.iter().map(Dense::cols).sum();
        if residual <= TOLERANCE * length || size >= centred.rows() || basis.len() >= MOST_STEPS {
            if residual > 1e-3 * length {
                run.warn(&format!(
                    "discriminant: the solver stopped at a relative residual of {:.1e}; raise the shrinkage",
                    residual / length
                ));
            }
            return Ok(Space::Krylov { basis, restricted, right });
        }
        let (mut image, mut found) = orthonormal(image, LOST * scale)?;
        image = first_columns(&image, found)?;
        for block in &basis {
            let part = quick_transposed_product(block, 0..block.cols(), &image);
            let part_of_image = part.to_dense(part.cols())?;
            subtract_product(&mut image, block, 0..block.cols(), &part_of_image);
        }
        (image, found) = orthonormal(image, 1e-2)?;
        if found == 0 {
            return Ok(Space::Krylov { basis, restricted, right });
        }
        basis.push(first_columns(&image, found)?);
    }
}

/// ‖G − (T Tᵀ + ρ) Q y‖ of the solution in the basis: what the last image has outside it, times the last block of y.
fn residual(outside: &Dense, solution: &Small) -> f64 {
    let gram = transposed_product(outside, outside, 0);
    let first = solution.rows() - outside.cols();
    let mut sum = 0.0;
    for column in 0..solution.cols() {
        for i in 0..outside.cols() {
            for j in 0..outside.cols() {
                sum += solution.row(first + i)[column] * gram.row(i)[j] * solution.row(first + j)[column];
            }
        }
    }
    sum.max(0.0).sqrt()
}

/// The restricted operator with one more block: `parts` are its images in the block before it, if any, and in itself.
fn grown(before: &Small, parts: &[Small]) -> Small {
    let width = parts.last().map_or(0, Small::cols);
    let old = before.rows();
    let mut after = Small::zeros(old + width, old + width);
    for row in 0..old {
        after.row_mut(row)[..old].copy_from_slice(before.row(row));
    }
    let mut first = old + width - parts.iter().map(Small::rows).sum::<usize>();
    for part in parts {
        for row in 0..part.rows() {
            for column in 0..width {
                let value = part.row(row)[column];
                after.row_mut(first + row)[old + column] = value;
                after.row_mut(old + column)[first + row] = value;
            }
        }
        first += part.rows();
    }
    after
}

fn combine(basis: &[Dense], solution: &Dense, rows: usize) -> Result<Dense> {
    let mut sum = Dense::zeros(rows, solution.cols());
    let mut first = 0;
    for block in basis {
        let part = solution.select_rows(&(first..first + block.cols()).collect::<Vec<_>>());
        let product = tall_product(block, &part);
        sum.values_mut().iter_mut().zip(product.values()).for_each(|(sum, value)| *sum += value);
        first += block.cols();
    }
    Ok(sum)
}

fn first_columns(matrix: &Dense, columns: usize) -> Result<Dense> {
    let values: Vec<f32> = (0..matrix.rows()).flat_map(|row| matrix.row(row)[..columns].iter().copied()).collect();
    Dense::new(matrix.rows(), columns, values)
}

/// The largest λ of between · f = λ within · f and the f as columns with fᵀ within f = 1; at most `most`.
fn generalised_eigen(between: &Small, within: &Small, most: usize) -> Result<(Vec<f64>, Small)> {
    let (lengths, directions) = within.symmetric_eigen()?;
    let floor = lengths.first().map_or(0.0, |first| first * NOISE);
    let factors: Vec<f64> =
        lengths.iter().take_while(|&&length| length > floor).map(|length| 1.0 / length.sqrt()).collect();
    let whitening = directions.scaled_columns(&factors);
    let (ratios, turn) = whitening.transposed_times(&between.times(&whitening)).symmetric_eigen()?;
    let kept = most.min(ratios.len());
    let turn = turn.scaled_columns(&vec![1.0; kept]);
    Ok((ratios[..kept].to_vec(), whitening.times(&turn)))
}
