//! The program `corpuscle`; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(corpuscle_cli::main_with(std::env::args_os()))
}
