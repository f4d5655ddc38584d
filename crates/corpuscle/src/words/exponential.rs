//! The exponential function in additions and multiplications only.
//!
//! The system's own differs in the last bits from system to system, and the compiler cannot do several at once.

/// eˣ for |x| ≤ 87, within 2 units in the last place: 2ⁿ by the exponent bits times a polynomial on [−½, ½].
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest whole number in the low bits.
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, so that the remainder keeps its precision.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * rest + 1.398_199_9e-3;
    p = p * rest + 8.333_452e-3;
    p = p * rest + 4.166_579_6e-2;
    p = p * rest + 1.666_666_5e-1;
    p = p * rest + 0.5;
    let value = p * (rest * rest) + rest + 1.0;
    value * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in -8700..=8700 {
            let x = step as f32 / 100.0;
            let (ours, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / right - 1.0).abs() < 4e-7, "{x}: {ours}, not {right}");
        }
    }
}
