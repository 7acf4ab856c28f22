//! Answers in Redis, for many machines.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, FromRedisValue, IntoConnectionInfo,
    cmd,
};
use bytes::Bytes;
use tokio::net::TcpStream;

use super::{CacheKey, CacheStore};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CACHE_MAX_REDIS_LINKS, CACHE_MAX_REDIS_VALUE_BYTES, CACHE_MAX_TTL};
use crate::transport::BoxFuture;

/// Keeps answers in Redis, so that many machines share them (feature `redis`).
///
/// - Each answer is one string under `agentloop:` and its key, and Redis itself forgets it in time. How much memory it may
///   take is Redis's own setting (`maxmemory` with a policy like `allkeys-lru`).
/// - Connections are made when they are needed, a few are kept, and nothing runs beside the calls.
/// - An answer of more than [`CACHE_MAX_REDIS_VALUE_BYTES`] is not stored.
///
/// ```
/// use agentloop::middleware::{Cache, RedisStore};
///
/// let cache = Cache::new().store(RedisStore::new("redis://localhost:6379/0")?);
/// # Ok::<(), agentloop::Error>(())
/// ```
pub struct RedisStore {
    server: ConnectionInfo,
    prefix: String,
    idle: Mutex<Vec<Link>>,
}

impl RedisStore {
    /// At an address: `redis://[[user]:password@]host[:port][/database]`, or `unix:///path/to.sock`. Nothing is connected
    /// yet.
    ///
    /// # Errors
    ///
    /// When it is no such address; `rediss://` is not spoken.
    pub fn new(address: &str) -> Result<Self> {
        // The address itself is not shown: a password may stand in it.
        let refused = |what: &str| {
            Error::new(ErrorKind::Config, what.to_owned())
                .with_hint("write it as redis://host:port/database, or unix:///path/to.sock")
        };
        let server = address
            .into_connection_info()
            .map_err(|_| refused("not an address of a Redis that can be used"))?;
        match server.addr() {
            ConnectionAddr::Tcp(..) => {}
            #[cfg(unix)]
            ConnectionAddr::Unix(_) => {}
            _ => return Err(refused("Redis is spoken to over plain TCP or a Unix socket only")),
        }
        // One step less for each new connection.
        let settings = server.redis_settings().clone().set_skip_set_lib_name();
        let server = server.set_redis_settings(settings);
        Ok(Self { server, prefix: "agentloop:".to_owned(), idle: Mutex::default() })
    }

    /// What stands before each key in Redis, instead of `agentloop:`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Runs a command on a connection that is there, else on a new one.
    async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        let idle = self.idle().pop();
        if let Some(mut link) = idle
            // Redis may have closed it since.
            && let Ok(value) = link.run(command).await
        {
            self.give_back(link);
            return Ok(value);
        }
        let mut link = Link::open(&self.server).await?;
        let value = link.run(command).await?;
        self.give_back(link);
        Ok(value)
    }

    fn give_back(&self, link: Link) {
        let mut idle = self.idle();
        if idle.len() < CACHE_MAX_REDIS_LINKS {
            idle.push(link);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, key: &CacheKey) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl CacheStore for RedisStore {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
        Box::pin(async move {
            let found: Option<Vec<u8>> = self.run(cmd("GET").arg(self.name(key))).await?;
            Ok(found.map(Bytes::from))
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let milliseconds =
                u64::try_from(ttl.min(CACHE_MAX_TTL).as_millis()).unwrap_or(u64::MAX);
            if value.len() > CACHE_MAX_REDIS_VALUE_BYTES || milliseconds == 0 {
                return Ok(());
            }
            let mut command = cmd("SET");
            command.arg(self.name(key)).arg(&value[..]).arg("PX").arg(milliseconds);
            self.run(&command).await
        })
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// A connection, and what drives it: whoever uses it does, so that nothing is spawned.
struct Link {
    connection: MultiplexedConnection,
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Link {
    async fn open(server: &ConnectionInfo) -> Result<Self> {
        let settings = server.redis_settings();
        // The cache has its own deadline.
        let config = || AsyncConnectionConfig::new().set_response_timeout(None);
        match server.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                let made = MultiplexedConnection::new_with_config(settings, stream, config());
                let (connection, driver) = made.await.map_err(failed)?;
                Ok(Self { connection, driver: Box::pin(driver) })
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await.map_err(failed)?;
                let made = MultiplexedConnection::new_with_config(settings, stream, config());
                let (connection, driver) = made.await.map_err(failed)?;
                Ok(Self { connection, driver: Box::pin(driver) })
            }
            _ => Err(Error::new(ErrorKind::Config, "Redis cannot be reached in this way")),
        }
    }

    async fn run<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        let mut reply = pin!(command.query_async::<T>(&mut self.connection));
        let driver = &mut self.driver;
        poll_fn(|context| {
            if let Poll::Ready(reply) = reply.as_mut().poll(context) {
                return Poll::Ready(reply.map_err(failed));
            }
            if driver.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Error::new(ErrorKind::Connection, "Redis hung up")));
            }
            Poll::Pending
        })
        .await
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Connection, "Redis does not answer").with_source(error)
}
