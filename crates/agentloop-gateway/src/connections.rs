//! The open connections of a listener, and which of them end.
//!
//! A connection is in use while a request that has shown a key or a token is in progress. Every other connection is idle, whatever it
//! sends: nothing, half a request, requests without a key, or pings of HTTP/2. When all places are taken, an idle connection gives way to
//! a new one, and an idle one ends by itself after a time. So strangers can fill a listener, but not lock it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;

/// How long a connection may take for its first request, up to the end of its headers and with the handshake of TLS.
pub const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be idle after a request, up to the end of the headers of the next one.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the end of an idle connection may take. A client of HTTP/2 gets a notice (GOAWAY), so it repeats a request that crosses the end.
const ENDING_TIMEOUT: Duration = Duration::from_secs(5);

/// How often idle connections are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// The number of requests of a connection that was chosen to end.
const CLOSED: u32 = u32::MAX;

/// What a connection is used for.
#[derive(Debug)]
pub(crate) struct Usage {
    opened: Instant,
    /// When the last request began or ended, in milliseconds after it was opened; 0 before the first one.
    last: AtomicU64,
    /// How many requests with a key are in progress, or [`CLOSED`].
    requests: AtomicU32,
    /// Whether a request has shown a key.
    has_key: AtomicBool,
    /// Whether bytes wait to be written to the client.
    is_writing: AtomicBool,
    is_ending: AtomicBool,
    ending: Notify,
    room: Arc<Room>,
    /// How long the client may take nothing of its responses, if its version of HTTP does not show that otherwise.
    client_timeout: OnceLock<Duration>,
    /// How many parts of responses were passed on.
    parts: AtomicU64,
    /// How many requests wait for the client to take the last part that was passed on.
    unread: AtomicU32,
}

/// Whether a new connection waits for a place.
#[derive(Debug, Default)]
struct Room {
    is_wanted: AtomicBool,
    news: Notify,
}

/// A request with a key in progress, up to the end of its response.
#[derive(Debug)]
pub(crate) struct InUse {
    usage: Arc<Usage>,
    /// Whether the client has not taken the last part of the response yet.
    is_unread: bool,
}

impl Default for Usage {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl Usage {
    fn new(room: Arc<Room>) -> Self {
        Self {
            opened: Instant::now(),
            last: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            has_key: AtomicBool::new(false),
            is_writing: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            ending: Notify::new(),
            room,
            client_timeout: OnceLock::new(),
            parts: AtomicU64::new(0),
            unread: AtomicU32::new(0),
        }
    }

    /// Notes that the headers of a request have arrived.
    pub(crate) fn see_request(&self) {
        let passed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(passed.max(1), Ordering::Relaxed);
    }

    /// Notes that a request has shown a key or a token.
    pub(crate) fn begin(self: &Arc<Self>) -> InUse {
        self.has_key.store(true, Ordering::Relaxed);
        let more = |count: u32| if count == CLOSED { None } else { Some(count + 1) };
        // One that was chosen to end ends, and its request is lost, as if it had arrived a moment later.
        let _ = self.requests.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        InUse { usage: Arc::clone(self), is_unread: false }
    }

    /// Ends the connection if its client takes nothing of its responses for so long. A client of HTTP/2 can stop reading a response and
    /// go on with its connection, so the socket does not show it.
    pub(crate) fn expect_reading(&self, client_timeout: Duration) {
        let _ = self.client_timeout.set(client_timeout);
    }

    /// Returns whether every request waits for its client, and since which part.
    fn is_unread(&self) -> (bool, u64) {
        let requests = self.requests.load(Ordering::SeqCst);
        let unread = self.unread.load(Ordering::SeqCst);
        (requests > 0 && unread == requests, self.parts.load(Ordering::SeqCst))
    }

    /// Notes whether bytes wait to be written.
    pub(crate) fn set_writing(&self, is_writing: bool) {
        self.is_writing.store(is_writing, Ordering::Relaxed);
    }

    /// Returns whether it was asked to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Waits until it is asked to end.
    pub(crate) async fn wait_for_end(&self) {
        self.ending.notified().await;
    }

    fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.ending.notify_one();
    }

    /// Returns since when it is idle, if it is.
    fn idle_since(&self) -> Option<Instant> {
        // The end of a response that the client has not read yet is a part of its request.
        let is_read = !self.is_writing.load(Ordering::Relaxed);
        let is_idle = self.requests.load(Ordering::SeqCst) == 0;
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        (is_idle && (is_read || !self.has_key())).then(|| self.opened + last)
    }

    fn has_key(&self) -> bool {
        self.has_key.load(Ordering::Relaxed)
    }

    /// Returns how long it may be idle.
    fn patience(&self) -> Duration {
        match self.last.load(Ordering::Relaxed) {
            0 => FIRST_REQUEST_TIMEOUT,
            _ => IDLE_TIMEOUT,
        }
    }

    /// Chooses it to end, unless a request has begun.
    fn close(&self) -> bool {
        self.requests.compare_exchange(0, CLOSED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

impl InUse {
    /// Notes that a part of the response was passed on.
    pub(crate) fn pass_on(&mut self) {
        self.usage.parts.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut self.is_unread, true) {
            self.usage.unread.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes that the next part of the response is asked for.
    pub(crate) fn ask(&mut self) {
        if std::mem::take(&mut self.is_unread) {
            self.usage.unread.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.ask();
        let usage = &self.usage;
        usage.see_request();
        let less = |count: u32| if count == CLOSED { None } else { count.checked_sub(1) };
        let before = usage.requests.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if before == Ok(1) && usage.room.is_wanted.load(Ordering::SeqCst) {
            usage.room.news.notify_one();
        }
    }
}

/// The open connections of a listener.
pub(crate) struct Connections {
    most: usize,
    open: HashMap<Id, Open>,
    tasks: JoinSet<()>,
    room: Arc<Room>,
    next_sweep: Instant,
}

struct Open {
    usage: Arc<Usage>,
    task: AbortHandle,
    /// Since when its client has taken nothing of the responses that wait for it, and up to which part.
    unread: Option<(Instant, u64)>,
}

impl Open {
    /// Ends it if its client reads nothing.
    fn check_reading(&mut self) {
        let Some(limit) = self.usage.client_timeout.get() else { return };
        let (is_unread, part) = self.usage.is_unread();
        match self.unread {
            _ if !is_unread => self.unread = None,
            Some((since, last)) if last == part && since.elapsed() >= *limit => self.task.abort(),
            Some((_, last)) if last == part => {}
            _ => self.unread = Some((Instant::now(), part)),
        }
    }
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            open: HashMap::new(),
            tasks: JoinSet::new(),
            room: Arc::default(),
            next_sweep: Instant::now(),
        }
    }

    /// Serves a connection.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        serve: impl FnOnce(Arc<Usage>) -> F,
    ) {
        let usage = Arc::new(Usage::new(Arc::clone(&self.room)));
        let task = self.tasks.spawn(serve(Arc::clone(&usage)));
        self.open.insert(task.id(), Open { usage, task, unread: None });
    }

    /// Returns whether there is a place for one more. An idle connection gives way to it: first those that have shown no key, the
    /// oldest of them first, and then the one that has been idle longest.
    pub(crate) fn make_room(&mut self) -> bool {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        // Set before looking: a request that ends after that is noticed.
        self.room.is_wanted.store(self.open.len() >= self.most, Ordering::SeqCst);
        while self.open.len() >= self.most {
            let idle = self.open.iter().filter_map(|(id, open)| {
                let since = open.usage.idle_since()?;
                let has_key = open.usage.has_key();
                // Requests without a key do not make a connection younger.
                Some(((has_key, if has_key { since } else { open.usage.opened }), *id))
            });
            let Some((_, id)) = idle.min_by_key(|(order, _)| *order) else { return false };
            if self.open.get(&id).is_some_and(|open| open.usage.close())
                && let Some(open) = self.open.remove(&id)
            {
                open.task.abort();
            }
        }
        self.room.is_wanted.store(false, Ordering::SeqCst);
        true
    }

    /// Ends connections that have been idle for too long.
    fn sweep(&mut self) {
        self.next_sweep = Instant::now() + SWEEP;
        for open in self.open.values_mut() {
            open.check_reading();
            let usage = &open.usage;
            let Some(since) = usage.idle_since() else { continue };
            let Some(over) = since.elapsed().checked_sub(usage.patience()) else { continue };
            // A connection without a request has nothing to lose. Another one gets a notice first.
            let is_over = usage.patience() == FIRST_REQUEST_TIMEOUT || over > ENDING_TIMEOUT;
            if is_over && usage.close() {
                open.task.abort();
            } else if !is_over && !usage.is_ending() {
                usage.end();
            }
        }
    }

    /// Waits until something changes: a connection ends, a new one may find a place, or it is time to look for idle ones.
    pub(crate) async fn wait(&mut self) {
        if self.open.is_empty() && self.tasks.is_empty() {
            return std::future::pending().await;
        }
        tokio::select! {
            Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
            () = self.room.news.notified() => {}
            () = tokio::time::sleep_until(self.next_sweep) => self.sweep(),
        }
    }

    /// Waits until all connections have ended.
    pub(crate) async fn join(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn forget(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        self.open.remove(&id);
    }
}
