//! A quadtree over points sorted along a Z-curve: what far points do to one, summed by cells.

use super::Point;

/// Bits per axis: a leaf this deep is 2⁻²⁰ of the map wide, and its points count as one.
const BITS: u32 = 20;
/// A cell with no more points than this is a leaf.
const BUCKET: usize = 6;

/// Cells in depth-first order; a cell's first child follows it, and `skip` is the next cell that is not inside it.
#[derive(Debug)]
struct Cell {
    centre: Point,
    count: f64,
    width_squared: f64,
    skip: u32,
    /// The points of the cell, in the order of the curve.
    start: u32,
    end: u32,
    leaf: bool,
}

/// The tree, reused from step to step so that nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct Tree {
    cells: Vec<Cell>,
    /// The points in the order of the curve, with the codes that order them and their numbers.
    points: Vec<Point>,
    order: Vec<(u64, u32)>,
    side: f64,
}

impl Tree {
    /// Builds the tree anew.
    pub(super) fn build(&mut self, points: &[Point]) {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for point in points {
            for axis in 0..2 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        self.side = (high[0] - low[0]).max(high[1] - low[1]).max(f64::MIN_POSITIVE);
        let scale = f64::from((1u32 << BITS) - 1) / self.side;
        let cell = |value: f64, low: f64| spread(((value - low) * scale) as u64);
        self.order.clear();
        self.order
            .extend(points.iter().enumerate().map(|(at, p)| (cell(p[0], low[0]) | cell(p[1], low[1]) << 1, at as u32)));
        self.order.sort_unstable();
        self.points.clear();
        self.points.extend(self.order.iter().map(|&(_, at)| points[at as usize]));
        self.cells.clear();
        if !points.is_empty() {
            self.add(0, points.len(), BITS);
        }
    }

    /// The points' numbers in the order of the curve: neighbours in it are near each other.
    pub(super) fn order(&self) -> impl ExactSizeIterator<Item = usize> {
        self.order.iter().map(|&(_, at)| at as usize)
    }

    fn add(&mut self, start: usize, end: usize, mut level: u32) {
        let borders = |tree: &Tree, level: u32| -> [usize; 5] {
            let digit = |at: usize| (tree.order[at].0 >> (2 * (level - 1))) & 3;
            let mut borders = [start; 5];
            for (quarter, border) in borders.iter_mut().enumerate().skip(1) {
                // Codes ascend within the cell, so each digit is a run.
                let (mut low, mut high) = (start, end);
                while low < high {
                    let middle = (low + high) / 2;
                    (low, high) = if digit(middle) < quarter as u64 { (middle + 1, high) } else { (low, middle) };
                }
                *border = low;
            }
            borders
        };
        let mut quarters = None;
        if end - start > BUCKET {
            // A cell that has all its points in one quarter is that quarter.
            while level > 0 {
                let cut = borders(self, level);
                level -= 1;
                if (0..4).all(|q| cut[q + 1] - cut[q] < end - start) {
                    quarters = Some(cut);
                    break;
                }
            }
        }
        let mut sum = [0f64; 2];
        for point in &self.points[start..end] {
            sum[0] += point[0];
            sum[1] += point[1];
        }
        let count = (end - start) as f64;
        // The level went down with the last cut: the cell itself is one larger.
        let width = self.side / f64::from(1u32 << (BITS - (level + u32::from(quarters.is_some())).min(BITS)));
        let at = self.cells.len();
        self.cells.push(Cell {
            centre: [sum[0] / count, sum[1] / count],
            count,
            width_squared: width * width,
            skip: 0,
            start: start as u32,
            end: end as u32,
            leaf: quarters.is_none(),
        });
        if let Some(cut) = quarters {
            for q in 0..4 {
                if cut[q + 1] > cut[q] {
                    self.add(cut[q], cut[q + 1], level);
                }
            }
        }
        self.cells[at].skip = self.cells.len() as u32;
    }

    /// For the point that is `place`-th in the order: Σ q² (y − yⱼ) and Σ q over all other points, q = 1 / (1 + |y − yⱼ|²).
    pub(super) fn push(&self, place: usize, theta_squared: f64) -> (Point, f64) {
        let y = self.points[place];
        let (mut force, mut total) = ([0f64; 2], 0f64);
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let (dx, dy) = (y[0] - cell.centre[0], y[1] - cell.centre[1]);
            let squared = dx * dx + dy * dy;
            let inside = (cell.start as usize..cell.end as usize).contains(&place);
            let crowded = cell.leaf && (cell.end - cell.start) as usize > BUCKET;
            if !inside && cell.width_squared < theta_squared * squared || crowded {
                let count = cell.count - f64::from(u8::from(inside));
                let q = 1.0 / (1.0 + squared);
                total += count * q;
                let pull = count * q * q;
                force[0] += pull * dx;
                force[1] += pull * dy;
                at = cell.skip as usize;
            } else if cell.leaf {
                let start = cell.start as usize;
                for (offset, other) in self.points[start..cell.end as usize].iter().enumerate() {
                    let (dx, dy) = (y[0] - other[0], y[1] - other[1]);
                    let q = 1.0 / (1.0 + dx * dx + dy * dy);
                    // The point itself is at distance 0: no force, and no part in the sum.
                    total += if start + offset == place { 0.0 } else { q };
                    force[0] += q * q * dx;
                    force[1] += q * q * dy;
                }
                at = cell.skip as usize;
            } else {
                at += 1;
            }
        }
        (force, total)
    }
}

/// A zero between every two bits.
fn spread(value: u64) -> u64 {
    let mut x = value & 0xffff_ffff;
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(points: &[Point], at: usize) -> (Point, f64) {
        let (mut force, mut total) = ([0f64; 2], 0f64);
        for (_, point) in points.iter().enumerate().filter(|(other, _)| *other != at) {
            let d = [points[at][0] - point[0], points[at][1] - point[1]];
            let q = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
            total += q;
            force = [force[0] + q * q * d[0], force[1] + q * q * d[1]];
        }
        (force, total)
    }

    #[test]
    fn the_tree_pushes_as_all_points_do() {
        let points: Vec<Point> =
            (0..500).map(|i| [f64::from(i * 37 % 211) * 0.3, f64::from(i * i % 173) * 0.4]).collect();
        let mut tree = Tree::default();
        tree.build(&points);
        for (theta, tolerance) in [(0.0, 1e-9), (0.5, 2e-2)] {
            for (place, at) in tree.order().enumerate() {
                let ((force, total), (exact, all)) = (tree.push(place, theta * theta), plain(&points, at));
                assert!((total - all).abs() < tolerance * all, "{theta} {at}: {total} {all}");
                let size = exact[0].hypot(exact[1]).max(0.05);
                assert!((force[0] - exact[0]).hypot(force[1] - exact[1]) < 10.0 * tolerance * size, "{theta} {at}");
            }
        }
    }

    #[test]
    fn points_in_one_place_are_one_cell() {
        let mut tree = Tree::default();
        for points in [vec![[1.0, 2.0]; 50], vec![[0.0, 0.0]], Vec::new()] {
            tree.build(&points);
            for place in 0..points.len() {
                let (force, total) = tree.push(place, 0.25);
                assert_eq!(force, [0.0, 0.0]);
                assert_eq!(total, points.len() as f64 - 1.0);
            }
        }
    }
}
