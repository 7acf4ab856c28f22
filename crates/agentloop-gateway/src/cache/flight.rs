//! One call for all equal requests that are in progress.
//!
//! A flight has no task of its own: whoever waits for it drives it. So it ends, and its call is cancelled, as soon as the
//! last one has disconnected, and one that reads slowly does not stop the others.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::middleware::CacheKey;
use agentloop::{BoxFuture, Error, ErrorKind};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use super::{Cache, Entry, MAX_CACHED_BYTES, MAX_FLIGHT_BYTES, RESULT};
use crate::record::Verdict;
use crate::stream::GatewayBody;

/// The bytes that a flight keeps of its stream while all flights together have more than [`MAX_FLIGHT_BYTES`].
const PRESSED_BYTES: usize = 256 << 10;

/// A call that several requests share.
pub(super) struct Flight {
    key: CacheKey,
    ttl: Duration,
    cache: Arc<Cache>,
    progress: Mutex<Progress>,
    wakers: Arc<Wakers>,
    /// Whether others can still join.
    is_open: AtomicBool,
    seats: AtomicU64,
    verdict: Arc<OnceLock<Verdict>>,
}

struct Progress {
    stage: Stage,
    head: Option<Arc<Head>>,
    /// The pieces of the response so far, without the first ones if there were too many.
    pieces: VecDeque<Bytes>,
    /// The number of the first piece that is still there.
    first: usize,
    bytes: usize,
    end: Option<Verdict>,
}

enum Stage {
    /// The call has no response yet.
    Calling(BoxFuture<'static, Response<GatewayBody>>),
    Streaming(GatewayBody),
    Over,
}

/// The beginning of a response.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) is_stream: bool,
}

impl Flight {
    pub(super) fn new(
        key: CacheKey,
        ttl: Duration,
        cache: Arc<Cache>,
        begin: impl FnOnce(Arc<OnceLock<Verdict>>) -> BoxFuture<'static, Response<GatewayBody>>,
    ) -> Arc<Self> {
        let verdict = Arc::new(OnceLock::new());
        let progress = Progress {
            stage: Stage::Calling(begin(Arc::clone(&verdict))),
            head: None,
            pieces: VecDeque::new(),
            first: 0,
            bytes: 0,
            end: None,
        };
        Arc::new(Self {
            key,
            ttl,
            cache,
            progress: Mutex::new(progress),
            wakers: Arc::default(),
            is_open: AtomicBool::new(true),
            seats: AtomicU64::new(0),
            verdict,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    pub(super) fn join(self: &Arc<Self>) -> Seat {
        let id = self.seats.fetch_add(1, Ordering::Relaxed);
        Seat { flight: Arc::clone(self), id, next: 0 }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    /// Goes on with the call. Whoever waits is woken when there is something new.
    fn poll(self: &Arc<Self>, progress: &mut Progress) -> Poll<()> {
        let waker = Waker::from(Arc::clone(&self.wakers));
        let mut context = Context::from_waker(&waker);
        match &mut progress.stage {
            Stage::Calling(call) => {
                let response = ready!(call.as_mut().poll(&mut context));
                self.begin(progress, response);
            }
            Stage::Streaming(body) => match ready!(body.poll_piece(&mut context)) {
                Some(piece) => self.append(progress, piece),
                None => self.finish(progress),
            },
            Stage::Over => {}
        }
        Poll::Ready(())
    }

    fn begin(self: &Arc<Self>, progress: &mut Progress, response: Response<GatewayBody>) {
        let (head, mut body) = response.into_parts();
        let whole = body.take_whole();
        let is_stream = whole.is_none();
        progress.head =
            Some(Arc::new(Head { status: head.status, headers: head.headers, is_stream }));
        match whole {
            None => progress.stage = Stage::Streaming(body.without_keep_alive()),
            Some(bytes) => {
                self.cache.hold(bytes.len());
                progress.bytes = bytes.len();
                progress.pieces.push_back(bytes);
                self.finish(progress);
            }
        }
    }

    fn append(&self, progress: &mut Progress, piece: Bytes) {
        let held = self.cache.hold(piece.len());
        progress.bytes += piece.len();
        progress.pieces.push_back(piece);
        let most = if held > MAX_FLIGHT_BYTES { PRESSED_BYTES } else { MAX_CACHED_BYTES };
        // The fastest reader has read all but the last piece: it asked for that one.
        while progress.bytes > most && progress.pieces.len() > 1 {
            let Some(piece) = progress.pieces.pop_front() else { break };
            self.cache.release(piece.len());
            progress.bytes -= piece.len();
            progress.first += 1;
            self.is_open.store(false, Ordering::Release);
        }
    }

    fn finish(self: &Arc<Self>, progress: &mut Progress) {
        progress.stage = Stage::Over;
        let verdict = self.verdict.get().cloned().unwrap_or_default();
        let head = progress.head.as_ref().filter(|head| {
            let is_new = head.headers.get(RESULT).is_some_and(|result| result == "miss");
            head.status == StatusCode::OK && is_new
        });
        if let Some(head) = head
            && verdict.is_complete
            && verdict.error.is_none()
            && progress.first == 0
        {
            let entry = Entry {
                headers: head.headers.clone(),
                is_stream: head.is_stream,
                pieces: progress.pieces.iter().cloned().collect(),
                provider: verdict.provider.clone(),
                served: verdict.served.clone(),
                is_relayed: verdict.is_relayed,
            };
            self.keep(&entry);
        }
        if !verdict.is_complete || verdict.error.is_some() {
            self.is_open.store(false, Ordering::Release);
        }
        progress.end = Some(verdict);
    }

    /// Stores the response. Requests can join until that is done, so none finds neither.
    fn keep(self: &Arc<Self>, entry: &Entry) {
        let Some(bytes) = entry.write(&self.key) else { return };
        let flight = Arc::clone(self);
        let mut storing = Box::pin(async move {
            flight.cache.store.put(&flight.key, bytes, flight.ttl).await;
        });
        // A store in memory is done at once.
        if storing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(storing);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let bytes = self.progress.get_mut().unwrap_or_else(PoisonError::into_inner).bytes;
        self.cache.release(bytes);
        self.cache.forget(&self.key, self);
    }
}

/// The place of a request in a flight.
pub(crate) struct Seat {
    flight: Arc<Flight>,
    id: u64,
    /// The number of the next piece.
    next: usize,
}

impl Seat {
    /// Waits for the beginning of the response. Of a complete response, all is there then.
    pub(crate) async fn head(&mut self) -> Arc<Head> {
        poll_fn(|context| self.poll_head(context)).await
    }

    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<Arc<Head>> {
        self.poll_until(context, |progress| progress.head.clone())
    }

    /// Returns the next piece of the response, `None` at its end. The error is that of a reader that was too slow.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        let next = self.next;
        let piece = ready!(self.poll_until(context, |progress| {
            let Some(index) = next.checked_sub(progress.first) else {
                let message = "the response was read too slowly, and others were waiting for it";
                let error = Error::new(ErrorKind::IncompleteStream, message);
                return Some(Some(Err(error.with_hint("send the request again"))));
            };
            match progress.pieces.get(index) {
                Some(piece) => Some(Some(Ok(piece.clone()))),
                None => progress.end.as_ref().map(|_| None),
            }
        }));
        self.next += 1;
        Poll::Ready(piece)
    }

    /// Goes on with the call until there is what is wanted.
    fn poll_until<T>(
        &self,
        context: &mut Context<'_>,
        wanted: impl Fn(&Progress) -> Option<T>,
    ) -> Poll<T> {
        let mut progress = self.flight.progress();
        loop {
            if let Some(found) = wanted(&progress) {
                return Poll::Ready(found);
            }
            // Registered first: the call may have something new at any time.
            self.flight.wakers.register(self.id, context.waker());
            ready!(self.flight.poll(&mut progress));
            self.flight.wakers.wake_others(self.id);
        }
    }

    /// Returns the whole of a complete response.
    pub(crate) fn whole(&self) -> Bytes {
        self.flight.progress().pieces.front().cloned().unwrap_or_default()
    }

    /// Returns how the response ended, if it has.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.flight.progress().end.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.flight.wakers.forget(self.id);
    }
}

/// Those who wait for a flight.
#[derive(Default)]
struct Wakers(Mutex<HashMap<u64, Waker>>);

impl Wakers {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waker>> {
        lock(&self.0)
    }

    fn register(&self, id: u64, waker: &Waker) {
        self.lock().entry(id).and_modify(|known| known.clone_from(waker)).or_insert(waker.clone());
    }

    fn forget(&self, id: u64) {
        self.lock().remove(&id);
    }

    fn wake_others(&self, id: u64) {
        let mut wakers = std::mem::take(&mut *self.lock());
        wakers.remove(&id);
        wakers.into_values().for_each(Waker::wake);
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = std::mem::take(&mut *self.lock());
        wakers.into_values().for_each(Waker::wake);
    }
}
