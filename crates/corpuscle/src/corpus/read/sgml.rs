//! The SGML of Reuters-21578: a stream of `<REUTERS …> … </REUTERS>` elements, read one at a time.
//!
//! The fields of an element are `id` (NEWID), `split`, `labels` (TOPICS), `tags`, `title`, `body` and `text`; the attributes
//! `topics`, `lewissplit`, `cgisplit` and `oldid`; the lists `places`, `people`, `orgs`, `exchanges` and `companies`; and
//! `date`, `dateline` and `author`. `split` is ModApte (Apté, Damerau and Weiss, 1994): `train` and `test` are the
//! LEWISSPLIT of elements with TOPICS="YES", everything else is `unused`.
//!
//! `tags` are the items of topics, places, people, organisations and exchanges one after the other: what the authors of
//! SCDV (2017) took for labels, 445 of them where there are 120 topics. Labels are the topics unless `tags` are asked for.
//!
//! The text is the title, a line break and the body. Brief items have a title only; unprocessed ones have neither, and
//! their whole TEXT is the text. Entities are decoded and control characters removed; bytes that are not UTF-8 are read
//! as Latin-1.

use std::borrow::Cow;
use std::io::Read;

use memchr::memchr_iter;
use memchr::memmem::{Finder, find};

use super::folders::decoded;
use super::input::{BLOCK, Input, read_error};
use super::lines::too_long;
use super::row::{Value, whole as whole_row};
use super::sink::{Flow, Sink};

const START: &[u8] = b"<REUTERS";
const END: &[u8] = b"</REUTERS>";
/// The lists whose items are tags.
const TAGS: [&str; 5] = ["TOPICS", "PLACES", "PEOPLE", "ORGS", "EXCHANGES"];
const FIELDS: [&str; 19] = [
    "id",
    "split",
    "labels",
    "tags",
    "title",
    "body",
    "text",
    "topics",
    "lewissplit",
    "cgisplit",
    "oldid",
    "places",
    "people",
    "orgs",
    "exchanges",
    "companies",
    "date",
    "dateline",
    "author",
];

pub(super) fn read(mut input: Input, name: &str, sink: &mut Sink) -> Flow {
    let end_tag = Finder::new(END);
    let limit = sink.options.max_line;
    let mut buffer: Vec<u8> = Vec::new();
    // `buffer[start..]` is not yet handed on; it begins in line `line`, and the first `searched` bytes have no end tag.
    let (mut start, mut searched, mut line) = (0, 0, 1);
    loop {
        if let Some(at) = end_tag.find(&buffer[start + searched..]) {
            let end = start + searched + at + END.len();
            take(&buffer[start..end], line, sink)?;
            line += memchr_iter(b'\n', &buffer[start..end]).count() as u64;
            (start, searched) = (end, 0);
            continue;
        }
        let rest = buffer.len() - start;
        if rest > limit {
            return Err(sink.error(Some(line), too_long("element", limit)).into());
        }
        // A tag may lie across the border of two blocks.
        searched = rest.saturating_sub(END.len());
        buffer.drain(..start);
        start = 0;
        let n = input.by_ref().take(BLOCK as u64).read_to_end(&mut buffer).map_err(|e| read_error(name, &e))?;
        if n == 0 {
            break;
        }
    }
    if let Some(at) = find(&buffer, START) {
        let line = line + memchr_iter(b'\n', &buffer[..at]).count() as u64;
        sink.bad_row(Some(line), "the element that begins here has no </REUTERS>; is the file truncated?".to_string())?;
    }
    Ok(())
}

/// Takes what lies up to an end tag: an element, and perhaps others before it that were never closed.
fn take(bytes: &[u8], mut line: u64, sink: &mut Sink) -> Flow {
    let mut at = 0;
    let mut inside = false;
    while let Some(next) = find(&bytes[at..], START) {
        line += memchr_iter(b'\n', &bytes[at..at + next]).count() as u64;
        if inside {
            sink.bad_row(Some(line), "an element begins before the one above it has ended".to_string())?;
        }
        inside = true;
        at += next + START.len();
    }
    if !inside {
        return sink.bad_row(Some(line), "</REUTERS> without a beginning".to_string());
    }
    let whole = decoded(bytes[at..bytes.len() - END.len()].to_vec());
    let Some((attributes, content)) = whole.split_once('>') else {
        return sink.bad_row(Some(line), "the <REUTERS tag is not closed".to_string());
    };
    let element = Element { attributes, content };
    let values = (0..sink.fields.len()).map(|slot| element.value(sink.fields.name(slot))).collect();
    sink.row(line, values, || whole_row(FIELDS.map(|field| (field, element.value(field)))))
}

struct Element<'a> {
    attributes: &'a str,
    content: &'a str,
}

impl<'a> Element<'a> {
    fn value(&self, field: &str) -> Value<'a> {
        let text =
            |text: Option<&'a str>| text.map_or(Value::Null, |text| Value::Text(clean(text).trim().to_string().into()));
        match field {
            "id" => self.attribute("NEWID").map_or(Value::Absent, Value::from),
            "split" => Value::from(self.split()),
            "label" | "labels" => Value::List(self.items("TOPICS")),
            "tags" => Value::List(TAGS.into_iter().flat_map(|tag| self.items(tag)).collect()),
            "places" | "people" | "orgs" | "exchanges" | "companies" => Value::List(self.items(&field.to_uppercase())),
            "topics" | "lewissplit" | "cgisplit" | "oldid" => {
                self.attribute(&field.to_uppercase()).map_or(Value::Null, Value::from)
            }
            "date" => text(inner(self.content, "DATE")),
            "title" => Value::Text(self.title().into()),
            "body" | "dateline" | "author" => text(inner(self.text_element(), &field.to_uppercase())),
            "text" => Value::Text(self.text().into()),
            _ => Value::Absent,
        }
    }

    fn split(&self) -> &'static str {
        match (self.attribute("LEWISSPLIT"), self.attribute("TOPICS")) {
            (Some("TRAIN"), Some("YES")) => "train",
            (Some("TEST"), Some("YES")) => "test",
            _ => "unused",
        }
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        while let Some((before, behind)) = rest.split_once("=\"") {
            let (value, behind) = behind.split_once('"')?;
            if before.trim() == name {
                return Some(value);
            }
            rest = behind;
        }
        None
    }

    /// The `<D>` items of a list.
    fn items(&self, tag: &str) -> Vec<Cow<'a, str>> {
        let mut rest = inner(self.content, tag).unwrap_or_default();
        let mut items = Vec::new();
        while let Some((_, behind)) = rest.split_once("<D>") {
            let (item, behind) = behind.split_once("</D>").unwrap_or((behind, ""));
            items.push(Cow::Owned(clean(item).trim().to_string()));
            rest = behind;
        }
        items
    }

    fn text_element(&self) -> &'a str {
        inner(self.content, "TEXT").unwrap_or_default()
    }

    fn title(&self) -> String {
        let title = clean(inner(self.text_element(), "TITLE").unwrap_or_default());
        title.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn text(&self) -> String {
        let whole = self.text_element();
        let title = self.title();
        let body = inner(whole, "BODY");
        if title.is_empty() && body.is_none() && inner(whole, "TITLE").is_none() {
            return clean(whole).trim().to_string();
        }
        let body = clean(body.unwrap_or_default());
        format!("{title}\n{}", body.trim()).trim().to_string()
    }
}

/// What lies between `<TAG …>` and `</TAG>`.
fn inner<'a>(content: &'a str, tag: &str) -> Option<&'a str> {
    let mut rest = content;
    loop {
        let (_, behind) = rest.split_once(&format!("<{tag}"))?;
        if behind.starts_with('>') || behind.starts_with(char::is_whitespace) {
            let (_, inside) = behind.split_once('>')?;
            return Some(inside.split_once(&format!("</{tag}>")).map_or(inside, |(inside, _)| inside));
        }
        rest = behind;
    }
}

/// Decodes entities and drops control characters other than line breaks and tabs.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let keep = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.extend(before.chars().filter(keep));
        match entity(behind) {
            Some((decoded, length)) => {
                out.extend(Some(decoded).filter(keep));
                rest = &behind[length..];
            }
            None => {
                out.push('&');
                rest = behind;
            }
        }
    }
    out.extend(rest.chars().filter(keep));
    out
}

/// The character an entity stands for, and the length of the entity without its `&`.
fn entity(behind: &str) -> Option<(char, usize)> {
    let end = behind.bytes().take(10).position(|byte| byte == b';')?;
    let name = &behind[..end];
    let decoded = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((decoded, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_decoded_and_controls_dropped() {
        assert_eq!(
            clean("&lt;A&gt; &amp;lt; AT&T &#3;&#65;&#x42;\u{1}\r\n\t&; &#99999999;"),
            "<A> &lt; AT&T AB\n\t&; &#99999999;"
        );
    }

    #[test]
    fn tags_are_told_apart_by_their_whole_name() {
        assert_eq!(inner("<DATELINE>x</DATELINE><DATE a=\"b\">y</DATE>", "DATE"), Some("y"));
        assert_eq!(inner("<D>x", "D"), Some("x"));
        assert_eq!(inner("<DD>", "D"), None);
    }

    #[test]
    fn tags_are_the_items_of_all_lists_and_labels_those_of_topics() {
        let content = "<DATE>x</DATE><TOPICS><D>cocoa</D></TOPICS><PLACES><D>usa</D><D>el-salvador</D></PLACES>\
            <PEOPLE></PEOPLE><ORGS><D>opec</D></ORGS><EXCHANGES><D>nyse</D></EXCHANGES><COMPANIES></COMPANIES>";
        let element = Element { attributes: "", content };
        let list = |items: &[&'static str]| Value::List(items.iter().map(|&item| item.into()).collect());
        assert_eq!(element.value("tags"), list(&["cocoa", "usa", "el-salvador", "opec", "nyse"]));
        assert_eq!(element.value("labels"), list(&["cocoa"]));
        assert_eq!(Element { attributes: "", content: "" }.value("tags"), list(&[]));
    }

    #[test]
    fn attributes_are_found_by_name() {
        let element = Element { attributes: r#" TOPICS="YES" LEWISSPLIT="TEST" NEWID="7""#, content: "" };
        assert_eq!(
            (element.attribute("NEWID"), element.attribute("SPLIT"), element.split()),
            (Some("7"), None, "test")
        );
    }
}
