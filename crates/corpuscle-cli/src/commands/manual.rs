//! `corpuscle completions` and `corpuscle man`: scripts and pages made from the command line's own description.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, CompletedShell, Completions, Man};
use crate::output;

pub(crate) fn completions(args: &Completions) -> anyhow::Result<()> {
    let shell = match args.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    // Into memory first: the generator panics where it cannot write, on a broken pipe for instance.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "corpuscle", &mut script);
    output::print_text(&String::from_utf8_lossy(&script))
}

/// One page for the command and one for each of its commands, such as `corpuscle-train.1`.
pub(crate) fn pages(args: &Man) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.output).map_err(|error| corpuscle::Error::io(&args.output, error))?;
    let mut command = Cli::command();
    command.build();
    let mut names = Vec::new();
    let commands = std::iter::once(&command).chain(command.get_subcommands());
    for page in commands {
        let name = page.get_display_name().unwrap_or(page.get_name()).to_string();
        let mut text = Vec::new();
        clap_mangen::Man::new(page.clone()).render(&mut text).map_err(io::Error::other)?;
        let path = args.output.join(format!("{name}.1"));
        corpuscle::file::write_bytes(&path, &text)?;
        names.push(name);
    }
    output::print_text(&format!("{} pages in {}; read one with man -l\n", names.len(), args.output.display()))
}
