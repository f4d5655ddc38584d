//! Every command of README.md and docs/ is run as it is written, page after page, on files made from the embedded corpus.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use corpuscle::corpus::{Document, demo};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of all `sh` blocks, long ones put together; those of cargo and `./test` are what runs this test.
fn commands(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    let mut joined = String::new();
    for line in page.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => match line.strip_suffix('\\') {
                Some(part) => joined.push_str(part),
                None => lines.push(std::mem::take(&mut joined) + line),
            },
            _ => {}
        }
    }
    lines.retain(|line| !line.trim().is_empty() && !line.starts_with("cargo ") && !line.starts_with("./test"));
    lines
}

fn csv(documents: &[Document], labels: bool) -> String {
    let mut text = String::from(if labels { "id,message,team\n" } else { "id,message\n" });
    for document in documents {
        let label = document.labels.as_deref().and_then(|labels| labels.first()).map_or("", String::as_str);
        let _ = write!(text, "{},\"{}\"", document.id, document.text.replace('"', "\"\""));
        text += &if labels { format!(",{label}\n") } else { "\n".to_string() };
    }
    text
}

fn fasttext(documents: &[Document]) -> String {
    let line = |document: &Document| {
        let label = document.labels.as_deref().and_then(|labels| labels.first()).map_or("", String::as_str);
        format!("__label__{label} {}\n", document.text)
    };
    documents.iter().map(line).collect()
}

#[test]
fn every_command_of_the_pages_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo().unwrap();
    let put = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    put("tickets.csv", csv(&demo.train, true));
    put("held-out.csv", csv(&demo.test, true));
    put("new.csv", csv(&demo.test[..20], false));
    put("labelled.csv", csv(&demo.train[..60], true));
    put("pile.csv", csv(&demo.train[60..], false));
    put("train.txt", fasttext(&demo.train));
    put("test.txt", fasttext(&demo.test));
    let binary = Path::new(env!("CARGO_BIN_EXE_corpuscle")).parent().unwrap().to_path_buf();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut pages = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages.sort();
    let mut run = 0;
    for page in pages {
        for line in commands(&std::fs::read_to_string(&page).unwrap()) {
            let output = Command::new("sh")
                .args(["-c", &line])
                .current_dir(folder.path())
                .env("PATH", format!("{}:{path}", binary.display()))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {line}\n{said}", page.display());
            run += 1;
        }
    }
    assert!(run >= 20, "only {run} commands were found");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(|n| root().join(n))
        .into();
    pages.extend(std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    for page in pages.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let outside = file.is_empty() || file.contains("://");
            assert!(outside || page.parent().unwrap().join(file).exists(), "{}: {link}", page.display());
        }
    }
}
