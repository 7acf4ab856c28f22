//! A Redis server that several middlewares use. The call that uses a connection drives it, so nothing is spawned.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard};
use std::task::Poll;

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, FromRedisValue, IntoConnectionInfo,
};
use tokio::net::TcpStream;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_REDIS_LINKS;
use crate::lock::lock;

/// A server, and idle connections to it.
pub(super) struct Server {
    info: ConnectionInfo,
    idle: Mutex<Vec<Link>>,
}

impl Server {
    /// Uses the server at a URL: `redis://[[user]:password@]host[:port][/database]`, or `unix:///path/to.sock`. It connects with the first
    /// command.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not such a URL. `rediss://` is not supported.
    pub(super) fn new(url: &str) -> Result<Self> {
        // The error does not contain the URL, which may contain a password.
        let refused = |what: &str| {
            Error::new(ErrorKind::Config, what.to_owned())
                .with_hint("write it as redis://host:port/database, or unix:///path/to.sock")
        };
        let info = url.into_connection_info().map_err(|_| refused("not a Redis URL"))?;
        match info.addr() {
            ConnectionAddr::Tcp(..) => {}
            #[cfg(unix)]
            ConnectionAddr::Unix(_) => {}
            _ => return Err(refused("only plain TCP and Unix sockets are supported for Redis")),
        }
        // Saves a command for each new connection.
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self { info: info.set_redis_settings(settings), idle: Mutex::default() })
    }

    /// Runs a command on an idle connection, or on a new one if there is none or it fails because the server has closed it. If the server had
    /// received the command all the same, it runs twice.
    pub(super) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        let idle = self.idle().pop();
        if let Some(mut link) = idle
            && let Ok(value) = link.run(command).await
        {
            self.give_back(link);
            return Ok(value);
        }
        let mut link = Link::open(&self.info).await?;
        let value = link.run(command).await?;
        self.give_back(link);
        Ok(value)
    }

    fn give_back(&self, link: Link) {
        let mut idle = self.idle();
        if idle.len() < MAX_REDIS_LINKS {
            idle.push(link);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        lock(&self.idle)
    }
}

/// A connection and the future that drives it.
struct Link {
    connection: MultiplexedConnection,
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Link {
    async fn open(server: &ConnectionInfo) -> Result<Self> {
        let settings = server.redis_settings();
        // The caller has a deadline.
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
            _ => Err(Error::new(
                ErrorKind::Config,
                "only plain TCP and Unix sockets are supported for Redis",
            )),
        }
    }

    async fn run<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        let mut reply = pin!(command.query_async::<T>(&mut self.connection));
        let driver = &mut self.driver;
        poll_fn(|context| {
            if let Poll::Ready(reply) = reply.as_mut().poll(context) {
                return Poll::Ready(reply.map_err(failed));
            }
            if driver.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The connection has ended, perhaps with a last response.
            match reply.as_mut().poll(context) {
                Poll::Ready(reply) => Poll::Ready(reply.map_err(failed)),
                Poll::Pending => Poll::Ready(Err(Error::new(
                    ErrorKind::Connection,
                    "Redis closed the connection",
                ))),
            }
        })
        .await
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Connection, format!("Redis: {error}")).with_source(error)
}
