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

/// A command that goes on until it is ended: it must print its address, answer there, and end well.
fn serves(command: &mut Command, line: &str) {
    use std::io::{BufRead as _, Read as _, Write as _};
    let piped = std::process::Stdio::piped;
    // `exec`, so that the signal reaches the command and not the shell before it.
    let mut child = command.args(["-c", &format!("exec {line}")]).stdout(piped()).stderr(piped()).spawn().unwrap();
    let mut address = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let host =
        address.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).map(|(host, _)| host.to_string());
    let answer = host.and_then(|host| {
        let mut stream = std::net::TcpStream::connect(&host).ok()?;
        write!(stream, "GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    });
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")), "{line}: {address}\n{said}");
    assert!(output.status.success(), "{line}: {said}");
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
    put(
        "names.tsv",
        "billing\tinvoice payment\nhardware\tprinter screen keyboard\nlogin\tpassword login\nnetwork\twifi network\n"
            .to_string(),
    );
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
            let mut command = Command::new("sh");
            command.current_dir(folder.path()).env("PATH", format!("{}:{path}", binary.display()));
            if line.starts_with("corpuscle serve ") || line.starts_with("corpuscle label ") {
                serves(&mut command, &line);
                run += 1;
                continue;
            }
            let output = command.args(["-c", &line]).output().unwrap();
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
