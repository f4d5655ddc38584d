//! `corpuscle embed`: the documents as vectors, written batch by batch.

mod jsonl;
mod npy;
mod parquet_rows;

use std::fs::File;

use corpuscle::Run;
use corpuscle::matrix::Matrix;
use corpuscle::recipe::for_each_batch;
use serde_json::json;

use super::inspect;
use crate::args::{Embed, Everywhere};
use crate::input;
use crate::output::{self, WrongCall};

/// Takes vectors batch by batch.
trait VectorWriter {
    /// Writes the vectors of a batch, a row for each id.
    fn write(&mut self, ids: &[String], vectors: &Matrix) -> anyhow::Result<()>;
    /// Completes the file.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

pub(crate) fn run(args: &Embed, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let open: fn(File) -> anyhow::Result<Box<dyn VectorWriter>> =
        match args.output.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => |file| Ok(Box::new(npy::NpyWriter::new(file)?)),
            Some("jsonl") => |file| Ok(Box::new(jsonl::JsonlWriter::new(file))),
            Some("parquet") => |file| Ok(Box::new(parquet_rows::ParquetWriter::new(file))),
            _ => {
                let name = args.output.display();
                return Err(WrongCall(format!("{name}: end the name with .npy, .jsonl or .parquet")).into());
            }
        };
    input::check_writable(&args.output)?;
    let (model, _) = inspect::open(&args.model, run)?;
    let options = input::with_numbers(input::options(&args.reading)?, model.number_fields());
    let mut documents = input::open(&args.data, &options)?;
    let (mut rows, mut columns, mut negative) = (0, 0, 0);
    let quiet = run.quiet();
    let write = |file: &mut File| {
        let mut writer = open(file.try_clone()?)?;
        for_each_batch(&mut documents, run, |batch| {
            let vectors = model.represent_documents(&batch, &quiet)?;
            let ids: Vec<String> = batch.into_iter().map(|document| document.id).collect();
            rows += vectors.rows();
            columns = vectors.cols();
            negative = vectors.negative();
            writer.write(&ids, &vectors)
        })?;
        if rows == 0 {
            return Err(
                corpuscle::Error::data("there are no documents: the data are empty, or a filter left none").into()
            );
        }
        writer.finish()
    };
    run.watch("embed", None, || output::write_beside(&args.output, write))?;
    if negative > 0 {
        run.warn(&format!(
            "the last {negative} columns count negatively: the inner product of two documents is that of the columns before \
             them minus that of these (`varnorm` keeps sparse rows that way); end the recipe with lsi for plain vectors"
        ));
    }
    let skipped = input::report_skipped(&documents, run);
    let size = std::fs::metadata(&args.output)?.len();
    if everywhere.json {
        return output::print_json(&json!({
            "output": args.output.display().to_string(),
            "documents": rows,
            "columns": columns,
            "negative_columns": negative,
            "skipped": skipped,
            "bytes": size,
            "seconds": output::seconds(run),
        }));
    }
    output::print_text(&output::facts(&[
        ("vectors", format!("{} × {}", output::count(rows), output::count(columns))),
        ("written to", format!("{} ({})", args.output.display(), output::bytes(size))),
    ]))
}
