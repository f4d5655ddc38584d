//! Columns of stacked shares, one for each group in order: how a mixture changes along a date or another field.

use super::pen::{Anchor, Font, Pen, text_width};
use super::{Chart, shorten};

/// Columns to draw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stacks {
    /// What the chart is called.
    pub title: String,
    /// What the columns are.
    pub groups: Vec<StackGroup>,
    /// What the parts are called, from the bottom up; the eight that change most have a colour, all others are one grey part on top.
    pub parts: Vec<StackPart>,
}

/// One column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StackGroup {
    /// What stands under it.
    pub name: String,
    /// A remark for its tooltips: how many documents, say.
    pub note: String,
    /// The share of every part.
    pub shares: Vec<f64>,
}

/// One part of all columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StackPart {
    /// What stands in it where there is room.
    pub mark: String,
    /// Its name in the legend.
    pub name: String,
}

const LEFT: f64 = 46.0;
const TOP: f64 = 38.0;
const PLOT: (f64, f64) = (830.0, 320.0);
const COLOURED: usize = 8;

impl Stacks {
    /// Draws it.
    pub fn render(&self) -> Chart {
        let share = |group: &StackGroup, part: usize| {
            group.shares.get(part).copied().filter(|share| share.is_finite()).unwrap_or(0.0).max(0.0)
        };
        // Parts that are the same everywhere would hide those that a reader looks for.
        let change = |part: usize| {
            let values = || self.groups.iter().map(|group| share(group, part));
            let mean = values().sum::<f64>() / self.groups.len().max(1) as f64;
            values().map(|value| (value - mean) * (value - mean)).sum::<f64>()
        };
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_by(|&a, &b| change(b).total_cmp(&change(a)).then(a.cmp(&b)));
        order.truncate(COLOURED);
        let mut pen = Pen::default();
        pen.title(&self.title);
        for tick in 0..=4 {
            let y = TOP + PLOT.1 * (1.0 - f64::from(tick) / 4.0);
            pen.line("grid", (LEFT, y), (LEFT + PLOT.0, y));
            pen.text(LEFT - 8.0, y + 4.0, Font::QUIET.at(Anchor::End), &format!("{}%", 25 * tick));
        }
        let step = PLOT.0 / self.groups.len().max(1) as f64;
        let width = (step * 0.86).min(90.0);
        for (at, group) in self.groups.iter().enumerate() {
            let all = (0..self.parts.len()).map(|part| share(group, part)).sum::<f64>().max(f64::MIN_POSITIVE);
            let x = LEFT + step * (at as f64 + 0.5) - width / 2.0;
            let mut y = TOP + PLOT.1;
            let mut draw = |class: &str, name: &str, mark: &str, share: f64| {
                let height = PLOT.1 * share / all;
                y -= height;
                let note = if group.note.is_empty() { String::new() } else { format!(" ({})", group.note) };
                let tip = format!("{}{note}: {:.1} % {name}", group.name, 100.0 * share / all);
                pen.rect(class, (x, y), (width, height), 1.0, &tip);
                if height > 13.0 && text_width(mark, 10.0) < width {
                    let font = Font { class: "mark", ..Font::NORMAL }.sized(10.0).at(Anchor::Middle);
                    pen.text(x + width / 2.0, y + height / 2.0 + 3.5, font, mark);
                }
            };
            for (number, &part) in order.iter().enumerate() {
                let look = format!("stack s{}", number + 1);
                draw(&look, &self.parts[part].name, &self.parts[part].mark, share(group, part));
            }
            let rest: f64 =
                (0..self.parts.len()).filter(|part| !order.contains(part)).map(|part| share(group, part)).sum();
            draw("stack rest", "all others", "", rest);
        }
        pen.rect("frame", (LEFT, TOP), PLOT, 1.0, "");
        let bottom = self.names(&mut pen, step);
        let mut y = bottom + 22.0;
        for (number, &part) in order.iter().enumerate() {
            let StackPart { mark, name } = &self.parts[part];
            pen.rect(&format!("stack s{}", number + 1), (LEFT, y - 11.0), (14.0, 14.0), 1.0, "");
            pen.text(LEFT + 22.0, y, Font::NORMAL, &shorten(&format!("{mark}: {name}"), 110));
            y += 20.0;
        }
        if self.parts.len() > order.len() {
            pen.rect("stack rest", (LEFT, y - 11.0), (14.0, 14.0), 1.0, "");
            pen.text(LEFT + 22.0, y, Font::NORMAL, &format!("the other {}", self.parts.len() - order.len()));
            y += 20.0;
        }
        pen.finish(&self.title, LEFT + PLOT.0 + 12.0, y)
    }

    /// Names under the columns, upright where they would run into each other; returns where they end.
    fn names(&self, pen: &mut Pen, step: f64) -> f64 {
        let names: Vec<_> = self.groups.iter().map(|group| shorten(&group.name, 24)).collect();
        let widest = names.iter().map(|name| text_width(name, 12.0)).fold(0.0, f64::max);
        let upright = widest + 6.0 > step;
        for (at, name) in names.iter().enumerate() {
            let (x, y) = (LEFT + step * (at as f64 + 0.5), TOP + PLOT.1);
            match upright {
                true => pen.text(x + 4.0, y + 8.0, Font::QUIET.at(Anchor::End).upright(), name),
                false => pen.text(x, y + 18.0, Font::QUIET.at(Anchor::Middle), name),
            }
        }
        TOP + PLOT.1 + if upright { widest + 12.0 } else { 22.0 }
    }
}
