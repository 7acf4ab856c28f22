//! The connection to Redis.

use std::time::Duration;

use agentloop::{Error, ErrorKind, Result};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, FromRedisValue, IntoConnectionInfo,
    ServerErrorKind,
};

use super::script::Command;

/// The most characters of an error that are kept.
const MAX_WHY: usize = 200;

/// A server.
#[derive(Debug)]
pub(super) struct Server(Client);

impl Server {
    /// Uses the server at a URL. It does not connect yet.
    pub(super) fn new(url: &str) -> Result<Self> {
        // The errors do not contain the URL, which may contain a password.
        let refused = |what: &str| {
            Error::new(ErrorKind::Config, what.to_owned()).with_hint(
                "write it as redis://[user:password@]host:port/database, or unix:///path/to.sock",
            )
        };
        let info = url.into_connection_info().map_err(|_| refused("not a Redis URL"))?;
        match info.addr() {
            ConnectionAddr::Tcp(..) => {}
            #[cfg(unix)]
            ConnectionAddr::Unix(_) => {}
            _ => return Err(refused("only plain TCP and Unix sockets are supported for Redis")),
        }
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        let tcp = TcpSettings::default().set_nodelay(true);
        let info = info.set_redis_settings(settings).set_tcp_settings(tcp);
        Client::open(info).map(Self).map_err(|_| refused("not a Redis URL"))
    }

    /// Connects.
    pub(super) async fn connect(&self, deadline: Duration) -> Result<Connection, String> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(deadline))
            .set_response_timeout(None);
        let connecting = self.0.get_multiplexed_async_connection_with_config(&config);
        match tokio::time::timeout(deadline, connecting).await {
            Ok(connection) => connection.map(Connection).map_err(|error| why(&error)),
            Err(_) => Err("it does not respond".to_owned()),
        }
    }
}

/// A connection. It ends when it is dropped.
pub(super) struct Connection(MultiplexedConnection);

impl Connection {
    /// Runs a script. The error says why it failed; then the script may have run all the same.
    pub(super) async fn run<T: FromRedisValue>(
        &mut self,
        command: &Command,
        deadline: Duration,
    ) -> Result<T, String> {
        let run = async {
            match command.by_hash.query_async(&mut self.0).await {
                // A server that was restarted does not have the script.
                Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {
                    command.whole.query_async(&mut self.0).await
                }
                result => result,
            }
        };
        match tokio::time::timeout(deadline, run).await {
            Ok(result) => result.map_err(|error| why(&error)),
            Err(_) => Err(format!("it did not respond within {} ms", deadline.as_millis())),
        }
    }
}

fn why(error: &redis::RedisError) -> String {
    error.to_string().chars().take(MAX_WHY).collect()
}
