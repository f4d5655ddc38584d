//! Pages: everything is escaped, and every tag that is opened is closed.

use super::*;
use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::metrics::{Evaluation, Predictions};
use crate::report::svg::{HeatMap, PointGroup, Scatter};

const EVIL: &str = "<script>alert(\"x\" & 'y')</script>";

fn everything(text: &str) -> Report {
    let truth = Labels::from_single([Some(text), Some("b"), Some("b")]);
    let scores = Dense::from_rows(&[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]);
    let evaluation = Evaluation::of(&truth, &Predictions::best(&scores).unwrap(), Some(&scores)).unwrap();
    let own = || text.to_string();
    let mut sections = vec![
        Section::Text { heading: own(), paragraphs: vec![own()] },
        Section::Facts { heading: own(), rows: vec![(own(), own())] },
        Section::Headline { heading: own(), metrics: vec![Metric { name: own(), value: own(), note: own() }] },
        Section::Comparison {
            heading: own(),
            rows: vec![Compared {
                name: own(),
                recipe: own() + "2",
                accuracy: f64::NAN,
                accuracy_spread: Some(0.01),
                ..Compared::default()
            }],
        },
        Section::Mistakes {
            heading: own(),
            about: own(),
            mistakes: vec![Mistake { id: own(), truth: own(), predicted: own(), confidence: own(), text: own() }],
        },
        Section::Explanations {
            heading: own(),
            explanations: vec![Explanation {
                id: own(),
                predicted: own(),
                truth: Some("other".into()),
                confidence: own(),
                text: own(),
                spans: vec![Span { start: 1, end: 7, contribution: -0.5 }],
                terms: vec![(own(), 0.25), ("no number".into(), f64::NAN)],
                weighing: own(),
                runner_up: own(),
                neighbours: vec![Neighbour { name: own(), label: own(), nearness: own(), text: own() }],
            }],
        },
    ];
    sections.extend(evaluation_sections(&evaluation));
    Report { title: own(), question: own(), sections }
}

/// The page without what HTML leaves open, so that the check for XML applies.
fn as_xml(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1.trim_end().strip_suffix("</body></html>").unwrap();
    body.replace("<br>", "<br/>")
}

#[test]
fn nothing_foreign_becomes_markup() {
    let page = everything(EVIL).render();
    assert!(!page.contains("<script"));
    assert!(page.contains("&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;"));
    assert!(page.contains(">script</mark>"));
    crate::report::svg::tests::check_xml(&as_xml(&page));
    assert!(!page.contains("NaN"));
}

#[test]
fn a_page_asks_nothing_of_the_network() {
    let page = everything("plain").render();
    for wrong in ["src=", "url(", "@import", "<link", "<script"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count() + 1);
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("@media print"));
}

#[test]
fn marks_survive_bad_spans() {
    let span = |start, end, contribution| Span { start, end, contribution };
    let explanation = Explanation {
        text: "héllo wörld".into(),
        spans: vec![
            span(0, 6, 1.0),
            span(3, 8, 1.0),
            span(2, 3, 1.0),
            span(7, 99, 1.0),
            span(7, 13, f64::NAN),
            span(7, 13, -2.0),
            span(9, 7, 1.0),
        ],
        ..Explanation::default()
    };
    let mut out = String::new();
    explanation.write(&mut out);
    assert!(out.contains("title=\"+1.000\">héllo</mark> <mark class=\"against\""), "{out}");
    assert!(out.contains("style=\"--w:1.00\" title=\"−2.000\">wörld</mark></p>"), "{out}");
}

#[test]
fn the_best_of_a_comparison_stands_out() {
    let row = |name: &str, accuracy| Compared { name: name.into(), accuracy, ..Compared::default() };
    let rows = vec![row("a", 0.5), row("b", 0.75), row("c", f64::NAN)];
    let mut out = String::new();
    Section::Comparison { heading: String::new(), rows }.write(&mut out);
    assert!(out.contains("<strong>75.0\u{a0}%</strong>") && !out.contains("<strong>50"));
    assert!(out.contains("<td>–</td>"));
}

/// A page with everything that the script shows.
fn live(text: &str) -> Report {
    let own = || text.to_string();
    let document = ShownDocument { id: own(), truth: Some(0), predicted: Some(1), confidence: own(), text: own() };
    let confusion = crate::metrics::Confusion { classes: vec![own(), own()], counts: vec![vec![0, 1], vec![0, 3]] };
    let cell = CellDocuments { row: 0, column: 1, total: 1, documents: vec![document.clone()] };
    let scatter = Scatter { title: own(), groups: vec![PointGroup { name: own(), points: vec![(1.0, f64::NAN)] }] };
    let classes = || vec![own(), own()];
    Report {
        sections: vec![
            Section::Cells {
                heading: own(),
                chart: HeatMap { title: text, confusion: &confusion }.render(),
                classes: classes(),
                cells: vec![cell],
                caption: own(),
            },
            Section::Map {
                heading: own(),
                chart: scatter.render(),
                classes: classes(),
                groups: vec![vec![document]],
                caption: own(),
            },
        ],
        ..Report::default()
    }
}

#[test]
fn documents_behind_a_picture_cannot_become_script() {
    let page = live("</script><script>alert(1)</script><!--").render();
    // Two blocks of data and the one script that the policy names.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
    assert_eq!(page.matches("<!--").count(), 0);
    assert!(page.contains("\\u003c/script\\u003e"));
    let hash = documents::script_hash();
    assert!(page.contains(&format!("script-src '{hash}'")) && hash.len() == 51 && hash.ends_with('='), "{hash}");
    let mut rest = String::new();
    for (at, part) in page.split("<script").enumerate() {
        rest += if at == 0 { part } else { part.split_once("</script>").unwrap().1 };
    }
    crate::report::svg::tests::check_xml(&as_xml(&rest));
}

#[test]
fn code_in_prose_is_marked_and_escaped() {
    assert_eq!(prose("use `a < b` or `c`."), "use <code>a &lt; b</code> or <code>c</code>.");
    assert_eq!(prose("one ` alone <"), "one ` alone &lt;");
}
