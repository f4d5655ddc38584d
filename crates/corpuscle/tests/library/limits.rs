//! What bounds memory and time for each kind of input: a test for each line of the table in `SECURITY.md` that belongs to the library.
//! A limit that does not hold shows as a test that is killed or never ends.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};
use std::path::Path;

use corpuscle::corpus::{Document, Format, Labels, ReadOptions, read_all, read_descriptions, read_text};
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::retrieve::{Index, Search};
use corpuscle::text::WordsParams;
use corpuscle::words::WordVectors;
use corpuscle::{Error, Result, Run};

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    assert!(message.len() < 3000, "a message of {} bytes", message.len());
    for part in parts {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Vec<Document>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_all(&[&path], options)
}

fn fault(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    read_bytes(name, bytes, options).unwrap_err().to_string()
}

#[test]
fn json_of_any_depth_does_not_exhaust_the_stack() {
    let (open, close) = ("[".repeat(300_000), "]".repeat(300_000));
    let usual = ReadOptions::default();
    // A field that nobody wants is passed over, however deep it is.
    let row = format!("{{\"text\":\"a\",\"other\":{open}{close}}}");
    assert_eq!(read_bytes("a.jsonl", row.as_bytes(), &usual).unwrap().len(), 1);
    for row in [
        format!("{{\"text\":\"a\",\"label\":{open}{close}}}"),
        format!("{{\"text\":{}1{}}}", "{\"a\":".repeat(300_000), "}".repeat(300_000)),
    ] {
        let said = fault("a.jsonl", row.as_bytes(), &usual);
        assert!(said.contains("recursion limit") || said.contains("is an object"), "{said}");
    }
    // Whole rows are asked for when they are to be kept.
    let keep = ReadOptions { keep: true, ..Default::default() };
    let row = format!("{{\"text\":\"a\",\"other\":{open}{close}}}");
    let _ = read_bytes("a.jsonl", row.as_bytes(), &keep);
}

#[test]
fn lists_have_a_most_number_of_values() {
    let most = 1 << 20;
    for (count, is_read) in [(most, true), (most + 1, false)] {
        let row = format!("{{\"text\":\"a\",\"labels\":[{}\"b\"]}}", "1,".repeat(count - 1));
        let outcome = read_bytes("a.jsonl", row.as_bytes(), &ReadOptions::default());
        assert_eq!(outcome.is_ok(), is_read, "{count}");
        if let Err(error) = outcome {
            assert_says(&error.to_string(), &["a.jsonl:1: a list has more than 1048576 values", "into parts"]);
        }
    }
    let separated = ReadOptions { label_separator: Some('|'), ..Default::default() };
    let table = format!("text,label\nx,{}\n", "b|".repeat(most + 1));
    assert_says(&fault("a.csv", table.as_bytes(), &separated), &["a.csv:2: a list has more than"]);
}

#[test]
fn tables_have_a_most_number_of_columns() {
    for (name, delimiter) in [("a.csv", ","), ("a.tsv", "\t")] {
        let million: String = (0..1_000_000).map(|column| format!("{delimiter}c{column}")).collect();
        let table = format!("text{million}\nx{}\n", delimiter.repeat(1_000_000));
        assert_eq!(read_bytes(name, table.as_bytes(), &ReadOptions::default()).unwrap().len(), 1);
        let table = format!("text{}\nx\n", delimiter.repeat(1 << 20));
        let said = fault(name, table.as_bytes(), &ReadOptions::default());
        assert_says(&said, &[":1: the header has 1048577 columns, more than 1048576", "keep those"]);
        let table = format!("text{delimiter}label\nx{}\n", delimiter.repeat(30_000_000));
        let said = fault(name, table.as_bytes(), &ReadOptions::default());
        assert_says(&said, &[":2: the row has 30000001 fields, the header 2"]);
    }
}

/// More than a gigabyte of one line, in a few thousand bytes: parts are packed once and strung together.
fn bombs() -> [(&'static str, Vec<u8>); 2] {
    let block = vec![b'x'; 64 << 20];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&block).unwrap();
    let gzip = encoder.finish().unwrap();
    let zstd = zstd::encode_all(&block[..], 1).unwrap();
    [("a.txt.gz", gzip.repeat(17)), ("a.txt.zst", zstd.repeat(17))]
}

#[test]
fn compressed_data_may_not_unpack_to_far_more_than_text_does() {
    let skipping = ReadOptions { skip_bad: true, format: Some(Format::Lines), ..Default::default() };
    for (name, bomb) in bombs() {
        let said = fault(name, &bomb, &skipping);
        assert_says(&said, &[name, "unpacks to more than 1 GiB and more than 200 times its size", "unpack it first"]);
    }
    // A window larger than 128 MB would be set aside at once: the decoder refuses it.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    assert_says(&fault("a.txt", &frame, &ReadOptions::default()), &["memory"]);
}

/// A workbook of one sheet, whose rows `write` writes.
fn workbook(write: impl FnOnce(&mut dyn Write)) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_level(Some(1));
    let space = "http://schemas.openxmlformats.org";
    let relation = |kind: &str, target: &str| {
        format!(
            "<Relationships xmlns=\"{space}/package/2006/relationships\"><Relationship Id=\"r1\" \
             Type=\"{space}/officeDocument/2006/relationships/{kind}\" Target=\"{target}\"/></Relationships>"
        )
    };
    let book = format!(
        "<workbook xmlns=\"{space}/spreadsheetml/2006/main\" xmlns:r=\"{space}/officeDocument/2006/relationships\">\
         <sheets><sheet name=\"s\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
    );
    for (name, text) in [
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "worksheets/sheet1.xml")),
        ("xl/workbook.xml", book),
    ] {
        archive.start_file(name, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.start_file("xl/worksheets/sheet1.xml", options).unwrap();
    write!(archive, "<worksheet xmlns=\"{space}/spreadsheetml/2006/main\"><sheetData>").unwrap();
    write(&mut archive);
    write!(archive, "</sheetData></worksheet>").unwrap();
    archive.finish().unwrap().into_inner()
}

fn cell(place: &str, text: &str) -> String {
    format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

#[test]
fn workbooks_neither_span_nor_unpack_to_more_than_memory_has() {
    let head = format!("<row r=\"1\">{}{}</row>", cell("A1", "text"), cell("B1", "label"));
    let plain = workbook(|out| write!(out, "{head}<row r=\"2\">{}</row>", cell("A2", "hello")).unwrap());
    assert_eq!(read_bytes("a.xlsx", &plain, &ReadOptions::default()).unwrap()[0].text, "hello");
    // One cell in the last corner: the decoder would set aside 17 thousand million cells.
    let far = workbook(|out| write!(out, "{head}<row r=\"1048576\">{}</row>", cell("XFD1048576", "x")).unwrap());
    let said = fault("a.xlsx", &far, &ReadOptions::default());
    assert_says(&said, &["sheet `s` span 1048576 rows and 16384 columns", "save the sheet as CSV"]);
    let block = "x".repeat(1 << 20);
    let bomb = workbook(|out| {
        write!(out, "{head}<row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>").unwrap();
        (0..257).for_each(|_| out.write_all(block.as_bytes()).unwrap());
        write!(out, "</t></is></c></row>").unwrap();
    });
    assert!(bomb.len() < 3 << 20);
    let said = fault("a.xlsx", &bomb, &ReadOptions::default());
    assert_says(&said, &["unpacks to more than 256 MiB and more than 100 times its size", "CSV"]);
    // One string of a megabyte, meant by two thousand cells; and more strings said than there are.
    let shared = |count: &str, text: &str, cells: usize| {
        let list = format!(
            "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" uniqueCount=\"{count}\"><si><t>{text}</t></si></sst>"
        );
        let rows: String =
            (2..cells + 2).map(|row| format!("<row r=\"{row}\"><c r=\"A{row}\" t=\"s\"><v>0</v></c></row>")).collect();
        let mut archive =
            zip::ZipWriter::new_append(Cursor::new(workbook(|out| write!(out, "{head}{rows}").unwrap()))).unwrap();
        archive.start_file("xl/sharedStrings.xml", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(list.as_bytes()).unwrap();
        archive.finish().unwrap().into_inner()
    };
    assert_eq!(read_bytes("a.xlsx", &shared("1", "hello", 3), &ReadOptions::default()).unwrap().len(), 3);
    let said = fault("a.xlsx", &shared("1", &block, 2000), &ReadOptions::default());
    assert_says(&said, &["its documents have more than 1073741824 bytes", "save it as JSON Lines"]);
    let said = fault("a.xlsx", &shared("99999999999999", "hello", 1), &ReadOptions::default());
    assert_says(&said, &["99999999999999 strings are said to be in"]);
    // A text has no line of its own here, but the same limit.
    let long = workbook(|out| write!(out, "{head}<row r=\"2\">{}</row>", cell("A2", &"y".repeat(200))).unwrap());
    let short = ReadOptions { max_line: 100, ..Default::default() };
    assert_says(&fault("a.xlsx", &long, &short), &["a.xlsx:2: the text is longer than the limit of 100 bytes"]);
}

/// An open document whose sheet has these rows.
fn open_document(rows: &str) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_level(Some(1));
    archive.start_file("mimetype", options).unwrap();
    archive.write_all(b"application/vnd.oasis.opendocument.spreadsheet").unwrap();
    archive.start_file("META-INF/manifest.xml", options).unwrap();
    archive
        .write_all(b"<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\"/>")
        .unwrap();
    archive.start_file("content.xml", options).unwrap();
    let spaces: String = ["office", "table", "text"]
        .map(|name| format!(" xmlns:{name}=\"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0\""))
        .concat();
    let sheet = format!("<office:spreadsheet><table:table table:name=\"s\">{rows}</table:table></office:spreadsheet>");
    write!(archive, "<office:document-content{spaces}><office:body>{sheet}</office:body></office:document-content>")
        .unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn open_documents_do_not_repeat_cells_without_end() {
    let cell = |text: &str| {
        format!("<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>")
    };
    let row = |inside: &str| format!("<table:table-row>{inside}</table:table-row>");
    let repeated = |times: u32| format!("<table:table-cell table:number-columns-repeated=\"{times}\"/>");
    let head = row(&format!("{}{}{}", cell("text"), cell("label"), repeated(16_382)));
    // Empty cells to the last column and empty rows to the last row, as programs write them.
    let end = format!("<table:table-row table:number-rows-repeated=\"1048574\">{}</table:table-row>", repeated(16_384));
    let plain = open_document(&format!("{head}{}{end}", row(&(cell("hello") + &cell("a")))));
    assert_eq!(read_bytes("a.ods", &plain, &ReadOptions::default()).unwrap()[0].text, "hello");
    let same = format!(
        "<table:table-row table:number-rows-repeated=\"1048574\">{}{}</table:table-row>",
        cell("x"),
        repeated(100)
    );
    for rows in [
        format!("{head}{}", row(&(repeated(16_000) + &cell("far"))).repeat(5000)),
        format!("{head}{same}{}", row(&(repeated(99) + &cell("far")))),
    ] {
        let said = fault("a.ods", &open_document(&rows), &ReadOptions::default());
        assert_says(&said, &["its sheets span", "more than 67108864", "save the sheet as CSV"]);
    }
}

/// A compound file with one stream of records, long enough not to be among the small ones.
fn compound(mut stream: Vec<u8>) -> Vec<u8> {
    stream.resize(8192, 0);
    let mut file = vec![0u8; 512];
    file[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(24, &[0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    put(44, &1u32.to_le_bytes());
    put(48, &1u32.to_le_bytes());
    put(56, &4096u32.to_le_bytes());
    put(60, &0xffff_fffeu32.to_le_bytes());
    put(68, &0xffff_fffeu32.to_le_bytes());
    put(76, &0u32.to_le_bytes());
    (1..109).for_each(|entry| put(76 + 4 * entry, &u32::MAX.to_le_bytes()));
    // Sector 0 has the followers, sector 1 the directory, those from 2 on the stream.
    let mut next: Vec<u32> = vec![0xffff_fffd, 0xffff_fffe];
    next.extend((3..18).chain([0xffff_fffe]));
    next.resize(128, u32::MAX);
    file.extend(next.iter().flat_map(|next| next.to_le_bytes()));
    for (name, kind, start, length) in
        [("Root Entry", 5, 0xffff_fffe, 0), ("Workbook", 2, 2, 8192u32), ("", 0, 0, 0), ("", 0, 0, 0)]
    {
        let mut entry = [0u8; 128];
        name.encode_utf16()
            .zip(0..)
            .for_each(|(letter, at)| entry[2 * at..2 * at + 2].copy_from_slice(&letter.to_le_bytes()));
        entry[64..66].copy_from_slice(&(2 * name.len() as u16 + 2).to_le_bytes());
        entry[66] = kind;
        entry[68..80].fill(0xff);
        entry[116..120].copy_from_slice(&u32::to_le_bytes(start));
        entry[120..124].copy_from_slice(&length.to_le_bytes());
        file.extend_from_slice(&entry);
    }
    file.extend_from_slice(&stream);
    file
}

/// The records of a workbook of one sheet.
fn binary_workbook(sheet: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let record =
        |kind: u16, content: &[u8]| [&kind.to_le_bytes()[..], &(content.len() as u16).to_le_bytes(), content].concat();
    let begin = |kind: u8| record(0x0809, &[0, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let name = [0, 0, 1, 0, b's'];
    let at = (begin(5).len() + 4 + 4 + name.len() + 4) as u32;
    let mut stream = begin(5);
    stream.extend(record(0x0085, &[&at.to_le_bytes()[..], &name].concat()));
    stream.extend(record(0x000a, &[]));
    stream.extend(begin(0x10));
    sheet.iter().for_each(|(kind, content)| stream.extend(record(*kind, content)));
    stream.extend(record(0x000a, &[]));
    compound(stream)
}

#[test]
fn binary_workbooks_do_not_span_more_than_memory_has() {
    let label = |row: u16, column: u16, text: &str| {
        let place = [row.to_le_bytes(), column.to_le_bytes(), [0, 0], (text.len() as u16).to_le_bytes()].concat();
        (0x0204, [&place[..], &[0], text.as_bytes()].concat())
    };
    let cells = vec![label(0, 0, "text"), label(0, 1, "label"), label(1, 0, "hello"), label(1, 1, "a")];
    let plain = read_bytes("a.xls", &binary_workbook(&cells), &ReadOptions::default()).unwrap();
    assert_eq!((plain.len(), plain[0].text.as_str()), (1, "hello"));
    let far = [&cells[..], &[label(65_535, 65_535, "x")]].concat();
    let extent =
        |rows: u32, columns: u16| [&[0; 4][..], &rows.to_le_bytes(), &[0; 2], &columns.to_le_bytes(), &[0; 2]].concat();
    let said = [&[(0x0200, extent(u32::MAX, u16::MAX))], &cells[..]].concat();
    for sheet in [far, said] {
        let said = fault("a.xls", &binary_workbook(&sheet), &ReadOptions::default());
        assert_says(&said, &["its sheets span", "more than 67108864", "save the sheet as CSV"]);
    }
}

fn fit(recipe: &str, documents: impl Iterator<Item = Document> + Send) -> Result<Model> {
    let run = Run::new(1, 2)?;
    let recipe = Recipe::parse(recipe)?;
    recipe.fit(&Corpus::read(documents.map(Ok), recipe.words(), &run)?, &run)
}

/// Documents each of a class of its own, and of a word of its own or of the same.
fn classes(count: usize, own_words: bool) -> impl Iterator<Item = Document> + Send {
    (0..count).map(move |number| {
        let text = if own_words { format!("word{number}") } else { "word".to_string() };
        Document::new(number.to_string(), text).labelled(format!("class{number}"))
    })
}

#[test]
fn there_are_a_most_number_of_classes() {
    for recipe in [
        "tfidf | svm",
        "tfidf | knn",
        "counts | bayes",
        "tfidf | sprinkle | logistic",
        "vote(tfidf | svm; counts | bayes)",
    ] {
        let said = fit(recipe, classes(100_001, false)).unwrap_err().to_string();
        assert_says(&said, &["the labels have 100001 classes, more than 100000", "`class0`", "ids or texts?"]);
    }
    // Labels alone, without a document for each. Ten million take the same way and a gigabyte.
    let names: Vec<String> = (0..1_000_000).map(|number| format!("{number:07}")).collect();
    let labels = Labels::from_lists([Some(&names[..])]);
    let run = Run::new(1, 1).unwrap();
    let recipe = Recipe::parse("tfidf | svm").unwrap();
    let mut corpus = Corpus::read(classes(1, true).map(Ok), recipe.words(), &run).unwrap();
    corpus.labels = labels;
    assert_says(&recipe.fit(&corpus, &run).unwrap_err().to_string(), &["1000000 classes"]);
}

#[test]
fn weights_and_scores_have_a_most_number() {
    let said = fit("tfidf | svm", classes(50_000, true)).unwrap_err().to_string();
    assert_says(&said, &["50000 labelled documents times 50000 classes", "calibrate=0"]);
    for recipe in ["tfidf | svm(calibrate=0)", "tfidf | logistic(calibrate=0)", "counts | bayes(calibrate=0)"] {
        let said = fit(recipe, classes(50_000, true)).unwrap_err().to_string();
        assert_says(&said, &["50000 classes times 50000 columns", "ig or lsi"]);
    }
}

#[test]
fn recipes_are_short() {
    let million = 1_000_000;
    for (recipe, says) in [
        (format!("tfidf | {}svm", "normalize | ".repeat(million)), "bytes, more than 1048576"),
        (format!("tfidf{} | svm", " * 1".repeat(million)), "bytes, more than 1048576"),
        (format!("tfidf | {}svm", "normalize | ".repeat(1001)), "more than 1000 stages"),
        (format!("({}tfidf) | svm", "tfidf + ".repeat(1001)), "more than 1000 stages"),
        (format!("vote({}tfidf | svm)", "tfidf | svm; ".repeat(1000)), "more than 1000 stages"),
        (format!("tfidf{} | svm", " * 1".repeat(1001)), "more than 1000 stages"),
        (format!("tfidf{} | svm", " * 1".repeat(65)), "more than 64 weights"),
        (format!("{}tfidf{} | svm", "(".repeat(33), " * 1 * 1)".repeat(33)), "more than 64 weights"),
        (format!("{}tfidf{} | svm", "(".repeat(million), ")".repeat(million)), "bytes, more than"),
        (format!("{}tfidf{} | svm", "(".repeat(1000), ")".repeat(1000)), "more than 64 deep"),
        ("a(".repeat(500_000), "expected"),
        (format!("tfidf({}", "x,".repeat(500_000)), "expected"),
        (format!("tfidf(\"{}", "\\\"".repeat(500_000)), "never ends"),
    ] {
        let error = Recipe::parse(&recipe).unwrap_err();
        assert!(error.is_usage());
        assert_says(&error.to_string(), &[says]);
    }
    // What is allowed is planned, written, fitted and loaded without trouble on a thread of the usual stack.
    let deep = format!("{}tfidf{} | svm(calibrate=0)", "(".repeat(60), " * 2)".repeat(60));
    let long = format!("tfidf | {}svm(calibrate=0)", "normalize | ".repeat(900));
    let wide = format!("({}tfidf) | svm(calibrate=0)", "counts * 0.5 + ".repeat(400));
    for recipe in [deep, long, wide] {
        let model = fit(&recipe, classes(4, true)).unwrap();
        let run = Run::new(1, 1).unwrap();
        let again = Model::from_bytes(&model.to_bytes().unwrap(), &run).unwrap();
        assert_eq!(again.recipe().to_string(), model.recipe().to_string());
    }
}

#[test]
fn a_query_of_a_hundred_thousand_words_reads_each_list_once() {
    let run = Run::new(1, 2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let index = Index::create(folder.path().join("index"), &WordsParams::default()).unwrap();
    let mut writer = index.writer(&run).unwrap();
    for number in 0..300 {
        writer.add(Document::new(number.to_string(), format!("word{number} word{} common", number % 7))).unwrap();
    }
    writer.commit().unwrap();
    let searcher = index.searcher().unwrap();
    let ids = |query: &str| {
        let found = searcher.search(query, &Search::default(), None, 10, &run).unwrap();
        found.into_iter().map(|hit| (hit.id, hit.score)).collect::<Vec<_>>()
    };
    let known = "word5 word299 word3";
    let unknown: String = (1000..101_000).map(|number| format!(" word{number}")).collect();
    assert_eq!(ids(&format!("{known}{unknown}")), ids(known));
    // The same word again and again weighs more, and is looked up once.
    assert_eq!(ids(&"common ".repeat(100_000)).len(), 10);
}

#[test]
fn names_of_classes_have_a_most_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.tsv");
    std::fs::write(&path, "a\tb\n".repeat((16 << 20) / 4 + 1)).unwrap();
    assert_says(&read_descriptions(&path).unwrap_err().to_string(), &["more than 16777216 bytes", "shorten"]);
    #[cfg(target_os = "linux")]
    assert_says(&read_descriptions(Path::new("/dev/zero")).unwrap_err().to_string(), &["more than 16777216 bytes"]);
    // A million classes are named in no time, and too many to learn.
    let lines: String = (0..1_000_000).map(|number| format!("{number}\tx\n")).collect();
    std::fs::write(&path, &lines[..lines.len().min(16 << 20)]).unwrap();
    let described = Labels::none(1).described(&read_descriptions(&path).unwrap());
    assert_eq!(described.n_classes(), 1_000_000);
    let run = Run::new(1, 1).unwrap();
    let recipe = Recipe::parse("tfidf | svm(names=true)").unwrap();
    let mut corpus = Corpus::read(classes(1, true).map(Ok), recipe.words(), &run).unwrap();
    corpus.labels = described;
    assert_says(&recipe.fit(&corpus, &run).unwrap_err().to_string(), &["1000000 classes"]);
}

/// A model file of this header and these bytes behind it.
fn model_file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn a_model_file_takes_no_more_memory_than_it_has_bytes() {
    let run = Run::new(1, 1).unwrap();
    let refused = |bytes: &[u8]| match Model::from_bytes(bytes, &run) {
        Err(Error::BadModel { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let about = "\"__metadata__\":{\"format\":\"2\",\"sha256\":\"\"}";
    for (shape, offsets) in [
        ("[1000000000000]", "[0,4000000000000]"),
        ("[4294967296,4294967296,4294967296]", "[0,8]"),
        ("[0]", "[0,18446744073709551615]"),
        ("[2]", "[0,8]"),
    ] {
        let array = format!("\"a\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":{offsets}}}");
        assert_says(&refused(&model_file(&format!("{{{about},{array}}}"), &[0; 7])), &["safetensors"]);
    }
    assert_says(&refused(&u64::MAX.to_le_bytes()), &["longer than the file"]);
    assert_says(&refused(&[&99_000_000u64.to_le_bytes()[..], b"{}"].concat()), &["longer than the file"]);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert_says(&refused(&model_file(&deep, &[])), &["safetensors"]);
    let nested = format!("{{{about},\"recipe\":\"{}\"}}", "(".repeat(100_000));
    assert!(Model::from_bytes(&model_file(&nested, &[]), &run).is_err());
    #[cfg(target_os = "linux")]
    assert_says(&Model::load("/dev/zero", &run).unwrap_err().to_string(), &["model file refused"]);
}

/// A pipe does not tell its length beforehand: what comes is read once, and nothing may follow.
#[test]
#[cfg(unix)]
fn a_model_comes_through_a_pipe() {
    let run = Run::new(1, 1).unwrap();
    let model = fit("tfidf | svm(calibrate=0)", classes(4, true)).unwrap().to_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "no mkfifo here");
    let through = |bytes: Vec<u8>| {
        let to = path.clone();
        // The reader may go before everything is written.
        let writer = std::thread::spawn(move || drop(std::fs::write(to, bytes)));
        let outcome = Model::load(&path, &run);
        writer.join().unwrap();
        outcome
    };
    assert_eq!(through(model.clone()).unwrap().to_bytes().unwrap(), model);
    assert_says(&through([&model[..], b"x"].concat()).unwrap_err().to_string(), &["something follows"]);
    assert_says(&through(model[..model.len() - 1].to_vec()).unwrap_err().to_string(), &["cut off"]);
}

/// Queries and judgements are held whole, so there is a most that they may have; a packed one is stopped as documents are.
#[test]
fn small_files_have_a_most_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries.tsv");
    std::fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    assert_says(&read_text(&path).unwrap_err().to_string(), &["queries.tsv", "larger than 1 GB"]);
    for (name, bomb) in bombs() {
        let path = folder.path().join(name);
        std::fs::write(&path, bomb).unwrap();
        assert_says(&read_text(&path).unwrap_err().to_string(), &[name, "unpack"]);
    }
}

/// What a first line says of sizes is believed only as far as the file goes.
#[test]
fn word_vectors_have_a_most_width_and_a_longest_word() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        WordVectors::read(&path).unwrap_err().to_string()
    };
    assert_says(
        &refused("wide.vec", b"1 65537\nword 1 2\n"),
        &["wide.vec:1", "vectors of 65537 numbers; from 1 to 65536"],
    );
    let wide = format!("word{}\n", " 1".repeat(65_537));
    assert_says(&refused("glove.txt", wide.as_bytes()), &["glove.txt:1", "has 65537 numbers", "65536 are read"]);
    let long = [b"2 2\nword 1 2\n".to_vec(), vec![b'x'; 1 << 24], b" 1 2\n".to_vec()].concat();
    assert_says(&refused("long.vec", &long), &["long.vec:3", "longer than 16777216 bytes"]);
    let endless = [b"2 2\n".to_vec(), vec![1; 1 << 24], b" 12345678".to_vec()].concat();
    assert_says(&refused("long.bin", &endless), &["at byte 4", "no word ends here"]);
    assert_says(&refused("many.vec", b"18446744073709551615 65536\nword 1\n"), &["many.vec:2", "not 65536"]);
    let many = [&b"18446744073709551615 1\nw "[..], &[0, 0, 0, 1], b"\n"].concat();
    assert_says(&refused("many.bin", &many), &["after 1 of 18446744073709551615 words", "truncated"]);
}

#[test]
fn what_a_run_remembers_counts_models_and_matrices() {
    let run = Run::new(1, 1).unwrap().sharing();
    let recipe = Recipe::parse("tfidf(min_df=1) | lsi(4) | knn").unwrap();
    let documents = (0..6).map(|document| {
        let text: String = (0..3000).map(|word| format!("w{document}x{word} ")).collect();
        Document { labels: Some(vec![["a", "b"][document % 2].into()]), ..Document::new(document.to_string(), text) }
    });
    recipe.fit(&Corpus::read(documents.map(Ok), recipe.words(), &run).unwrap(), &run).unwrap();
    // Six documents in four columns are nothing beside the 18 000 words and their vectors.
    assert!(run.remembered_bytes() > 18_000 * (4 + 4 * 4), "{}", run.remembered_bytes());
}
