//! The commands that listen, as they are typed.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

use super::Reading;

/// Where a server listens.
#[derive(Debug, Clone, Args)]
pub(crate) struct Listening {
    /// The port, 0 for any free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// What a request has to show, as `Authorization: Bearer T` [default: made up at every start]
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,
    /// The address; any but a loopback one lets other machines in, who need the token
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) host: IpAddr,
    /// A name this server goes by beside its address, behind a proxy; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Models, each a file or NAME=FILE; a request that names none is answered by the first
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// The folder of an index to search in
    #[arg(long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) listening: Listening,
}

#[derive(Debug, Args)]
pub(crate) struct Label {
    /// Documents to label: files, folders or globs; none when the store has them already
    #[arg(value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The store of labels; made if it is not there, gone on with if it is
    #[arg(long, short, value_name = "STORE")]
    pub(crate) output: PathBuf,
    /// Classes to begin with: a name, a tab and what it is about on each line; works before the first label
    #[arg(long, value_name = "FILE")]
    pub(crate) describe: Option<PathBuf>,
    /// Who labels when a request does not say [default: the name of the user]
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    #[command(flatten)]
    pub(crate) listening: Listening,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Drift {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// New documents: files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "NEW")]
    pub(crate) data: Vec<String>,
    /// Documents from before, such as those trained on, to compare class shares and words with
    #[arg(long, value_name = "DATA", num_args = 1..)]
    pub(crate) before: Vec<String>,
    /// How many words and classes to show
    #[arg(long, value_name = "K", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) top: u32,
    /// Also writes a page with charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
