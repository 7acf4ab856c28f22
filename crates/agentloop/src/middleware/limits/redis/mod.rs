//! Limits that several processes share through Redis.

use std::time::Duration;

use ::redis::Cmd;

use super::shared::{AcquireRequest, AcquireResponse, SharedLimits};
use crate::error::Result;
use crate::middleware::redis::Server;
use crate::transport::BoxFuture;

/// One script, so that checking and taking are one step.
const SCRIPT: &str = include_str!("acquire.lua");

/// [`SharedLimits`] in a Redis server, for any number of processes (feature `redis`).
///
/// - An account has two keys, `agentloop:limits:{account}:requests` and `…:tokens`, which expire when nothing of its allowance is in use.
///   The server's clock counts, so the clocks of the clients may differ.
/// - It connects with the first call, and again after a failure. Nothing runs beside the calls.
/// - TLS is not supported: the server must be in a trusted network.
///
/// ```no_run
/// use std::sync::Arc;
/// use agentloop::middleware::{Limit, Limits, RedisLimits};
///
/// let limits = Limits::new()
///     .for_provider("openai", Limit::new().requests_per_minute(500))
///     .shared_through(Arc::new(RedisLimits::new("redis://127.0.0.1")?));
/// # Ok::<(), agentloop::Error>(())
/// ```
pub struct RedisLimits(Server);

impl RedisLimits {
    /// Uses the server at a URL: `redis://[[user]:password@]host[:port][/database]`, or `unix:///path/to.sock`. It connects with the first call.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not such a URL. `rediss://` is not supported.
    pub fn new(url: &str) -> Result<Self> {
        Server::new(url).map(Self)
    }
}

fn command(request: &AcquireRequest<'_>) -> Cmd {
    // The braces keep both keys of an account on one node of a cluster.
    let key = |of: &str| format!("agentloop:limits:{{{}}}:{of}", request.scope);
    let mut command = ::redis::cmd("EVAL");
    command
        .arg(SCRIPT)
        .arg(2)
        .arg(key("requests"))
        .arg(key("tokens"))
        .arg(u64::try_from(request.burst.as_micros()).unwrap_or(u64::MAX))
        .arg(request.settled)
        .arg(request.requests_per_minute.unwrap_or(0))
        .arg(request.requests)
        .arg(request.tokens_per_minute.unwrap_or(0))
        .arg(request.tokens);
    command
}

impl SharedLimits for RedisLimits {
    fn acquire<'a>(
        &'a self,
        request: AcquireRequest<'a>,
    ) -> BoxFuture<'a, Result<AcquireResponse>> {
        Box::pin(async move {
            Ok(match self.0.run::<u64>(&command(&request)).await? {
                0 => AcquireResponse::Granted,
                micros => AcquireResponse::Wait(Duration::from_micros(micros)),
            })
        })
    }
}

shown! { RedisLimits: self { } }
