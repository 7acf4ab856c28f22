//! Options of `agentloop serve`.

use agentloop::GatewayLog;

/// Options of `agentloop serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The IP address and the port to listen on; port 0 chooses a free one. The default is 127.0.0.1:4180.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,

    /// The IP address and the port of metrics and health for operators, or `off`. The default is 127.0.0.1:4181.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) admin_listen: Option<String>,

    /// The form of the log on stderr: one line per request, without prompts and responses.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) log: Option<LogForm>,

    /// Offer the simulated models to clients, as `sim/…`.
    #[arg(long)]
    pub(super) simulator: bool,

    /// Check the configuration, and exit.
    #[arg(long)]
    pub(super) check: bool,

    /// Create an API key, print it and the settings that allow it, and exit. Only its hash is in the settings.
    #[arg(long, value_name = "NAME")]
    pub(super) new_key: Option<String>,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum LogForm {
    Json,
    Text,
    Off,
}

impl From<LogForm> for GatewayLog {
    fn from(form: LogForm) -> Self {
        match form {
            LogForm::Json => Self::Json,
            LogForm::Text => Self::Text,
            LogForm::Off => Self::Off,
        }
    }
}
