//! `corpuscle index`: makes an index, adds to it, takes out of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use corpuscle::Run;
use corpuscle::recipe::Recipe;
use corpuscle::retrieve::{Index, Writer, Written};
use serde_json::json;

use crate::args::{self, Everywhere};
use crate::input;
use crate::output::{self, WrongCall};

pub(crate) fn run(args: &args::Index, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let started = Instant::now();
    let there = args.output.exists();
    if args.data.is_empty() && args.delete.is_empty() {
        return Err(WrongCall("name the data to index, or a document to --delete".into()).into());
    }
    let adding = args.add || !args.delete.is_empty();
    if adding && !there {
        return Err(WrongCall(format!("{} is not there; make it without --add", args.output.display())).into());
    }
    if !adding && there {
        let shown = args.output.display();
        return Err(WrongCall(format!("{shown} is there already; --add adds to it, or remove it first")).into());
    }
    let (written, bytes) = if adding {
        let index = Index::open(&args.output).with_context(|| args.output.display().to_string())?;
        (fill(&index, args, run)?, index.bytes()?)
    } else {
        make(args, run)?
    };
    let seconds = started.elapsed().as_secs_f64();
    if everywhere.json {
        return output::print_json(&json!({
            "index": args.output.display().to_string(), "documents": written.documents, "added": written.added,
            "deleted": written.deleted, "bytes": bytes, "seconds": {"all": output::round(seconds, 3)},
        }));
    }
    output::print_text(&output::facts(&[
        ("index", format!("{} ({})", args.output.display(), output::bytes(bytes))),
        ("documents", output::count(written.documents as usize)),
        ("added", output::count(written.added as usize)),
        ("asked to delete", output::count(written.deleted as usize)),
        ("time", format!("{seconds:.2} s")),
    ]))
}

/// A new index is made beside its place and moved there when it is whole.
fn make(args: &args::Index, run: &Run) -> anyhow::Result<(Written, u64)> {
    let recipe = Recipe::parse(&format!("{} | counts", args.words)).context("--words")?;
    let beside = Beside::of(&args.output);
    let index = Index::create(&beside.0, recipe.words())?;
    let written = fill(&index, args, run)?;
    let bytes = index.bytes()?;
    drop(index);
    std::fs::rename(&beside.0, &args.output).with_context(|| args.output.display().to_string())?;
    std::mem::forget(beside);
    Ok((written, bytes))
}

/// A folder that is removed again unless it was moved to its place.
struct Beside(PathBuf);

impl Beside {
    fn of(place: &Path) -> Self {
        let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Beside(place.with_file_name(format!(".{name}.{}.part", std::process::id())))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fill(index: &Index, args: &args::Index, run: &Run) -> anyhow::Result<Written> {
    let mut writer: Writer<'_> = index.writer(run)?;
    for id in &args.delete {
        writer.delete(id)?;
    }
    if !args.data.is_empty() {
        let options = input::without_labels(&input::options(&args.reading)?);
        let options = corpuscle::corpus::ReadOptions { filters: input::options(&args.reading)?.filters, ..options };
        let mut documents = input::open(&args.data, &options)?;
        run.watch("index", None, || -> anyhow::Result<()> {
            for document in &mut documents {
                writer.add(document?)?;
            }
            Ok(())
        })?;
        input::report_skipped(&documents, run);
    }
    Ok(run.watch("commit", None, || writer.commit())?)
}
