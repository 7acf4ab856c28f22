//! The simulated provider: the one place that knows where it comes from.

pub(crate) use agentloop_sim::{Server, provider};

/// The model that answers when no provider is set up.
pub(crate) const ECHO: &str = "sim/echo";
