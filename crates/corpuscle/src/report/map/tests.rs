//! Maps: clusters come apart, the divergence falls, and bits do not depend on threads.

use rand::Rng as _;

use super::*;

/// `clusters` directions in 20 dimensions with noise around each; rows in turn.
fn clustered(n: usize, clusters: usize, noise: f32) -> Matrix {
    let mut rng = Run::new(3, 1).unwrap().rng(1);
    let mut uniform = || (rng.next_u64() >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
    let values = (0..n).flat_map(|row| {
        (0..20).map(|column| uniform() * noise + f32::from(column % clusters == row % clusters)).collect::<Vec<_>>()
    });
    Matrix::from(Dense::new(n, 20, values.collect::<Vec<f32>>()).unwrap())
}

fn quick() -> MapParams {
    MapParams { iterations: 300, ..MapParams::default() }
}

#[test]
fn clusters_come_apart_and_the_divergence_falls() {
    let run = Run::new(42, 2).unwrap();
    let layout = quick().lay_out(&clustered(400, 4, 1.0), &run).unwrap();
    assert!(layout.divergence < 0.5 * layout.first_divergence, "{layout:?}");
    // Nearly every point's nearest other point is of its own cluster.
    let right = (0..400).filter(|&i| {
        let distance =
            |j: usize| (layout.points[i][0] - layout.points[j][0]).hypot(layout.points[i][1] - layout.points[j][1]);
        let nearest = (0..400).filter(|&j| j != i).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        nearest.is_some_and(|j| j % 4 == i % 4)
    });
    assert!(right.count() >= 396);
}

/// Numbers of the `k` points nearest to each.
fn nearest(points: &[Vec<f64>], k: usize) -> Vec<Vec<usize>> {
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let of = |point: &Vec<f64>, at: usize| {
        let mut others: Vec<usize> = (0..points.len()).filter(|&other| other != at).collect();
        others.sort_by(|&a, &b| squared(point, &points[a]).total_cmp(&squared(point, &points[b])));
        others.truncate(k);
        others
    };
    points.iter().enumerate().map(|(at, point)| of(point, at)).collect()
}

/// `python tests/fixtures/make_map.py`. Maps of one set differ from run to run, so what is compared is how good they are:
/// the divergence that both minimise, and how many of each point's ten nearest stay among them.
#[test]
fn the_map_is_as_good_as_the_exact_one_of_scikit_learn() {
    #[derive(Deserialize)]
    struct Fixture {
        rows: Vec<Vec<f64>>,
        divergence: f64,
        kept: f64,
    }
    let fixture: Fixture = serde_json::from_str(include_str!("../../../tests/fixtures/map.json")).unwrap();
    let values: Vec<f32> = fixture.rows.iter().flatten().map(|&value| value as f32).collect();
    let x = Matrix::from(Dense::new(fixture.rows.len(), 8, values).unwrap());
    let layout = MapParams::default().lay_out(&x, &Run::new(42, 2).unwrap()).unwrap();
    assert!(layout.divergence < 1.05 * fixture.divergence, "{} {}", layout.divergence, fixture.divergence);
    let points: Vec<Vec<f64>> = layout.points.iter().map(|point| point.to_vec()).collect();
    let (near, here) = (nearest(&fixture.rows, 10), nearest(&points, 10));
    let stayed = near.iter().zip(&here).map(|(a, b)| a.iter().filter(|at| b.contains(at)).count()).sum::<usize>();
    let kept = stayed as f64 / (10 * points.len()) as f64;
    assert!(kept > fixture.kept - 0.02, "{kept} {}", fixture.kept);
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = clustered(700, 5, 1.5);
    let params = MapParams { iterations: 60, ..MapParams::default() };
    let one = params.lay_out(&x, &Run::new(42, 1).unwrap()).unwrap();
    for threads in [2, 8] {
        assert_eq!(params.lay_out(&x, &Run::new(42, threads).unwrap()).unwrap(), one, "{threads} threads");
    }
}

#[test]
fn few_documents_equal_documents_and_empty_documents() {
    let run = Run::new(42, 1).unwrap();
    for n in 0..6 {
        let layout = quick().lay_out(&clustered(n, 2, 0.1), &run).unwrap();
        assert_eq!(layout.points.len(), n);
        assert!(layout.points.iter().flatten().all(|value| value.is_finite()), "{layout:?}");
        assert!(n < 2 || layout.points[0] != layout.points[1]);
    }
    for x in [
        Matrix::from(Dense::new(200, 3, [1.0, 2.0, 3.0].repeat(200)).unwrap()),
        Matrix::from(Dense::zeros(50, 3)),
        Matrix::from(Dense::zeros(50, 0)),
        Matrix::from(crate::matrix::Csr::empty(50, 1000)),
    ] {
        let layout = quick().lay_out(&x, &run).unwrap();
        assert!(layout.points.iter().flatten().all(|value| value.is_finite() && value.abs() < 1e6), "{layout:?}");
    }
    assert!(quick().lay_out(&Matrix::from(Dense::from_rows(&[[f32::NAN]; 5])), &run).is_err());
}

#[test]
fn values_out_of_range_are_named() {
    for (params, name) in [
        (MapParams { perplexity: f64::NAN, ..quick() }, "perplexity"),
        (MapParams { theta: 0.9, ..quick() }, "theta"),
        (MapParams { dims: 0, ..quick() }, "dims"),
    ] {
        assert!(params.check().unwrap_err().to_string().contains(name));
    }
}
