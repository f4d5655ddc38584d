//! The confusion matrix as a heat map: rows are true classes, and the colour is a cell's share of its row.

use super::Chart;
use super::pen::{Anchor, Font, Pen, text_width};
use crate::metrics::Confusion;
use crate::report::shorten;

/// A confusion matrix to draw. Decisions on the diagonal (right) and off it (wrong) have colours of their own. The
/// strength of a cell is the square root of its share, so that a class mistaken for another in one document of fifty
/// still shows. Counts are written into the cells where they fit; every cell has them in its tooltip.
#[derive(Debug, Clone)]
pub struct HeatMap<'a> {
    /// What the chart is called.
    pub title: &'a str,
    /// The matrix.
    pub confusion: &'a Confusion,
}

/// Beyond this many classes only those with most mistakes are drawn.
const MOST_CLASSES: usize = 100;
/// Above this strength the cell is dark enough (in light mode) for text in the background's colour.
const FLIP: f64 = 0.77;
const LONGEST_NAME: usize = 30;

impl HeatMap<'_> {
    /// Draws it.
    pub fn render(&self) -> Chart {
        let Confusion { classes, counts } = self.confusion;
        let at = |row: usize, column: usize| counts.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0);
        let shown = self.shown(&at);
        let names: Vec<_> = shown.iter().map(|&class| shorten(&classes[class], LONGEST_NAME)).collect();
        let n = shown.len();
        let cell = (660.0 / n.max(1) as f64).clamp(12.0, 56.0);
        let name_size = (cell - 1.0).clamp(9.0, 12.0);
        let widest = names.iter().map(|name| text_width(name, name_size)).fold(0.0, f64::max);
        // Few classes get cells as wide as their names, which can then be read without turning one's head.
        let flat_names = (widest + 14.0) * n as f64 <= 660.0;
        let across = if flat_names { cell.max(widest + 14.0) } else { cell };
        let (left, top) = (34.0 + widest, 74.0 + if n < classes.len() { 18.0 } else { 0.0 });
        let (grid, grid_height) = (across * n as f64, cell * n as f64);
        let below = if flat_names { 22.0 } else { widest + 10.0 };
        let (width, height) = ((left + grid + 16.0).max(580.0), top + grid_height + below + 26.0);

        let mut pen = Pen::default();
        pen.title(self.title);
        legend(&mut pen);
        if n < classes.len() {
            let text = format!("The {n} of {} classes with most mistakes; shares are of all decisions.", classes.len());
            pen.text(8.0, 66.0, Font::QUIET, &text);
        }
        let digits = Font { class: "under", ..Font::NORMAL }.sized((cell * 0.36).clamp(7.0, 13.0)).at(Anchor::Middle);
        for (i, &row) in shown.iter().enumerate() {
            let total: u64 = (0..classes.len()).map(|column| at(row, column)).sum();
            let y = top + cell * i as f64;
            let middle = y + cell / 2.0 + name_size * 0.35;
            pen.text(left - 6.0, middle, Font::NORMAL.sized(name_size).at(Anchor::End), &names[i]);
            for (j, &column) in shown.iter().enumerate() {
                let count = at(row, column);
                if count == 0 {
                    continue;
                }
                let share = count as f64 / total as f64;
                let (x, class) = (left + across * j as f64, if row == column { "right" } else { "wrong" });
                let tip = format!(
                    "{} taken for {}: {count} of {total} ({:.1} %)",
                    classes[row],
                    classes[column],
                    100.0 * share
                );
                pen.cell((row, column), class, (x, y), (across, cell), share.sqrt(), &tip);
                let text = count.to_string();
                if cell >= 18.0 && text.len() as f64 * digits.size * 0.62 <= cell - 2.0 {
                    let class = if share.sqrt() > FLIP { "over" } else { "under" };
                    let centre = (x + across / 2.0, y + cell / 2.0 + digits.size * 0.36);
                    pen.text(centre.0, centre.1, Font { class, ..digits }, &text);
                }
            }
        }
        for (j, name) in names.iter().enumerate() {
            let x = left + across * (j as f64 + 0.5);
            match flat_names {
                true => pen.text(x, top + grid_height + 16.0, Font::NORMAL.sized(name_size).at(Anchor::Middle), name),
                false => {
                    let font = Font::NORMAL.sized(name_size).at(Anchor::End).upright();
                    pen.text(x + name_size * 0.35, top + grid_height + 6.0, font, name);
                }
            }
        }
        for i in 0..=n {
            let (x, y) = (left + across * i as f64, top + cell * i as f64);
            pen.line("grid", (left, y), (left + grid, y));
            pen.line("grid", (x, top), (x, top + grid_height));
        }
        pen.rect("frame", (left, top), (grid, grid_height), 1.0, "");
        pen.text(left + grid / 2.0, height - 8.0, Font::QUIET.at(Anchor::Middle), "predicted class");
        pen.text(18.0, top + grid_height / 2.0, Font::QUIET.at(Anchor::Middle).upright(), "true class");
        pen.finish(self.title, width, height)
    }

    /// The classes to draw, in their order.
    fn shown(&self, at: &impl Fn(usize, usize) -> u64) -> Vec<usize> {
        let n = self.confusion.classes.len();
        let mut shown: Vec<usize> = (0..n).collect();
        if n > MOST_CLASSES {
            let mistakes: Vec<u64> = (0..n)
                .map(|class| {
                    (0..n).filter(|other| *other != class).map(|other| at(class, other) + at(other, class)).sum()
                })
                .collect();
            shown.sort_by_key(|&class| std::cmp::Reverse(mistakes[class]));
            shown.truncate(MOST_CLASSES);
            shown.sort_unstable();
        }
        shown
    }
}

/// The two colours at a few shares.
fn legend(pen: &mut Pen) {
    let y = 36.0;
    let mut x = 8.0;
    pen.text(x, y + 11.0, Font::QUIET, "share of the true class");
    x += 150.0;
    for (class, name) in [("right", "right"), ("wrong", "mistaken")] {
        for (share, text) in [(0.01, "1"), (0.05, "5"), (0.25, "25"), (0.5, "50"), (1.0, "100%")] {
            pen.rect(class, (x, y), (30.0, 14.0), f64::sqrt(share), "");
            pen.text(x + 15.0, y + 26.0, Font::QUIET.sized(10.0).at(Anchor::Middle), text);
            x += 30.0;
        }
        pen.text(x + 6.0, y + 11.0, Font::QUIET, name);
        x += 60.0;
    }
}
