//! The two loops every linear solver spends its time in, over several classes side by side.
//!
//! Weights are kept as one array of `N` floats per column, one float per class. A document's entry then meets `N`
//! classes with one load, which the compiler turns into vector instructions; one class at a time would load, multiply
//! and add single floats. Measured on 20 Newsgroups: a pass for 4 classes costs what a pass for 1 does. Solvers call these loops from
//! within [`crate::wide`], so that they are compiled for registers of eight floats too.

/// Σ value · weights[column], each class on its own. Two running sums hide the latency of the additions.
#[inline(always)]
pub(super) fn dot<const N: usize>(columns: &[u32], values: &[f32], weights: &[[f32; N]]) -> [f32; N] {
    let (mut even, mut odd) = ([0f32; N], [0f32; N]);
    let (column_pairs, last_column) = columns.as_chunks::<2>();
    let (value_pairs, last_value) = values.as_chunks::<2>();
    let value_pairs = &value_pairs[..column_pairs.len()];
    for at in 0..column_pairs.len() {
        let (column, value) = (column_pairs[at], value_pairs[at]);
        let (left, right) = (&weights[column[0] as usize], &weights[column[1] as usize]);
        for lane in 0..N {
            even[lane] += value[0] * left[lane];
            odd[lane] += value[1] * right[lane];
        }
    }
    for (&column, &value) in last_column.iter().zip(last_value) {
        let left = &weights[column as usize];
        for lane in 0..N {
            even[lane] += value * left[lane];
        }
    }
    for lane in 0..N {
        even[lane] += odd[lane];
    }
    even
}

/// Σ `values[i] · weights[i]`, each class on its own.
#[inline(always)]
pub(super) fn dot_dense<const N: usize>(values: &[f32], weights: &[[f32; N]]) -> [f32; N] {
    let (mut even, mut odd) = ([0f32; N], [0f32; N]);
    let (value_pairs, last_value) = values.as_chunks::<2>();
    let (weight_pairs, last_weight) = weights[..values.len()].as_chunks::<2>();
    for (value, weight) in value_pairs.iter().zip(weight_pairs) {
        for lane in 0..N {
            even[lane] += value[0] * weight[0][lane];
            odd[lane] += value[1] * weight[1][lane];
        }
    }
    for (&value, weight) in last_value.iter().zip(last_weight) {
        for lane in 0..N {
            even[lane] += value * weight[lane];
        }
    }
    for lane in 0..N {
        even[lane] += odd[lane];
    }
    even
}

/// weights[column] += value · scale, each class with its own scale.
#[inline(always)]
pub(super) fn add<const N: usize>(columns: &[u32], values: &[f32], scale: [f32; N], weights: &mut [[f32; N]]) {
    let values = &values[..columns.len()];
    for at in 0..columns.len() {
        let (weight, value) = (&mut weights[columns[at] as usize], values[at]);
        for lane in 0..N {
            weight[lane] += value * scale[lane];
        }
    }
}

/// `weights[i] += values[i] · scale`, each class with its own scale.
#[inline(always)]
pub(super) fn add_dense<const N: usize>(values: &[f32], scale: [f32; N], weights: &mut [[f32; N]]) {
    for (&value, weight) in values.iter().zip(weights) {
        // Values are hardly ever 0. But a loop that may skip a row is left as it is, where the compiler would otherwise work on four or
        // eight rows at once and, with 4 or 8 lanes, spend more on turning them than on adding.
        if value == 0.0 {
            continue;
        }
        for lane in 0..N {
            weight[lane] += value * scale[lane];
        }
    }
}

/// How many lanes to give `classes` classes: one of [`WIDTHS`], split evenly when there are more than fit.
pub(super) fn width(classes: usize) -> usize {
    let tiles = classes.div_ceil(MAX_LANES).max(1);
    let wanted = classes.div_ceil(tiles);
    WIDTHS.into_iter().find(|&width| width >= wanted).unwrap_or(MAX_LANES)
}

/// The most lanes that `classes` classes fill; the fewest there are when they fill none.
pub(super) fn filled(classes: usize) -> usize {
    WIDTHS.into_iter().rev().find(|&width| width <= classes).unwrap_or(WIDTHS[0])
}

/// The solvers are compiled once for each width, which takes long, so not every multiple of 4 is one.
const WIDTHS: [usize; 5] = [4, 8, 12, 20, MAX_LANES];

/// The most lanes whose running sums fit the vector registers every x86-64 and aarch64 has.
pub(super) const MAX_LANES: usize = 32;

/// Calls `$run::<N>($args)` with the constant `N` equal to `$width`, a result of [`width`].
macro_rules! with_lanes {
    ($width:expr, $run:ident ( $($argument:expr),* )) => {
        match $width {
            4 => $run::<4>($($argument),*),
            8 => $run::<8>($($argument),*),
            12 => $run::<12>($($argument),*),
            20 => $run::<20>($($argument),*),
            _ => $run::<32>($($argument),*),
        }
    };
}
pub(super) use with_lanes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_independent_sums() {
        let mut weights = vec![[0f32; 4]; 3];
        add(&[0, 2], &[1.0, 2.0], [1.0, 2.0, 3.0, 0.0], &mut weights);
        add_dense(&[1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], &mut weights);
        assert_eq!(weights[2], [2.0, 4.0, 6.0, 1.0]);
        assert_eq!(dot(&[2, 0, 1], &[1.0, 1.0, 5.0], &weights), [3.0, 6.0, 9.0, 7.0]);
        assert_eq!(dot_dense(&[1.0, 5.0, 1.0], &weights), [3.0, 6.0, 9.0, 7.0]);
    }

    #[test]
    fn the_width_holds_every_class() {
        for classes in 1..200 {
            let width = width(classes);
            assert!(WIDTHS.contains(&width));
            assert!(classes.div_ceil(width) * width >= classes);
        }
        assert_eq!((width(20), width(33), width(90)), (20, 20, 32));
        assert_eq!((filled(1), filled(4), filled(19), filled(99)), (4, 4, 12, 32));
    }
}
