//! Pages in a real browser: the script runs, builds what it should, and the pictures are not blank.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::support::Place;

/// A browser that can be run without a screen, when this machine has one.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|f| f.is_file());
    if found.is_none() {
        eprintln!("skipped: no chromium or google-chrome on the PATH to open the page in");
    }
    found
}

/// What the browser writes to standard output; `None` when it cannot be run here (a sandbox without its needs, say).
fn browse(place: &Place, browser: &PathBuf, arguments: &[&str], page: &str) -> Option<String> {
    let profile = place.path("profile");
    let url = format!("file://{}", place.path(page).display());
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(url);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().ok()?;
    let mut pipe = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut pipe, &mut text).map(|_| text)
    });
    // A browser that hangs must not hang the tests.
    for _ in 0..1200 {
        if let Some(status) = child.try_wait().ok()? {
            return reader.join().ok()?.ok().filter(|_| status.success());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn page(place: &Place) {
    place.train("tfidf | svm", "m.model");
    place.ok(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--report", "page.html"]);
}

#[test]
fn the_script_shows_documents_behind_the_pictures() {
    let Some(browser) = browser() else { return };
    let place = Place::new();
    page(&place);
    let Some(dom) = browse(&place, &browser, &["--dump-dom"], "page.html#cell-0-0") else {
        eprintln!("skipped: {} does not run here", browser.display());
        return;
    };
    assert!(dom.contains("data-ready=\"yes\""), "the script did not come to its end");
    assert!(dom.contains("data-points=\"192\""), "the map has not found its points");
    assert!(dom.contains("billing recognised: "), "the cell asked for is not open");
    let list = dom.split("class=\"cell-list\"").nth(1).unwrap();
    assert!(list.split("</table>").next().unwrap().matches("<tr>").count() > 5, "the cell shows no documents");
}

#[test]
fn the_map_is_not_blank() {
    let Some(browser) = browser() else { return };
    let place = Place::new();
    page(&place);
    // The map alone, without the script: it must be seen anyway.
    let text = String::from_utf8(place.read("page.html")).unwrap();
    let (before, after) = text.split_once("<h2>Map of the documents").unwrap();
    let (head, _) = before.split_once("<body>").unwrap();
    let (figure, _) = after.split_once("<script").unwrap();
    place.write("map.html", format!("{head}<body><h2>{figure}</figure></body></html>"));
    let picture = format!("--screenshot={}", place.path("map.png").display());
    for mode in ["--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"] {
        let _ = std::fs::remove_file(place.path("map.png"));
        let opened = browse(&place, &browser, &[&picture, mode, "--window-size=1100,760"], "map.html");
        if opened.is_none() || !place.path("map.png").is_file() {
            eprintln!("skipped: {} takes no pictures here", browser.display());
            return;
        }
        let (width, pixels) = decode_png(&place.read("map.png"));
        assert_eq!(width, 1100);
        // Coloured dots, not only the greys of text and paper.
        let vivid = pixels.iter().filter(|[r, g, b]| r.max(g).max(b) - r.min(g).min(b) > 60).count();
        assert!(vivid > 1000, "{vivid} coloured pixels with {mode}");
        let mut colours: Vec<[u8; 3]> = pixels.iter().map(|pixel| pixel.map(|v| v / 32)).collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() > 20, "{} colours with {mode}", colours.len());
    }
}

/// Width and pixels of a PNG with 8 bits per channel, without interlacing: what browsers write.
fn decode_png(bytes: &[u8]) -> (usize, Vec<[u8; 3]>) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (width, height, kind) = (number(16), number(20), bytes[25]);
    assert_eq!((bytes[24], bytes[28]), (8, 0));
    let channels = if kind == 6 { 4 } else { 3 };
    let mut packed = Vec::new();
    let mut at = 8;
    while at < bytes.len() {
        let length = number(at);
        if &bytes[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&bytes[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(packed.as_slice()), &mut raw).unwrap();
    let stride = width * channels;
    let mut before = vec![0u8; stride];
    let mut pixels = Vec::with_capacity(width * height);
    for line in raw.chunks(stride + 1) {
        let mut row = line[1..].to_vec();
        for i in 0..stride {
            let left = if i >= channels { i32::from(row[i - channels]) } else { 0 };
            let corner = if i >= channels { i32::from(before[i - channels]) } else { 0 };
            let up = i32::from(before[i]);
            let paeth = || {
                let guess = left + up - corner;
                let (a, b, c) = ((guess - left).abs(), (guess - up).abs(), (guess - corner).abs());
                if a <= b && a <= c {
                    left
                } else if b <= c {
                    up
                } else {
                    corner
                }
            };
            let add = [0, left, up, (left + up) / 2, if line[0] == 4 { paeth() } else { 0 }][line[0] as usize];
            row[i] = row[i].wrapping_add(add as u8);
        }
        pixels.extend(row.chunks(channels).map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        before = row;
    }
    (width, pixels)
}
