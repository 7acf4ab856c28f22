//! Options of `agentloop check`.

use std::path::PathBuf;

use agentloop::{Protocol, Usd};

/// Options of `agentloop check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider or the model to check [default: AGENTLOOP_MODEL, else default_model of the configuration]
    #[arg(value_name = "PROVIDER|MODEL")]
    pub(super) model: Option<String>,

    /// The embedding model to check [default: the known embedding model of the provider, if it has exactly one]
    #[arg(long, value_name = "MODEL")]
    pub(super) embedding_model: Option<String>,

    /// The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]
    #[arg(long, value_name = "PROTOCOL", value_parser = crate::args::parse_protocol)]
    pub(super) protocol: Option<Protocol>,

    /// Send the requests without asking.
    #[arg(short, long)]
    pub(super) yes: bool,

    /// Send nothing if the estimated cost is higher, and stop when this many US dollars are spent.
    #[arg(long, value_name = "USD")]
    pub(super) max_cost: Option<Usd>,

    /// Write the requests and responses of each check to a file in DIR, which tests can replay. Keys, cookies and identifiers of accounts are removed.
    #[arg(long, value_name = "DIR")]
    pub(super) record: Option<PathBuf>,

    /// Print JSON instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}
