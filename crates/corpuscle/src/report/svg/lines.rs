//! Lines over a number: several series, a legend below, a linear or a logarithmic x axis.

use super::Chart;
use super::pen::{Anchor, Font, Pen};
use super::scale::{log_ticks, tick_label, ticks};
use crate::report::shorten;

/// Series to draw.
#[derive(Debug, Clone, Default)]
pub struct LineChart {
    /// What the chart is called.
    pub title: String,
    /// What the x axis counts.
    pub x_label: String,
    /// What the y axis counts.
    pub y_label: String,
    /// The lines.
    pub series: Vec<Series>,
    /// Whether equal factors in x are equal distances; points at or below 0 are then left out.
    pub log_x: bool,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points (x, y) in the order they are joined; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// The place of the plot in a chart, shared with the detection curve.
pub(super) const LEFT: f64 = 72.0;
pub(super) const TOP: f64 = 38.0;
pub(super) const LEGEND_ROW: f64 = 20.0;
const PLOT: (f64, f64) = (600.0, 300.0);

impl LineChart {
    /// Draws it.
    pub fn render(&self) -> Chart {
        self.render_with_spread(&[])
    }

    /// Draws it with an error bar at every point: `spread[i][j]` is how far that of point j of series i reaches up and
    /// down. What is missing or no positive number has none.
    pub fn render_with_spread(&self, spread: &[Vec<f64>]) -> Chart {
        let reach = |series: usize, point: usize| {
            let reach = spread.get(series).and_then(|list| list.get(point)).copied().unwrap_or(0.0);
            if reach.is_finite() { reach.max(0.0) } else { 0.0 }
        };
        let usable =
            |&(x, y): &(f64, f64)| (x.is_finite() && y.is_finite() && (x > 0.0 || !self.log_x)).then_some((x, y));
        let points = || self.series.iter().flat_map(|series| series.points.iter().filter_map(usable));
        let along = |x: f64| if self.log_x { x.ln() } else { x };
        let (low_x, high_x) = range(points().map(|point| along(point.0)), 0.0);
        let ends = self.series.iter().enumerate().flat_map(|(series, line)| {
            line.points.iter().enumerate().filter_map(move |(point, at)| Some((usable(at)?.1, reach(series, point))))
        });
        let (low_y, high_y) = range(ends.flat_map(|(y, reach)| [y - reach, y + reach]), 0.06);
        // Halves first: the difference of two huge values may be too large for a number.
        let share = |value: f64, low: f64, high: f64| (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let x = |value: f64| LEFT + PLOT.0 * share(along(value), low_x, high_x);
        let y = |value: f64| TOP + PLOT.1 * (1.0 - share(value, low_y, high_y));

        let mut pen = Pen::default();
        pen.title(&self.title);
        for tick in ticks(low_y, high_y, 6) {
            pen.line("grid", (LEFT, y(tick)), (LEFT + PLOT.0, y(tick)));
            pen.text(LEFT - 8.0, y(tick) + 4.0, Font::QUIET.at(Anchor::End), &tick_label(tick));
        }
        let ticks_x = if self.log_x { log_ticks(low_x.exp(), high_x.exp()) } else { ticks(low_x, high_x, 7) };
        for tick in ticks_x {
            pen.line("grid", (x(tick), TOP), (x(tick), TOP + PLOT.1));
            pen.text(x(tick), TOP + PLOT.1 + 18.0, Font::QUIET.at(Anchor::Middle), &tick_label(tick));
        }
        pen.rect("frame", (LEFT, TOP), PLOT, 1.0, "");
        for (number, series) in self.series.iter().enumerate() {
            for (point, at) in series.points.iter().enumerate() {
                let reach = reach(number, point);
                if let Some(at) = usable(at).filter(|_| reach > 0.0) {
                    pen.polyline(number, &[(x(at.0), y(at.1 - reach)), (x(at.0), y(at.1 + reach))]);
                }
            }
            let usable: Vec<(f64, f64)> = series.points.iter().filter_map(usable).collect();
            let placed: Vec<(f64, f64)> = usable.iter().map(|point| (x(point.0), y(point.1))).collect();
            pen.polyline(number, &placed);
            for (place, point) in placed.iter().zip(&usable) {
                let tip = format!("{}: {} at {}", series.name, tick_label(point.1), tick_label(point.0));
                pen.marker(number, place.0, place.1, &tip);
            }
        }
        let below = TOP + PLOT.1 + 40.0;
        pen.text(LEFT + PLOT.0 / 2.0, below, Font::QUIET.at(Anchor::Middle), &self.x_label);
        pen.text(16.0, TOP + PLOT.1 / 2.0, Font::QUIET.at(Anchor::Middle).upright(), &self.y_label);
        let bottom = legend(&mut pen, self.series.iter().map(|series| series.name.as_str()), below + 20.0);
        pen.finish(&self.title, LEFT + PLOT.0 + 28.0, bottom)
    }
}

/// One row per series under the plot, where even a whole recipe fits; returns where it ends.
pub(super) fn legend<'a>(pen: &mut Pen, names: impl Iterator<Item = &'a str>, top: f64) -> f64 {
    let mut y = top;
    for (number, name) in names.enumerate() {
        pen.polyline(number, &[(LEFT, y - 4.0), (LEFT + 40.0, y - 4.0)]);
        pen.marker(number, LEFT + 20.0, y - 4.0, name);
        pen.text(LEFT + 48.0, y, Font::NORMAL, &shorten(name, 84));
        y += LEGEND_ROW;
    }
    y
}

/// The smallest range around all values, wider by a share of itself, and never empty.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    if low == high {
        let around = if low == 0.0 { 1.0 } else { (low / 2.0).abs() };
        return (low - around, high + around);
    }
    let more = (high / 2.0 - low / 2.0) * 2.0 * margin;
    let (low, high) = (low - more, high + more);
    if low.is_finite() && high.is_finite() { (low, high) } else { (f64::MIN, f64::MAX) }
}
