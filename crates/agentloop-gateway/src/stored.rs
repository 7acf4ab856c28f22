//! Responses that a client of the Responses API can refer to by `previous_response_id`.
//!
//! They are kept in memory, the latest ones. A provider that stores responses itself gets the id as it is.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use agentloop::internal::lock;
use agentloop::protocol::serve::write_body;
use agentloop::{ChatResponse, Error, ErrorKind, Protocol};
use bytes::Bytes;
use serde_json::Value;

use crate::body::RequestBody;

/// The most bytes of conversations that are kept.
pub const MAX_STORED_BYTES: usize = 64 << 20;

/// The largest conversation that is kept, in bytes.
pub const MAX_STORED_CONVERSATION: usize = 16 << 20;

/// The conversations, each under the name of the key and the id of its last response.
#[derive(Debug)]
pub(crate) struct Stored {
    kept: Mutex<Kept>,
    /// The most bytes of all conversations.
    most: usize,
}

impl Default for Stored {
    fn default() -> Self {
        Self { kept: Mutex::default(), most: MAX_STORED_BYTES }
    }
}

#[derive(Debug, Default)]
struct Kept {
    conversations: HashMap<(String, String), Bytes>,
    order: VecDeque<(String, String)>,
    bytes: usize,
}

impl Stored {
    /// Returns the body of a request with the conversation that it continues, as the list of its items.
    ///
    /// # Errors
    ///
    /// When the response that it names is not kept, or its input cannot be read.
    pub(crate) fn continued(
        &self,
        key: &str,
        body: &RequestBody,
    ) -> Result<(Bytes, Vec<Value>), Error> {
        let mut items = match body.text("previous_response_id") {
            None => Vec::new(),
            Some(id) => {
                let kept = lock(&self.kept);
                let found = kept.conversations.get(&(key.to_owned(), id.clone())).cloned();
                drop(kept);
                let found = found.ok_or_else(|| {
                    let message = format!("Previous response with id '{id}' not found. The gateway keeps the latest responses in memory; send the conversation in `input`.");
                    Error::new(ErrorKind::NotFound, message)
                        .with_status(404)
                        .with_code("previous_response_not_found")
                })?;
                serde_json::from_slice(&found).unwrap_or_default()
            }
        };
        let input = body.value("input").unwrap_or(b"[]");
        match serde_json::from_slice(input) {
            Ok(Value::Array(more)) => items.extend(more),
            Ok(Value::String(text)) => items.push(serde_json::json!({
                "type": "message", "role": "user", "content": text,
            })),
            // The reader reports it.
            _ => return Ok((body.bytes.clone(), items)),
        }
        let list = Value::Array(items.clone()).to_string();
        let whole = RequestBody::read(body.with("input", &list))?;
        Ok((whole.with("previous_response_id", "null"), items))
    }

    /// Keeps a conversation: what was sent, and the response.
    pub(crate) fn keep(&self, key: &str, mut items: Vec<Value>, response: &ChatResponse) {
        let written = write_body(Protocol::OpenAiResponses, response);
        let output = serde_json::from_slice::<Value>(&written).ok();
        let Some(Value::Array(output)) =
            output.and_then(|mut body| body.get_mut("output").map(Value::take))
        else {
            return;
        };
        items.extend(output);
        let bytes = Bytes::from(Value::Array(items).to_string());
        if bytes.len() > MAX_STORED_CONVERSATION.min(self.most / 4) {
            return;
        }
        let place = (key.to_owned(), response.id.clone());
        let mut kept = lock(&self.kept);
        kept.bytes += bytes.len();
        if let Some(old) = kept.conversations.insert(place.clone(), bytes) {
            kept.bytes -= old.len();
        } else {
            kept.order.push_back(place);
        }
        while kept.bytes > self.most {
            let Some(oldest) = kept.order.pop_front() else { break };
            if let Some(old) = kept.conversations.remove(&oldest) {
                kept.bytes -= old.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> RequestBody {
        RequestBody::read(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    fn response(id: &str, text: &str) -> ChatResponse {
        let mut response = ChatResponse::from_parts("lab/m", [text]);
        response.id = id.to_owned();
        response
    }

    #[test]
    fn a_conversation_goes_on_from_its_last_response() {
        let stored = Stored::default();
        let first = body(r#"{"model":"m","input":"Hi"}"#);
        let (bytes, items) = stored.continued("ci", &first).unwrap();
        assert_eq!(items.len(), 1);
        assert!(!bytes.is_empty());
        stored.keep("ci", items, &response("resp_1", "Hello."));
        let next = body(r#"{"model":"m","previous_response_id":"resp_1","input":"Bye"}"#);
        let (bytes, items) = stored.continued("ci", &next).unwrap();
        assert_eq!(items.len(), 3);
        let sent: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(sent["input"][1]["role"], "assistant");
        assert!(sent["previous_response_id"].is_null());
        let error = stored.continued("other", &next).unwrap_err();
        assert_eq!(
            (error.status(), error.code()),
            (Some(404), Some("previous_response_not_found"))
        );
    }

    #[test]
    fn the_oldest_conversations_are_removed_when_there_are_too_many_bytes() {
        let stored = Stored { most: 64 << 10, ..Stored::default() };
        let large = "x".repeat(8 << 10);
        for number in 0..12 {
            stored.keep("ci", Vec::new(), &response(&format!("resp_{number}"), &large));
        }
        let find = |id: &str| {
            stored
                .continued("ci", &body(&format!(r#"{{"previous_response_id":"{id}","input":[]}}"#)))
        };
        assert!(find("resp_11").is_ok() && find("resp_0").is_err());
        stored.keep("ci", Vec::new(), &response("resp_big", &"x".repeat(17 << 10)));
        assert!(find("resp_big").is_err());
    }
}
