//! The tables of a report.

use std::fmt::Write;

use super::{number, percent};
use crate::metrics::ClassScore;
use crate::report::{escape, snippet};

/// One recipe in a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compared {
    /// Its short name.
    pub name: String,
    /// The recipe itself; left out when empty or the same as the name.
    pub recipe: String,
    /// Accuracy, a fraction of 1 (the mean when there were several runs).
    pub accuracy: f64,
    /// The spread of the accuracy over runs, a fraction of 1.
    pub accuracy_spread: Option<f64>,
    /// Macro F1, a fraction of 1.
    pub macro_f1: f64,
    /// Seconds to train.
    pub train_seconds: f64,
    /// Seconds to predict.
    pub predict_seconds: f64,
}

/// A document decided wrongly, or labelled so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mistake {
    /// Its id.
    pub id: String,
    /// What it is.
    pub truth: String,
    /// What it was taken for.
    pub predicted: String,
    /// How sure the model was: a probability or a margin, already in words ("98.3 %", "margin 1.2").
    pub confidence: String,
    /// Its text; the beginning is shown.
    pub text: String,
}

const SNIPPET: usize = 240;

pub(super) fn facts(out: &mut String, rows: &[(String, String)]) {
    out.push_str("<table class=\"facts\"><tbody>");
    for (name, value) in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    out.push_str("</tbody></table>");
}

fn header(out: &mut String, columns: &[&str]) {
    out.push_str("<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
    for (at, column) in columns.iter().enumerate() {
        let class = if at == 0 { "" } else { " class=\"number\"" };
        let _ = write!(out, "<th scope=\"col\"{class}>{column}</th>");
    }
    out.push_str("</tr></thead><tbody>");
}

pub(super) fn table(out: &mut String, columns: &[String], rows: &[Vec<String>]) {
    let columns: Vec<String> = columns.iter().map(|column| escape(column).into_owned()).collect();
    header(out, &columns.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let (open, close) = if at == 0 { ("<th scope=\"row\">", "</th>") } else { ("<td>", "</td>") };
            let _ = write!(out, "{open}{}{close}", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

pub(super) fn comparison(out: &mut String, rows: &[Compared]) {
    header(out, &["Recipe", "Accuracy", "Macro F1", "Train, s", "Predict, s"]);
    let best = |value: fn(&Compared) -> f64| rows.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
    let (best_accuracy, best_f1) = (best(|row| row.accuracy), best(|row| row.macro_f1));
    let marked = |text: String, is_best: bool| if is_best { format!("<strong>{text}</strong>") } else { text };
    for row in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}", escape(&row.name));
        if !row.recipe.is_empty() && row.recipe != row.name {
            let _ = write!(out, "<br><code>{}</code>", escape(&row.recipe));
        }
        let spread = row.accuracy_spread.map(|spread| format!(" ± {}", number(100.0 * spread, 1))).unwrap_or_default();
        let _ = write!(
            out,
            "</th><td>{}{spread}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            marked(percent(row.accuracy), row.accuracy == best_accuracy),
            marked(percent(row.macro_f1), row.macro_f1 == best_f1),
            number(row.train_seconds, 2),
            number(row.predict_seconds, 2)
        );
    }
    out.push_str("</tbody></table></div>");
}

pub(super) fn per_class(out: &mut String, classes: &[ClassScore]) {
    header(out, &["Class", "Documents", "Predicted", "Precision", "Recall", "F1"]);
    for class in classes {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&class.class),
            class.support,
            class.predicted,
            percent(class.precision),
            percent(class.recall),
            percent(class.f1)
        );
    }
    out.push_str("</tbody></table></div>");
}

pub(super) fn mistakes(out: &mut String, mistakes: &[Mistake]) {
    if mistakes.is_empty() {
        out.push_str("<p>None.</p>");
        return;
    }
    out.push_str(
        "<table class=\"mistakes\"><thead><tr><th scope=\"col\">Document</th><th scope=\"col\">Labelled</th>\
         <th scope=\"col\">Said</th><th scope=\"col\">Sure</th><th scope=\"col\">Text</th></tr></thead><tbody>",
    );
    for mistake in mistakes {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"truth\">{}</td><td class=\"taken\">{}</td><td class=\"sure\">{}</td>\
             <td dir=\"auto\">{}</td></tr>",
            escape(&mistake.id),
            escape(&mistake.truth),
            escape(&mistake.predicted),
            escape(&mistake.confidence),
            escape(&snippet(&mistake.text, SNIPPET))
        );
    }
    out.push_str("</tbody></table>");
}
