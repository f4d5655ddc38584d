//! Misses against false alarms on normal-deviate axes (Martin et al. 1997), with the equal error rate marked.
//!
//! On these axes scores that are normal for targets and others give straight lines, and small rates have room.

use super::Chart;
use super::lines::{LEFT, TOP, legend};
use super::pen::{Anchor, Font, Pen};
use super::scale::probit;
use crate::metrics::{DetCurve, DetPoint};

/// Curves to draw.
#[derive(Debug, Clone, Default)]
pub struct DetChart {
    /// What the chart is called.
    pub title: String,
    /// The curves.
    pub series: Vec<DetSeries>,
}

/// One system's curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DetSeries {
    /// Its name in the legend.
    pub name: String,
    /// Its operating points, as [`DetCurve::points`] gives them.
    pub points: Vec<DetPoint>,
    /// Its equal error rate, when it has one.
    pub eer: Option<f64>,
}

const SIDE: f64 = 420.0;
const TICKS: [f64; 19] =
    [1e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99];

impl DetSeries {
    /// The series of a curve, in at most 200 points.
    pub fn of(name: impl Into<String>, curve: &DetCurve) -> Self {
        DetSeries { name: name.into(), points: curve.points(200), eer: curve.eer() }
    }
}

impl DetChart {
    /// Draws it.
    pub fn render(&self) -> Chart {
        let (low, high) = self.borders();
        let place = |rate: f64| SIDE * (probit(rate) - probit(low)) / (probit(high) - probit(low));
        let x = |rate: f64| LEFT + place(rate);
        let y = |rate: f64| TOP + SIDE - place(rate);

        let mut pen = Pen::default();
        pen.title(&self.title);
        for tick in TICKS.into_iter().filter(|tick| (low..=high).contains(tick)) {
            let text = format!("{}", (tick * 1e5).round() / 1e3);
            pen.line("grid", (x(tick), TOP), (x(tick), TOP + SIDE));
            pen.line("grid", (LEFT, y(tick)), (LEFT + SIDE, y(tick)));
            pen.text(x(tick), TOP + SIDE + 18.0, Font::QUIET.at(Anchor::Middle), &text);
            pen.text(LEFT - 8.0, y(tick) + 4.0, Font::QUIET.at(Anchor::End), &text);
        }
        pen.line("axis", (LEFT, TOP + SIDE), (LEFT + SIDE, TOP));
        pen.clipped((LEFT, TOP), (SIDE, SIDE), |pen| {
            for (number, series) in self.series.iter().enumerate() {
                let points: Vec<_> = series.points.iter().map(|point| (x(point.false_alarm), y(point.miss))).collect();
                pen.polyline(number, &points);
                if let Some(eer) = series.eer {
                    pen.marker(number, x(eer), y(eer), &named(series));
                }
            }
        });
        pen.rect("frame", (LEFT, TOP), (SIDE, SIDE), 1.0, "");
        let below = TOP + SIDE + 40.0;
        pen.text(LEFT + SIDE / 2.0, below, Font::QUIET.at(Anchor::Middle), "false alarm rate in %");
        pen.text(16.0, TOP + SIDE / 2.0, Font::QUIET.at(Anchor::Middle).upright(), "miss rate in %");
        let names: Vec<String> = self.series.iter().map(named).collect();
        let bottom = legend(&mut pen, names.iter().map(String::as_str), below + 20.0);
        pen.finish(&self.title, LEFT + SIDE.max(600.0) + 28.0, bottom)
    }

    /// The rates at the borders of the plot: ticks about ten times below the best and five times above the worst
    /// equal error rate.
    fn borders(&self) -> (f64, f64) {
        let rates = || self.series.iter().filter_map(|series| series.eer).filter(|eer| eer.is_finite());
        let best = rates().fold(f64::INFINITY, f64::min);
        let worst = rates().fold(0.05, f64::max);
        let below = |rate: f64| TICKS.into_iter().rfind(|tick| *tick <= rate).unwrap_or(TICKS[0]);
        let above = |rate: f64| TICKS.into_iter().find(|tick| *tick >= rate).unwrap_or(TICKS[TICKS.len() - 1]);
        (below(best.min(0.2) / 10.0).max(1e-4), above(worst * 5.0).max(0.4))
    }
}

fn named(series: &DetSeries) -> String {
    match series.eer.filter(|eer| (0.0..=1.0).contains(eer)) {
        Some(eer) => format!("{} (EER {:.2} %)", series.name, 100.0 * eer),
        None => series.name.clone(),
    }
}
