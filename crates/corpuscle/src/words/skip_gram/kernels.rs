//! The loops word vectors are trained in: small products over rows of sixteen-float lanes.
//!
//! Every sum runs in one fixed order over fixed lanes, each step one fused multiplication and addition, so the bits are
//! the same whatever instructions the processor has. All of it is inlined into some [`Work`].

use crate::wide::registers::{Lane, Registers, Work};
use crate::words::exponential::exp;

/// Adds multiples of vectors, given with their factors, to `to`.
pub(super) struct AddMultiples<'a, I> {
    pub(super) to: &'a mut [Lane],
    pub(super) multiples: I,
}

impl<'x, I: Iterator<Item = (f32, &'x [Lane])> + Clone> Work for AddMultiples<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<V: Registers>(self, v: V) {
        let (fours, rest) = self.to.as_chunks_mut::<4>();
        for (at, to) in fours.iter_mut().enumerate() {
            let mut sums = [v.load(&to[0]), v.load(&to[1]), v.load(&to[2]), v.load(&to[3])];
            for (factor, from) in self.multiples.clone() {
                let (factor, from) = (v.splat(factor), &from[4 * at..4 * at + 4]);
                sums[0] = v.multiply_add(factor, v.load(&from[0]), sums[0]);
                sums[1] = v.multiply_add(factor, v.load(&from[1]), sums[1]);
                sums[2] = v.multiply_add(factor, v.load(&from[2]), sums[2]);
                sums[3] = v.multiply_add(factor, v.load(&from[3]), sums[3]);
            }
            for (to, sum) in to.iter_mut().zip(sums) {
                v.store(sum, to);
            }
        }
        for (at, to) in (4 * fours.len()..).zip(rest) {
            let mut sum = v.load(to);
            for (factor, from) in self.multiples.clone() {
                sum = v.multiply_add(v.splat(factor), v.load(&from[at]), sum);
            }
            v.store(sum, to);
        }
    }
}

/// The dot product of two vectors.
#[inline(always)]
pub(super) fn dot<V: Registers>(v: V, a: &[Lane], b: &[Lane]) -> f32 {
    let mut sum = v.splat(0.0);
    let b = &b[..a.len()];
    for at in 0..a.len() {
        sum = v.multiply_add(v.load(&a[at]), v.load(&b[at]), sum);
    }
    v.total(sum)
}

/// Dot products of one vector with four.
#[inline(always)]
fn dots_1x4<V: Registers>(v: V, a: &[Lane], b: [&[Lane]; 4]) -> [f32; 4] {
    let mut sums = [v.splat(0.0); 4];
    let n = a.len();
    let (b0, b1, b2, b3) = (&b[0][..n], &b[1][..n], &b[2][..n], &b[3][..n]);
    for at in 0..n {
        let a = v.load(&a[at]);
        sums[0] = v.multiply_add(a, v.load(&b0[at]), sums[0]);
        sums[1] = v.multiply_add(a, v.load(&b1[at]), sums[1]);
        sums[2] = v.multiply_add(a, v.load(&b2[at]), sums[2]);
        sums[3] = v.multiply_add(a, v.load(&b3[at]), sums[3]);
    }
    [v.total(sums[0]), v.total(sums[1]), v.total(sums[2]), v.total(sums[3])]
}

/// Dot products of two vectors with two.
#[inline(always)]
fn dots_2x2<V: Registers>(v: V, a: [&[Lane]; 2], b: [&[Lane]; 2]) -> [f32; 4] {
    let mut sums = [v.splat(0.0); 4];
    let n = a[0].len();
    let (a0, a1, b0, b1) = (a[0], &a[1][..n], &b[0][..n], &b[1][..n]);
    for at in 0..n {
        let (a0, a1, b0, b1) = (v.load(&a0[at]), v.load(&a1[at]), v.load(&b0[at]), v.load(&b1[at]));
        sums[0] = v.multiply_add(a0, b0, sums[0]);
        sums[1] = v.multiply_add(a0, b1, sums[1]);
        sums[2] = v.multiply_add(a1, b0, sums[2]);
        sums[3] = v.multiply_add(a1, b1, sums[3]);
    }
    [v.total(sums[0]), v.total(sums[1]), v.total(sums[2]), v.total(sums[3])]
}

/// `out[c] = a · b[c]` for the consecutive vectors in `b`.
#[inline(always)]
pub(super) fn dots<V: Registers>(v: V, a: &[Lane], b: &[Lane], out: &mut [f32]) {
    let n = a.len();
    let vector = |c: usize| &b[c * n..(c + 1) * n];
    let mut c = 0;
    while c + 4 <= out.len() {
        let four = dots_1x4(v, a, [vector(c), vector(c + 1), vector(c + 2), vector(c + 3)]);
        out[c..c + 4].copy_from_slice(&four);
        c += 4;
    }
    while c < out.len() {
        out[c] = dot(v, a, vector(c));
        c += 1;
    }
}

/// `out[r · width + first + c] = a[r] · b[c]` for all vectors of `a` and `b`, `n` lanes each.
#[inline(always)]
pub(super) fn all_dots<V: Registers>(
    v: V,
    a: &[Lane],
    b: &[Lane],
    n: usize,
    out: &mut [f32],
    width: usize,
    first: usize,
) {
    let (rows, cols) = (a.len() / n, b.len() / n);
    let mut r = 0;
    while r + 2 <= rows {
        let pair = [&a[r * n..(r + 1) * n], &a[(r + 1) * n..(r + 2) * n]];
        let at = r * width + first;
        let mut c = 0;
        while c + 2 <= cols {
            let four = dots_2x2(v, pair, [&b[c * n..(c + 1) * n], &b[(c + 1) * n..(c + 2) * n]]);
            out[at + c] = four[0];
            out[at + c + 1] = four[1];
            out[at + width + c] = four[2];
            out[at + width + c + 1] = four[3];
            c += 2;
        }
        if c < cols {
            out[at + c] = dot(v, pair[0], &b[c * n..(c + 1) * n]);
            out[at + width + c] = dot(v, pair[1], &b[c * n..(c + 1) * n]);
        }
        r += 2;
    }
    if r < rows {
        let at = r * width + first;
        dots(v, &a[r * n..(r + 1) * n], b, &mut out[at..at + cols]);
    }
}

/// `to[r] += Σ_k weight(r, k) · x[k]` for `R` rows at once, k over `range`, `n` lanes each.
#[inline(always)]
pub(super) fn add_weighted<const R: usize, V: Registers>(
    v: V,
    to: &mut [Lane],
    x: &[Lane],
    n: usize,
    range: std::ops::Range<usize>,
    weight: impl Fn(usize, usize) -> f32,
) {
    // Four lanes of sums are eight AVX2 registers, which leaves room for what is loaded and hides the latency of the
    // additions: one lane of four rows, or four lanes of one row.
    let mut lane = 0;
    if R == 1 {
        while lane + 4 <= n {
            let mut sums = [v.load(&to[lane]), v.load(&to[lane + 1]), v.load(&to[lane + 2]), v.load(&to[lane + 3])];
            for k in range.clone() {
                let (x, weight) = (&x[k * n + lane..k * n + lane + 4], v.splat(weight(0, k)));
                sums[0] = v.multiply_add(weight, v.load(&x[0]), sums[0]);
                sums[1] = v.multiply_add(weight, v.load(&x[1]), sums[1]);
                sums[2] = v.multiply_add(weight, v.load(&x[2]), sums[2]);
                sums[3] = v.multiply_add(weight, v.load(&x[3]), sums[3]);
            }
            for (at, sum) in sums.into_iter().enumerate() {
                v.store(sum, &mut to[lane + at]);
            }
            lane += 4;
        }
    }
    while lane < n {
        let mut sums = [v.splat(0.0); R];
        for r in 0..R {
            sums[r] = v.load(&to[r * n + lane]);
        }
        for k in range.clone() {
            let x = v.load(&x[k * n + lane]);
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = v.multiply_add(v.splat(weight(r, k)), x, *sum);
            }
        }
        for (r, sum) in sums.into_iter().enumerate() {
            v.store(sum, &mut to[r * n + lane]);
        }
        lane += 1;
    }
}

/// `to[r] += Σ_k weight(r, k) · x[k]` for all `rows` rows, k over `range(first, last)` of the rows taken together.
#[inline(always)]
pub(super) fn add_all<V: Registers>(
    v: V,
    to: &mut [Lane],
    rows: usize,
    x: &[Lane],
    n: usize,
    range: impl Fn(usize, usize) -> std::ops::Range<usize>,
    weight: impl Fn(usize, usize) -> f32,
) {
    let mut row = 0;
    while row + 4 <= rows {
        let to = &mut to[row * n..(row + 4) * n];
        add_weighted::<4, V>(v, to, x, n, range(row, row + 4), |r, k| weight(row + r, k));
        row += 4;
    }
    while row < rows {
        let to = &mut to[row * n..(row + 1) * n];
        add_weighted::<1, V>(v, to, x, n, range(row, row + 1), |_, k| weight(row, k));
        row += 1;
    }
}

/// 1 / (1 + e⁻ˣ), right to about 1e-7, in additions and multiplications only, so that it is the same everywhere and the
/// compiler can do several at once.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wide::registers::{Plain, on_registers};

    #[test]
    fn the_curve_has_its_ends_and_middle() {
        assert!((sigmoid(0.0) - 0.5).abs() < 1e-7 && sigmoid(100.0) == 1.0 && sigmoid(-100.0) < 1e-30);
    }

    #[test]
    fn blocked_products_are_plain_ones() {
        let n = 3;
        let make = |rows: usize, shift: usize| -> Vec<Lane> {
            (0..rows * n)
                .map(|i| std::array::from_fn(|j| ((i * 16 + j + shift) * 37 % 101) as f32 / 50.0 - 1.0))
                .collect()
        };
        for (rows, cols) in [(1, 1), (2, 2), (5, 7), (4, 3)] {
            let (a, b) = (make(rows, 0), make(cols, 11));
            let mut out = vec![0.0; rows * (cols + 1)];
            all_dots(Plain, &a, &b, n, &mut out, cols + 1, 1);
            for r in 0..rows {
                for c in 0..cols {
                    assert_eq!(out[r * (cols + 1) + 1 + c], dot(Plain, &a[r * n..(r + 1) * n], &b[c * n..(c + 1) * n]));
                }
            }
        }
        let x = make(3, 5);
        let (five, mut wide) = (5, make(1, 2)[..1].repeat(5));
        let long: Vec<Lane> = make(4, 3)[..10].to_vec();
        add_weighted::<1, _>(Plain, &mut wide, &long, five, 0..2, |_, k| k as f32 + 1.0);
        for lane in 0..five {
            let plain = make(1, 2)[0][7] + long[lane][7] + 2.0 * long[five + lane][7];
            assert!((wide[lane][7] - plain).abs() < 1e-5);
        }
        let mut to = make(4, 1);
        let before = to.clone();
        add_weighted::<4, _>(Plain, &mut to, &x, n, 1..3, |r, k| (r + k) as f32);
        for r in 0..4 {
            let plain = before[r * n][2] + (r + 1) as f32 * x[n][2] + (r + 2) as f32 * x[2 * n][2];
            assert!((to[r * n][2] - plain).abs() < 1e-5);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn both_kinds_of_registers_give_the_same_bits() {
        // Without AVX2 there is nothing to compare.
        let Some(v3) = pulp::x86::V3::try_new() else { return };
        let n = 5;
        let make = |rows: usize, shift: usize| -> Vec<Lane> {
            (0..rows * n).map(|i| std::array::from_fn(|j| ((i * 16 + j + shift) % 97) as f32 / 31.0 - 1.3)).collect()
        };
        let (a, b) = (make(5, 0), make(7, 3));
        let (mut plain, mut wide) = (vec![0f32; 35], vec![0f32; 35]);
        all_dots(Plain, &a, &b, n, &mut plain, 7, 0);
        v3.vectorize(|| all_dots(v3, &a, &b, n, &mut wide, 7, 0));
        assert_eq!(plain, wide);
        let (mut plain, mut wide) = (make(7, 9), make(7, 9));
        let weight = |r: usize, k: usize| (r * 3 + k) as f32 * 0.37 - 0.9;
        add_all(Plain, &mut plain, 7, &a, n, |_, _| 0..5, weight);
        v3.vectorize(|| add_all(v3, &mut wide, 7, &a, n, |_, _| 0..5, weight));
        assert_eq!(plain, wide);
        // Seven lanes are four and three.
        let (start, rows) = (a[..7].to_vec(), [&a[7..14], &b[..7], &b[9..16]]);
        let multiples = || rows.iter().enumerate().map(|(at, &row)| (0.4 - at as f32, row));
        let (mut plain, mut wide) = (start.clone(), start.clone());
        AddMultiples { to: &mut plain, multiples: multiples() }.run(Plain);
        on_registers(AddMultiples { to: &mut wide, multiples: multiples() });
        assert_eq!(plain, wide);
        for (lane, sums) in plain.iter().enumerate() {
            for (i, &sum) in sums.iter().enumerate() {
                let expected = multiples().map(|(factor, row)| factor * row[lane][i]).sum::<f32>() + start[lane][i];
                assert!((sum - expected).abs() < 1e-5, "{sum} {expected}");
            }
        }
    }
}
