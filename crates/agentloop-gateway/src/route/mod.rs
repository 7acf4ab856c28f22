//! From the model of a request to the providers and keys that are tried.

mod health;
mod history;
mod pool;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use agentloop::{
    AgentLoop, Error, ErrorKind, GatewayCache, GatewayCacheScope, GatewayConfig, GatewayRoute,
    GatewayStrategy, Result,
};
use tokio::time::Instant;

pub(crate) use health::{Blame, blame};
pub(crate) use history::ProviderView;
pub(crate) use pool::Member;
use pool::Pools;

/// How often a call that failed before its first content is tried again, if the route does not set it.
const RETRIES: u32 = 1;

/// The most retries that a setting can ask for.
const MAX_RETRIES: u32 = 10;

/// How long the cache of a route keeps a response, if the route does not set it.
pub const CACHE_TTL: Duration = Duration::from_secs(300);

/// The most models of a route.
pub const MAX_ROUTE_MODELS: usize = 64;

/// The routes and the pools of keys.
#[derive(Debug)]
pub(crate) struct Router {
    pools: Pools,
    routes: BTreeMap<String, Route>,
    /// How calls of models without a route are made.
    plain: Options,
    /// Changes with every choice at random.
    turn: AtomicU64,
}

/// A list of models.
#[derive(Debug)]
struct Route {
    members: Vec<(String, f64)>,
    strategy: GatewayStrategy,
    plan: Options,
}

/// How a call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) retries: u32,
    pub(crate) strict: bool,
    pub(crate) drain: Duration,
    pub(crate) cache: Option<CachePolicy>,
    affinity: bool,
}

/// How the responses of a route are cached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachePolicy {
    pub(crate) ttl: Duration,
    pub(crate) shared_by: GatewayCacheScope,
}

impl CachePolicy {
    fn new(table: &GatewayCache) -> Result<Self> {
        let wrong = |why: &str| Error::new(ErrorKind::Config, format!("`cache.ttl`: {why}"));
        let ttl = match table.ttl.map(Duration::try_from_secs_f64) {
            None => CACHE_TTL,
            Some(Ok(Duration::ZERO)) => return Err(wrong("it must be more than 0 seconds")),
            Some(Ok(ttl)) if ttl <= agentloop::limits::MAX_TIMEOUT => ttl,
            Some(Ok(_)) => return Err(wrong("it is longer than a year")),
            Some(Err(error)) => return Err(wrong(&error.to_string())),
        };
        Ok(Self { ttl, shared_by: table.shared_by })
    }
}

impl Default for Options {
    fn default() -> Self {
        let drain = Duration::ZERO;
        Self { retries: RETRIES, strict: false, drain, cache: None, affinity: true }
    }
}

/// What is tried, in order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) members: Vec<Member>,
    pub(crate) options: Options,
}

impl Router {
    /// Creates the router of a configuration.
    ///
    /// # Errors
    ///
    /// When a route names a model that cannot be resolved, or a pool a key that is not there.
    pub(crate) fn new(
        client: &AgentLoop,
        config: &GatewayConfig,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let pools = Pools::new(client, config, variable)?;
        let mut routes = BTreeMap::new();
        for (name, table) in &config.routes {
            let route = Route::new(client, table, config.retries).map_err(|error| {
                let message = format!("gateway.routes.{name}: {}", error.message());
                Error::new(ErrorKind::Config, message).with_hint(error.hint().unwrap_or_default())
            })?;
            routes.insert(name.clone(), route);
        }
        let retries = config.retries.unwrap_or(RETRIES).min(MAX_RETRIES);
        let plain = Options { retries, ..Options::default() };
        Ok(Self { pools, routes, plain, turn: AtomicU64::new(0) })
    }

    /// Takes over how the calls of the providers ended before the settings were replaced.
    pub(crate) fn keep_history(&mut self, old: &Self) {
        self.pools.keep_history(&old.pools);
    }

    /// Returns how the providers do, in the order of their names.
    pub(crate) fn providers(&self) -> Vec<ProviderView> {
        self.pools.view(Instant::now())
    }

    /// Returns the names of the routes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.routes.keys().map(String::as_str)
    }

    /// Returns whether what is tried for a model depends on the conversation.
    pub(crate) fn has_choice(&self, model: &str) -> bool {
        self.pools.has_choice() || self.routes.contains_key(model)
    }

    /// Returns what is tried for a model, in order: models and keys that work first.
    ///
    /// # Errors
    ///
    /// When the name is not that of a route and cannot be resolved.
    pub(crate) fn plan(&self, model: &str, affinity: u64) -> Result<Plan> {
        let now = Instant::now();
        let Some(route) = self.routes.get(model) else {
            let members = self.pools.members(model, affinity, now)?;
            return Ok(Plan { members, options: self.plain });
        };
        let seed = if route.plan.affinity {
            affinity
        } else {
            self.turn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
        };
        let mut members = Vec::new();
        for name in route.order(seed, &self.pools) {
            members.extend(self.pools.members(name, seed, now)?);
        }
        // What rests is tried last: it may work again, and there may be nothing else.
        members.sort_by_key(|member| !member.is_ready(now));
        Ok(Plan { members, options: route.plan })
    }
}

impl Route {
    fn new(client: &AgentLoop, table: &GatewayRoute, retries: Option<u32>) -> Result<Self> {
        let wrong = |message: String| Error::new(ErrorKind::Config, message);
        if table.models.is_empty() || table.models.len() > MAX_ROUTE_MODELS {
            return Err(wrong(format!("`models` must have 1 to {MAX_ROUTE_MODELS} models")));
        }
        let mut members = Vec::new();
        for member in &table.models {
            client.resolve(member.model())?;
            let weight = member.weight();
            if !(weight.is_finite() && weight > 0.0) {
                return Err(wrong(format!("the weight of `{}` must be above 0", member.model())));
            }
            members.push((member.model().to_owned(), weight));
        }
        let drain = match table.drain {
            None => Duration::ZERO,
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .map_err(|error| wrong(format!("`drain`: {error}")))?,
        };
        let plan = Options {
            retries: table.retries.or(retries).unwrap_or(RETRIES).min(MAX_RETRIES),
            strict: table.strict,
            drain,
            cache: table.cache.as_ref().map(CachePolicy::new).transpose()?,
            affinity: table.affinity.unwrap_or(true),
        };
        Ok(Self { members, strategy: table.strategy, plan })
    }

    /// Returns the models in the order in which they are tried.
    fn order(&self, seed: u64, pools: &Pools) -> Vec<&str> {
        let mut members: Vec<(f64, &str)> = match self.strategy {
            GatewayStrategy::Weighted => {
                // The largest of `ln(random) / weight` wins, which chooses each in proportion to its weight.
                let score = |(name, weight): &(String, f64)| unit(mix(seed, name)).ln() / weight;
                self.members.iter().map(|member| (-score(member), member.0.as_str())).collect()
            }
            GatewayStrategy::LeastLoaded => {
                #[expect(clippy::cast_precision_loss, reason = "a load is small")]
                let load = |(name, weight): &(String, f64)| pools.load(name) as f64 / weight;
                self.members.iter().map(|member| (load(member), member.0.as_str())).collect()
            }
            _ => return self.members.iter().map(|(name, _)| name.as_str()).collect(),
        };
        members.sort_by(|one, other| one.0.total_cmp(&other.0));
        members.into_iter().map(|(_, name)| name).collect()
    }
}

/// Mixes a number with a name, so each name gets another number.
pub(crate) fn mix(seed: u64, name: &str) -> u64 {
    let mut hash = name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The finalizer of SplitMix64: similar seeds must not give similar numbers.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Returns a number between 0 and 1, both excluded.
fn unit(hash: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let number = ((hash >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    number
}

/// Counts the calls in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load(Arc<AtomicUsize>);

impl Load {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts a call until the guard is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.0.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.0))
    }
}

/// A call in progress.
#[derive(Debug)]
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(text: &str) -> Router {
        let config = agentloop::Config::parse(text).unwrap();
        let client = AgentLoop::builder().config(&config).build().unwrap();
        let variable = |name: &str| Some(format!("sk-{name}"));
        Router::new(&client, &config.gateway.unwrap(), &variable).unwrap()
    }

    const LAB: &str = "[providers.a]\nbase_url='http://a.invalid'\n[providers.b]\nbase_url='http://b.invalid'\nkey_env='B'\n";

    #[test]
    fn an_ordered_route_tries_its_models_in_order() {
        let router = router(&format!("{LAB}[gateway.routes.fast]\nmodels=['a/x','b/y']"));
        for affinity in 0..50 {
            let plan = router.plan("fast", affinity).unwrap();
            let names: Vec<&str> =
                plan.members.iter().map(|member| member.model.as_str()).collect();
            assert_eq!(names, ["a/x", "b/y"]);
        }
        assert_eq!(router.plan("a/x", 1).unwrap().members.len(), 1);
        assert!(router.plan("nothing", 1).is_err());
    }

    #[test]
    fn weights_decide_how_often_a_model_is_first_and_a_conversation_stays() {
        let text =
            "[gateway.routes.mix]\nstrategy='weighted'\nmodels=[{model='a/x',weight=3},'b/y']";
        let router = router(&format!("{LAB}{text}"));
        let first = |affinity: u64| router.plan("mix", affinity).unwrap().members[0].model.clone();
        let of_a = (0..4000).filter(|affinity| first(affinity * 7919) == "a/x").count();
        assert!((2850..3150).contains(&of_a), "{of_a}");
        assert_eq!(first(42), first(42));
    }

    #[test]
    fn the_least_loaded_model_is_first() {
        let text = "[gateway.routes.load]\nstrategy='least_loaded'\nmodels=['a/x','b/y']";
        let router = router(&format!("{LAB}{text}"));
        let plan = router.plan("load", 1).unwrap();
        let busy = plan.members[0].begin();
        assert_eq!(router.plan("load", 1).unwrap().members[0].model, "b/y");
        drop(busy);
        assert_eq!(router.plan("load", 1).unwrap().members[0].model, "a/x");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_was_refused_is_tried_last_and_only_that_key() {
        let text =
            "[gateway.pools.b]\nkey_env=['K1','K2','K3']\n[gateway.routes.r]\nmodels=['b/y','a/x']";
        let router = router(&format!("{LAB}{text}"));
        let plan = router.plan("r", 5).unwrap();
        assert_eq!(plan.members.len(), 4);
        let refused = plan.members[0].slot.label.clone();
        plan.members[0].failed(&Error::new(ErrorKind::Auth, "no"));
        let next = router.plan("r", 5).unwrap();
        assert_eq!(next.members.last().unwrap().slot.label, refused);
        assert_eq!(next.members[0].model, "b/y");
        for _ in 0..3 {
            next.members[0].failed(&Error::new(ErrorKind::Overloaded, "busy"));
        }
        assert_eq!(router.plan("r", 5).unwrap().members[0].model, "a/x", "the provider rests");
        tokio::time::advance(Duration::from_secs(16)).await;
        assert_eq!(router.plan("r", 5).unwrap().members[0].model, "b/y");
    }

    #[test]
    fn conversations_are_spread_over_the_keys_of_a_pool_and_stay_with_theirs() {
        let router = router(&format!("{LAB}[gateway.pools.b]\nkey_env=['K1','K2']"));
        let label =
            |affinity: u64| router.plan("b/y", affinity).unwrap().members[0].slot.label.clone();
        let first = (0..1000).filter(|affinity| label(*affinity) == "K1").count();
        assert!((400..600).contains(&first), "{first}");
        assert_eq!(label(77), label(77));
        assert!(router.has_choice("b/y"));
    }

    #[test]
    fn a_conversation_matters_only_where_there_is_a_choice() {
        let router = router(&format!("{LAB}[gateway.routes.r]\nmodels=['b/y','a/x']"));
        assert!(router.has_choice("r"));
        assert!(!router.has_choice("b/y"));
    }
}
