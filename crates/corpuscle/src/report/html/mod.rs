//! A report as one HTML file: no network, light and dark, fit to print; a script only where documents can be looked at.
//!
//! ```
//! use corpuscle::report::html::{Metric, Report, Section};
//! let report = Report {
//!     title: "Tickets by team".into(),
//!     question: "Can tickets be routed by their text?".into(),
//!     sections: vec![Section::Headline {
//!         heading: "Results".into(),
//!         metrics: vec![Metric::percent("Accuracy", 0.912, "of 500 tickets")],
//!     }],
//! };
//! assert!(report.render().contains("91.2"));
//! ```

mod documents;
mod evaluation;
mod explanation;
mod tables;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use super::escape;
use super::svg::{CHART_STYLE, Chart};
use crate::metrics::ClassScore;
pub use documents::{CellDocuments, ShownDocument};
pub use evaluation::{evaluation_sections, evaluation_sections_with};
pub use explanation::{Explanation, Neighbour, Span};
pub use tables::{Compared, Mistake};

/// A page: a question, and sections that answer it.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The heading of the page.
    pub title: String,
    /// What the report answers, in a sentence; left out when empty.
    pub question: String,
    /// What it says, from top to bottom.
    pub sections: Vec<Section>,
}

/// One part of a report.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Section {
    /// The beginning of a chapter, for pages with many sections: only chapters and what stands before them are linked at the top.
    Chapter {
        /// Heading.
        heading: String,
        /// What it is about.
        paragraphs: Vec<String>,
    },
    /// Running text.
    Text {
        /// What it is about.
        heading: String,
        /// Its paragraphs.
        paragraphs: Vec<String>,
    },
    /// Names and what they stand for: the protocol of a run (recipe, data, counts, seed, version).
    Facts {
        /// What the facts are about.
        heading: String,
        /// Name and value.
        rows: Vec<(String, String)>,
    },
    /// The few figures that matter most.
    Headline {
        /// What they measure.
        heading: String,
        /// The figures.
        metrics: Vec<Metric>,
    },
    /// Several recipes beside each other; the best accuracy and macro F1 stand out.
    Comparison {
        /// What is compared.
        heading: String,
        /// One row per recipe.
        rows: Vec<Compared>,
    },
    /// Any table; the first column is text, the others are figures.
    Table {
        /// What it shows.
        heading: String,
        /// What the columns are called.
        columns: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<String>>,
    },
    /// Precision, recall and F1 of each class.
    PerClass {
        /// What is measured.
        heading: String,
        /// One row per class.
        classes: Vec<ClassScore>,
    },
    /// A chart with a caption.
    Chart {
        /// What it shows.
        heading: String,
        /// The chart.
        chart: Chart,
        /// How to read it; left out when empty.
        caption: String,
    },
    /// A confusion matrix whose cells show their documents when clicked.
    Cells {
        /// What it shows.
        heading: String,
        /// The heat map.
        chart: Chart,
        /// The classes of its rows and columns.
        classes: Vec<String>,
        /// The documents of the cells that have some.
        cells: Vec<CellDocuments>,
        /// How to read it; left out when empty.
        caption: String,
    },
    /// A map of documents with the text of the one under the pointer.
    Map {
        /// What it shows.
        heading: String,
        /// The map, drawn by [`Scatter`](crate::report::svg::Scatter).
        chart: Chart,
        /// The names of the classes.
        classes: Vec<String>,
        /// The documents of every group as it is drawn, point by point.
        groups: Vec<Vec<ShownDocument>>,
        /// How to read it; left out when empty.
        caption: String,
    },
    /// Documents decided wrongly, or labelled so, the most confident first.
    Mistakes {
        /// What they are.
        heading: String,
        /// How they were found; left out when empty.
        about: String,
        /// The documents.
        mistakes: Vec<Mistake>,
    },
    /// Why documents were put where they were.
    Explanations {
        /// What is explained.
        heading: String,
        /// One per document.
        explanations: Vec<Explanation>,
    },
}

/// One figure with its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metric {
    /// What it is.
    pub name: String,
    /// The figure as it is to be read.
    pub value: String,
    /// A remark under it; left out when empty.
    pub note: String,
}

impl Metric {
    /// A fraction of 1 shown in per cent.
    pub fn percent(name: &str, value: f64, note: &str) -> Self {
        Metric { name: name.into(), value: percent(value), note: note.into() }
    }

    /// A plain number with two decimals.
    pub fn number(name: &str, value: f64, note: &str) -> Self {
        Metric { name: name.into(), value: number(value, 2), note: note.into() }
    }
}

impl Section {
    /// The heading.
    pub fn heading(&self) -> &str {
        match self {
            Section::Text { heading, .. }
            | Section::Chapter { heading, .. }
            | Section::Facts { heading, .. }
            | Section::Headline { heading, .. }
            | Section::Comparison { heading, .. }
            | Section::Table { heading, .. }
            | Section::PerClass { heading, .. }
            | Section::Chart { heading, .. }
            | Section::Cells { heading, .. }
            | Section::Map { heading, .. }
            | Section::Mistakes { heading, .. }
            | Section::Explanations { heading, .. } => heading,
        }
    }

    /// Whether the page's script has something to do here.
    fn is_live(&self) -> bool {
        matches!(self, Section::Cells { .. } | Section::Map { .. })
    }

    fn write(&self, out: &mut String) {
        match self {
            Section::Text { paragraphs, .. } | Section::Chapter { paragraphs, .. } => {
                for paragraph in paragraphs {
                    let _ = write!(out, "<p>{}</p>", prose(paragraph));
                }
            }
            Section::Facts { rows, .. } => tables::facts(out, rows),
            Section::Headline { metrics, .. } => {
                out.push_str("<dl class=\"cards\">");
                for Metric { name, value, note } in metrics {
                    let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
                    if !note.is_empty() {
                        let _ = write!(out, "<dd class=\"quiet\">{}</dd>", escape(note));
                    }
                    out.push_str("</div>");
                }
                out.push_str("</dl>");
            }
            Section::Comparison { rows, .. } => tables::comparison(out, rows),
            Section::Table { columns, rows, .. } => tables::table(out, columns, rows),
            Section::PerClass { classes, .. } => tables::per_class(out, classes),
            Section::Chart { chart, caption, .. } => {
                let _ = write!(out, "<figure tabindex=\"0\">{}", chart.inline());
                if !caption.is_empty() {
                    let _ = write!(out, "<figcaption>{}</figcaption>", escape(caption));
                }
                out.push_str("</figure>");
            }
            Section::Cells { chart, classes, cells, caption, .. } => {
                documents::cells(out, chart, classes, cells, caption);
            }
            Section::Map { chart, classes, groups, caption, .. } => {
                documents::map(out, chart, classes, groups, caption);
            }
            Section::Mistakes { about, mistakes, .. } => {
                if !about.is_empty() {
                    let _ = write!(out, "<p class=\"quiet\">{}</p>", escape(about));
                }
                tables::mistakes(out, mistakes);
            }
            Section::Explanations { explanations, .. } => {
                for explanation in explanations {
                    explanation.write(out);
                }
            }
        }
    }
}

/// Text as it is typed: what stands between two backticks is code.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape(text).into_owned();
    }
    let mut out = String::with_capacity(text.len());
    for (number, part) in parts.into_iter().map(escape).enumerate() {
        let _ = if number.is_multiple_of(2) { write!(out, "{part}") } else { write!(out, "<code>{part}</code>") };
    }
    out
}

impl Report {
    /// The whole page.
    pub fn render(&self) -> String {
        let title = escape(&self.title);
        let live = self.sections.iter().any(Section::is_live);
        let script_source = if live { format!("; script-src '{}'", documents::script_hash()) } else { String::new() };
        // The policy holds the page to its word: even a mistake in escaping could neither run nor fetch anything.
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{script_source}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"generator\" content=\"corpuscle {}\">\
             <title>{title}</title>\n<style>\n{}{CHART_STYLE}</style></head>\n<body><header><h1>{title}</h1>",
            env!("CARGO_PKG_VERSION"),
            include_str!("page.css"),
        );
        if !self.question.is_empty() {
            let _ = write!(out, "<p class=\"question\">{}</p>", escape(&self.question));
        }
        if self.sections.len() > 3 {
            out.push_str("<nav aria-label=\"Sections\">");
            let is_chapter = |section: &Section| matches!(section, Section::Chapter { .. });
            let first = self.sections.iter().position(is_chapter).unwrap_or(self.sections.len());
            let linked = |(number, section): &(usize, &Section)| *number < first || is_chapter(section);
            for (number, section) in self.sections.iter().enumerate().filter(linked) {
                let _ = write!(out, "<a href=\"#part-{}\">{}</a> ", number + 1, escape(section.heading()));
            }
            out.push_str("</nav>");
        }
        out.push_str("</header>\n<main>");
        for (number, section) in self.sections.iter().enumerate() {
            let class = if matches!(section, Section::Chapter { .. }) { " class=\"chapter\"" } else { "" };
            let _ = write!(out, "\n<section id=\"part-{}\"{class}><h2>{}</h2>", number + 1, escape(section.heading()));
            section.write(&mut out);
            out.push_str("</section>");
        }
        let _ = write!(
            out,
            "\n</main>\n<footer>Written by corpuscle {}. This file needs no network.</footer>",
            env!("CARGO_PKG_VERSION")
        );
        if live {
            let _ = write!(out, "\n<script>{}</script>", documents::SCRIPT);
        }
        out.push_str("</body></html>\n");
        out
    }
}

/// A fraction of 1 in per cent with one decimal; a dash for what is no number.
pub(super) fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.1}\u{a0}%", 100.0 * value) } else { "–".into() }
}

/// A number with the given decimals; a dash for what is no number.
pub(super) fn number(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "–".into() }
}
