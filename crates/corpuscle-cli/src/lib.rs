//! The `corpuscle` command: arguments to checked configuration, to a library call, to output.
//!
//! The program `corpuscle` and the Python package run the same [`main_with`].

mod args;
mod commands;
mod input;
mod output;
mod parquet_file;
mod progress;
mod screen;

use std::ffi::OsString;

use clap::Parser;

use args::Cli;

/// Runs the command as if called with `arguments`, the first of which is the name of the program, and gives its exit code:
/// 0 done, 1 the work failed, 2 the call was wrong.
pub fn main_with<I, T>(arguments: I) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no failure; anything else is a wrong call.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    match commands::run(&cli) {
        Ok(()) => 0,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output::complain(&error);
            let usage = error.downcast_ref::<corpuscle::Error>().is_some_and(corpuscle::Error::is_usage)
                || error.downcast_ref::<output::WrongCall>().is_some();
            if usage { 2 } else { 1 }
        }
    }
}
