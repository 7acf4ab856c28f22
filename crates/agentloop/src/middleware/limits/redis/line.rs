//! One connection, driven by whoever uses it: nothing runs beside a call.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisResult};
use tokio::net::TcpStream;

/// A connection that one call at a time uses.
pub(super) struct Line {
    connection: MultiplexedConnection,
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Line {
    pub(super) async fn open(
        host: &str,
        port: u16,
        login: &RedisConnectionInfo,
    ) -> RedisResult<Self> {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        // Whoever asks has a deadline.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let (connection, driver) =
            MultiplexedConnection::new_with_config(login, stream, config).await?;
        Ok(Self { connection, driver: Box::pin(driver) })
    }

    /// Asks for a number.
    pub(super) async fn number(&mut self, command: &Cmd) -> RedisResult<u64> {
        let Self { connection, driver } = self;
        let mut answer = pin!(command.query_async::<u64>(connection));
        poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if driver.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The connection has ended, perhaps with a last answer.
            match answer.as_mut().poll(context) {
                Poll::Ready(answer) => Poll::Ready(answer),
                Poll::Pending => {
                    Poll::Ready(Err(io::Error::from(io::ErrorKind::ConnectionAborted).into()))
                }
            }
        })
        .await
    }
}
