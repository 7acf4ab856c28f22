//! Responses as providers send them, in any size.

use std::fmt::Write as _;

use agentloop::Protocol;
use bytes::Bytes;

/// A response as a provider sends it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
    pub(crate) stream: bool,
    pub(crate) pieces: Vec<Bytes>,
    /// Another protocol than the provider's own.
    pub(crate) protocol: Option<Protocol>,
}

impl Sent {
    pub(crate) fn whole(provider: &'static str, body: impl Into<Bytes>) -> Self {
        Self { provider, model: "m", stream: false, pieces: vec![body.into()], protocol: None }
    }

    pub(crate) fn stream(provider: &'static str, events: impl IntoIterator<Item = String>) -> Self {
        let piece = |event: String| Bytes::from(format!("data: {event}\n\n"));
        let pieces = events.into_iter().map(piece).collect();
        Self { provider, model: "m", stream: true, pieces, protocol: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

/// A shape of which there can be more or less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// How many elements there are at the smallest size that shows what happens.
    pub(crate) elements: usize,
    pub(crate) make: fn(usize) -> Sent,
}

/// The elements, joined as a JSON list.
pub(crate) fn list(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut text = String::from("[");
    for at in 0..count {
        if at > 0 {
            text.push(',');
        }
        let _ = write!(text, "{}", element(at));
    }
    text.push(']');
    text
}

pub(crate) fn same(count: usize, element: &str) -> String {
    list(count, |_| element.to_owned())
}

/// A whole Chat Completions body.
pub(crate) fn chat(message: &str, beside: &str) -> Sent {
    let body = format!(
        r#"{{"id":"a","model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{message}}}]{beside}}}"#
    );
    Sent::whole("openai", body)
}

/// A Chat Completions stream of such deltas.
pub(crate) fn chunks(count: usize, delta: impl Fn(usize) -> String) -> Sent {
    let chunk =
        |delta: String| format!(r#"{{"id":"a","choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let end = r#"{"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let events = (0..count).map(|at| chunk(delta(at)));
    Sent::stream("openai", events.chain([end.to_owned(), "[DONE]".to_owned()]))
}

/// A whole Gemini body.
pub(crate) fn gemini(parts: &str, beside: &str) -> Sent {
    let body = format!(
        r#"{{"responseId":"a","candidates":[{{"content":{{"parts":{parts}}},"finishReason":"STOP"{beside}}}]}}"#
    );
    Sent::whole("google", body)
}

/// A whole Anthropic body.
pub(crate) fn anthropic(blocks: &str) -> Sent {
    let body = format!(
        r#"{{"id":"a","type":"message","role":"assistant","model":"m","content":{blocks},"stop_reason":"end_turn"}}"#
    );
    Sent::whole("anthropic", body)
}

/// An Anthropic stream of such events.
pub(crate) fn anthropic_stream(events: impl Iterator<Item = String>) -> Sent {
    let start = r#"{"type":"message_start","message":{"id":"a","model":"m"}}"#.to_owned();
    let ends = [
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    Sent::stream("anthropic", [start].into_iter().chain(events).chain(ends))
}

/// A whole Responses body.
pub(crate) fn responses(output: &str) -> Sent {
    let body = format!(
        r#"{{"id":"a","object":"response","status":"completed","model":"m","output":{output}}}"#
    );
    Sent { protocol: Some(Protocol::OpenAiResponses), ..Sent::whole("openai", body) }
}

pub(crate) fn responses_stream(events: impl Iterator<Item = String>) -> Sent {
    let start =
        r#"{"type":"response.created","response":{"id":"a","object":"response","model":"m"}}"#;
    let end = r#"{"type":"response.completed","response":{"id":"a","status":"completed"}}"#;
    let events = [start.to_owned()].into_iter().chain(events).chain([end.to_owned()]);
    Sent { protocol: Some(Protocol::OpenAiResponses), ..Sent::stream("openai", events) }
}

/// A whole body of Ollama's own API.
pub(crate) fn ollama(message: &str, beside: &str) -> Sent {
    let body = format!(
        r#"{{"model":"m","created_at":"2026-11-18T00:00:00Z","message":{message},"done":true,"done_reason":"stop"{beside}}}"#
    );
    Sent { protocol: Some(Protocol::Ollama), ..Sent::whole("ollama", body) }
}

/// A stream of Ollama's own API: lines.
pub(crate) fn ollama_stream(messages: impl Iterator<Item = String>) -> Sent {
    let line = |message: String| {
        Bytes::from(format!(r#"{{"model":"m","message":{message},"done":false}}"#) + "\n")
    };
    let end = r#"{"model":"m","message":{"content":""},"done":true,"done_reason":"stop"}"#;
    let pieces = messages.map(line).chain([Bytes::from(format!("{end}\n"))]).collect();
    let stream = Sent { stream: true, pieces, ..Sent::whole("ollama", "") };
    Sent { protocol: Some(Protocol::Ollama), ..stream }
}

/// A whole body of Cohere's own API.
pub(crate) fn cohere(message: &str, beside: &str) -> Sent {
    Sent::whole(
        "cohere",
        format!(r#"{{"id":"a","message":{message},"finish_reason":"COMPLETE"{beside}}}"#),
    )
}

/// A stream of Cohere's own API.
pub(crate) fn cohere_stream(events: impl Iterator<Item = String>) -> Sent {
    let start = r#"{"type":"message-start","id":"a","delta":{"message":{"role":"assistant"}}}"#;
    let end = r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#;
    Sent::stream("cohere", [start.to_owned()].into_iter().chain(events).chain([end.to_owned()]))
}

/// A whole body of Gemini's Interactions API.
pub(crate) fn interaction(steps: &str) -> Sent {
    let body =
        format!(r#"{{"object":"interaction","id":"v1_a","status":"completed","steps":{steps}}}"#);
    Sent { protocol: Some(Protocol::GeminiInteractions), ..Sent::whole("google", body) }
}

/// A stream of Gemini's Interactions API.
pub(crate) fn interaction_stream(events: impl Iterator<Item = String>) -> Sent {
    let start = r#"{"event_type":"interaction.created","interaction":{"id":"v1_a"}}"#;
    let end = r#"{"event_type":"interaction.completed","interaction":{"status":"completed"}}"#;
    let events = [start.to_owned()].into_iter().chain(events).chain([end.to_owned()]);
    Sent { protocol: Some(Protocol::GeminiInteractions), ..Sent::stream("google", events) }
}

pub(crate) const fn shape(name: &'static str, elements: usize, make: fn(usize) -> Sent) -> Shape {
    Shape { name, elements, make }
}
