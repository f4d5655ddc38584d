//! Points in the plane in groups, each with its colour and shape, a legend, and names where the groups lie.

use std::fmt::Write;

use super::pen::{Anchor, Font, Pen, text_width};
use super::{Chart, shorten};

/// A map to draw. The axes of a map have no unit, so none are drawn; both are drawn to one scale. Colour and shape
/// together tell 24 groups apart; beyond that, the largest 23 are drawn and all others share a grey.
///
/// A page's script finds the points by `data-group`, the place in [`Scatter::layout`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scatter {
    /// What the chart is called.
    pub title: String,
    /// The groups.
    pub groups: Vec<PointGroup>,
}

/// Points of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointGroup {
    /// What they are called.
    pub name: String,
    /// Where they lie.
    pub points: Vec<(f64, f64)>,
}

/// A group as it is drawn.
struct Drawn {
    name: String,
    /// The classes of its points in the style sheet.
    look: String,
    points: Vec<(f64, f64)>,
}

const SIDE: (f64, f64) = (700.0, 620.0);
const CORNER: (f64, f64) = (8.0, 36.0);
const MOST_GROUPS: usize = 24;
const LONGEST_NAME: usize = 30;
const NAME_SIZE: f64 = 11.0;

impl Scatter {
    /// The groups as they are drawn: the numbers of the groups in each, in the order of the drawing.
    pub fn layout(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.groups.len()).filter(|&at| !self.groups[at].points.is_empty()).collect();
        if order.len() <= MOST_GROUPS {
            return order.into_iter().map(|at| vec![at]).collect();
        }
        order.sort_by_key(|&at| std::cmp::Reverse(self.groups[at].points.len()));
        let rest = order.split_off(MOST_GROUPS - 1);
        order.sort_unstable();
        order.into_iter().map(|at| vec![at]).chain([rest]).collect()
    }

    /// Draws it.
    pub fn render(&self) -> Chart {
        let layout = self.layout();
        let place = self.placing();
        let others = self.groups.iter().filter(|group| !group.points.is_empty()).count() > MOST_GROUPS;
        let mut pen = Pen::default();
        pen.title(&self.title);
        pen.rect("frame", CORNER, SIDE, 1.0, "");
        let drawn: Vec<Drawn> = layout
            .iter()
            .enumerate()
            .map(|(number, members)| {
                let is_rest = others && number + 1 == layout.len();
                let name = match is_rest {
                    true => format!("{} smaller classes", members.len()),
                    false => shorten(&self.groups[members[0]].name, LONGEST_NAME).into_owned(),
                };
                let look = match is_rest {
                    true => "points rest".to_string(),
                    false => format!("points s{} {}", number % 8 + 1, ["disc", "square", "ring"][number / 8 % 3]),
                };
                let points = members.iter().flat_map(|&at| &self.groups[at].points).map(|&point| place(point));
                Drawn { name, look, points: points.collect() }
            })
            .collect();
        for (number, Drawn { look, points, .. }) in drawn.iter().enumerate() {
            pen.points(look, number, points);
        }
        let mut taken: Vec<[f64; 4]> = Vec::new();
        for Drawn { name, points, .. } in &drawn {
            label(&mut pen, name, points, &mut taken);
        }
        let left = CORNER.0 + SIDE.0 + 16.0;
        let mut widest = 0f64;
        for (number, Drawn { name, look, points }) in drawn.iter().enumerate() {
            let y = CORNER.1 + 14.0 + 19.0 * number as f64;
            let text = format!("{name} ({})", points.len());
            widest = widest.max(text_width(&text, 12.0));
            pen.key(look, number, (left + 6.0, y - 4.0));
            pen.text(left + 18.0, y, Font::NORMAL, &text);
        }
        let height = (CORNER.1 + SIDE.1).max(CORNER.1 + 19.0 * drawn.len() as f64) + 12.0;
        pen.finish(&self.title, left + 26.0 + widest, height)
    }

    /// From the map's coordinates to the drawing's: one scale, and the middle in the middle.
    fn placing(&self) -> impl Fn((f64, f64)) -> (f64, f64) + use<> {
        let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        let finite = self.groups.iter().flat_map(|group| &group.points).filter(|p| p.0.is_finite() && p.1.is_finite());
        for &(x, y) in finite {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        let margin = 10.0;
        let fits = |range: f64, side: f64| if range > 0.0 { (side - 2.0 * margin) / range } else { f64::INFINITY };
        let scale = fits(high.0 - low.0, SIDE.0).min(fits(high.1 - low.1, SIDE.1));
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let middle = ((low.0 + high.0) / 2.0, (low.1 + high.1) / 2.0);
        move |(x, y)| {
            let (x, y) = ((x - middle.0) * scale, (middle.1 - y) * scale);
            let keep = |value: f64| if value.is_finite() { value } else { 0.0 };
            (CORNER.0 + SIDE.0 / 2.0 + keep(x), CORNER.1 + SIDE.1 / 2.0 + keep(y))
        }
    }
}

/// The group's name at the median of its points, moved down where another name stands; left out where none is free.
fn label(pen: &mut Pen, name: &str, points: &[(f64, f64)], taken: &mut Vec<[f64; 4]>) {
    let median = |axis: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = points.iter().map(axis).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let half = text_width(name, NAME_SIZE) / 2.0;
    let x = median(|p| p.0).clamp(CORNER.0 + half, (CORNER.0 + SIDE.0 - half).max(CORNER.0 + half));
    let y = median(|p| p.1);
    for shift in [0.0, 13.0, -13.0, 26.0, -26.0, 39.0] {
        let frame = [x - half, y + shift - NAME_SIZE, x + half, y + shift + 2.0];
        let free = taken.iter().all(|t| frame[0] > t[2] || frame[2] < t[0] || frame[1] > t[3] || frame[3] < t[1]);
        if free && frame[1] > CORNER.1 && frame[3] < CORNER.1 + SIDE.1 {
            taken.push(frame);
            pen.text(x, y + shift, Font { class: "halo", ..Font::NORMAL }.sized(NAME_SIZE).at(Anchor::Middle), name);
            return;
        }
    }
}

impl Pen {
    /// Points as one path of dots, with one decimal: ten bytes a point.
    fn points(&mut self, look: &str, group: usize, points: &[(f64, f64)]) {
        let mut path = String::with_capacity(12 * points.len());
        for (x, y) in points {
            let _ = write!(path, "M{x:.1} {y:.1}h.1");
        }
        self.raw(&format!("<path class=\"{look}\" data-group=\"{group}\" d=\"{path}\"/>"));
        if look.ends_with("ring") {
            self.raw(&format!("<path class=\"points hole\" d=\"{path}\"/>"));
        }
    }

    /// The sign of a group in the legend.
    fn key(&mut self, look: &str, group: usize, (x, y): (f64, f64)) {
        self.raw(&format!("<path class=\"{look} key\" data-key=\"{group}\" d=\"M{x:.1} {y:.1}h.1\"/>"));
        if look.ends_with("ring") {
            self.raw(&format!("<path class=\"points hole key\" d=\"M{x:.1} {y:.1}h.1\"/>"));
        }
    }
}
