//! The order of the middleware of a configuration.
//!
//! Outermost first:
//!
//! 1. the middleware that code adds with [`layer`](crate::AgentLoopBuilder::layer), in that order,
//! 2. logging: one record per call, whatever happens inside,
//! 3. cache: a stored response needs no call,
//! 4. fallback: the next model,
//! 5. retry: the same model again, before the next one is tried,
//! 6. cost: every response that costs,
//! 7. limits: every call that is sent.

use std::sync::Arc;

use super::Middleware;

/// The middleware of a configuration.
#[derive(Clone, Default)]
pub(crate) struct Configured {
    // The fields are in the order of the middleware.
    pub(crate) log: Option<Arc<dyn Middleware>>,
    pub(crate) cache: Option<Arc<dyn Middleware>>,
    pub(crate) fallback: Option<Arc<dyn Middleware>>,
    pub(crate) retry: Option<Arc<dyn Middleware>>,
    pub(crate) cost: Option<Arc<dyn Middleware>>,
    pub(crate) limits: Option<Arc<dyn Middleware>>,
}

impl Configured {
    /// Returns the middleware, outermost first.
    pub(crate) fn in_order(self) -> impl Iterator<Item = Arc<dyn Middleware>> {
        let Self { log, cache, fallback, retry, cost, limits } = self;
        [log, cache, fallback, retry, cost, limits].into_iter().flatten()
    }
}
