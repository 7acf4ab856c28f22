//! The cache and its flights, without sockets.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};

use agentloop::Protocol;
use agentloop::protocol::serve::StreamFraming;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;

use super::*;
use crate::record::{Record, Recorder};
use crate::stream::{Source, Streamed};

const TTL: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Nothing;

impl Recorder for Nothing {
    fn record(&self, _: &Record, _: Duration) {}
}

/// A stream that sends what a test gives it.
struct Scripted {
    pieces: mpsc::UnboundedReceiver<Result<Bytes>>,
    dropped: Arc<AtomicBool>,
    is_complete: bool,
}

impl Source for Scripted {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let piece = self.pieces.poll_recv(context);
        self.is_complete |= matches!(piece, Poll::Ready(None));
        piece
    }

    fn write_error(&mut self, error: &Error) -> Bytes {
        Bytes::from(format!("error: {}", error.message()))
    }

    fn report(&mut self, record: &mut Record) {
        record.is_complete = self.is_complete;
    }

    fn is_raw(&self) -> bool {
        true
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

/// The provider's side of a stream.
struct Upstream {
    pieces: mpsc::UnboundedSender<Result<Bytes>>,
    dropped: Arc<AtomicBool>,
}

impl Upstream {
    fn send(&self, text: impl Into<Bytes>) {
        self.pieces.send(Ok(text.into())).unwrap();
    }
}

fn cache() -> Arc<Cache> {
    Cache::with(Arc::new(MemoryStore::new(MAX_CACHE_BYTES)), CACHE_STORE_DEADLINE, None)
}

fn key(number: u8) -> CacheKey {
    CacheKey::new([number; 32])
}

fn record(verdict: Arc<OnceLock<Verdict>>) -> Record {
    let recorder = Arc::new(Nothing);
    let mut record =
        Record::new("r".to_owned(), Protocol::OpenAiChat, recorder, tracing::Span::none());
    record.verdict = Some(verdict);
    record
}

fn miss(body: GatewayBody) -> Response<GatewayBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(RESULT, HeaderValue::from_static("miss"));
    response
}

/// Begins a flight with a stream.
fn lead(cache: &Arc<Cache>, number: u8) -> (Seat, Upstream) {
    let (pieces, receiver) = mpsc::unbounded_channel();
    let dropped = Arc::new(AtomicBool::new(false));
    let source = Scripted { pieces: receiver, dropped: Arc::clone(&dropped), is_complete: false };
    let boarded = cache.board(key(number), TTL, source, |source, verdict| {
        let (source, record) = (Box::new(source), Some(record(verdict)));
        let streamed = Streamed::shared(source, StreamFraming::Events, None, record);
        Box::pin(async move { miss(GatewayBody::stream(streamed)) })
    });
    let Boarded::Lead(seat) = boarded else { panic!("there is a flight already") };
    (seat, Upstream { pieces, dropped })
}

fn follow(cache: &Arc<Cache>, number: u8) -> Seat {
    match cache.board(key(number), TTL, (), |(), _| panic!("there is no flight")) {
        Boarded::Follow(seat, ()) => seat,
        Boarded::Lead(_) => panic!("there is no flight"),
    }
}

/// Returns the next piece as text; `None` if there is none yet.
fn now(seat: &mut Seat) -> Option<String> {
    match seat.poll_piece(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(bytes))) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
        Poll::Ready(Some(Err(error))) => Some(format!("too slow: {}", error.message())),
        Poll::Ready(None) => Some("end".to_owned()),
        Poll::Pending => None,
    }
}

fn is_idle(cache: &Cache) -> bool {
    cache.flights().is_empty() && cache.held.load(Ordering::Relaxed) == 0
}

#[tokio::test]
async fn followers_see_events_as_they_arrive_and_late_ones_all_of_them() {
    let cache = cache();
    let (mut leader, upstream) = lead(&cache, 1);
    let mut follower = follow(&cache, 1);
    assert!(leader.head().await.is_stream && follower.head().await.is_stream);
    assert_eq!((now(&mut leader), now(&mut follower)), (None, None));
    upstream.send("one");
    assert_eq!(now(&mut follower).as_deref(), Some("one"));
    assert_eq!(now(&mut leader).as_deref(), Some("one"));
    upstream.send("two");
    let mut late = follow(&cache, 1);
    drop(upstream);
    for seat in [&mut late, &mut leader, &mut follower] {
        let rest: Vec<String> = std::iter::from_fn(|| now(seat)).take(3).collect();
        assert!(rest.ends_with(&["end".to_owned(), "end".to_owned()]) || rest[0] == "one");
        assert!(seat.verdict().unwrap().is_complete);
    }
    drop((leader, follower, late));
    assert!(is_idle(&cache));
    let entry = cache.load(&key(1)).await.unwrap();
    assert_eq!(entry.pieces, ["one", "two"]);
}

/// Whoever waits is woken, whichever of them the call was last driven by.
#[tokio::test]
async fn all_followers_are_woken() {
    let cache = cache();
    let (leader, upstream) = lead(&cache, 1);
    let read = |mut seat: Seat| async move {
        seat.head().await;
        let mut count = 0;
        while let Some(Ok(_)) = std::future::poll_fn(|context| seat.poll_piece(context)).await {
            count += 1;
        }
        count
    };
    let mut tasks = vec![tokio::spawn(read(leader))];
    tasks.extend((0..63).map(|_| tokio::spawn(read(follow(&cache, 1)))));
    for number in 0..100 {
        upstream.send(format!("{number}"));
        if number % 7 == 0 {
            tokio::task::yield_now().await;
        }
        if number == 40 {
            // Some leave, also the leader.
            tasks.drain(..10).for_each(|task| task.abort());
        }
    }
    drop(upstream);
    for task in tasks {
        assert_eq!(task.await.unwrap(), 100);
    }
    assert!(is_idle(&cache));
}

#[tokio::test]
async fn the_call_goes_on_while_anyone_is_there_and_ends_with_the_last() {
    let cache = cache();
    let (mut leader, upstream) = lead(&cache, 1);
    leader.head().await;
    let mut follower = follow(&cache, 1);
    upstream.send("one");
    drop(leader);
    assert!(!upstream.dropped.load(Ordering::SeqCst));
    assert_eq!(now(&mut follower).as_deref(), Some("one"));
    drop(follower);
    assert!(upstream.dropped.load(Ordering::SeqCst), "the call is cancelled at once");
    assert!(is_idle(&cache));
    assert_eq!(cache.load(&key(1)).await, None, "a cancelled stream is not stored");
}

#[tokio::test]
async fn a_stream_that_fails_gives_all_the_same_error_and_is_not_stored() {
    let cache = cache();
    let (mut leader, upstream) = lead(&cache, 1);
    leader.head().await;
    let mut follower = follow(&cache, 1);
    upstream.send("one");
    upstream.pieces.send(Err(Error::new(ErrorKind::Server, "broken"))).unwrap();
    for seat in [&mut leader, &mut follower] {
        assert_eq!(now(seat).as_deref(), Some("one"));
        assert_eq!(now(seat).as_deref(), Some("error: broken"));
        assert_eq!(now(seat).as_deref(), Some("end"));
        assert!(!seat.verdict().unwrap().is_complete);
    }
    // A later request does not join what has failed.
    let (other, _upstream) = lead(&cache, 1);
    drop((leader, follower));
    assert_eq!(cache.flights().len(), 1, "the new flight stays in the table");
    drop(other);
    assert!(is_idle(&cache));
    assert_eq!(cache.load(&key(1)).await, None);
}

#[tokio::test]
async fn a_slow_follower_neither_stops_the_others_nor_grows_the_buffer() {
    let cache = cache();
    let (mut leader, upstream) = lead(&cache, 1);
    leader.head().await;
    let mut slow = follow(&cache, 1);
    upstream.send("one");
    assert_eq!(now(&mut slow).as_deref(), Some("one"));
    let large = Bytes::from(vec![b'x'; 64 << 10]);
    assert_eq!(now(&mut leader).as_deref(), Some("one"));
    for _ in 0..200 {
        upstream.send(large.clone());
        assert_eq!(now(&mut leader).map(|text| text.len()), Some(large.len()));
        // The runtime lets a task do so much at once, and no more.
        tokio::task::yield_now().await;
        assert!(cache.held.load(Ordering::Relaxed) <= MAX_CACHED_BYTES + large.len());
    }
    assert!(now(&mut slow).unwrap().starts_with("too slow"));
    drop(upstream);
    assert_eq!(now(&mut leader).as_deref(), Some("end"));
    assert_eq!(cache.load(&key(1)).await, None, "it is too large to be stored");
    // It cannot be joined any more: its beginning is gone.
    let (other, _upstream) = lead(&cache, 1);
    drop((leader, slow, other));
    assert!(is_idle(&cache));
}

#[tokio::test]
async fn flights_hold_little_each_when_they_hold_much_together() {
    let cache = cache();
    cache.hold(MAX_FLIGHT_BYTES);
    let (mut leader, upstream) = lead(&cache, 1);
    leader.head().await;
    for _ in 0..64 {
        upstream.send(vec![b'x'; 64 << 10]);
        assert!(now(&mut leader).is_some());
    }
    assert!(cache.held.load(Ordering::Relaxed) <= MAX_FLIGHT_BYTES + (320 << 10));
    drop(upstream);
    assert_eq!(now(&mut leader).as_deref(), Some("end"));
    drop(leader);
    cache.release(MAX_FLIGHT_BYTES);
    assert!(is_idle(&cache));
}

/// Makes a complete response, as a leader does.
async fn respond(cache: &Arc<Cache>, number: u8, status: StatusCode, bytes: Bytes, good: bool) {
    let boarded = cache.board(key(number), TTL, bytes, |bytes, verdict| {
        let mut record = record(verdict);
        record.is_complete = good;
        record.finish();
        let mut response = miss(GatewayBody::whole(bytes));
        *response.status_mut() = status;
        Box::pin(async move { response })
    });
    let Boarded::Lead(mut seat) = boarded else { panic!("there is a flight already") };
    assert!(!seat.head().await.is_stream);
}

#[tokio::test(start_paused = true)]
async fn a_response_is_kept_for_its_time() {
    let cache = cache();
    respond(&cache, 1, StatusCode::OK, Bytes::from_static(b"{}"), true).await;
    tokio::time::advance(TTL - Duration::from_millis(1)).await;
    assert_eq!(cache.load(&key(1)).await.unwrap().pieces, ["{}"]);
    assert_eq!(cache.load(&key(2)).await, None);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(cache.load(&key(1)).await, None);
}

#[tokio::test]
async fn errors_incomplete_and_large_responses_are_not_stored() {
    let cache = cache();
    respond(&cache, 1, StatusCode::TOO_MANY_REQUESTS, Bytes::from_static(b"{}"), true).await;
    respond(&cache, 2, StatusCode::OK, Bytes::from_static(b"{}"), false).await;
    respond(&cache, 3, StatusCode::OK, vec![b'x'; MAX_CACHED_BYTES].into(), true).await;
    for number in 1..=3 {
        assert_eq!(cache.load(&key(number)).await, None, "{number}");
    }
    assert!(is_idle(&cache));
}

#[tokio::test]
async fn the_memory_of_the_cache_is_bounded() {
    let store = Arc::new(MemoryStore::new(MAX_CACHE_BYTES));
    let cache = Cache::with(Arc::clone(&store) as Arc<dyn CacheStore>, CACHE_STORE_DEADLINE, None);
    for number in 0..100 {
        respond(&cache, number, StatusCode::OK, vec![b'x'; 1 << 20].into(), true).await;
        assert!(store.bytes() <= MAX_CACHE_BYTES);
    }
    assert!(cache.load(&key(99)).await.is_some());
}

/// A store that fails or stalls delays a request by its deadline once, and never makes it fail.
#[tokio::test(start_paused = true)]
async fn a_store_that_stalls_is_left_alone() {
    #[derive(Default)]
    struct Stalled(Mutex<u32>);
    impl CacheStore for Stalled {
        fn get<'a>(&'a self, _: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
            *self.0.lock().unwrap() += 1;
            Box::pin(std::future::pending())
        }
        fn put<'a>(&'a self, _: &'a CacheKey, _: Bytes, _: Duration) -> BoxFuture<'a, Result<()>> {
            Box::pin(std::future::pending())
        }
    }
    let store = Arc::new(Stalled::default());
    let cache = Cache::with(Arc::clone(&store) as Arc<dyn CacheStore>, CACHE_STORE_DEADLINE, None);
    let began = tokio::time::Instant::now();
    for _ in 0..10 {
        assert_eq!(cache.load(&key(1)).await, None);
    }
    assert!(began.elapsed() <= CACHE_STORE_DEADLINE + Duration::from_millis(5));
    assert_eq!(*store.0.lock().unwrap(), 1);
    respond(&cache, 1, StatusCode::OK, Bytes::from_static(b"{}"), true).await;
}
