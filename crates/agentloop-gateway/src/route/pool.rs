//! The keys of each provider.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use agentloop::internal::files::read_regular_text;
use agentloop::internal::lock;
use agentloop::limits::MAX_CREDENTIAL_FILE_BYTES;
use agentloop::{AgentLoop, Error, ErrorKind, GatewayConfig, Result, Target};
use tokio::time::Instant;

use super::health::{Blame, Health, blame};
use super::history::History;
use super::{Busy, Load, ProviderView, mix};

/// The most models whose load is counted.
const MAX_LOADS: usize = 4096;

/// The keys of all providers.
#[derive(Debug)]
pub(super) struct Pools {
    client: AgentLoopBox,
    pools: HashMap<String, Pool>,
    has_choice: bool,
    loads: Mutex<HashMap<String, Load>>,
}

/// A client, which has no `Debug` of its own.
struct AgentLoopBox(AgentLoop);

impl fmt::Debug for AgentLoopBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentLoop")
    }
}

/// The keys of one provider.
#[derive(Debug)]
struct Pool {
    provider: Arc<Health>,
    history: Arc<History>,
    slots: Vec<Arc<Slot>>,
}

/// One key of a provider.
pub(crate) struct Slot {
    /// Where the key comes from: the name of a variable or a file; empty for the provider's own key.
    pub(crate) label: String,
    /// The client that uses the key.
    pub(crate) client: AgentLoop,
    health: Health,
}

agentloop::shown! { Slot: self { label: self.label } }

/// A model with the key that it is called with.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The name of the model, as `provider/model` or an alias.
    pub(crate) model: String,
    /// The provider and its name of the model.
    pub(crate) target: Arc<Target>,
    pub(crate) slot: Arc<Slot>,
    health: Arc<Health>,
    history: Arc<History>,
    load: Load,
}

impl Member {
    /// Returns the name of the provider.
    pub(crate) fn provider(&self) -> &str {
        &self.target.provider.name
    }

    /// Returns the model as `provider/model`.
    pub(crate) fn full_name(&self) -> String {
        [self.provider(), "/", &self.target.model].concat()
    }

    /// Returns whether neither the key nor the provider rests.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        self.health.is_ready(now) && self.slot.health.is_ready(now)
    }

    /// Counts a call until the guard is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.load.begin()
    }

    /// Records a call that succeeded.
    pub(crate) fn succeeded(&self) {
        self.health.succeeded();
        self.slot.health.succeeded();
        self.history.succeeded();
    }

    /// Records a call that failed.
    pub(crate) fn failed(&self, error: &Error) {
        let now = Instant::now();
        match blame(error) {
            Blame::Key(time) => self.slot.health.rest(now, time),
            Blame::Provider => self.health.failed(now),
            Blame::Request => return,
        }
        self.history.failed(error.kind());
    }
}

impl Pools {
    pub(super) fn new(
        client: &AgentLoop,
        config: &GatewayConfig,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let mut pools: HashMap<String, Pool> = HashMap::new();
        for provider in client.providers() {
            let own =
                Slot { label: String::new(), client: client.clone(), health: Health::default() };
            let health = Arc::default();
            let pool =
                Pool { provider: health, history: Arc::default(), slots: vec![Arc::new(own)] };
            pools.insert(provider.name.to_string(), pool);
        }
        for (name, table) in &config.pools {
            let wrong = |what: String| {
                Error::new(ErrorKind::Config, format!("gateway.pools.{name}: {what}"))
            };
            let Some(pool) = pools.get_mut(name) else {
                return Err(wrong("it is not the name of a provider".to_owned()));
            };
            let mut slots = Vec::new();
            for label in table.variables() {
                let key = variable(&label)
                    .filter(|key| !key.trim().is_empty())
                    .ok_or_else(|| wrong(format!("the environment variable {label} is not set")))?;
                slots.push((label, key));
            }
            for path in table.files() {
                let key = read_regular_text(&path, MAX_CREDENTIAL_FILE_BYTES)
                    .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
                slots.push((path.display().to_string(), key));
            }
            if slots.is_empty() {
                return Err(wrong("set `key_env` or `key_file`".to_owned()));
            }
            pool.slots = slots
                .into_iter()
                .map(|(label, key)| {
                    let client = client.with_key(name, key.trim())?;
                    Ok(Arc::new(Slot { label, client, health: Health::default() }))
                })
                .collect::<Result<_>>()?;
        }
        let has_choice = pools.values().any(|pool| pool.slots.len() > 1);
        let client = AgentLoopBox(client.clone());
        Ok(Self { client, pools, has_choice, loads: Mutex::default() })
    }

    /// Returns a model with each of its provider's keys: those that work first, and of these the conversation's own.
    pub(super) fn members(&self, model: &str, affinity: u64, now: Instant) -> Result<Vec<Member>> {
        let target = self.client.0.target(model)?;
        let provider: &str = &target.provider.name;
        let Some(pool) = self.pools.get(provider) else { return Ok(Vec::new()) };
        let load = self.load_of(model);
        let mut members: Vec<Member> = pool
            .slots
            .iter()
            .map(|slot| Member {
                model: model.to_owned(),
                target: Arc::clone(&target),
                slot: Arc::clone(slot),
                health: Arc::clone(&pool.provider),
                history: Arc::clone(&pool.history),
                load: load.clone(),
            })
            .collect();
        if members.len() > 1 {
            members
                .sort_by_key(|member| (!member.is_ready(now), mix(affinity, &member.slot.label)));
        }
        Ok(members)
    }

    /// Returns whether a provider has several keys.
    pub(super) fn has_choice(&self) -> bool {
        self.has_choice
    }

    /// Takes over how the calls of the providers ended before the settings were replaced.
    pub(super) fn keep_history(&mut self, old: &Self) {
        for (name, pool) in &mut self.pools {
            if let Some(old) = old.pools.get(name) {
                pool.history = Arc::clone(&old.history);
            }
        }
    }

    /// Returns how the providers do, in the order of their names.
    pub(super) fn view(&self, now: Instant) -> Vec<ProviderView> {
        let mut views: Vec<ProviderView> = self
            .pools
            .iter()
            .map(|(name, pool)| {
                let rests = |slot: &&Arc<Slot>| slot.health.rest_left(now).is_some();
                let key_rest = pool.slots.iter().filter_map(|slot| slot.health.rest_left(now));
                ProviderView::new(
                    name,
                    pool.provider.rest_left(now),
                    (pool.slots.len(), pool.slots.iter().filter(rests).count(), key_rest.min()),
                    &pool.history,
                )
            })
            .collect();
        views.sort_by(|one, other| one.name.cmp(&other.name));
        views
    }

    /// Returns how many calls of a model are in progress.
    pub(super) fn load(&self, model: &str) -> usize {
        self.load_of(model).count()
    }

    fn load_of(&self, model: &str) -> Load {
        let mut loads = lock(&self.loads);
        if let Some(load) = loads.get(model) {
            return load.clone();
        }
        if loads.len() >= MAX_LOADS {
            loads.retain(|_, load| load.count() > 0);
        }
        let load = Load::default();
        if loads.len() < MAX_LOADS {
            loads.insert(model.to_owned(), load.clone());
        }
        load
    }
}
