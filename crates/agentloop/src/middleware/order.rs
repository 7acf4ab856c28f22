//! The order in which a configuration's middlewares wrap a call: the one place that knows it.
//!
//! Outermost first:
//!
//! 1. what the code gave with [`layer`](crate::AgentLoopBuilder::layer), in the given order,
//! 2. logging: one line for a call, whatever happens inside,
//! 3. cache: a hit asks nobody,
//! 4. fallback: the next model,
//! 5. retry: the same model again, before the next is asked,
//! 6. cost: every answer that was paid for,
//! 7. limits: every call that is really sent.

use std::sync::Arc;

use super::Middleware;

/// The middlewares that a configuration asks for, each at its place.
#[derive(Clone, Default)]
pub(crate) struct Configured {
    // Each field is a place; they stand in the order of the places.
    pub(crate) log: Option<Arc<dyn Middleware>>,
    pub(crate) cache: Option<Arc<dyn Middleware>>,
    pub(crate) fallback: Option<Arc<dyn Middleware>>,
    pub(crate) retry: Option<Arc<dyn Middleware>>,
    pub(crate) cost: Option<Arc<dyn Middleware>>,
    pub(crate) limits: Option<Arc<dyn Middleware>>,
}

impl Configured {
    /// Outermost first.
    pub(crate) fn in_order(self) -> impl Iterator<Item = Arc<dyn Middleware>> {
        let Self { log, cache, fallback, retry, cost, limits } = self;
        [log, cache, fallback, retry, cost, limits].into_iter().flatten()
    }
}
