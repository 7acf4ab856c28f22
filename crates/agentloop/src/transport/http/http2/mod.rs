//! HTTP/2: many requests at a time on a connection, which is driven by all who wait for an answer.
//!
//! The connection is polled by whichever task looks at one of its streams, with a waker that finds one of them to
//! do so (see [`baton`]). So nothing is spawned, and the connection does not care which of its streams are dropped. While no
//! stream is open nobody looks at it; whoever takes it next sees first what the server said meanwhile.

mod baton;
mod exchange;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use tokio::time::{Instant, Sleep};

use self::baton::{Baton, Watch};
pub(super) use self::exchange::Http2Body;
use super::fault;
use super::io::Io;
use super::origin::Origin;
use super::pool::{MAX_IDLE_AGE, lock};
use crate::error::Result;

/// The most streams that are opened on one connection, even if the server allows more. One lost packet holds up
/// all streams of a connection.
pub(super) const MAX_STREAMS: usize = 64;

/// How long those who wait for a connection may be held up by one that was woken for it and did not come.
const WATCH: Duration = Duration::from_millis(50);

/// How many bytes of one answer may be under way unread.
const STREAM_WINDOW: u32 = 1 << 20;

/// How many bytes of all answers may be under way unread: as many as all streams may have, so that readers who
/// stopped reading cannot hold up the others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 64;

/// The largest head of an answer, in bytes.
const MAX_HEAD: u32 = 64 << 10;

/// Stands for the number of streams that the server allows until it has said it. No server says this number.
const UNKNOWN_STREAMS: usize = usize::MAX - 1;

/// A connection that many requests share.
pub(super) struct Http2 {
    /// `None` once it ended.
    running: Mutex<Option<Running>>,
    sender: SendRequest<Bytes>,
    baton: Arc<Baton>,
    load: Mutex<Load>,
}

struct Running {
    connection: Connection<Io, Bytes>,
    /// The baton, as what the connection is polled with.
    waker: Waker,
    watch: Option<Pin<Box<Sleep>>>,
    watch_waker: Waker,
}

/// How many use it, and since when none do.
struct Load {
    streams: usize,
    idle_since: Instant,
}

/// Room for one stream on a connection. Dropped with the stream.
pub(super) struct Lease {
    connection: Arc<Http2>,
    place: usize,
    /// Whether others used the connection before.
    pub(super) reused: bool,
}

impl Http2 {
    /// Speaks HTTP/2 over `io`.
    pub(super) async fn new(origin: &Origin, io: Io) -> Result<Arc<Self>> {
        let handshake = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(UNKNOWN_STREAMS)
            .max_header_list_size(MAX_HEAD)
            .enable_push(false)
            .handshake(io);
        let (sender, connection) =
            handshake.await.map_err(|error| fault::broken(origin, "setting up HTTP/2", error))?;
        let baton = Baton::new();
        Ok(Arc::new(Self {
            running: Mutex::new(Some(Running {
                connection,
                waker: Waker::from(baton.clone()),
                watch: None,
                watch_waker: Waker::from(Arc::new(Watch(baton.clone()))),
            })),
            sender,
            baton,
            load: Mutex::new(Load { streams: 0, idle_since: Instant::now() }),
        }))
    }

    /// Room for one more stream, if there is.
    pub(super) fn lease(this: &Arc<Self>, reused: bool) -> Option<Lease> {
        let mut load = lock(&this.load);
        let limit = match this.sender.current_max_send_streams() {
            // Only the request that the connection was made for does not wait for the server's word.
            UNKNOWN_STREAMS => 1,
            allowed => allowed.min(MAX_STREAMS),
        };
        if load.streams >= limit {
            return None;
        }
        load.streams += 1;
        drop(load);
        Some(Lease { connection: this.clone(), place: this.baton.enter(), reused })
    }

    /// Whether new streams may be opened. Sees what the server said meanwhile: that it goes, or is gone.
    pub(super) fn is_usable(&self, now: Instant) -> bool {
        if self.is_expired(now) {
            return false;
        }
        self.drive();
        if lock(&self.running).is_none() {
            return false;
        }
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.sender.clone().poll_ready(&mut context), Poll::Ready(Ok(())))
    }

    /// Whether it was idle for too long.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        let load = lock(&self.load);
        load.streams == 0 && now.duration_since(load.idle_since) >= MAX_IDLE_AGE
    }

    /// Whether the server has said how many streams it allows.
    fn knows_settings(&self) -> bool {
        self.sender.current_max_send_streams() != UNKNOWN_STREAMS
    }

    /// Moves the connection on, if there is anything to do.
    fn drive(&self) {
        if self.baton.is_signalled() {
            // Waiting for the lock, not trying it: who holds it may be past what the signal was for.
            let mut running = lock(&self.running);
            self.poll(&mut running);
            if let Some(running) = &mut *running
                && !self.baton.is_watched()
            {
                running.watch(&self.baton);
            }
        }
    }

    /// The same, where waiting for the lock could be waiting for oneself: in a drop that happens while the
    /// connection is polled. If another holds the lock, those who wait will see to it.
    fn drive_in_drop(&self) {
        if !self.baton.is_signalled() {
            return;
        }
        match self.running.try_lock() {
            Ok(mut running) => self.poll(&mut running),
            Err(TryLockError::Poisoned(running)) => self.poll(&mut running.into_inner()),
            Err(TryLockError::WouldBlock) => self.baton.rouse(),
        }
    }

    fn poll(&self, running: &mut Option<Running>) {
        if let Some(Running { connection, waker, .. }) = running
            && self.baton.take_signal()
            && Pin::new(connection).poll(&mut Context::from_waker(waker)).is_ready()
        {
            // Its streams have been told how it ended.
            *running = None;
        }
    }
}

impl Running {
    /// Sets the watch. Not in a drop, which may happen outside of the runtime or after its end.
    fn watch(&mut self, baton: &Baton) {
        // A new timer, of the runtime that this task runs in: the one that made the connection may be gone.
        let watch = self.watch.insert(Box::pin(tokio::time::sleep(WATCH)));
        if watch.as_mut().poll(&mut Context::from_waker(&self.watch_waker)).is_pending() {
            baton.set_watched();
        }
    }
}

impl Lease {
    /// Polls something of a stream, and the connection where that has to come first. Whoever gets `Pending` is
    /// among those that are woken with the connection.
    fn poll_driven<T>(
        &self,
        context: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let baton = &self.connection.baton;
        let first = baton.quietly(|| poll(context));
        if first.is_ready() {
            self.connection.drive();
            return first;
        }
        // Before the connection is driven, so that nothing it says is missed.
        baton.wait(self.place, context.waker());
        self.connection.drive();
        poll(context)
    }

    /// Does something to a stream, and sends what follows from it.
    fn apply<T>(&self, act: impl FnOnce() -> T) -> T {
        let result = self.connection.baton.quietly(act);
        self.connection.drive();
        result
    }

    /// The same, inside of a drop.
    fn apply_in_drop(&self, act: impl FnOnce()) {
        self.connection.baton.quietly(act);
        self.connection.drive_in_drop();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.baton.leave(self.place);
        let mut load = lock(&self.connection.load);
        load.streams -= 1;
        if load.streams == 0 {
            load.idle_since = Instant::now();
        }
    }
}
