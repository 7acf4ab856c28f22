//! What a configuration makes of the gateway. A reload replaces it as a whole.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agentloop::internal::SharedRoom;
use agentloop::{AgentLoop, Error, ErrorKind, GatewayConfig, GatewayLedger, Result};

use crate::account::Scope;
use crate::cache::Cache;
use crate::key::KeyRing;
use crate::live::Live;
use crate::route::Router;
use crate::store::Limits;
use crate::stored::Stored;

/// The largest body of a request, in bytes, unless it is set.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// How many bytes large responses may hold together, unless it is set.
pub const MAX_HELD_BYTES: usize = 512 << 20;

/// How often a silent stream gets a comment, unless it is set.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a client may take for its request, and read nothing of its response, unless it is set.
pub const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings that requests are handled with.
pub struct State {
    pub(crate) router: Router,
    pub(crate) keys: KeyRing,
    pub(crate) teams: HashMap<String, Arc<Limits>>,
    pub(crate) ledger: GatewayLedger,
    pub(crate) strict: bool,
    pub(crate) max_body_bytes: usize,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) client_timeout: Duration,
    pub(crate) models: Vec<agentloop::ModelInfo>,
    pub(crate) stored: Arc<Stored>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) live: Arc<Live>,
}

agentloop::shown! { State: self { keys: self.keys } }

impl State {
    /// Builds the state of a configuration. `variable` returns the value of an environment variable, `extra` are keys that
    /// are not in the configuration.
    ///
    /// # Errors
    ///
    /// When a setting cannot be used. The error names it.
    pub fn new(
        client: &AgentLoop,
        config: &GatewayConfig,
        extra: KeyRing,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        // Every call is made in the task of a connection.
        let room = config.max_held_bytes.unwrap_or(MAX_HELD_BYTES);
        let client = &client.in_server(Arc::new(SharedRoom::new(room)));
        let mut keys = KeyRing::from_config(&config.keys, variable)?;
        keys.extend(extra);
        let teams = read_teams(config)?;
        let router = Router::new(client, config, variable)?;
        let keep_alive = match config.keep_alive {
            None => Some(KEEP_ALIVE),
            Some(0.0) => None,
            Some(value) => Some(seconds("keep_alive", value)?),
        };
        let client_timeout = match config.client_timeout {
            None => CLIENT_TIMEOUT,
            Some(value) => seconds("client_timeout", value)?,
        };
        Ok(Self {
            models: crate::models::list(client, &router),
            router,
            keys,
            teams,
            ledger: config.ledger.clone(),
            strict: config.strict,
            max_body_bytes: config.max_body_bytes.unwrap_or(MAX_BODY_BYTES),
            keep_alive,
            client_timeout,
            stored: Arc::default(),
            cache: Cache::open(config, variable)?,
            live: Arc::default(),
        })
    }

    /// Returns the keys and teams that have a budget.
    pub(crate) fn budgets(&self) -> Vec<(Scope, Limits)> {
        let keys = self.keys.keys().map(|key| (Scope::Key(key.name.clone()), key.limits.clone()));
        let team = |(name, limits): (&String, &Arc<Limits>)| {
            (Scope::Team(name.clone()), limits.as_ref().clone())
        };
        let all = keys.chain(self.teams.iter().map(team));
        all.filter(|(_, limits)| !limits.budgets.is_empty()).collect()
    }

    /// Returns whether the configuration has keys.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// Reads the teams. A key of a team that is not there is a mistake: its limits would never apply.
fn read_teams(config: &GatewayConfig) -> Result<HashMap<String, Arc<Limits>>> {
    for (name, key) in &config.keys {
        if let Some(team) = key.team.as_ref().filter(|team| !config.teams.contains_key(*team)) {
            let message = format!("gateway.keys.{name}: there is no team `{team}`");
            let known: Vec<&str> = config.teams.keys().map(String::as_str).collect();
            let hint = if known.is_empty() {
                format!("add the table [gateway.teams.{team}]")
            } else {
                format!("the teams of the configuration are: {}", known.join(", "))
            };
            return Err(Error::new(ErrorKind::Config, message).with_hint(hint));
        }
    }
    let each = config.teams.iter().map(|(name, team)| {
        let limits = Limits::from(team);
        let wrong = |error: Error| {
            let message = format!("gateway.teams.{name}: {}", error.message());
            Error::new(ErrorKind::Config, message)
        };
        limits.check().map_err(wrong)?;
        Ok((name.clone(), Arc::new(limits)))
    });
    each.collect()
}

pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration> {
    let wrong = |why: &str| Error::new(ErrorKind::Config, format!("gateway.{name}: {why}"));
    match Duration::try_from_secs_f64(value) {
        Ok(Duration::ZERO) => Err(wrong("it must be more than 0 seconds")),
        Ok(time) if time <= agentloop::limits::MAX_TIMEOUT => Ok(time),
        Ok(_) => Err(wrong("it is longer than a year")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}
