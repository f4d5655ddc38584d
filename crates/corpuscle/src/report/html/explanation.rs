//! A document with the terms that decided it: highlighted in its text, and listed by their share in the score.

use std::fmt::Write;

use super::number;
use crate::report::{escape, snippet};

/// Characters of a neighbour's text that are shown.
const SNIPPET: usize = 160;

/// Why a document was put into a class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explanation {
    /// The document's id.
    pub id: String,
    /// The class that was decided and is explained.
    pub predicted: String,
    /// What the document is, when known.
    pub truth: Option<String>,
    /// How sure the model was, in words.
    pub confidence: String,
    /// The document's text (or the part of it to show).
    pub text: String,
    /// The places in the text that speak for (positive) or against (negative) the class.
    pub spans: Vec<Span>,
    /// Terms and what they add to the score, the largest first.
    pub terms: Vec<(String, f64)>,
    /// What the figures beside the terms are; left out when empty.
    pub weighing: String,
    /// The class that came second and by how much, in words; left out when empty.
    pub runner_up: String,
    /// The documents most like this one, the nearest first.
    pub neighbours: Vec<Neighbour>,
}

/// A document like the explained one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbour {
    /// Its id, or what else it can be found by.
    pub name: String,
    /// Its labels, in words; may be empty.
    pub label: String,
    /// How near it is, in words.
    pub nearness: String,
    /// Its text, when known; the beginning is shown.
    pub text: String,
}

/// A place in a text and what it adds to the score.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What it adds to the score of the explained class.
    pub contribution: f64,
}

impl Explanation {
    pub(super) fn write(&self, out: &mut String) {
        let _ = write!(
            out,
            "<article class=\"explanation\"><h3>Document {}: <span class=\"{}\">{}</span> <span class=\"quiet\">{}",
            escape(&self.id),
            if self.truth.as_ref().is_some_and(|truth| *truth != self.predicted) { "taken" } else { "truth" },
            escape(&self.predicted),
            escape(&self.confidence)
        );
        if let Some(truth) = &self.truth {
            let sign = if *truth == self.predicted { ", right" } else { ", truly " };
            let name = if *truth == self.predicted { "" } else { truth };
            let _ = write!(out, "{sign}{}", escape(name));
        }
        out.push_str("</span></h3><p class=\"marked\" dir=\"auto\">");
        self.write_text(out);
        out.push_str("</p>");
        if !self.runner_up.is_empty() {
            let _ = write!(out, "<p class=\"quiet\">{}</p>", escape(&self.runner_up));
        }
        self.write_terms(out);
        self.write_neighbours(out);
        out.push_str("</article>");
    }

    /// The text with its spans marked. Spans that overlap an earlier one or cut a character are left unmarked.
    fn write_text(&self, out: &mut String) {
        let mut spans: Vec<&Span> = self.spans.iter().filter(|span| span.contribution.is_finite()).collect();
        spans.sort_by_key(|span| (span.start, span.end));
        let most = strongest(spans.iter().map(|span| span.contribution));
        let mut done = 0;
        for span in spans {
            let (Some(before), Some(marked)) = (self.text.get(done..span.start), self.text.get(span.start..span.end))
            else {
                continue;
            };
            if marked.is_empty() || span.contribution == 0.0 {
                continue;
            }
            let _ = write!(
                out,
                "{}<mark class=\"{}\" style=\"--w:{}\" title=\"{}\">{}</mark>",
                escape(before),
                side(span.contribution),
                number((span.contribution / most).abs(), 2),
                signed(span.contribution),
                escape(marked)
            );
            done = span.end;
        }
        out.push_str(&escape(self.text.get(done..).unwrap_or_default()));
    }

    fn write_terms(&self, out: &mut String) {
        if self.terms.is_empty() {
            return;
        }
        let most = strongest(self.terms.iter().map(|term| term.1));
        out.push_str("<table class=\"terms\">");
        if !self.weighing.is_empty() {
            let _ = write!(
                out,
                "<thead><tr><th scope=\"col\">Term</th><th scope=\"col\" colspan=\"2\">{}</th></tr></thead>",
                escape(&self.weighing)
            );
        }
        out.push_str("<tbody>");
        for (term, contribution) in self.terms.iter().filter(|term| term.1.is_finite()) {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"meter\">\
                 <span class=\"{}\" style=\"width:{}%\"></span></td></tr>",
                escape(term),
                signed(*contribution),
                side(*contribution),
                number((100.0 * contribution / most).abs(), 1)
            );
        }
        out.push_str("</tbody></table>");
    }

    fn write_neighbours(&self, out: &mut String) {
        if self.neighbours.is_empty() {
            return;
        }
        out.push_str(
            "<table class=\"mistakes\"><thead><tr><th scope=\"col\">Nearest documents</th><th scope=\"col\">Labelled</th>\
             <th scope=\"col\">Near</th><th scope=\"col\">Text</th></tr></thead><tbody>",
        );
        for neighbour in &self.neighbours {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"truth\">{}</td><td class=\"sure\">{}</td><td dir=\"auto\">{}</td></tr>",
                escape(&neighbour.name),
                escape(&neighbour.label),
                escape(&neighbour.nearness),
                escape(&snippet(&neighbour.text, SNIPPET))
            );
        }
        out.push_str("</tbody></table>");
    }
}

/// The largest absolute value, and 1 when there is none, so that it can be divided by.
fn strongest(values: impl Iterator<Item = f64>) -> f64 {
    let most = values.filter(|value| value.is_finite()).fold(0.0, |most: f64, value| most.max(value.abs()));
    if most > 0.0 { most } else { 1.0 }
}

fn side(contribution: f64) -> &'static str {
    if contribution < 0.0 { "against" } else { "for" }
}

/// With its sign, and a true minus.
fn signed(value: f64) -> String {
    if value < 0.0 { format!("−{:.3}", -value) } else { format!("+{value:.3}") }
}
