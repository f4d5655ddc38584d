//! Axes: where the ticks go, what they say, and the normal-deviate scale of detection curves.

/// Round values that divide `low..=high` into about `parts`; empty when the range is none.
pub(super) fn ticks(low: f64, high: f64, parts: usize) -> Vec<f64> {
    let rough = (high - low) / parts.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    if !step.is_normal() {
        return Vec::new();
    }
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    // Ranges far from 0 and very narrow run out of digits; a hundred ticks are more than any axis shows.
    (0..100).map(|i| first + f64::from(i)).take_while(|i| *i <= last).map(|i| i * step).collect()
}

/// Powers of ten between two positive values, with 2 and 5 times them when there would be few.
pub(super) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite() && high >= low) {
        return Vec::new();
    }
    let decades = high.log10() - low.log10();
    let steps: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let stride = ((last - first) / 10).max(1) as usize;
    (first..=last)
        .step_by(stride)
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001)
        .collect()
}

/// A tick's value in as few signs as tell it apart from its neighbours.
pub(super) fn tick_label(value: f64) -> String {
    let value = if value.abs() < 1e-12 { 0.0 } else { value };
    let size = value.abs();
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    match size {
        _ if !value.is_finite() => "–".into(),
        0.0 => "0".into(),
        _ if !(1e-4..1e10).contains(&size) => format!("{value:.1e}"),
        _ if size >= 1e6 => trimmed(format!("{:.2}", value / 1e6)) + "M",
        _ if size >= 1e4 => trimmed(format!("{:.2}", value / 1e3)) + "k",
        _ if size >= 1.0 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.4}")),
    }
}

/// The value below which a standard normal variable falls with probability `p` (Acklam's rational approximation,
/// relative error below 1.2e-9; `p` is kept within 1e-9 of 0 and 1).
pub(super) fn probit(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    let polynomial = |factors: &[f64], x: f64| factors.iter().fold(0.0, |sum, factor| sum * x + factor);
    let p = if p.is_nan() { 0.5 } else { p.clamp(1e-9, 1.0 - 1e-9) };
    if p > 0.5 {
        return -probit(1.0 - p);
    }
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    } else {
        let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
        q * polynomial(&A, r) / polynomial(&B, r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5).len(), 6);
        assert_eq!(ticks(3.0, 97.0, 5), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(-1.0, 1.0, 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert!(ticks(2.0, 2.0, 5).is_empty() && ticks(f64::NAN, 1.0, 5).is_empty());
        assert!(ticks(1e16, 1e16 + 4.0, 5).len() <= 100);
        assert_eq!(log_ticks(50.0, 2000.0), [50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(log_ticks(1.0, 1e5).len(), 6);
        assert!(log_ticks(0.0, 5.0).is_empty() && log_ticks(1e-300, 1e300).len() < 20);
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.30000000000000004, 20.0, 1500.0, 20000.0, 2.5e6, 1e-7, -0.0].map(tick_label);
        assert_eq!(labels, ["0.3", "20", "1500", "20k", "2.5M", "1.0e-7", "0"]);
    }

    #[test]
    fn probit_is_that_of_the_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959963985), (0.01, -2.326347874), (0.001, -3.090232306)] {
            assert!((probit(p) - z).abs() < 1e-7, "{p}: {}", probit(p));
        }
        assert!(probit(0.0).is_finite() && probit(1.0).is_finite() && probit(f64::NAN).is_finite());
    }
}
