//! `corpuscle serve` and `corpuscle label`: models, and labels in the making, over HTTP.

use std::path::Path;

use corpuscle::Run;
use corpuscle_server::{Limits, Listen, label, serve};

use crate::args::{Everywhere, Label, Listening, Serve};
use crate::input;
use crate::output::{self, WrongCall};

/// Serves models until a signal.
pub(crate) fn serve(args: &Serve, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let listen = listen(&args.listening, everywhere);
    let options = serve::Options { models: args.models.clone(), index: args.index.clone(), listen };
    let server = serve::Server::open(&options, run).map_err(as_own_error)?;
    output::print_text(&format!("{}\n", server.address()))?;
    server.run().map_err(as_own_error)
}

/// Labels until a signal.
pub(crate) fn label(args: &Label, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    if args.data.is_empty() && !args.output.exists() {
        let reason = format!("{} is not there yet: name the documents to label", args.output.display());
        return Err(WrongCall(reason).into());
    }
    let classes = args.describe.as_deref().map(described).transpose()?.unwrap_or_default();
    let author = args.author.clone().or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()));
    let options = label::Options {
        store: args.output.clone(),
        author: author.unwrap_or_else(|| "me".to_string()),
        classes,
        listen: listen(&args.listening, everywhere),
    };
    // Labels of the data are not taken over: a pile is labelled anew, or with what is imported on the page.
    let options_of_data = input::without_labels(&input::options(&args.reading)?);
    let mut documents = match args.data.is_empty() {
        true => None,
        false => Some(input::open(&args.data, &options_of_data)?),
    };
    let (server, added) = label::Server::open(&options, documents.iter_mut().flatten(), run).map_err(as_own_error)?;
    if let Some(documents) = &documents {
        input::report_skipped(documents, run);
    }
    if added.changed > 0 {
        run.warn(&format!("{} documents have another text than in the store, where the old one stays", added.changed));
    }
    output::print_text(&format!("{}\n", server.address()))?;
    if !everywhere.quiet {
        let documents = output::count(added.new + added.known);
        super::say(&format!("{documents} documents; open the address above in a browser, Ctrl-C ends"));
    }
    server.run().map_err(as_own_error)
}

/// Names and descriptions of classes, a line each.
fn described(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let text = corpuscle::corpus::read_text(path)?;
    let line = |line: &str| {
        let (name, about) = line.split_once('\t').unwrap_or((line, ""));
        (name.trim().to_string(), about.trim().to_string())
    };
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(line).collect())
}

/// The flags about listening.
fn listen(args: &Listening, everywhere: &Everywhere) -> Listen {
    Listen {
        host: args.host,
        port: args.port,
        token: args.token.clone(),
        names: args.names.clone(),
        limits: Limits::default(),
        log: !everywhere.quiet,
    }
}

/// What a server says, as this command says it.
fn as_own_error(error: corpuscle_server::Error) -> anyhow::Error {
    match error {
        corpuscle_server::Error::Library(error) => error.into(),
        corpuscle_server::Error::Wrong(reason) => WrongCall(reason).into(),
        other => other.into(),
    }
}
