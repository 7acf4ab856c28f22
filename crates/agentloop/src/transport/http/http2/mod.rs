//! HTTP/2: many requests at a time on one connection, which is driven by the tasks that wait for responses.
//!
//! Whichever task polls one of its streams also polls the connection, with a waker that chooses one of these tasks (see
//! [`shared_waker`]). So nothing is spawned, and any of the streams can be dropped. While no stream is open, the connection is not
//! polled; the next request first reads what the server sent meanwhile. ADR 14 compares this with the alternatives.

mod driver;
mod exchange;
mod shared_waker;
mod sync;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use tokio::time::{Instant, Sleep};

use self::driver::{Drive, Driver};
pub(super) use self::exchange::Http2Body;
use self::shared_waker::{SharedWaker, Watchdog};
use super::fault;
use super::io::Io;
use super::origin::Origin;
use super::pool::MAX_IDLE_AGE;
use crate::error::Result;
use crate::lock::lock;

/// The most streams that are opened on one connection, even if the server allows more. One lost packet delays all streams of a
/// connection.
pub(super) const MAX_STREAMS: usize = 64;

/// How long tasks that wait for a connection may be delayed by one that was woken to drive it and did not.
const WATCHDOG_TIME: Duration = Duration::from_millis(50);

/// How many unread bytes of one response the server may send.
const STREAM_WINDOW: u32 = 1 << 20;

/// How many unread bytes of all responses the server may send: as many as all streams together, so that streams that are not read
/// do not block the others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 64;

/// How much memory of its own small unread frames may take, of all responses, as h2 counts it: what a frame has less than 256 bytes. Half of
/// the window, which h2 takes by itself, is used up when a third of the streams are not read and have events of 100 bytes, and then all
/// streams of the connection fail. This is enough for such events on all streams.
const FRAME_OVERHEAD: usize = 2 * CONNECTION_WINDOW as usize;

/// The largest head of a response, in bytes.
const MAX_HEAD: u32 = 64 << 10;

/// The number of streams that the server allows, until the server has sent it. No server sends this number.
const UNKNOWN_STREAMS: usize = usize::MAX - 1;

/// A connection that many requests share.
pub(super) struct Http2 {
    driver: Driver<Running>,
    sender: SendRequest<Bytes>,
    load: Mutex<Load>,
}

struct Running {
    connection: Connection<Io, Bytes>,
    /// The [`SharedWaker`].
    waker: Waker,
    timer: Option<Pin<Box<Sleep>>>,
    /// The [`Watchdog`].
    watchdog: Waker,
}

/// How many streams are open, and since when none is.
struct Load {
    streams: usize,
    idle_since: Instant,
}

/// Permission to open one stream on a connection. Dropped with the stream.
pub(super) struct Lease {
    connection: Arc<Http2>,
    slot: usize,
    /// Whether the connection was used before.
    pub(super) reused: bool,
}

impl Http2 {
    /// Starts HTTP/2 over `io`.
    pub(super) async fn new(origin: &Origin, io: Io) -> Result<Arc<Self>> {
        let handshake = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(UNKNOWN_STREAMS)
            .max_header_list_size(MAX_HEAD)
            .data_frame_budget(FRAME_OVERHEAD)
            .enable_push(false)
            .handshake(io);
        let (sender, connection) =
            handshake.await.map_err(|error| fault::broken(origin, "setting up HTTP/2", error))?;
        let waker = SharedWaker::new();
        let running = Running {
            connection,
            waker: Waker::from(waker.clone()),
            timer: None,
            watchdog: Waker::from(Arc::new(Watchdog(waker.clone()))),
        };
        Ok(Arc::new(Self {
            driver: Driver::new(running, waker),
            sender,
            load: Mutex::new(Load { streams: 0, idle_since: Instant::now() }),
        }))
    }

    /// Returns a lease for one more stream, or `None` if the connection is full.
    pub(super) fn lease(this: &Arc<Self>, reused: bool) -> Option<Lease> {
        let mut load = lock(&this.load);
        let limit = match this.sender.current_max_send_streams() {
            // Only the request that the connection was made for does not wait for the server's settings.
            UNKNOWN_STREAMS => 1,
            allowed => allowed.min(MAX_STREAMS),
        };
        if load.streams >= limit {
            return None;
        }
        load.streams += 1;
        drop(load);
        Some(Lease { connection: this.clone(), slot: this.driver.waker().add_stream(), reused })
    }

    /// Returns whether new streams may be opened. First reads what the server sent meanwhile, such as that it closes the connection.
    pub(super) fn is_usable(&self, now: Instant) -> bool {
        if self.is_expired(now) {
            return false;
        }
        self.driver.drive();
        if self.driver.has_ended() {
            return false;
        }
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.sender.clone().poll_ready(&mut context), Poll::Ready(Ok(())))
    }

    /// Returns whether it was idle for too long.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        let load = lock(&self.load);
        load.streams == 0 && now.duration_since(load.idle_since) >= MAX_IDLE_AGE
    }

    /// Returns whether the server has sent how many streams it allows.
    fn knows_settings(&self) -> bool {
        self.sender.current_max_send_streams() != UNKNOWN_STREAMS
    }
}

impl Drive for Running {
    fn poll(&mut self) -> Poll<()> {
        let mut context = Context::from_waker(&self.waker);
        Pin::new(&mut self.connection).poll(&mut context).map(drop)
    }

    fn set_watchdog(&mut self, waker: &SharedWaker) {
        // A new timer, of the runtime that this task runs in: the runtime that made the connection may be gone.
        let timer = self.timer.insert(Box::pin(tokio::time::sleep(WATCHDOG_TIME)));
        if timer.as_mut().poll(&mut Context::from_waker(&self.watchdog)).is_pending() {
            waker.set_watched();
        }
    }
}

impl Lease {
    fn driver(&self) -> &Driver<Running> {
        &self.connection.driver
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.driver().waker().remove_stream(self.slot);
        let mut load = lock(&self.connection.load);
        load.streams -= 1;
        if load.streams == 0 {
            load.idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What h2 counts for a frame with data: what it has less than so many bytes.
    const COUNTED: usize = 256;

    #[test]
    fn responses_of_events_that_are_not_read_do_not_end_their_connection() {
        for event in 100..COUNTED {
            let frames = MAX_STREAMS * (STREAM_WINDOW as usize).div_ceil(event);
            assert!(frames * (COUNTED - event) <= FRAME_OVERHEAD, "{event}");
        }
    }
}
