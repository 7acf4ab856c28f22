//! A server that sends without a pause. Reading returns control to the runtime after a stated amount of work, so
//! timers, cancellation and other tasks still get their chance. Nothing here measures time: work is counted for each poll.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use agentloop::limits::{MAX_BYTES_WITHOUT_EVENT, POLL_STEP_BYTES, POLL_WORK_BYTES};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, BoxFuture, EmbedRequest, Error, ErrorKind, Provider, Result, Timeouts};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use proptest::prelude::*;

use crate::client::fake::ask;

/// What has been read since the counters were last reset.
#[derive(Debug, Default)]
struct Read {
    bytes: AtomicUsize,
    pieces: AtomicUsize,
}

impl Read {
    fn take(&self) -> (usize, usize) {
        (self.bytes.swap(0, Ordering::Relaxed), self.pieces.swap(0, Ordering::Relaxed))
    }
}

/// Responds with these pieces, all of them ready; after the last one it begins again if it is endless.
#[derive(Clone, Debug)]
struct Flood {
    status: u16,
    kind: &'static str,
    pieces: Vec<Bytes>,
    endless: bool,
    read: Arc<Read>,
}

impl Flood {
    fn new(kind: &'static str, pieces: Vec<Bytes>) -> Self {
        Self { status: 200, kind, pieces, endless: true, read: Arc::default() }
    }

    fn events(piece: impl Into<Bytes>) -> Self {
        Self::new("text/event-stream", vec![piece.into()])
    }

    fn client(&self, timeouts: Timeouts) -> AgentLoop {
        let lab = Provider::openai_compatible("lab", "http://lab.test/v1");
        let builder = AgentLoop::builder().transport(self.clone()).timeouts(timeouts);
        builder.provider(lab).build().unwrap()
    }
}

impl Transport for Flood {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let Self { status, kind, pieces, endless, read } = self.clone();
        let mut at = 0;
        let body = stream::poll_fn(move |_| {
            if at == pieces.len() && endless {
                at = 0;
            }
            let piece = pieces.get(at).cloned();
            at += 1;
            read.bytes.fetch_add(piece.as_ref().map_or(0, Bytes::len), Ordering::Relaxed);
            read.pieces.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(piece.map(Ok))
        });
        let response = Response::builder().status(status).header("content-type", kind);
        Box::pin(async move { Ok(response.body(Body::stream(body)).unwrap()) })
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls `future` up to `polls` times, and checks after each poll how much it read. A poll that returns `Pending` must have woken its
/// task, since everything is there.
fn checked_polls<T>(flood: &Flood, polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let largest = flood.pieces.iter().map(Bytes::len).max().unwrap_or_default();
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    for _ in 0..polls {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        let (bytes, pieces) = flood.read.take();
        assert!(bytes <= POLL_WORK_BYTES + largest, "{bytes} bytes in one poll");
        assert!(pieces <= POLL_WORK_BYTES / POLL_STEP_BYTES + 1, "{pieces} pieces in one poll");
        match polled {
            Poll::Ready(value) => return Some(value),
            Poll::Pending => {
                assert!(woken.0.swap(0, Ordering::Relaxed) > 0, "waits without being woken");
            }
        }
    }
    None
}

/// Runs inside a runtime with a paused clock.
fn paused<T>(run: impl FnOnce() -> T) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let _entered = runtime.enter();
    run()
}

fn delta() -> Bytes {
    Bytes::from_static(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n")
}

#[test]
fn no_poll_of_any_call_reads_more_than_the_stated_work() {
    let comments = Flood::events(": still here\n\n".repeat(500));
    let blank_lines = Flood::events("\n".repeat(7));
    let empty = Flood::events("");
    let large = Flood::events(": still here\n\n".repeat(200_000));
    let spaces = Flood::new("", vec![Bytes::from_static(b"   \r\n")]);
    let list = Flood::new("application/json", vec![Bytes::from_static(b" ")]);
    let error = Flood { status: 500, ..Flood::new("application/json", vec![" ".into()]) };
    paused(|| {
        for flood in [comments, blank_lines, empty, large, spaces, list, error] {
            let ai = flood.client(Timeouts::none());
            checked_polls(&flood, 50, ai.chat(ask()));
            checked_polls(&flood, 50, ai.stream(ask()));
            checked_polls(&flood, 50, ai.embed(EmbedRequest::new("lab/e", "x")));
            checked_polls(&flood, 50, ai.models("lab"));
        }
    });
}

#[test]
fn a_consumer_that_takes_all_events_that_are_there_is_paused() {
    let flood = Flood::events(delta());
    paused(|| {
        let ai = flood.client(Timeouts::none());
        let taken = RefCell::new(0);
        let reading = async {
            let mut stream = ai.stream(ask()).await.unwrap();
            while let Some(event) = stream.next().await {
                event.unwrap();
                *taken.borrow_mut() += 1;
            }
        };
        let mut reading = pin!(reading);
        let counted = poll_fn(|context| {
            let polled = reading.as_mut().poll(context);
            let events = taken.replace(0);
            assert!(events <= POLL_WORK_BYTES / POLL_STEP_BYTES, "{events} events in one poll");
            polled
        });
        checked_polls(&flood, 200, counted);
    });
}

#[test]
fn a_piece_of_many_megabytes_is_read_in_several_polls() {
    let events = delta().repeat((8 << 20) / delta().len());
    let flood =
        Flood { endless: false, ..Flood::events([events, b"data: [DONE]\n\n".to_vec()].concat()) };
    paused(|| {
        let ai = flood.client(Timeouts::none());
        let polls = AtomicUsize::new(0);
        let mut call = pin!(ai.chat(ask()));
        let counted = poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            call.as_mut().poll(context)
        });
        let response = checked_polls(&flood, 1_000, counted).unwrap().unwrap();
        assert_eq!(response.text().len(), (8 << 20) / delta().len());
        assert!(polls.into_inner() >= (8 << 20) / (2 * POLL_WORK_BYTES));
    });
}

/// Advances the clock by a second each time that it is polled.
fn run_the_clock() -> tokio::task::JoinHandle<()> {
    tokio::spawn(async {
        loop {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn timers_fire_while_a_server_sends_without_a_pause() {
    let clock = run_the_clock();
    let second = Duration::from_secs(1);
    for flood in
        [Flood::events(": still here\n\n"), Flood::events(""), Flood::new("", vec![" ".into()])]
    {
        for (timeouts, stage) in [
            (Timeouts::none().first_content(5 * second), "the first content"),
            (Timeouts::none().total(5 * second), "the complete response"),
        ] {
            let error = flood.client(timeouts).stream(ask()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
            assert!(error.message().contains(stage), "{error}");
        }
        let ai = flood.client(Timeouts::none().total(5 * second));
        for error in [
            ai.chat(ask()).await.unwrap_err(),
            ai.embed(EmbedRequest::new("lab/e", "x")).await.unwrap_err(),
            ai.models("lab").await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        }
        // The caller's own limit, around a client that has none.
        let ai = flood.client(Timeouts::none());
        tokio::time::timeout(5 * second, ai.stream(ask())).await.unwrap_err();
        tokio::time::timeout(5 * second, ai.chat(ask())).await.unwrap_err();
    }
    clock.abort();
}

#[tokio::test(start_paused = true)]
async fn the_total_limit_ends_a_stream_whose_events_never_pause() {
    let clock = run_the_clock();
    let timeouts = Timeouts::none().total(Duration::from_secs(5));
    let ai = Flood::events(delta()).client(timeouts);
    let error = ai.stream(ask()).await.unwrap().response().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.partial().is_some());
    clock.abort();
}

#[tokio::test]
async fn bytes_without_an_event_are_bounded() {
    let comments = Flood::events(format!(":{}\n\n", " ".repeat(100_000)));
    let no_content = Flood::events(format!("data: {{\"choices\":[]{}}}\n\n", " ".repeat(50_000)));
    let spaces = Flood::new("", vec![Bytes::from(vec![b' '; 100_000])]);
    for flood in [comments, no_content, spaces] {
        let error: Error = flood.client(Timeouts::none()).stream(ask()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    }
    const { assert!(MAX_BYTES_WITHOUT_EVENT > agentloop::limits::MAX_EVENT_BYTES) };
}

fn piece() -> impl Strategy<Value = Bytes> {
    let texts =
        ["", "\n", " ", ": c\n\n", "data: {}\n\n", "data: [", "\r", "x", "[{},", "\u{feff}"];
    let unit = prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        Just(delta().to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    (unit, 1_usize..40_000).prop_map(|(unit, times)| Bytes::from(unit.repeat(times)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_input_makes_a_single_poll_exceed_the_stated_work(
        pieces in prop::collection::vec(piece(), 1..6),
        kind in prop::sample::select(vec!["text/event-stream", "application/json", "", "text/html"]),
        status in prop::sample::select(vec![200_u16, 200, 401, 500]),
        endless: bool,
    ) {
        let flood = Flood { status, endless, ..Flood::new(kind, pieces) };
        paused(|| {
            let ai = flood.client(Timeouts::none());
            checked_polls(&flood, 30, ai.chat(ask()));
            checked_polls(&flood, 30, async {
                match ai.stream(ask()).await {
                    Ok(stream) => stream.response().await.map(|_| ()),
                    Err(error) => Err(error),
                }
            });
            checked_polls(&flood, 30, ai.embed(EmbedRequest::new("lab/e", "x")));
            checked_polls(&flood, 30, ai.models("lab"));
        });
    }
}
