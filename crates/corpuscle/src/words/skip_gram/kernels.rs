//! The loops word vectors are trained in: small products over rows of sixteen-float lanes.
//!
//! Every sum runs in one fixed order over fixed lanes with separate multiplications and additions, so the bits are the
//! same whatever instructions the processor has. All of it is inlined into `block::Learn`, which is compiled twice: for
//! the registers every x86-64 has, and for twice as wide ones where there are some.

use crate::words::exponential::exp;

/// Floats of a lane.
pub(super) const WIDTH: usize = 16;

/// Sixteen neighbouring floats of a vector; vectors are padded with zeros to whole lanes.
pub(super) type Lane = [f32; WIDTH];

/// Lanes of a vector of `dim` floats.
pub(super) fn lanes(dim: usize) -> usize {
    dim.div_ceil(WIDTH)
}

/// The sum of each lane. Not inlined: the compiler then keeps the lanes of the loop before it in whole registers, where
/// it would otherwise take them apart into single floats to suit these additions (half as fast, measured).
#[inline(never)]
fn totals<const N: usize>(lanes: &[Lane; N]) -> [f32; N] {
    let mut sums = [0f32; N];
    for (sum, lane) in sums.iter_mut().zip(lanes) {
        let mut eight = [0f32; 8];
        for i in 0..8 {
            eight[i] = lane[i] + lane[i + 8];
        }
        let mut four = [0f32; 4];
        for i in 0..4 {
            four[i] = eight[i] + eight[i + 4];
        }
        *sum = (four[0] + four[2]) + (four[1] + four[3]);
    }
    sums
}

#[inline(always)]
fn multiply_add(sum: &mut Lane, a: &Lane, b: &Lane) {
    for i in 0..WIDTH {
        sum[i] += a[i] * b[i];
    }
}

#[inline(always)]
fn scaled_add(sum: &mut Lane, scale: f32, a: &Lane) {
    for i in 0..WIDTH {
        sum[i] += scale * a[i];
    }
}

/// The dot product of two vectors.
#[inline(always)]
pub(super) fn dot(a: &[Lane], b: &[Lane]) -> f32 {
    let mut sum = [[0f32; WIDTH]];
    for (a, b) in a.iter().zip(b) {
        multiply_add(&mut sum[0], a, b);
    }
    totals(&sum)[0]
}

/// Dot products of one vector with four.
#[inline(always)]
fn dots_1x4(a: &[Lane], b: [&[Lane]; 4]) -> [f32; 4] {
    let mut sums = [[0f32; WIDTH]; 4];
    let n = a.len();
    let (b0, b1, b2, b3) = (&b[0][..n], &b[1][..n], &b[2][..n], &b[3][..n]);
    // Written out: in a loop over the four, the compiler takes the lanes apart (fourteen times as slow, measured).
    for at in 0..n {
        multiply_add(&mut sums[0], &a[at], &b0[at]);
        multiply_add(&mut sums[1], &a[at], &b1[at]);
        multiply_add(&mut sums[2], &a[at], &b2[at]);
        multiply_add(&mut sums[3], &a[at], &b3[at]);
    }
    totals(&sums)
}

/// Dot products of two vectors with two.
#[inline(always)]
fn dots_2x2(a: [&[Lane]; 2], b: [&[Lane]; 2]) -> [f32; 4] {
    let mut sums = [[0f32; WIDTH]; 4];
    let n = a[0].len();
    let (a0, a1, b0, b1) = (a[0], &a[1][..n], &b[0][..n], &b[1][..n]);
    for at in 0..n {
        multiply_add(&mut sums[0], &a0[at], &b0[at]);
        multiply_add(&mut sums[1], &a0[at], &b1[at]);
        multiply_add(&mut sums[2], &a1[at], &b0[at]);
        multiply_add(&mut sums[3], &a1[at], &b1[at]);
    }
    totals(&sums)
}

/// `out[c] = a · b[c]` for the consecutive vectors in `b`.
#[inline(always)]
pub(super) fn dots(a: &[Lane], b: &[Lane], out: &mut [f32]) {
    let n = a.len();
    let vector = |c: usize| &b[c * n..(c + 1) * n];
    let mut c = 0;
    while c + 4 <= out.len() {
        let four = dots_1x4(a, [vector(c), vector(c + 1), vector(c + 2), vector(c + 3)]);
        out[c..c + 4].copy_from_slice(&four);
        c += 4;
    }
    while c < out.len() {
        out[c] = dot(a, vector(c));
        c += 1;
    }
}

/// `out[r · width + first + c] = a[r] · b[c]` for all vectors of `a` and `b`, `n` lanes each.
#[inline(always)]
pub(super) fn all_dots(a: &[Lane], b: &[Lane], n: usize, out: &mut [f32], width: usize, first: usize) {
    let (rows, cols) = (a.len() / n, b.len() / n);
    let mut r = 0;
    while r + 2 <= rows {
        let pair = [&a[r * n..(r + 1) * n], &a[(r + 1) * n..(r + 2) * n]];
        let at = r * width + first;
        let mut c = 0;
        while c + 2 <= cols {
            let four = dots_2x2(pair, [&b[c * n..(c + 1) * n], &b[(c + 1) * n..(c + 2) * n]]);
            out[at + c] = four[0];
            out[at + c + 1] = four[1];
            out[at + width + c] = four[2];
            out[at + width + c + 1] = four[3];
            c += 2;
        }
        if c < cols {
            out[at + c] = dot(pair[0], &b[c * n..(c + 1) * n]);
            out[at + width + c] = dot(pair[1], &b[c * n..(c + 1) * n]);
        }
        r += 2;
    }
    if r < rows {
        let at = r * width + first;
        dots(&a[r * n..(r + 1) * n], b, &mut out[at..at + cols]);
    }
}

/// `to[r] += Σ_k weight(r, k) · x[k]` for `R` rows at once, k over `range`, `n` lanes each.
#[inline(always)]
pub(super) fn add_weighted<const R: usize>(
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
            let mut sums = [to[lane], to[lane + 1], to[lane + 2], to[lane + 3]];
            for k in range.clone() {
                let (x, weight) = (&x[k * n + lane..k * n + lane + 4], weight(0, k));
                for (sum, x) in sums.iter_mut().zip(x) {
                    scaled_add(sum, weight, x);
                }
            }
            to[lane..lane + 4].copy_from_slice(&sums);
            lane += 4;
        }
    }
    while lane < n {
        let mut sums = [[0f32; WIDTH]; R];
        for (r, sum) in sums.iter_mut().enumerate() {
            *sum = to[r * n + lane];
        }
        for k in range.clone() {
            let x = &x[k * n + lane];
            for (r, sum) in sums.iter_mut().enumerate() {
                scaled_add(sum, weight(r, k), x);
            }
        }
        for (r, sum) in sums.iter().enumerate() {
            to[r * n + lane] = *sum;
        }
        lane += 1;
    }
}

/// `to[r] += Σ_k weight(r, k) · x[k]` for all `rows` rows, k over `range(first, last)` of the rows taken together.
#[inline(always)]
pub(super) fn add_all(
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
        add_weighted::<4>(to, x, n, range(row, row + 4), |r, k| weight(row + r, k));
        row += 4;
    }
    while row < rows {
        let to = &mut to[row * n..(row + 1) * n];
        add_weighted::<1>(to, x, n, range(row, row + 1), |_, k| weight(row, k));
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
            all_dots(&a, &b, n, &mut out, cols + 1, 1);
            for r in 0..rows {
                for c in 0..cols {
                    assert_eq!(out[r * (cols + 1) + 1 + c], dot(&a[r * n..(r + 1) * n], &b[c * n..(c + 1) * n]));
                }
            }
        }
        let x = make(3, 5);
        let (five, mut wide) = (5, make(1, 2)[..1].repeat(5));
        let long: Vec<Lane> = make(4, 3)[..10].to_vec();
        add_weighted::<1>(&mut wide, &long, five, 0..2, |_, k| k as f32 + 1.0);
        for lane in 0..five {
            let plain = make(1, 2)[0][7] + long[lane][7] + 2.0 * long[five + lane][7];
            assert!((wide[lane][7] - plain).abs() < 1e-5);
        }
        let mut to = make(4, 1);
        let before = to.clone();
        add_weighted::<4>(&mut to, &x, n, 1..3, |r, k| (r + k) as f32);
        for r in 0..4 {
            let plain = before[r * n][2] + (r + 1) as f32 * x[n][2] + (r + 2) as f32 * x[2 * n][2];
            assert!((to[r * n][2] - plain).abs() < 1e-5);
        }
    }
}
