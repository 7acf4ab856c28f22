//! Options of `agentloop batches`.

use std::path::PathBuf;
use std::time::Duration;

/// Options of `agentloop batches`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Action {
    /// List the batches of a provider.
    List {
        /// The provider.
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// Print a JSON array with everything that the provider reports.
        #[arg(long)]
        json: bool,
    },
    /// Print the state of a batch, as one JSON document per batch of the provider.
    Status {
        /// The file of --output, or its state file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Wait until a batch has ended, and fetch its results.
    Watch {
        /// The file of --output, or its state file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Request the state of the batch every N seconds at first [default: 5; it grows to 60]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
        interval: Option<u64>,
    },
    /// Fetch the results of a batch that has ended, and write them to the file of --output.
    Fetch {
        /// The file of --output, or its state file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Cancel a batch. Rows that were processed before have results.
    Cancel {
        /// The file of --output, or its state file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Converts the options about waiting to the library's.
pub(in crate::command) fn wait_options(interval: Option<u64>) -> agentloop::WaitOptions {
    let options = agentloop::WaitOptions::default();
    match interval {
        Some(seconds) => options.interval(Duration::from_secs(seconds)),
        None => options,
    }
}
