//! What identifies a conversation.

use agentloop::Protocol;
use http::HeaderMap;

use super::RequestBody;
use super::scan::{elements, fields, text};

/// Headers in which common agents send the id of their session.
const SESSION_HEADERS: [&str; 4] =
    ["x-claude-code-session-id", "session-id", "session_id", "thread-id"];

/// Returns a number that is the same for all requests of a conversation: from the cache key or the session that the
/// client names, else from the beginning of the conversation.
pub(super) fn of(body: &RequestBody, protocol: Protocol, headers: &HeaderMap) -> u64 {
    if let Some(key) = body.value("prompt_cache_key") {
        return hash(&[b"cache", key]);
    }
    for name in SESSION_HEADERS {
        if let Some(session) = headers.get(name) {
            return hash(&[b"session", session.as_bytes()]);
        }
    }
    if protocol == Protocol::Anthropic
        && let Some(metadata) = body.value("metadata")
    {
        return hash(&[b"metadata", metadata]);
    }
    let mut parts: Vec<&[u8]> = vec![b"prefix"];
    for name in ["system", "instructions", "systemInstruction", "system_instruction"] {
        parts.extend(body.value(name));
    }
    for name in ["messages", "input", "contents"] {
        let Some(list) = body.value(name) else { continue };
        let found = elements(list);
        if found.is_empty() {
            parts.push(list);
        }
        for place in found {
            let element = &list[place];
            parts.push(element);
            // What follows the first message of the user is not there in the first request.
            if role(element).as_deref() == Some("user") {
                break;
            }
        }
    }
    hash(&parts)
}

fn role(element: &[u8]) -> Option<String> {
    let found = fields(element).ok()?;
    let (_, value) = found.iter().find(|(name, _)| &element[name.clone()] == b"role")?;
    text(&element[value.clone()])
}

fn hash(parts: &[&[u8]]) -> u64 {
    let each = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| part.iter().chain(b"\0").fold(hash, each))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn affinity(text: &str, headers: &HeaderMap) -> u64 {
        let body = RequestBody::read(Bytes::copy_from_slice(text.as_bytes())).unwrap();
        body.affinity(Protocol::OpenAiChat, headers)
    }

    #[test]
    fn a_conversation_keeps_its_number_as_it_grows() {
        let none = HeaderMap::new();
        let first =
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#;
        let grown = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
        let other =
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"b"}]}"#;
        assert_eq!(affinity(first, &none), affinity(grown, &none));
        assert_ne!(affinity(first, &none), affinity(other, &none));
    }

    #[test]
    fn a_session_that_the_client_names_comes_first() {
        let mut headers = HeaderMap::new();
        headers.insert("session-id", http::HeaderValue::from_static("s1"));
        let (one, two) = (
            r#"{"messages":[{"role":"user","content":"a"}]}"#,
            r#"{"messages":[{"role":"user","content":"b"}]}"#,
        );
        assert_eq!(affinity(one, &headers), affinity(two, &headers));
        let keyed = r#"{"prompt_cache_key":"k","messages":[]}"#;
        assert_ne!(affinity(keyed, &headers), affinity(one, &headers));
    }
}
