//! Plain text: a document per line. A blank line is a document without a word, so that what is said about the documents
//! lines up with the lines of the file.

use super::input::Input;
use super::lines::{Line, Lines, decoded, too_long, without_return};
use super::row::{Value, whole};
use super::sink::{Flow, Sink};

pub(super) fn read(input: Input, name: &str, sink: &mut Sink) -> Flow {
    let limit = sink.options.max_line;
    let mut lines = Lines::new(input, name, limit);
    while let Some((number, line)) = lines.next_bytes()? {
        match line.map(|line| decoded(without_return(line))) {
            None => sink.bad_row(Some(number), too_long("line", limit))?,
            Some(Line::Bad(reason)) => sink.bad_row(Some(number), reason)?,
            Some(Line::Text(text)) => {
                let values = [("text", Value::from(text))];
                sink.row(number, sink.fields.row(values.clone()), || whole(values.clone()))?;
            }
        }
    }
    Ok(())
}
