//! `corpuscle compare --labels`: what recipes do with few labels.

use corpuscle::corpus::{Document, Filter, Labels, ReadOptions};
use corpuscle::experiment::{
    LabelCurve, LabelDraws, Split, active_label_curves, label_curves, random_splits, tuned_label_curves,
};
use corpuscle::recipe::Recipe;
use corpuscle::report::html::{Report, Section};
use corpuscle::report::svg::{Chart, LineChart, Series};
use corpuscle::{Error, Run};
use serde_json::{Value, json};

use crate::args::{Compare, Everywhere};
use crate::input;
use crate::output::{self, WrongCall, percent};

/// Draws when nothing is said: as many as the paper's.
const DRAWS: u32 = 5;
/// Labels asked for at a time where they are suggested.
const BATCH: usize = 50;

/// The documents of both parts, the training part first.
struct Parts {
    documents: Vec<Document>,
    split: Split,
    skipped: u64,
    /// How the parts were told apart.
    protocol: String,
}

pub(super) fn run(args: &Compare, recipes: &[Recipe], everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let counts = args.labels.iter().map(|text| count(text)).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &args.report {
        input::check_writable(path)?;
    }
    let draws = args.runs.unwrap_or(DRAWS) as usize;
    let fields = recipes.iter().flat_map(Recipe::number_fields);
    let options = input::with_numbers(input::labelled_options(&args.reading)?, fields);
    let parts = run.watch("read", None, || read(args, &options, run))?;
    let curves = match args.active {
        true => both(recipes, &parts, &counts, draws, run)?,
        false => label_curves(recipes, &parts.documents, &parts.split, &counts, draws, run)?,
    };
    let heading = format!(
        "{} documents to learn from and {} to test on ({}), {draws} draws of labels{}, seed {}",
        output::count(parts.split.train.len()),
        output::count(parts.split.test.len()),
        parts.protocol,
        if args.active { format!(", suggested ones {BATCH} at a time") } else { String::new() },
        run.seed()
    );
    if let Some(path) = &args.report {
        corpuscle::file::write_bytes(path, page(&curves, &heading).as_bytes())?;
    }
    if everywhere.json {
        return output::print_json(&json!({
            "train": parts.split.train.len(),
            "test": parts.split.test.len(),
            "protocol": parts.protocol,
            "skipped": parts.skipped,
            "draws": draws,
            "active": args.active,
            "seed": run.seed(),
            "recipes": curves.iter().map(row).collect::<Vec<Value>>(),
            "seconds": output::seconds(run),
        }));
    }
    output::print_text(&format!("{heading}\n\n{}", table(&curves)))
}

/// Every recipe twice: labels drawn by chance, and labels asked for as they are suggested.
fn both(
    recipes: &[Recipe],
    parts: &Parts,
    counts: &[Option<usize>],
    draws: usize,
    run: &Run,
) -> anyhow::Result<Vec<LabelCurve>> {
    let asked = LabelDraws { counts: counts.to_vec(), draws, each_class: false, validation: Vec::new(), at_once: 1 };
    let systems: Vec<Vec<Recipe>> = recipes.iter().map(|recipe| vec![recipe.clone()]).collect();
    let random = tuned_label_curves(&systems, &parts.documents, &parts.split, &asked, run)?;
    let suggested = active_label_curves(recipes, &parts.documents, &parts.split, &asked, BATCH, run)?;
    let named = |curve: LabelCurve, how: &str| LabelCurve { recipe: format!("{} ({how})", curve.recipe), ..curve };
    let pairs = random.into_iter().zip(suggested);
    Ok(pairs.flat_map(|(random, suggested)| [named(random, "random"), named(suggested, "suggested")]).collect())
}

fn count(text: &str) -> anyhow::Result<Option<usize>> {
    match (text.trim(), text.trim().parse()) {
        ("all", _) => Ok(None),
        (_, Ok(number)) if number > 0 => Ok(Some(number)),
        _ => Err(WrongCall(format!("--labels: `{text}` is not a number of labels above 0, nor `all`")).into()),
    }
}

/// Training and test part: DATA and --test, or DATA by its field `split`, or DATA cut in two.
fn read(args: &Compare, options: &ReadOptions, run: &Run) -> anyhow::Result<Parts> {
    let mut skipped = 0;
    let mut part = |data: &[String], split: Option<&str>| -> anyhow::Result<Vec<Document>> {
        let mut options = options.clone();
        options.filters.extend(split.map(|value| Filter { field: "split".into(), value: value.into(), equal: true }));
        let mut source = input::open(data, &options)?;
        let documents = (&mut source).collect::<Result<_, _>>()?;
        skipped += input::report_skipped(&source, run);
        Ok(documents)
    };
    let (train, test, protocol) = if !args.test.is_empty() {
        (part(&args.data, None)?, part(&args.test, None)?, "given with --test".to_string())
    } else if args.data.iter().any(|data| data == "-") {
        return whole(part(&args.data, None)?, skipped, args, run);
    } else {
        match part(&args.data, Some("test")) {
            Ok(test) => (part(&args.data, Some("train"))?, test, "by the field `split`".to_string()),
            // No such field, or no row that says `test`.
            Err(error) if matches!(error.downcast_ref(), Some(Error::BadData { .. })) => {
                return whole(part(&args.data, None)?, skipped, args, run);
            }
            Err(error) => return Err(error),
        }
    };
    let learnt = train.len();
    let documents: Vec<Document> = train.into_iter().chain(test).collect();
    let test = (learnt..documents.len()).filter(|&row| documents[row].labels.is_some()).collect();
    Ok(Parts { split: Split { train: (0..learnt).collect(), test }, documents, skipped, protocol })
}

/// One seeded cut for all draws, so that representations are fitted once.
fn whole(documents: Vec<Document>, skipped: u64, args: &Compare, run: &Run) -> anyhow::Result<Parts> {
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let split = random_splits(&labels, 1, args.train, run.seed())?.remove(0);
    Ok(Parts { documents, split, skipped, protocol: format!("{} of every label, drawn once", percent(args.train)) })
}

fn row(curve: &LabelCurve) -> Value {
    let points = curve.points.iter().map(|point| {
        let (accuracy, deviation) = point.accuracy();
        json!({
            "labels": point.labels,
            "accuracy": accuracy,
            "accuracy_deviation": deviation,
            "micro_f1": point.spread(|outcome| outcome.micro_f1).0,
            "macro_f1": point.spread(|outcome| outcome.macro_f1).0,
            "train_seconds": point.spread(|outcome| outcome.train_seconds).0,
            "draws": point.draws,
        })
    });
    json!({
        "recipe": curve.recipe,
        "represent_seconds": curve.represent_seconds,
        "points": points.collect::<Vec<Value>>(),
    })
}

/// What the columns are called, and a row for each recipe: accuracy by the number of labels.
fn figures(curves: &[LabelCurve]) -> (Vec<String>, Vec<Vec<String>>) {
    let counts = curves.first().map(|curve| curve.points.iter().map(|point| output::count(point.labels)));
    let columns =
        ["recipe".to_string()].into_iter().chain(counts.into_iter().flatten()).chain(["fitted in".into()]).collect();
    let row = |curve: &LabelCurve| {
        let mut row = vec![curve.recipe.clone()];
        row.extend(curve.points.iter().map(|point| {
            let (accuracy, deviation) = point.accuracy();
            match point.draws.len() {
                1 => percent(accuracy),
                _ => format!("{} ± {:.2}", percent(accuracy), 100.0 * deviation),
            }
        }));
        row.push(format!("{:.2} s", curve.represent_seconds));
        row
    };
    (columns, curves.iter().map(row).collect())
}

fn table(curves: &[LabelCurve]) -> String {
    let (columns, rows) = figures(curves);
    let heading: Vec<&str> = columns.iter().map(String::as_str).collect();
    output::table(&heading, 1, rows) + "accuracy by the number of labels, mean ± standard deviation over the draws\n"
}

/// Accuracy against labels, each curve under the name that stands in its `recipe`.
pub(super) fn chart(curves: &[LabelCurve]) -> Chart {
    let percents = |curve: &LabelCurve, figure: fn((f64, f64)) -> f64| -> Vec<f64> {
        curve.points.iter().map(|point| 100.0 * figure(point.accuracy())).collect()
    };
    let series = curves.iter().map(|curve| {
        let counts = curve.points.iter().map(|point| point.labels as f64);
        Series { name: curve.recipe.clone(), points: counts.zip(percents(curve, |pair| pair.0)).collect() }
    });
    let spread: Vec<Vec<f64>> = curves.iter().map(|curve| percents(curve, |pair| pair.1)).collect();
    let chart = LineChart {
        title: "Accuracy by the number of labels".into(),
        x_label: "labelled documents to learn from".into(),
        y_label: "accuracy (%)".into(),
        series: series.collect(),
        log_x: true,
    };
    chart.render_with_spread(&spread)
}

fn page(curves: &[LabelCurve], heading: &str) -> String {
    let (columns, rows) = figures(curves);
    Report {
        title: "What few labels are worth".into(),
        question: "How accurate is each recipe when only some of the training documents have a label?".into(),
        sections: vec![
            Section::Chart {
                heading: "Curves".into(),
                chart: chart(curves),
                caption: "Means over the draws; bars are standard deviations. Representations learn from all training \
                          documents, classifiers from the labelled ones."
                    .into(),
            },
            Section::Table { heading: "Figures".into(), columns, rows },
            Section::Text { heading: "Protocol".into(), paragraphs: vec![format!("{heading}.")] },
        ],
    }
    .render()
}
