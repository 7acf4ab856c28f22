//! Limits that many processes share through Redis.

mod line;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::redis::{Cmd, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisResult};
use line::Line;

use super::shared::{SharedAnswer, SharedAsk, SharedLimits};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::BoxFuture;

/// One script, so that looking and taking are one step for all who share.
const SCRIPT: &str = include_str!("acquire.lua");

/// The most connections that are kept for the next call. Each account asks for one call at a time.
const KEPT: usize = 8;

/// [`SharedLimits`] in a Redis server, for any number of processes.
///
/// - An account has two keys, `agentloop:limits:{account}:requests` and `…:tokens`, which vanish when its buckets are
///   full again. The server's clock counts, so that those of the clients may differ.
/// - It connects with the first call, and again after a failure. Nothing runs beside the calls.
/// - Without TLS: the server stands in a network that is trusted.
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
pub struct RedisLimits {
    host: String,
    port: u16,
    login: RedisConnectionInfo,
    kept: Mutex<Vec<Line>>,
}

impl RedisLimits {
    /// At that address: `redis://[user:password@]host[:port][/database]`.
    ///
    /// # Errors
    ///
    /// When the address cannot be read. Nothing is connected yet.
    pub fn new(address: &str) -> Result<Self> {
        // Not the address itself: a password may stand in it.
        let wrong = || {
            Error::new(ErrorKind::Config, "limits.redis: the address cannot be used")
                .with_hint("write it as redis://host:port")
        };
        let address = address.into_connection_info().map_err(|_| wrong())?;
        let ConnectionAddr::Tcp(host, port) = address.addr() else {
            return Err(wrong());
        };
        let (host, login) = (host.clone(), address.redis_settings().clone());
        Ok(Self { host, port: *port, login, kept: Mutex::new(Vec::new()) })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Line>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks on a connection that is there. One that the server closed meanwhile is found out by its failure, so that a
    /// new one is tried; should the first have been heard after all, a call counts twice.
    async fn wait(&self, command: &Cmd) -> RedisResult<u64> {
        let kept = self.kept().pop();
        if let Some(line) = kept
            && let Ok(wait) = self.wait_on(line, command).await
        {
            return Ok(wait);
        }
        let line = Line::open(&self.host, self.port, &self.login).await?;
        self.wait_on(line, command).await
    }

    async fn wait_on(&self, mut line: Line, command: &Cmd) -> RedisResult<u64> {
        let wait = line.number(command).await?;
        let mut kept = self.kept();
        if kept.len() < KEPT {
            kept.push(line);
        }
        Ok(wait)
    }
}

fn command(ask: &SharedAsk<'_>) -> Cmd {
    // The braces keep both keys of an account on one node of a cluster.
    let key = |of: &str| format!("agentloop:limits:{{{}}}:{of}", ask.scope);
    let mut command = ::redis::cmd("EVAL");
    command
        .arg(SCRIPT)
        .arg(2)
        .arg(key("requests"))
        .arg(key("tokens"))
        .arg(u64::try_from(ask.burst.as_micros()).unwrap_or(u64::MAX))
        .arg(ask.settled)
        .arg(ask.requests_per_minute.unwrap_or(0))
        .arg(ask.requests)
        .arg(ask.tokens_per_minute.unwrap_or(0))
        .arg(ask.tokens);
    command
}

impl SharedLimits for RedisLimits {
    fn acquire<'a>(&'a self, ask: SharedAsk<'a>) -> BoxFuture<'a, Result<SharedAnswer>> {
        Box::pin(async move {
            match self.wait(&command(&ask)).await {
                Ok(0) => Ok(SharedAnswer::Granted),
                Ok(micros) => Ok(SharedAnswer::Wait(Duration::from_micros(micros))),
                Err(error) => {
                    let message = format!("Redis: {error}");
                    Err(Error::new(ErrorKind::Connection, message).with_source(error))
                }
            }
        })
    }
}

impl fmt::Debug for RedisLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisLimits")
    }
}
