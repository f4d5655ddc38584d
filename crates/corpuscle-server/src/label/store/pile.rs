//! What holds now: the documents' ids and what people have said of them, replayed from the events.
//!
//! Each author has one opinion of a document: the last label or skip of theirs that was not taken back. The label of a document is
//! the one most authors gave; of equally many, the one given last. Documents on which authors differ are listed, not settled.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use super::event::{Act, Event};

/// What an author thinks of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opinion {
    pub(crate) author: String,
    /// `None`: skipped.
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) event: u64,
    pub(crate) time: String,
}

/// How a document stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// The labels that count; `None` where nobody has given any.
    pub(crate) labels: Option<Vec<String>>,
    /// One of each author, in order of time.
    pub(crate) opinions: Vec<Opinion>,
    /// The last remark.
    pub(crate) note: String,
    /// Whether the document was drawn at random when the label was given.
    pub(crate) drawn: bool,
}

impl Standing {
    /// Whether authors have given different labels.
    pub(crate) fn is_disputed(&self) -> bool {
        let mut given = self.opinions.iter().filter_map(|opinion| opinion.labels.as_ref());
        let first = given.next();
        given.any(|labels| Some(labels) != first)
    }
}

/// A class and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// What holds now.
#[derive(Debug, Default)]
pub(crate) struct Pile {
    /// Ids by place; the row in the store is one more.
    ids: Vec<String>,
    places: HashMap<String, u32>,
    classes: Vec<Class>,
    events: Vec<Event>,
    undone: HashSet<u64>,
    /// Places in `events`, by row.
    of_row: HashMap<u32, Vec<usize>>,
    standings: BTreeMap<u32, Standing>,
    measures: Vec<serde_json::Value>,
    /// Grows with every change to labels.
    version: u64,
}

impl Pile {
    /// Replays a store.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut pile = Pile::default();
        let mut rows = connection.prepare("SELECT row, id FROM documents ORDER BY row")?;
        for row in rows.query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)))? {
            let (row, id) = row?;
            // Rows are numbered from 1 without a gap, because none is ever taken out.
            debug_assert_eq!(row as usize, pile.ids.len() + 1);
            pile.places.insert(id.clone(), row - 1);
            pile.ids.push(id);
        }
        for event in read_events(connection, 0)? {
            pile.apply(event);
        }
        Ok(pile)
    }

    /// Takes an event in.
    pub(super) fn apply(&mut self, event: Event) {
        match &event.act {
            Act::Class(name, about) => {
                self.add_class(name, about);
            }
            Act::Label(labels) => labels.iter().for_each(|label| self.add_class(label, "")),
            Act::Undo(number) => {
                self.undone.insert(*number);
                if let Some(row) = self.event(*number).and_then(|event| event.row) {
                    self.stand(row);
                }
            }
            Act::Measure(value) => self.measures.push(value.clone()),
            Act::Skip | Act::Note(_) => {}
        }
        self.version += u64::from(!matches!(event.act, Act::Measure(_)));
        let row = event.row;
        if let Some(row) = row {
            self.of_row.entry(row).or_default().push(self.events.len());
        }
        self.events.push(event);
        if let Some(row) = row {
            self.stand(row);
        }
    }

    fn add_class(&mut self, name: &str, about: &str) {
        match self.classes.iter_mut().find(|class| class.name == name) {
            Some(class) if !about.is_empty() => class.about = about.to_string(),
            Some(_) => {}
            None => self.classes.push(Class { name: name.to_string(), about: about.to_string() }),
        }
    }

    fn event(&self, number: u64) -> Option<&Event> {
        self.events.binary_search_by_key(&number, |event| event.number).ok().map(|at| &self.events[at])
    }

    /// Replays one document.
    fn stand(&mut self, row: u32) {
        let mut standing = Standing::default();
        let events = self.of_row.get(&row).into_iter().flatten().map(|&at| &self.events[at]);
        for event in events.filter(|event| !self.undone.contains(&event.number)) {
            let labels = match &event.act {
                Act::Label(labels) => Some(labels.clone()),
                Act::Skip => None,
                Act::Note(note) => {
                    standing.note.clone_from(note);
                    continue;
                }
                _ => continue,
            };
            if labels.is_some() {
                standing.drawn = event.why.as_deref() == Some("random");
            }
            standing.opinions.retain(|opinion| opinion.author != event.author);
            standing.opinions.push(Opinion {
                author: event.author.clone(),
                labels,
                event: event.number,
                time: event.time.clone(),
            });
        }
        standing.labels = settled(&standing.opinions);
        match standing == Standing::default() {
            true => self.standings.remove(&row),
            false => self.standings.insert(row, standing),
        };
    }

    /// The author's last act that can be taken back.
    pub(super) fn last_of(&self, author: &str) -> Option<&Event> {
        let own = |event: &&Event| event.author == author && !self.undone.contains(&event.number);
        let can = |event: &&Event| matches!(event.act, Act::Label(_) | Act::Skip | Act::Note(_));
        self.events.iter().rev().filter(own).find(can)
    }

    /// How many documents there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The place of an id.
    pub(crate) fn place(&self, id: &str) -> Option<u32> {
        self.places.get(id).copied()
    }

    /// The id at a place.
    pub(crate) fn id(&self, place: u32) -> &str {
        self.ids.get(place as usize).map_or("", String::as_str)
    }

    /// How the document at a place stands; `None` where nothing was said of it.
    pub(crate) fn standing(&self, place: u32) -> Option<&Standing> {
        self.standings.get(&place)
    }

    /// All documents of which something was said, by place.
    pub(crate) fn standings(&self) -> impl DoubleEndedIterator<Item = (u32, &Standing)> {
        self.standings.iter().map(|(place, standing)| (*place, standing))
    }

    /// Documents with labels.
    pub(crate) fn labelled(&self) -> impl DoubleEndedIterator<Item = (u32, &[String])> {
        self.standings().filter_map(|(place, standing)| Some((place, standing.labels.as_deref()?)))
    }

    /// Classes, in order of appearance.
    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Everything that was done, in order.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What models came to, in order.
    pub(crate) fn measures(&self) -> &[serde_json::Value] {
        &self.measures
    }

    /// A number that grows with every change to labels.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Everybody who has said something, in order of the first word.
    pub(crate) fn authors(&self) -> Vec<&str> {
        let mut authors: Vec<&str> = Vec::new();
        for event in self.events.iter().filter(|event| event.row.is_some()) {
            if !authors.contains(&event.author.as_str()) {
                authors.push(&event.author);
            }
        }
        authors
    }
}

/// The labels most authors gave; of equally many, those given last.
fn settled(opinions: &[Opinion]) -> Option<Vec<String>> {
    let given = || opinions.iter().filter_map(|opinion| opinion.labels.as_ref().map(|labels| (labels, opinion.event)));
    let votes = |labels: &Vec<String>| given().filter(|(other, _)| *other == labels).count();
    given().max_by_key(|(labels, event)| (votes(labels), *event)).map(|(labels, _)| labels.clone())
}

/// The events after a number.
pub(super) fn read_events(connection: &Connection, after: u64) -> rusqlite::Result<Vec<Event>> {
    let mut query = connection
        .prepare("SELECT number, time, author, kind, row, value FROM events WHERE number > ?1 ORDER BY number")?;
    let mut rows = query.query([after as i64])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(3)?;
        let value: String = row.get(5)?;
        let value = serde_json::from_str(&value).unwrap_or_default();
        // What a later version may have written is not ours to read.
        let Some((act, why)) = Act::of(&kind, value) else { continue };
        let number: i64 = row.get(0)?;
        let place: Option<u32> = row.get(4)?;
        events.push(Event {
            number: number as u64,
            time: row.get(1)?,
            author: row.get(2)?,
            row: place.map(|row| row - 1),
            act,
            why,
        });
    }
    Ok(events)
}
