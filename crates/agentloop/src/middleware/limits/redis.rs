//! Limits that many processes share through Redis.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, RedisError};

use super::shared::{SharedAnswer, SharedAsk, SharedLimits};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::BoxFuture;

/// One script, so that looking and taking are one step for all who share.
const SCRIPT: &str = include_str!("redis.lua");

/// [`SharedLimits`] in a Redis server, for any number of processes.
///
/// - An account has two keys, `agentloop:limits:{account}:requests` and `…:tokens`, which vanish when its buckets are
///   full again. The server's clock counts, so that those of the clients may differ.
/// - It connects with the first call, and again after a failure. The connection has a task on the runtime of that call,
///   which ends with it.
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
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl RedisLimits {
    /// At that address: `redis://[user:password@]host[:port][/database]`, `redis+unix:///path`.
    ///
    /// # Errors
    ///
    /// When the address cannot be read. Nothing is connected yet.
    pub fn new(address: &str) -> Result<Self> {
        let client = Client::open(address).map_err(|_| {
            // Not the address itself: a password may stand in it.
            Error::new(ErrorKind::Config, "limits.redis: the address cannot be read")
                .with_hint("write it as redis://host:port")
        })?;
        Ok(Self { client, connection: Mutex::new(None) })
    }

    fn keep(&self, connection: Option<MultiplexedConnection>) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }

    async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let kept = self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(connection) = kept {
            return Ok(connection);
        }
        let connection = self.client.get_multiplexed_async_connection().await?;
        self.keep(Some(connection.clone()));
        Ok(connection)
    }

    async fn wait(&self, ask: SharedAsk<'_>) -> Result<u64, RedisError> {
        let mut connection = self.connection().await?;
        // The braces keep both keys of an account on one node of a cluster.
        let key = |of: &str| format!("agentloop:limits:{{{}}}:{of}", ask.scope);
        let burst = u64::try_from(ask.burst.as_micros()).unwrap_or(u64::MAX);
        ::redis::cmd("EVAL")
            .arg(SCRIPT)
            .arg(2)
            .arg(key("requests"))
            .arg(key("tokens"))
            .arg(burst)
            .arg(ask.settled)
            .arg(ask.requests_per_minute.unwrap_or(0))
            .arg(ask.requests)
            .arg(ask.tokens_per_minute.unwrap_or(0))
            .arg(ask.tokens)
            .query_async(&mut connection)
            .await
    }
}

impl SharedLimits for RedisLimits {
    fn acquire<'a>(&'a self, ask: SharedAsk<'a>) -> BoxFuture<'a, Result<SharedAnswer>> {
        Box::pin(async move {
            match self.wait(ask).await {
                Ok(0) => Ok(SharedAnswer::Granted),
                Ok(micros) => Ok(SharedAnswer::Wait(Duration::from_micros(micros))),
                Err(error) => {
                    self.keep(None);
                    Err(Error::new(ErrorKind::Connection, "the shared limits cannot be reached")
                        .with_source(error))
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
