//! Charts as SVG: confusion heat map, bars, lines, the curve of misses against false alarms, maps of points and of
//! topics, and stacked shares.
//!
//! Each chart is a plain struct with a `render` that gives a [`Chart`], to be put into a page ([`Chart::inline`]) or
//! into a file of its own ([`Chart::standalone`]). Colours follow the reader's light or dark mode, and no meaning hangs
//! on colour alone: lines differ in dash and marker, cells carry counts or a tooltip. Values that are not finite are
//! left out.
//!
//! ```
//! use corpuscle::report::svg::{Bar, BarChart};
//! let bars = vec![Bar { label: "spam".into(), value: 0.93, note: "120 documents".into() }];
//! let chart = BarChart { title: "F1 per class".into(), x_label: "F1".into(), bars, ..BarChart::default() }.render();
//! assert!(chart.standalone().starts_with("<svg xmlns="));
//! ```

mod bars;
mod bubbles;
mod det;
mod heatmap;
mod lines;
mod pen;
mod scale;
mod scatter;
mod stacks;
#[cfg(test)]
pub(crate) mod tests;

use super::{escape, shorten};
pub use bars::{Bar, BarChart};
pub use bubbles::{Bubbles, Disc};
pub use det::{DetChart, DetSeries};
pub use heatmap::HeatMap;
pub use lines::{LineChart, Series};
pub use scatter::{PointGroup, Scatter};
pub use stacks::{StackGroup, StackPart, Stacks};

/// The rules that colour a chart, for pages that put charts inline.
pub const CHART_STYLE: &str = include_str!("chart.css");

/// A drawn chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    title: String,
    width: f64,
    height: f64,
    body: String,
}

impl Chart {
    /// The chart for a page that has [`CHART_STYLE`] in its style sheet.
    pub fn inline(&self) -> String {
        self.wrapped("")
    }

    /// The chart as a file of its own, with its style in it.
    pub fn standalone(&self) -> String {
        self.wrapped(&format!("<style>{CHART_STYLE}</style>"))
    }

    /// Width and height in pixels at natural size.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    fn wrapped(&self, style: &str) -> String {
        let (title, width, height) = (escape(&self.title), self.width.ceil(), self.height.ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"{title}\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">{style}{}</svg>",
            self.body
        )
    }
}
