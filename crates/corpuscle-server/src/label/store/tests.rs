use super::*;

fn documents(count: usize) -> impl Iterator<Item = corpuscle::Result<Document>> {
    (0..count).map(|n| Ok(Document::new(format!("d{n}"), format!("Text number {n} about a Café"))))
}

fn open(path: &Path, count: usize) -> Store {
    Store::open(path, documents(count)).unwrap().0
}

fn change(author: &str, row: u32, act: Act) -> Change {
    Change { author: author.into(), row: Some(row), act: Some(act), why: None }
}

fn label(store: &Store, author: &str, row: u32, labels: &[&str]) -> u64 {
    let act = Act::Label(labels.iter().map(|label| label.to_string()).collect());
    store.write_waiting(vec![change(author, row, act)]).unwrap()[0]
}

fn undo(store: &Store, author: &str) -> Result<Vec<u64>, crate::refusal::Refusal> {
    store.write_waiting(vec![Change { author: author.into(), row: None, act: None, why: None }])
}

fn labels(store: &Store, row: u32) -> Option<Vec<String>> {
    store.pile().standing(row).and_then(|standing| standing.labels.clone())
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.db");
    let store = open(&path, 5);
    label(&store, "Ada", 0, &["a"]);
    label(&store, "Ada", 1, &["b"]);
    label(&store, "Ada", 1, &["a"]);
    label(&store, "Ada", 2, &["a"]);
    undo(&store, "Ada").unwrap();
    store.write_waiting(vec![change("Ada", 3, Act::Skip), change("Ada", 3, Act::Note("odd".into()))]).unwrap();
    let check = |store: &Store| {
        assert_eq!(labels(store, 0), Some(vec!["a".to_string()]));
        assert_eq!(labels(store, 1), Some(vec!["a".to_string()]));
        assert_eq!(labels(store, 2), None);
        assert_eq!(store.pile().standing(3).unwrap().note, "odd");
        assert_eq!(store.pile().classes().len(), 2);
        assert_eq!(store.pile().labelled().count(), 2);
    };
    check(&store);
    drop(store);
    let (store, added) = Store::open(&path, documents(7)).unwrap();
    assert_eq!(added, Added { new: 2, known: 5, changed: 0 });
    check(&store);
    assert_eq!(store.pile().len(), 7);
    drop(store);
    let read = read_documents(&path).unwrap();
    assert_eq!(read.len(), 7);
    assert_eq!(read[1].labels, Some(vec!["a".to_string()]));
    assert_eq!((read[2].labels.clone(), read[3].labels.clone()), (None, None));
}

#[test]
fn undo_takes_back_ones_own_acts_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("labels.db"), 3);
    label(&store, "Ada", 0, &["a"]);
    label(&store, "Bob", 0, &["b"]);
    label(&store, "Ada", 0, &["c"]);
    assert_eq!(labels(&store, 0), Some(vec!["c".to_string()]));
    undo(&store, "Ada").unwrap();
    // Ada's first word holds again; one vote each, and Bob's came later.
    assert_eq!(labels(&store, 0), Some(vec!["b".to_string()]));
    undo(&store, "Ada").unwrap();
    assert_eq!(undo(&store, "Ada").unwrap_err().status, 409);
    assert_eq!(labels(&store, 0), Some(vec!["b".to_string()]));
    undo(&store, "Bob").unwrap();
    assert_eq!(labels(&store, 0), None);
    assert_eq!(store.pile().events().len(), 6);
}

#[test]
fn the_label_of_a_document_is_the_one_most_people_gave() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("labels.db"), 3);
    for (author, name) in [("Ada", "a"), ("Bob", "a"), ("Cid", "b")] {
        label(&store, author, 0, &[name]);
    }
    assert_eq!(labels(&store, 0), Some(vec!["a".to_string()]));
    assert!(store.pile().standing(0).unwrap().is_disputed());
    label(&store, "Cid", 0, &["a"]);
    assert!(!store.pile().standing(0).unwrap().is_disputed());
    assert_eq!(store.pile().authors(), ["Ada", "Bob", "Cid"]);
}

/// Events go by their numbers: a clock that was years ahead, or is set back between two labels, changes nothing.
#[test]
fn a_clock_that_jumps_changes_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.db");
    let store = open(&path, 3);
    label(&store, "Ada", 0, &["a"]);
    drop(store);
    let connection = Connection::open(&path).unwrap();
    for (time, label) in [("2099-12-31T23:59:59.999Z", "b"), ("1970-01-01T00:00:00.000Z", "c")] {
        let columns = "INSERT INTO events (time, author, kind, row, value) SELECT ?1, author, kind, row";
        let written = connection.execute(
            &format!("{columns}, replace(value, '\"a\"', ?2) FROM events WHERE number = 1"),
            [time, &format!("\"{label}\"")],
        );
        assert_eq!(written.unwrap(), 1);
    }
    drop(connection);
    let store = open(&path, 3);
    assert_eq!(labels(&store, 0), Some(vec!["c".to_string()]));
    let last = label(&store, "Ada", 0, &["d"]);
    assert_eq!((last, labels(&store, 0)), (4, Some(vec!["d".to_string()])));
    undo(&store, "Ada").unwrap();
    assert_eq!(labels(&store, 0), Some(vec!["c".to_string()]));
}

#[test]
fn events_can_neither_be_changed_nor_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.db");
    let store = open(&path, 2);
    label(&store, "Ada", 0, &["a"]);
    drop(store);
    let connection = Connection::open(&path).unwrap();
    assert!(
        connection.execute("UPDATE events SET author = 'Eve'", []).unwrap_err().to_string().contains("never changed")
    );
    assert!(connection.execute("DELETE FROM events", []).unwrap_err().to_string().contains("never deleted"));
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn words_are_found_whatever_their_accents_and_whatever_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("labels.db"), 20);
    let find = |query: &str| store.search(query, 100).unwrap().iter().map(|found| found.place).collect::<Vec<_>>();
    assert_eq!(find("number 7"), [7]);
    assert_eq!(find("cafe").len(), 20);
    assert_eq!(find("caf").len(), 20);
    assert!(find("caf number 3 nothing").is_empty());
    for odd in ["", "\"", "a AND", "NEAR(", "*", "text:number", "' OR 1=1 --", "()", "-"] {
        let _ = find(odd);
    }
}

#[test]
fn names_that_cannot_be_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("labels.db"), 2);
    let long = "x".repeat(201);
    for bad in ["", " a", "a ", "a\nb", &long] {
        let act = Act::Label(vec![bad.to_string()]);
        let written = store.write_waiting(vec![change("Ada", 0, Act::Skip), change("Ada", 0, act)]);
        assert_eq!(written.unwrap_err().status, 400, "{bad:?}");
    }
    let twice = Act::Label(vec!["a".into(), "a".into()]);
    assert!(store.write_waiting(vec![change("Ada", 0, twice)]).is_err());
    assert!(store.pile().events().is_empty());
}

#[test]
fn other_files_are_refused_and_a_second_writer_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "just some text, long enough to be taken for a page of something").unwrap();
    assert!(Store::open(&text, documents(1)).is_err() && !is_store(&text));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("just some text"));
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(Store::open(&other, documents(1)).unwrap_err().to_string().contains("no store of labels"));
    assert!(read_documents(&other).is_err() && read_documents(folder.path().join("none")).is_err());
    let path = folder.path().join("labels.db");
    let _store = open(&path, 1);
    assert!(is_store(&path));
    assert!(Store::open(&path, documents(1)).unwrap_err().to_string().contains("in use"));
    let twice = [Document::new("x", "a"), Document::new("x", "b")].into_iter().map(Ok);
    assert!(Store::open(&folder.path().join("twice.db"), twice).unwrap_err().to_string().contains("two documents"));
}

#[test]
fn many_writers_at_once_are_all_answered_and_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.db");
    let store = open(&path, 200);
    std::thread::scope(|scope| {
        for author in 0..4u32 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..50 {
                    label(store, &format!("p{author}"), author * 50 + n, &["a"]);
                }
            });
        }
    });
    assert_eq!(store.pile().labelled().count(), 200);
    drop(store);
    assert_eq!(open(&path, 0).pile().labelled().count(), 200);
}
