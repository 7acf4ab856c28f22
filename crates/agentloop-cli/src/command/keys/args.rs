//! Options of `agentloop keys`.

use super::limits::{LimitArgs, NoLimitArgs};
use crate::time::{DAY_MS, parse_day};

/// Options of `agentloop keys`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Option<Action>,

    /// Print JSON instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Action {
    /// List the keys of providers and where they come from, and the keys of the gateway's clients. No key is printed.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Store the key of a provider. It is read from stdin, or asked for at a terminal without being shown.
    ///
    /// The file can be read only by you. A key in the environment or in the configuration is used instead of a stored one.
    ///
    /// Example: agentloop keys set groq < key.txt
    Set {
        /// The provider, for example groq.
        provider: String,
    },
    /// Remove the stored key of a provider.
    Remove {
        /// The provider, for example groq.
        provider: String,
    },
    /// Create a key for a client of the gateway, and print it.
    ///
    /// The key is printed once, on stdout. Only its hash is stored. A gateway that runs accepts it within a second.
    ///
    /// Example: agentloop keys create build-server --model 'openai/*' --budget 5/day --rpm 60
    Create(Create),
    /// Change what a key of the gateway may use. What is not named stays as it is.
    ///
    /// A budget replaces the one of the same period; models and tags replace all that were set.
    ///
    /// Example: agentloop keys update build-server --budget 10/day --no-rpm
    Update(Update),
    /// Revoke a key of the gateway. A gateway that runs refuses it within a second. Its usage is kept.
    Revoke {
        /// The name of the key.
        name: String,
    },
    /// Delete a revoked key of the gateway, and everything that the ledger has about it.
    ///
    /// Budgets of its team per day, week or month no longer count what it has cost; budgets in total still do.
    Forget {
        /// The name of the key.
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

/// Options of `agentloop keys create`.
#[derive(Debug, clap::Args)]
pub(super) struct Create {
    /// The name: letters, digits, `-`, `_` and `.`.
    pub(super) name: String,

    #[command(flatten)]
    pub(super) settings: Settings,

    #[command(flatten)]
    pub(super) limits: LimitArgs,

    /// Refuse requests of which something would be left out on the way to the provider.
    #[arg(long)]
    pub(super) strict: bool,

    /// Print JSON with the name and the key.
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `agentloop keys update`.
#[derive(Debug, clap::Args)]
pub(super) struct Update {
    /// The name of the key.
    pub(super) name: String,

    #[command(flatten)]
    pub(super) settings: Settings,

    #[command(flatten)]
    pub(super) limits: LimitArgs,

    #[command(flatten)]
    pub(super) no_limits: NoLimitArgs,

    /// Refuse requests of which something would be left out on the way to the provider, or accept them again.
    #[arg(long, value_name = "BOOL")]
    pub(super) strict: Option<bool>,

    /// Take the key out of its team.
    #[arg(long, conflicts_with = "team")]
    pub(super) no_team: bool,

    /// Allow all models.
    #[arg(long, conflicts_with = "models")]
    pub(super) all_models: bool,

    /// Let the key never expire.
    #[arg(long, conflicts_with = "expires")]
    pub(super) no_expires: bool,

    /// Remove the tags.
    #[arg(long, conflicts_with = "tags")]
    pub(super) no_tags: bool,
}

/// What a key has besides its limits.
#[derive(Debug, clap::Args)]
pub(super) struct Settings {
    /// The team whose budgets and limits the key shares.
    #[arg(long, value_name = "NAME")]
    pub(super) team: Option<String>,

    /// A model that the key may use: a name, or a pattern such as 'openai/*'. Can be repeated. [default: all models]
    #[arg(long = "model", value_name = "PATTERN")]
    pub(super) models: Vec<String>,

    /// The last day on which the key is valid (UTC), for example 2027-12-31.
    #[arg(long, value_name = "DAY", value_parser = parse_expiry)]
    pub(super) expires: Option<u64>,

    /// A word that marks the usage of the key in the ledger. Can be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    pub(super) tags: Vec<String>,
}

/// Reads the last day of a key. Returns the first second after it.
fn parse_expiry(text: &str) -> Result<u64, String> {
    let end = parse_day(text)? + DAY_MS;
    u64::try_from(end / 1_000).map_err(|error| error.to_string())
}
