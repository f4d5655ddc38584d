//! The `corpuscle` command: arguments to checked configuration, to a library call, to output.

mod args;
mod commands;
mod input;
mod output;
mod progress;
mod screen;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no failure; anything else is a wrong call.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            let usage = error.downcast_ref::<corpuscle::Error>().is_some_and(corpuscle::Error::is_usage)
                || error.downcast_ref::<output::WrongCall>().is_some();
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}
