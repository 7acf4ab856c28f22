//! What holds of every answer, and what several targets need.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::limits::{POLL_STEP_BYTES, POLL_WORK_BYTES};
use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use agentloop::{
    AgentLoop, ChatStream, ChatStreamEvent, Error, ErrorKind, Fold, Protocol, Provider, Result,
};
use agentloop_sim::Simulator;
use bytes::Bytes;

/// How many times larger than its bytes a response may become as events, beside what every answer has.
const MAX_GROWTH: usize = 64;

/// What every answer may have, in bytes.
const FREE_GROWTH: usize = 64 << 10;

/// A transport that never connects: a mutated input may name any host.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl Transport for Nowhere {
    fn send<'a>(
        &'a self,
        _: http::Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<http::Response<Body>>> {
        Box::pin(async { Err(Error::new(ErrorKind::Connection, "there is no network here")) })
    }
}

/// Returns a client that needs no key and never connects.
pub(crate) fn client() -> &'static AgentLoop {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        AgentLoop::builder()
            .env("AZURE_RESOURCE_NAME", "r")
            .env("AWS_REGION", "us-east-1")
            .env("VERTEX_LOCATION", "l")
            .env("VERTEX_PROJECT", "p")
            .transport(Nowhere)
            .media_transport(Nowhere)
            .build()
            .unwrap()
    });
    &CLIENT
}

thread_local! {
    /// Who answers for the provider `sim` of [`simulated`] on this thread.
    static SIMULATED: RefCell<Option<Arc<dyn Transport>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct Simulated;

impl Transport for Simulated {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<http::Response<Body>>> {
        let current = SIMULATED.with(|current| current.borrow().clone()).unwrap();
        Box::pin(async move { current.send(request, options).await })
    }
}

/// A client whose provider `sim` is this simulator, until there is another on this thread. There is one client for all: to
/// build one takes longer than most inputs do.
pub(crate) fn simulated(simulator: &Simulator) -> &'static AgentLoop {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        let mut provider = Simulator::new().provider();
        provider.transport = Some(Arc::new(Simulated));
        let builder = AgentLoop::builder().provider(provider);
        builder.transport(Nowhere).media_transport(Nowhere).build().unwrap()
    });
    SIMULATED.with(|current| *current.borrow_mut() = simulator.provider().transport);
    &CLIENT
}

/// The names of the providers that speak a protocol.
pub(crate) fn speakers(protocol: Protocol) -> Vec<&'static str> {
    let speak = rows().iter().filter(|row| row.protocols().any(|spoken| spoken == protocol));
    speak.map(|row| row.name.as_ref()).collect()
}

/// All providers.
pub(crate) fn rows() -> &'static [Provider] {
    static ROWS: LazyLock<Vec<Provider>> = LazyLock::new(Provider::all);
    &ROWS
}

/// The events of a response, and how they end.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) events: Vec<ChatStreamEvent>,
    pub(crate) error: Option<Error>,
}

pub(crate) fn decode(options: &DecodeOptions, answer: HttpResponse) -> Decoded {
    match inspect::decode(client(), options, answer) {
        Ok(mut stream) => collected(&mut stream),
        Err(error) => Decoded { events: Vec::new(), error: Some(error) },
    }
}

/// Reads a response event by event and keeps none of them.
pub(crate) fn read_through(options: &DecodeOptions, answer: HttpResponse) {
    if let Ok(mut stream) = inspect::decode(client(), options, answer) {
        while let Some(Ok(_)) = now(stream.next()) {}
    }
}

fn collected(stream: &mut ChatStream) -> Decoded {
    let mut events = Vec::new();
    // How many events came since control last returned to the runtime.
    let mut at_once = 0;
    loop {
        let (next, paused) = counted(stream.next());
        at_once = if paused { 0 } else { at_once + 1 };
        assert!(at_once <= POLL_WORK_BYTES / POLL_STEP_BYTES, "one poll does too much");
        match next {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => {
                assert!(now(stream.next()).is_none(), "something follows an error");
                return Decoded { events, error: Some(error) };
            }
            None => return Decoded { events, error: None },
        }
    }
}

/// The outcome of a future that has all that it needs. It may return control to the runtime, and must wake its task when it does.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    counted(future).0
}

/// The outcome of such a future, and whether it returned control to the runtime.
fn counted<T>(future: impl Future<Output = T>) -> (T, bool) {
    let mut paused = false;
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (value, paused);
        }
        paused = true;
        assert!(woken.0.swap(false, Ordering::Relaxed), "what is all there must not wait");
    }
}

/// Whether the task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Decoded {
    /// Events follow the grammar, end once, and are no more than their bytes can account for.
    pub(crate) fn keeps_the_laws(&self, bytes: usize) {
        let mut fold = Fold::new();
        let mut size = 0;
        for event in &self.events {
            fold.push(event).unwrap();
            size += serde_json::to_string(event).unwrap().len();
        }
        let growth = bytes * MAX_GROWTH + FREE_GROWTH;
        assert!(size <= growth, "{bytes} bytes became {size}");
        let done = matches!(self.events.last(), Some(ChatStreamEvent::MessageDone { .. }));
        assert_ne!(done, self.error.is_some(), "one end, a response or an error");
        if let Some(ChatStreamEvent::MessageDone { response }) = self.events.last() {
            assert_eq!(fold.finish().unwrap(), **response);
            let stored = serde_json::to_string(response).unwrap();
            assert_eq!(
                serde_json::from_str::<agentloop::ChatResponse>(&stored).unwrap(),
                **response
            );
            let again = now(ChatStream::from_response(response).response()).unwrap();
            assert_eq!(again, **response, "fold(unfold(r)) = r");
        }
        if let Some(error) = &self.error {
            assert!(!error.message().is_empty());
            let stored = serde_json::to_string(error).unwrap();
            serde_json::from_str::<serde_json::Value>(&stored).unwrap();
        }
    }

    /// Returns everything that was read, without the ids that differ each time.
    pub(crate) fn shown(&self) -> (Vec<String>, Option<ErrorKind>) {
        let shown =
            |event: &ChatStreamEvent| without_made_up_ids(&serde_json::to_string(event).unwrap());
        (self.events.iter().map(shown).collect(), self.error.as_ref().map(Error::kind))
    }
}

/// Ids that are made up are a word, sixteen digits of salt and a place.
fn without_made_up_ids(json: &str) -> String {
    let mut kept = json.to_owned();
    for word in ["call_", "host_"] {
        let mut pieces = kept.split(word);
        let mut shown = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let hex = piece.bytes().take_while(u8::is_ascii_hexdigit).count();
            shown.push_str(word);
            shown.push_str(if hex == 16 { &piece[16..] } else { piece });
        }
        kept = shown;
    }
    kept
}

/// Runs a future on a clock that does not wait, and fails when an hour of it is not enough.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let hour = std::time::Duration::from_secs(3600);
    runtime.block_on(async { tokio::time::timeout(hour, future).await.expect("it ends") })
}
