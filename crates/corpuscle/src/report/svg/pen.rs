//! What charts draw with: elements whose coordinates are always finite and whose text is always escaped.

use std::fmt::Write;

use super::{Chart, escape};

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Font {
    pub(super) class: &'static str,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    /// Reads from bottom to top.
    pub(super) upright: bool,
}

impl Font {
    pub(super) const NORMAL: Font = Font { class: "", size: 12.0, anchor: Anchor::Start, upright: false };
    pub(super) const QUIET: Font = Font { class: "quiet", ..Font::NORMAL };

    pub(super) fn at(self, anchor: Anchor) -> Self {
        Font { anchor, ..self }
    }

    pub(super) fn sized(self, size: f64) -> Self {
        Font { size, ..self }
    }

    pub(super) fn upright(self) -> Self {
        Font { upright: true, ..self }
    }
}

/// A number as an attribute: two decimals at most, and 0 for what is no number.
pub(super) fn coordinate(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// About how wide a text is. Fonts differ, so this is generous: 0.59 em for most letters, 1 em for wide scripts.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ' ' | '\'' | '|' | ':' | ';' => 0.34,
            'm' | 'w' | 'M' | 'W' | '…' => 0.95,
            'A'..='Z' => 0.7,
            '\u{1100}'.. => 1.05,
            _ => 0.59,
        })
        .sum();
    ems * size
}

/// Collects the elements of one chart.
#[derive(Debug, Default)]
pub(super) struct Pen {
    body: String,
}

impl Pen {
    pub(super) fn title(&mut self, text: &str) {
        let _ = write!(self.body, "<text class=\"title\" x=\"8\" y=\"22\">{}</text>", escape(text));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, font: Font, text: &str) {
        if text.is_empty() {
            return;
        }
        let (x, y) = (coordinate(x), coordinate(y));
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\"");
        if !font.class.is_empty() {
            let _ = write!(self.body, " class=\"{}\"", font.class);
        }
        match font.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.body.push_str(" text-anchor=\"end\""),
        }
        if font.size != Font::NORMAL.size {
            let _ = write!(self.body, " style=\"font-size:{}px\"", coordinate(font.size));
        }
        if font.upright {
            let _ = write!(self.body, " transform=\"rotate(-90 {x} {y})\"");
        }
        let _ = write!(self.body, ">{}</text>", escape(text));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        let _ = write!(self.body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// A rectangle of full or partial strength with a tooltip (none when it is empty).
    pub(super) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), strength: f64, tip: &str) {
        let [x, y, width, height] = [corner.0, corner.1, size.0.max(0.0), size.1.max(0.0)].map(coordinate);
        let _ = write!(self.body, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        if strength < 1.0 {
            let _ = write!(self.body, " fill-opacity=\"{}\"", coordinate(strength));
        }
        match tip {
            "" => self.body.push_str("/>"),
            tip => {
                let _ = write!(self.body, "><title>{}</title></rect>", escape(tip));
            }
        }
    }

    /// A rectangle that a page's script can find by its row and column.
    pub(super) fn cell(
        &mut self,
        (row, column): (usize, usize),
        class: &str,
        corner: (f64, f64),
        size: (f64, f64),
        strength: f64,
        tip: &str,
    ) {
        // The attribute goes where the class ends; classes are our own words.
        self.rect(&format!("{class}\" data-cell=\"{row},{column}"), corner, size, strength, tip);
    }

    /// Ready-made elements: numbers and our own words only.
    pub(super) fn raw(&mut self, element: &str) {
        self.body.push_str(element);
    }

    /// Series `number` as a line through points. Four dashes and five markers tell twenty series apart without colour.
    pub(super) fn polyline(&mut self, number: usize, points: &[(f64, f64)]) {
        let _ = write!(self.body, "<polyline class=\"line s{}\"", number % 8 + 1);
        if let Some(dash) = ["", "7 3", "2 3", "9 3 2 3"].get(number % 4).filter(|dash| !dash.is_empty()) {
            let _ = write!(self.body, " stroke-dasharray=\"{dash}\"");
        }
        self.body.push_str(" points=\"");
        for (at, (x, y)) in points.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            let _ = write!(self.body, "{blank}{},{}", coordinate(*x), coordinate(*y));
        }
        self.body.push_str("\"/>");
    }

    /// The marker of series `number`: disc, square, diamond, triangle up or down.
    pub(super) fn marker(&mut self, number: usize, x: f64, y: f64, tip: &str) {
        let class = format!("dot s{}", number % 8 + 1);
        let [x0, x1, x2] = [x - 4.0, x, x + 4.0].map(coordinate);
        let [y0, y1, y2] = [y - 4.0, y, y + 4.0].map(coordinate);
        let tip = escape(tip);
        let shape = match number % 5 {
            0 => format!("circle class=\"{class}\" cx=\"{x1}\" cy=\"{y1}\" r=\"3.5\""),
            1 => format!("path class=\"{class}\" d=\"M{x0} {y0}H{x2}V{y2}H{x0}z\""),
            2 => format!("path class=\"{class}\" d=\"M{x1} {y0}L{x2} {y1}L{x1} {y2}L{x0} {y1}z\""),
            3 => format!("path class=\"{class}\" d=\"M{x1} {y0}L{x2} {y2}H{x0}z\""),
            _ => format!("path class=\"{class}\" d=\"M{x1} {y2}L{x2} {y0}H{x0}z\""),
        };
        let name = shape.split(' ').next().unwrap_or_default();
        let _ = write!(self.body, "<{shape}><title>{tip}</title></{name}>");
    }

    /// Everything drawn by `draw` is cut off at the borders of a box; coordinates stay those of the chart.
    pub(super) fn clipped(&mut self, corner: (f64, f64), size: (f64, f64), draw: impl FnOnce(&mut Pen)) {
        let [x, y, width, height] = [corner.0, corner.1, size.0, size.1].map(coordinate);
        // A nested image clips without an id, which would have to be unique in the page.
        let _ = write!(
            self.body,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" viewBox=\"{x} {y} {width} {height}\">"
        );
        draw(self);
        self.body.push_str("</svg>");
    }

    pub(super) fn finish(self, title: &str, width: f64, height: f64) -> Chart {
        Chart { title: title.to_string(), width, height, body: self.body }
    }
}
