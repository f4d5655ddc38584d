//! What must hold for every chart: valid XML, finite coordinates, sizes that fit the content.

use super::*;
use crate::metrics::{Confusion, DetPoint};
use crate::report::html;

/// Whether tags are balanced and attributes quoted, and no number is missing.
pub(crate) fn check_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "stray > before {:.60}", &rest[start..]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if let Some(closing) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closing), "at <{tag}>");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for wrong in ["NaN", "inf\"", "inf,", "inf "] {
        assert!(!text.contains(wrong), "{wrong} in the drawing");
    }
}

pub(crate) fn confusion(n: usize, name: impl Fn(usize) -> String) -> Confusion {
    let count = |i: usize, j: usize| if i == j { 80 } else { ((i * 7 + j * 3) % 11 / 9) as u64 };
    Confusion {
        classes: (0..n).map(name).collect(),
        counts: (0..n).map(|i| (0..n).map(|j| count(i, j)).collect()).collect(),
    }
}

#[test]
fn heat_maps_of_every_size() {
    for n in [0, 1, 2, 3, 20, 65, 300] {
        let table = confusion(n, |i| format!("comp.os.ms-windows.misc.{i}"));
        let chart = HeatMap { title: "Confusion", confusion: &table }.render();
        check_xml(&chart.standalone());
        let (width, height) = chart.size();
        assert!((100.0..1600.0).contains(&width) && (100.0..1600.0).contains(&height), "{n}: {width} × {height}");
        assert_eq!(chart.inline().contains(">80</text>"), (1..=20).contains(&n), "{n} classes");
        assert_eq!(chart.inline().contains("The 100 of 300 classes"), n == 300);
    }
    let ragged = Confusion { classes: vec!["a".into(), "b".into()], counts: vec![vec![1]] };
    check_xml(&HeatMap { title: "", confusion: &ragged }.render().inline());
}

#[test]
fn names_are_escaped_in_text_and_tooltips() {
    let table = confusion(2, |i| format!("<script>\"{i}\"&"));
    let bars = vec![Bar { label: "<script>".into(), value: 0.5, note: "<b>".into() }];
    let lines = vec![Series { name: "<script>".into(), points: vec![(1.0, 2.0)] }];
    let curves = vec![DetSeries { name: "<script>".into(), ..DetSeries::default() }];
    for chart in [
        HeatMap { title: "<script>", confusion: &table }.render(),
        BarChart { title: "<script>".into(), x_label: "<script>".into(), bars, ..BarChart::default() }.render(),
        LineChart { title: "<script>".into(), series: lines, ..LineChart::default() }.render(),
        DetChart { title: "<script>".into(), series: curves }.render(),
    ] {
        check_xml(&chart.standalone());
        assert!(chart.inline().contains("&lt;script&gt;") && !chart.inline().contains("<script"));
    }
}

#[test]
fn numbers_that_are_none_leave_no_trace() {
    let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e-320, 0.0, -0.0];
    for &first in &wild {
        for &second in &wild {
            let bars = [first, second].map(|value| Bar { label: "x".into(), value, note: String::new() }).to_vec();
            let series = vec![Series { name: "x".into(), points: vec![(first, second), (second, first)] }];
            let point = |a, b| DetPoint { threshold: 0.0, false_alarm: a, miss: b };
            let det = DetSeries { name: "x".into(), points: vec![point(first, second)], eer: Some(first) };
            for chart in [
                BarChart { bars, most: Some(second), ..BarChart::default() }.render(),
                LineChart { series: series.clone(), ..LineChart::default() }.render(),
                LineChart { series, log_x: true, ..LineChart::default() }.render(),
                DetChart { series: vec![det], ..DetChart::default() }.render(),
            ] {
                check_xml(&chart.inline());
            }
        }
    }
}

#[test]
fn empty_charts_are_drawn() {
    check_xml(&BarChart::default().render().standalone());
    check_xml(&LineChart::default().render().standalone());
    check_xml(&DetChart::default().render().standalone());
    let many = BarChart { bars: vec![Bar::default(); 400], ..BarChart::default() }.render();
    assert!(many.inline().contains("and 250 more") && many.size().1 < 4000.0);
    assert!(!html::Report::default().render().is_empty());
}

#[test]
fn discs_and_stacks_of_every_size() {
    for count in [0usize, 1, 2, 7, 80] {
        let wild = [f64::NAN, f64::INFINITY, -1.0, 0.5, 1e300];
        let disc = |at: usize| Disc {
            mark: at.to_string(),
            name: format!("<name> {at}"),
            at: (wild[at % 5], (at / 2) as f64),
            share: wild[(at + 1) % 5].min(3.0),
            tip: "<tip>".into(),
        };
        check_xml(&Bubbles { title: "<b>".into(), discs: (0..count).map(disc).collect() }.render().standalone());
        let parts = (0..12).map(|at| StackPart { mark: at.to_string(), name: "<part>".into() }).collect();
        let group = |at: usize| StackGroup { name: format!("<group> {at}"), note: "<n>".into(), shares: wild.to_vec() };
        check_xml(
            &Stacks { title: "<b>".into(), groups: (0..count).map(group).collect(), parts }.render().standalone(),
        );
    }
}

#[test]
fn maps_of_every_size() {
    for (groups, points) in [(0, 0), (1, 1), (3, 0), (8, 5), (20, 50), (60, 3)] {
        let group = |g: usize| PointGroup {
            name: format!("<group> {g}"),
            points: (0..points + g % 2).map(|i| ((i * g) as f64, (i + g) as f64)).collect(),
        };
        let scatter = Scatter { title: "Map".into(), groups: (0..groups).map(group).collect() };
        let drawn = scatter.render().standalone();
        check_xml(&drawn);
        let all: usize = scatter.groups.iter().map(|group| group.points.len()).sum();
        let path = |number: usize| {
            drawn
                .split(&format!("data-group=\"{number}\" d=\""))
                .nth(1)
                .map(|rest| rest.split('"').next().unwrap_or_default().matches('M').count())
        };
        let layout = scatter.layout();
        assert_eq!((0..layout.len()).filter_map(path).sum::<usize>(), all, "{groups} groups");
        assert_eq!(layout.len(), layout.len().min(24));
        assert_eq!(drawn.contains("37 smaller classes"), groups == 60);
    }
    let odd = PointGroup { name: "odd".into(), points: vec![(f64::NAN, 1.0), (f64::INFINITY, 2.0), (3.0, 4.0)] };
    check_xml(&Scatter { title: String::new(), groups: vec![odd] }.render().inline());
}
