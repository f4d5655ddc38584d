//! Horizontal bars, one per name; values may be negative.

use super::Chart;
use super::pen::{Anchor, Font, Pen, text_width};
use super::scale::{tick_label, ticks};
use crate::report::shorten;

/// Bars to draw, from top to bottom.
#[derive(Debug, Clone, Default)]
pub struct BarChart {
    /// What the chart is called.
    pub title: String,
    /// What the length of a bar means.
    pub x_label: String,
    /// The bars.
    pub bars: Vec<Bar>,
    /// What the remarks at the right are; left out when empty.
    pub note_label: String,
    /// The value at the right border; that of the longest bar when not given.
    pub most: Option<f64>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// Its name.
    pub label: String,
    /// Its length; a value that is not finite leaves the bar out.
    pub value: f64,
    /// A remark at the right, such as the number of documents.
    pub note: String,
}

/// More bars than this make a chart that nobody reads; the rest is counted.
const MOST_BARS: usize = 150;
const PLOT: f64 = 420.0;
const ROW: f64 = 20.0;

impl BarChart {
    /// Draws it.
    pub fn render(&self) -> Chart {
        let shown = &self.bars[..self.bars.len().min(MOST_BARS)];
        let labels: Vec<_> = shown.iter().map(|bar| shorten(&bar.label, 36)).collect();
        let widest =
            |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text_width(text, 12.0)).fold(0.0, f64::max);
        let left = 16.0 + widest(&mut labels.iter().map(AsRef::as_ref));
        let note = widest(&mut shown.iter().map(|bar| bar.note.as_str()).chain([self.note_label.as_str()]));
        let finite = || shown.iter().map(|bar| bar.value).filter(|value| value.is_finite());
        let low = finite().fold(0.0, f64::min);
        let high = self.most.filter(|most| most.is_finite() && *most > low).unwrap_or(finite().fold(0.0, f64::max));
        let high = if high > low { high } else { low + 1.0 };
        // Halves first: the difference of two huge values may be too large for a number.
        let x = |value: f64| left + PLOT * ((value.clamp(low, high) / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0));
        let value_space = 46.0;
        let top = if self.note_label.is_empty() { 36.0 } else { 50.0 };
        let bottom = top + ROW * shown.len() as f64 + 4.0;
        let width = left + PLOT + value_space + note + 16.0;

        let mut pen = Pen::default();
        pen.title(&self.title);
        pen.text(width - 8.0, top - 4.0, Font::QUIET.at(Anchor::End), &self.note_label);
        for tick in ticks(low, high, 5) {
            pen.line("grid", (x(tick), top), (x(tick), bottom));
            pen.text(x(tick), bottom + 16.0, Font::QUIET.sized(11.0).at(Anchor::Middle), &tick_label(tick));
        }
        for (i, (bar, label)) in shown.iter().zip(&labels).enumerate() {
            let y = top + ROW * i as f64 + 3.0;
            pen.text(left - 6.0, y + 12.0, Font::NORMAL.at(Anchor::End), label);
            pen.text(width - 8.0, y + 12.0, Font::QUIET.at(Anchor::End), &bar.note);
            if bar.value.is_finite() {
                let (from, to) = (x(bar.value.min(0.0)), x(bar.value.max(0.0)));
                let class = if bar.value < 0.0 { "wrong" } else { "right" };
                let tip = format!("{}: {}", bar.label, exact(bar.value));
                pen.rect(class, (from, y), (to - from, ROW - 6.0), 1.0, &tip);
                pen.text(to + 5.0, y + 12.0, Font::NORMAL.sized(11.0), &exact(bar.value));
            }
        }
        pen.line("axis", (x(0.0), top), (x(0.0), bottom));
        let mut height = bottom + 40.0;
        pen.text(left + PLOT / 2.0, height - 8.0, Font::QUIET.at(Anchor::Middle), &self.x_label);
        if shown.len() < self.bars.len() {
            height += 18.0;
            let more = format!("and {} more", self.bars.len() - shown.len());
            pen.text(left + PLOT / 2.0, height - 8.0, Font::QUIET.at(Anchor::Middle), &more);
        }
        pen.finish(&self.title, width, height)
    }
}

/// Three decimals for fractions, fewer signs for the rest.
fn exact(value: f64) -> String {
    if value.abs() < 10.0 && (value == 0.0 || value.abs() >= 0.001) { format!("{value:.3}") } else { tick_label(value) }
}
