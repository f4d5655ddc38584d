//! `corpuscle recommend`: the best recipe for the documents within a time, and its model.

use std::time::{Duration, Instant};

use corpuscle::Run;
use corpuscle::corpus::{Document, read_descriptions};
use corpuscle::experiment::{Fate, RecommendParams, Recommendation, Setting, Standing, TTest, TakenFor, recommend};
use corpuscle::recipe::{Corpus, Model, Recipe};
use serde_json::{Value, json};

use super::train::{self, Choice};
use crate::args::{Everywhere, Recommend};
use crate::input;
use crate::output::{self, percent};
use crate::screen;

/// Documents that the time of a prediction is measured on.
const TIMED: usize = 500;
/// A corrected p-value below this is called significant.
const SIGNIFICANT: f64 = 0.05;

pub(crate) fn run(args: &Recommend, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    input::check_writable(&args.output)?;
    let descriptions = args.describe.as_deref().map(read_descriptions).transpose()?.unwrap_or_default();
    let (documents, skipped) =
        train::documents(&args.data, &args.unlabelled, descriptions.is_empty(), &args.reading, run)?;
    let (model, choice) =
        fit(documents, &descriptions, (args.budget, started), &args.data, &args.unlabelled, false, everywhere, run)?;
    train::finish(&model, &args.output, skipped, started, Some(&choice), everywhere, run)
}

/// Chooses a recipe for the documents and fits it on all of them, within so much time of when the command was started.
#[expect(clippy::too_many_arguments, reason = "what `train` and `recommend` were told")]
pub(super) fn fit(
    documents: Vec<Document>,
    descriptions: &[(String, String)],
    (budget, started): (Duration, Instant),
    data: &[String],
    unlabelled: &[String],
    updatable: bool,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<(Model, Choice)> {
    // The model begins with what was fitted on all documents while recipes were compared.
    let run = &run.sharing();
    // The time is that of the whole command; reading has taken some of it.
    let found = look(&documents, descriptions, budget.saturating_sub(started.elapsed()), everywhere, run)?;
    let recipe = Recipe::parse(found.recipe())?;
    let texts: Vec<String> = documents.iter().take(TIMED).map(|document| document.text.clone()).collect();
    let started = Instant::now();
    let mut corpus = run.stage("words", None, || Corpus::read(documents.into_iter().map(Ok), recipe.words(), run))?;
    corpus.sources = input::names(data.iter().chain(unlabelled));
    let model = train::fitted(&recipe, &mut corpus, descriptions, updatable, everywhere, run)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    model.predict(&texts, &run.quiet())?;
    let predict_seconds = started.elapsed().as_secs_f64() / texts.len().max(1) as f64;
    let choice = Choice {
        // Rows about recipes nobody compared would say nothing.
        text: match found.folds {
            0 => format!("{}\n", verdict(&found, budget)),
            _ => format!("{}\n{}\n", table(&found), verdict(&found, budget)),
        },
        facts: vec![
            ("training", format!("{train_seconds:.2} s from words to model")),
            ("prediction", format!("{:.3} ms a document", 1e3 * predict_seconds)),
        ],
        json: as_json(&found, budget, train_seconds, predict_seconds),
    };
    Ok((model, choice))
}

/// Compares the candidates, saying on stderr how they stand.
fn look(
    documents: &[Document],
    descriptions: &[(String, String)],
    budget: Duration,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<Recommendation> {
    let (run, terminal) = super::watched(everywhere, run);
    let params = RecommendParams { budget, descriptions: descriptions.to_vec(), ..RecommendParams::default() };
    let mut said: Vec<bool> = Vec::new();
    let found = recommend(documents, &params, &run, |standings| {
        let Some(terminal) = &terminal else { return };
        if terminal.redraws() {
            return terminal.table(&live(standings));
        }
        // A log gets a line for each recipe, when its first fold is there or when it is given up.
        said.resize(standings.len(), false);
        for (standing, said) in standings.iter().zip(&mut said) {
            if !*said && (!standing.folds.is_empty() || !matches!(standing.fate, Fate::Finished | Fate::NotTried)) {
                terminal.say(&progress(standing));
                *said = true;
            }
        }
    })?;
    Ok(found)
}

/// How the recipes stand, a line for each.
fn live(standings: &[Standing]) -> String {
    let rows = standings.iter().map(|standing| {
        let folds = standing.folds.len();
        let figure = if folds == 0 { "-".to_string() } else { percent(mean(standing)) };
        let fate = match &standing.fate {
            Fate::NotTried => String::new(),
            fate => reason(fate, folds),
        };
        vec![standing.recipe.clone(), figure, folds.to_string(), fate]
    });
    output::table_within(screen::progress_width(), &["recipe", "so far", "folds", ""], 1, rows)
}

fn mean(standing: &Standing) -> f64 {
    standing.folds.iter().sum::<f64>() / standing.folds.len().max(1) as f64
}

fn progress(standing: &Standing) -> String {
    let folds = standing.folds.len();
    match &standing.fate {
        Fate::Finished => {
            let seconds = standing.fold_seconds.unwrap_or(0.0);
            format!("fold {folds}: {} so far, {seconds:.1} s  {}", percent(mean(standing)), standing.recipe)
        }
        fate => format!("{}: {}", reason(fate, folds), standing.recipe),
    }
}

/// Why a candidate did not go all the way.
fn reason(fate: &Fate, folds: usize) -> String {
    match fate {
        Fate::Finished => String::new(),
        Fate::Dropped => format!("clearly behind after {folds} folds"),
        Fate::TooSlow(_) if folds > 0 => format!("left at {folds} folds for want of time"),
        // Less than is shown: stopped before it could tell how long it takes.
        Fate::TooSlow(seconds) if *seconds >= 0.05 => format!("skipped, no time for a fold of {seconds:.1} s or more"),
        Fate::TooSlow(_) | Fate::NotTried => "skipped, no time left".to_string(),
        Fate::TooFewDocuments(labelled) => format!("not compared, {labelled} labelled documents are too few"),
        Fate::Failed(why) => format!("failed ({})", why.lines().last().unwrap_or_default().trim()),
    }
}

fn points(value: f64) -> String {
    format!("{:+.2}", 100.0 * value)
}

fn table(found: &Recommendation) -> String {
    let tests = found.tests();
    let rows = found.standings.iter().enumerate().map(|(index, standing)| {
        let winner = index == found.winner();
        let mut row = vec![format!("{}{}", standing.recipe, if winner { " *" } else { "" })];
        row.push(if standing.folds.is_empty() { "-".into() } else { percent(mean(standing)) });
        row.push(standing.folds.len().to_string());
        row.extend(match &tests[index] {
            Some((_, corrected)) => [points(-found.behind(index)), format!("{corrected:.4}")],
            None => [String::new(), String::new()],
        });
        row.push(standing.fold_seconds.map_or("-".into(), |seconds| format!("{seconds:.2} s")));
        row.push(reason(&standing.fate, standing.folds.len()));
        row
    });
    let heading = ["recipe", found.objective.name(), "folds", "to best", "p", "a fold", ""];
    output::table(&heading, 1, rows)
}

/// Which won, by how much, and whether that is more than luck.
fn verdict(found: &Recommendation, budget: Duration) -> String {
    let winner = found.recipe();
    let Some(figure) = found.mean(found.winner()).filter(|_| found.folds > 0) else {
        let why = match &found.standings[found.winner()].fate {
            Fate::TooFewDocuments(labelled) => format!("{labelled} labelled documents are too few for one"),
            _ => format!("{:.0} s are too few for one", budget.as_secs_f64()),
        };
        return format!("`{winner}` was taken without a comparison: {why}");
    };
    let won = format!(
        "`{winner}` won with {} {} over {} of its folds (neighbouring rows held out together)",
        percent(figure),
        found.objective.name(),
        found.folds
    );
    if let (Some(second), TakenFor::Steady | TakenFor::InTime) = (found.passed_over(), found.taken_for) {
        let (before, points) = (&found.standings[second].recipe, -100.0 * found.behind(second));
        return match found.taken_for {
            TakenFor::Steady => format!(
                "{won}: with its several views it is within two standard errors of `{before}`, {points:.2} points before it, which \
                 so few labels do not tell from chance"
            ),
            _ => format!(
                "{won}, the best whose model could be fitted in the time left: `{before}`, {points:.2} points before it, takes too \
                 long for that"
            ),
        };
    }
    let test: Option<(usize, (TTest, f64))> =
        found.runner_up().and_then(|second| Some((second, found.tests()[second]?)));
    match (found.runner_up(), test) {
        (_, Some((second, (_, corrected)))) => format!(
            "{won}, {:.2} points before `{}`; the difference is {} (p = {corrected:.4}, paired t-test over the first {} \
             folds, Holm)",
            100.0 * found.behind(second),
            found.standings[second].recipe,
            if corrected < SIGNIFICANT { "significant" } else { "not significant" },
            found.first_round,
        ),
        (Some(second), None) => {
            format!(
                "{won}; with one fold there is no telling whether it is better than `{}`",
                found.standings[second].recipe
            )
        }
        (None, _) => format!("{won}; no other candidate went as far"),
    }
}

fn as_json(found: &Recommendation, budget: Duration, train_seconds: f64, predict_seconds: f64) -> Value {
    let tests = found.tests();
    let candidates = found.standings.iter().zip(&tests).map(|(standing, test)| {
        json!({
            "recipe": standing.recipe,
            "mean": (!standing.folds.is_empty()).then(|| mean(standing)),
            "folds": standing.folds,
            "fold_seconds": standing.fold_seconds,
            "fate": standing.fate,
            "winner_against": test.as_ref().map(|(test, corrected)| json!({
                "difference": test.difference, "low": test.low, "high": test.high, "p": test.p, "p_holm": corrected,
            })),
        })
    });
    let second = found.runner_up();
    json!({
        "winner": found.recipe(),
        "runner_up": second.map(|second| found.standings[second].recipe.clone()),
        "significant": second.and_then(|second| tests[second].as_ref()).map(|(_, corrected)| *corrected < SIGNIFICANT),
        "objective": found.objective.name(),
        "setting": match found.setting { Setting::ManyLabels => "many labels", Setting::FewLabels => "few labels" },
        "folds": found.folds,
        "first_round": found.first_round,
        "budget_seconds": budget.as_secs_f64(),
        "train_seconds": output::round(train_seconds, 6),
        "predict_seconds_per_document": predict_seconds,
        "candidates": candidates.collect::<Vec<Value>>(),
    })
}
