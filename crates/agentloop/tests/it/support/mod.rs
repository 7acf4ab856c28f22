//! What several test files need.

pub(crate) mod canned;
pub(crate) mod clock;
pub(crate) mod own_process;
pub(crate) mod patience;
pub(crate) mod port;
pub(crate) mod redis;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{AgentLoop, ChatResponse, ChatStream, ChatStreamEvent, Error, PartStart, Protocol};

pub(crate) const PROTOCOLS: [Protocol; Protocol::ALL.len()] = *Protocol::ALL.first_chunk().unwrap();

/// Bytes of which provider, and how they arrive.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) provider: &'static str,
    /// Another protocol than the provider's own.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) model: Option<&'static str>,
    pub(crate) stream: bool,
    pub(crate) status: u16,
    /// The size of the pieces.
    pub(crate) size: usize,
}

impl Wire {
    pub(crate) fn of(provider: &'static str) -> Self {
        let size = usize::MAX;
        Self { provider, protocol: None, model: None, stream: false, status: 200, size }
    }

    /// The bytes of a provider with OpenAI's Responses.
    pub(crate) fn of_responses(stream: bool) -> Self {
        Self { stream, protocol: Some(Protocol::OpenAiResponses), ..Self::of("openai") }
    }
}

/// The events of a response, and how they end.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) events: Vec<ChatStreamEvent>,
    pub(crate) error: Option<Error>,
}

impl Decoded {
    pub(crate) fn response(self) -> Result<ChatResponse, Error> {
        match (self.events.into_iter().last(), self.error) {
            (Some(ChatStreamEvent::MessageDone { response }), None) => Ok(*response),
            (_, Some(error)) => Err(error),
            (last, None) => panic!("ends with {last:?}"),
        }
    }
}

/// Checks that a page of the documentation is this text, or writes it.
pub(crate) fn check_page(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == text, "run with UPDATE_DOCS=1 to write docs/{name}");
}

/// Returns a frame of Amazon's event streams with these headers.
pub(crate) fn frame(headers: &[(&str, &str)], content: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let checksum = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_be_bytes()
    };
    let number = |number: usize| u32::try_from(number).unwrap().to_be_bytes();
    let length = 16 + head.len() + content.len();
    let mut frame = [number(length), number(head.len())].concat();
    frame.extend(checksum(&frame));
    frame.extend(head);
    frame.extend_from_slice(content);
    frame.extend(checksum(&frame));
    frame
}

/// Returns a stream of frames from its text: on each line the name of an event and its content.
pub(crate) fn frames(text: &str) -> Vec<u8> {
    let event = |line: &str| {
        let (name, content) = line.split_once(' ').unwrap();
        let headers = [
            (":event-type", name),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ];
        frame(&headers, content.as_bytes())
    };
    text.lines().flat_map(event).collect()
}

/// Decodes bytes that are all there.
pub(crate) fn decode(wire: &Wire, bytes: &[u8]) -> Decoded {
    let mut options = DecodeOptions::new(wire.provider);
    options.model = wire.model.map(str::to_owned);
    options.stream = wire.stream;
    options.protocol = wire.protocol;
    let mut answer = HttpResponse::new(bytes.to_vec());
    answer.status = wire.status;
    let answer = answer.cut(wire.size.min(bytes.len().max(1)));
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(AgentLoop::from_env);
    match inspect::decode(&CLIENT, &options, answer) {
        Ok(mut stream) => collect(&mut stream),
        Err(error) => Decoded { events: Vec::new(), error: Some(error) },
    }
}

/// Whether thinking and text close before the next part of their choice opens.
pub(crate) fn closes_in_order(events: &[ChatStreamEvent]) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for event in events {
        match event {
            ChatStreamEvent::ContentStart { choice_index, part_index, part } => {
                if let Some((_, other)) = open.iter().find(|(choice, _)| choice == choice_index) {
                    return Err(format!("part {part_index} opens, and {other} is still open"));
                }
                if matches!(part, PartStart::Text {} | PartStart::Thinking {}) {
                    open.insert((*choice_index, *part_index));
                }
            }
            ChatStreamEvent::ContentDone { choice_index, part_index, .. } => {
                open.remove(&(*choice_index, *part_index));
            }
            _ => {}
        }
    }
    Ok(())
}

fn collect(stream: &mut ChatStream) -> Decoded {
    let mut events = Vec::new();
    loop {
        match now(stream.next()) {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => return Decoded { events, error: Some(error) },
            None => return Decoded { events, error: None },
        }
    }
}

/// The outcome of a future that does not wait. It may return control to the runtime, and must wake its task when it does.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let woken = std::sync::Arc::<Woken>::default();
    let waker = std::task::Waker::from(std::sync::Arc::clone(&woken));
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(value) =
            future.as_mut().poll(&mut std::task::Context::from_waker(&waker))
        {
            return value;
        }
        let again = woken.0.swap(false, std::sync::atomic::Ordering::Relaxed);
        assert!(again, "what is all there must not wait");
    }
}

/// Whether the task was woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
