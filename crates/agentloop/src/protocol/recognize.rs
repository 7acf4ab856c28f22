//! Tells the protocol of a response by its first words.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Protocol;
use super::lenient::Text;

/// The fields in which the responses of protocols differ.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    object: Text<'a>,
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    choices: Option<IgnoredAny>,
    done: Option<IgnoredAny>,
    finish_reason: Option<IgnoredAny>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<IgnoredAny>,
    #[serde(borrow, default)]
    event_type: Text<'a>,
}

/// In how many bytes the headers of the first frame are.
const FRAME_HEAD_BYTES: usize = 512;

/// Returns the protocol that a response, whole or streamed, is written in, if its first object shows it.
pub(crate) fn protocol_of(body: &[u8]) -> Option<Protocol> {
    // Binary frames begin with their length, which is followed by the names of their headers.
    if body.starts_with(b"\0") {
        let head = &body[..body.len().min(FRAME_HEAD_BYTES)];
        let is_frame = memchr::memmem::find(head, b":message-type").is_some();
        return is_frame.then_some(Protocol::Bedrock);
    }
    let begin = body.iter().position(|byte| *byte == b'{')?;
    let text = String::from_utf8_lossy(&body[begin..]);
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Head<'_>>();
    let head = values.next()?.ok()?;
    let object = head.object.non_empty().unwrap_or_default();
    let kind = head.kind.non_empty().unwrap_or_default();
    let event = head.event_type.non_empty().unwrap_or_default();
    if head.choices.is_some() || object.starts_with("chat.completion") {
        Some(Protocol::OpenAiChat)
    } else if object == "response" || kind.starts_with("response.") {
        Some(Protocol::OpenAiResponses)
    } else if object == "interaction" || event.starts_with("interaction.") {
        Some(Protocol::GeminiInteractions)
    } else if kind == "message" || kind == "message_start" {
        Some(Protocol::Anthropic)
    } else if head.done.is_some() {
        Some(Protocol::Ollama)
    } else if kind == "message-start" || head.finish_reason.is_some() {
        Some(Protocol::Cohere)
    } else if head.stop_reason.is_some() {
        Some(Protocol::Bedrock)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_object_decides() {
        for (body, protocol) in [
            (r#"{"id":"1","choices":[]}"#, Some(Protocol::OpenAiChat)),
            (": hello\n\ndata: {\"object\":\"chat.completion.chunk\"}", Some(Protocol::OpenAiChat)),
            (
                "event: response.created\ndata: {\"type\":\"response.created\"}\n\n",
                Some(Protocol::OpenAiResponses),
            ),
            (r#" {"object":"response","output":[]}"#, Some(Protocol::OpenAiResponses)),
            (
                r#"{"id":"v1_1","status":"completed","steps":[],"object":"interaction"}"#,
                Some(Protocol::GeminiInteractions),
            ),
            (
                "event: interaction.created\ndata: {\"event_type\":\"interaction.created\"}\n\n",
                Some(Protocol::GeminiInteractions),
            ),
            (r#"{"type":"message","role":"assistant"}"#, Some(Protocol::Anthropic)),
            (r#"{"model":"m","message":{"content":"a"},"done":false}"#, Some(Protocol::Ollama)),
            (r#"{"id":"1","message":{},"finish_reason":"COMPLETE"}"#, Some(Protocol::Cohere)),
            (
                "event: message-start\ndata: {\"id\":\"1\",\"type\":\"message-start\"}\n\n",
                Some(Protocol::Cohere),
            ),
            (r#"{"output":{"message":{}},"stopReason":"end_turn"}"#, Some(Protocol::Bedrock)),
            (
                "\0\0\0\u{7c}\0\0\0\u{52}sum.\r:message-type\u{7}\0\u{5}event{\"type\":\"message\"}",
                Some(Protocol::Bedrock),
            ),
            ("\0\0{\"choices\":[]}", None),
            (r#"{"error":{"message":"no"}}"#, None),
            (r#"{"object":5,"type":[]}"#, None),
            ("<html>{</html>", None),
            ("", None),
        ] {
            assert_eq!(protocol_of(body.as_bytes()), protocol, "{body}");
        }
    }
}
