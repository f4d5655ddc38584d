//! Discs in the plane whose areas are shares: a map of topics, with what each is about on hover.

use super::pen::{Anchor, Font, Pen, coordinate, text_width};
use super::{Chart, escape, shorten};

/// A map to draw. The axes have no unit, so none are drawn. Discs that would hide each other are moved apart a little; each has its
/// number in it, and its name beside it where there is room: names hide no disc.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bubbles {
    /// What the chart is called.
    pub title: String,
    /// The discs.
    pub discs: Vec<Disc>,
}

/// One disc.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Disc {
    /// What stands in it: a number, say.
    pub mark: String,
    /// What stands beside it where there is room.
    pub name: String,
    /// Where it is, in units of the map.
    pub at: (f64, f64),
    /// Its share; areas are in proportion.
    pub share: f64,
    /// What is shown on hover.
    pub tip: String,
}

const SIDE: (f64, f64) = (880.0, 560.0);
const CORNER: (f64, f64) = (8.0, 36.0);
/// The least radius, which holds a mark, and the share of the frame that all discs cover together.
const LEAST: f64 = 9.0;
const COVERED: f64 = 0.16;
/// Steps of moving discs apart.
const STEPS: usize = 200;

impl Bubbles {
    /// Draws it.
    pub fn render(&self) -> Chart {
        let mut pen = Pen::default();
        pen.title(&self.title);
        pen.rect("frame", CORNER, SIDE, 1.0, "");
        let shares: Vec<f64> =
            self.discs.iter().map(|disc| if disc.share.is_finite() { disc.share.max(0.0) } else { 0.0 }).collect();
        let all = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let area = COVERED * SIDE.0 * SIDE.1;
        let radii: Vec<f64> =
            shares.iter().map(|share| (area * share / all / std::f64::consts::PI).sqrt().clamp(LEAST, 90.0)).collect();
        let places = self.places(&radii);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|&a, &b| radii[b].total_cmp(&radii[a]).then(a.cmp(&b)));
        for &at in &order {
            let ([x, y, r], tip) =
                ([places[at].0, places[at].1, radii[at]].map(coordinate), escape(&self.discs[at].tip));
            pen.raw(&format!("<circle class=\"bubble\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"><title>{tip}</title></circle>"));
        }
        for &at in &order {
            let font = Font { class: "mark", ..Font::NORMAL }.sized(11.0).at(Anchor::Middle);
            pen.text(places[at].0, places[at].1 + 4.0, font, &self.discs[at].mark);
        }
        let mut taken: Vec<[f64; 4]> = Vec::new();
        for &at in &order {
            let name = shorten(&self.discs[at].name, 34);
            // Names are bold, and so a little wider than other text.
            let half = 0.54 * text_width(&name, 11.0);
            let ((x, y), r) = (places[at], radii[at]);
            // Below, above, to the right, to the left.
            let beside = r + half + 4.0;
            for (x, y) in [(x, y + r + 11.0), (x, y - r - 4.0), (x + beside, y + 4.0), (x - beside, y + 4.0)] {
                let x = x.clamp(CORNER.0 + half + 2.0, (CORNER.0 + SIDE.0 - half - 2.0).max(CORNER.0 + half + 2.0));
                let frame = [x - half, y - 9.0, x + half, y + 2.0];
                let discs = places.iter().zip(&radii).all(|(&place, &radius)| !touches(&frame, place, radius));
                let free = |t: &[f64; 4]| frame[0] > t[2] || frame[2] < t[0] || frame[1] > t[3] || frame[3] < t[1];
                if discs && taken.iter().all(free) && frame[1] > CORNER.1 && frame[3] < CORNER.1 + SIDE.1 {
                    taken.push(frame);
                    pen.text(x, y, Font { class: "halo", ..Font::NORMAL }.sized(11.0).at(Anchor::Middle), &name);
                    break;
                }
            }
        }
        pen.finish(&self.title, 2.0 * CORNER.0 + SIDE.0, CORNER.1 + SIDE.1 + 8.0)
    }

    /// Where discs are drawn: each axis fills the frame, and discs that overlap are moved apart.
    fn places(&self, radii: &[f64]) -> Vec<(f64, f64)> {
        let largest = radii.iter().copied().fold(LEAST, f64::max);
        let axis = |of: fn(&(f64, f64)) -> f64, side: f64| -> Vec<f64> {
            let values: Vec<f64> = self
                .discs
                .iter()
                .map(|disc| Some(of(&disc.at)).filter(|value| value.is_finite()).unwrap_or(0.0))
                .collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let scale = if high > low { (side - 2.0 * largest - 24.0) / (high - low) } else { 0.0 };
            values.iter().map(|value| side / 2.0 + (value - (low + high) / 2.0) * scale).collect()
        };
        let (x, y) = (axis(|at| at.0, SIDE.0), axis(|at| -at.1, SIDE.1));
        let mut places: Vec<(f64, f64)> = x.into_iter().zip(y).map(|(x, y)| (CORNER.0 + x, CORNER.1 + y)).collect();
        for _ in 0..STEPS {
            for a in 1..places.len() {
                for b in 0..a {
                    let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                    let (apart, wanted) = (dx.hypot(dy), radii[a] + radii[b] + 3.0);
                    if apart < wanted {
                        // Discs at one place part along a direction of their own.
                        let (ux, uy) = if apart > 1e-6 { (dx / apart, dy / apart) } else { (a as f64).sin_cos() };
                        let push = 0.3 * (wanted - apart);
                        places[a] = (places[a].0 + ux * push, places[a].1 + uy * push);
                        places[b] = (places[b].0 - ux * push, places[b].1 - uy * push);
                    }
                }
            }
            for (place, radius) in places.iter_mut().zip(radii) {
                place.0 = place.0.clamp(CORNER.0 + radius + 2.0, CORNER.0 + SIDE.0 - radius - 2.0);
                place.1 = place.1.clamp(CORNER.1 + radius + 2.0, CORNER.1 + SIDE.1 - radius - 14.0);
            }
        }
        places
    }
}

/// Whether a frame (left, top, right, bottom) and a disc have a place in common.
fn touches([left, top, right, bottom]: &[f64; 4], (x, y): (f64, f64), radius: f64) -> bool {
    (x - x.clamp(*left, right.max(*left))).hypot(y - y.clamp(*top, bottom.max(*top))) < radius
}

#[cfg(test)]
mod tests {
    use super::touches;

    #[test]
    fn names_know_what_they_would_hide() {
        let frame = [0.0, 0.0, 10.0, 2.0];
        assert!(touches(&frame, (5.0, 1.0), 0.5) && touches(&frame, (12.0, 1.0), 2.5));
        assert!(!touches(&frame, (12.0, 1.0), 1.5) && !touches(&frame, (12.0, 4.0), 2.5));
    }
}
