//! Reads the messages of a request.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::chat::{ChatMessage, ContentPart, MessageContent, ThinkingPart};
use crate::media::{DataUrl, audio_format};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_call};
use crate::protocol::serve::notes::Notes;

/// The messages of a request while they are read.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) messages: Vec<ChatMessage>,
    /// The calls that wait for a result: name and id. A result need not name the id of its call.
    waiting: VecDeque<(String, String)>,
}

impl Messages {
    /// Reads message number `at`.
    pub(super) fn read(&mut self, message: Value, at: usize, notes: &mut Notes) -> Read<()> {
        let mut fields = object_of(message)?;
        let text = fields.text("content")?.unwrap_or_default();
        let thinking = fields.text("thinking")?.filter(|text| !text.is_empty());
        let mut images = Vec::new();
        for data in fields.texts("images")?.unwrap_or_default() {
            images.push(medium(&data));
        }
        let role = fields.required_text("role")?.to_ascii_lowercase();
        let mut message = match role.as_str() {
            "system" | "developer" => ChatMessage::system(text),
            "user" => ChatMessage::user(text),
            "assistant" => {
                let mut calls = Vec::new();
                let list = fields.list("tool_calls")?.unwrap_or_default();
                for (number, call) in list.into_iter().enumerate() {
                    let call = self.call(call, at, number);
                    calls.push(call.map_err(|wrong| wrong.at("tool_calls", number))?);
                }
                response(text, thinking, calls)
            }
            "tool" => self.result(&mut fields, text, at)?,
            _ => {
                let why = "must be `system`, `user`, `assistant` or `tool`";
                return Err(Wrong::new("role", why));
            }
        };
        if !images.is_empty() {
            let mut parts = match message.content.take() {
                Some(MessageContent::Parts(parts)) => parts,
                Some(MessageContent::Text(text)) if !text.is_empty() => {
                    vec![ContentPart::text(text)]
                }
                _ => Vec::new(),
            };
            parts.extend(images);
            message.content = Some(MessageContent::Parts(parts));
        }
        fields.retain(|_, value| !value.is_null());
        for name in fields.keys().filter(|name| *name != "tool_calls") {
            let why = "messages have no such field here";
            notes.dropped(&format!("messages[{at}].{name}"), why);
        }
        self.messages.push(message);
        Ok(())
    }

    fn call(&mut self, call: Value, at: usize, number: usize) -> Read<ContentPart> {
        let call = read_call(call, at, number)?;
        self.waiting.push_back((call.name.clone(), call.id.clone()));
        Ok(ContentPart::ToolCall(call))
    }

    /// Reads the result of a tool. Without the id of the call, it is of the first call of that tool that waits, or of the first
    /// that waits at all.
    fn result(
        &mut self,
        fields: &mut Map<String, Value>,
        text: String,
        at: usize,
    ) -> Read<ChatMessage> {
        let name = fields.text("tool_name")?.filter(|name| !name.is_empty());
        let id = fields.text("tool_call_id")?.filter(|id| !id.is_empty());
        let place = match (&id, &name) {
            (Some(id), _) => self.waiting.iter().position(|(_, known)| known == id),
            (None, Some(name)) => self.waiting.iter().position(|(known, _)| known == name),
            (None, None) => Some(0),
        };
        let call = place.and_then(|place| self.waiting.remove(place));
        let known = call.map(|(_, id)| id);
        let id = id.or(known).unwrap_or_else(|| format!("call_{at}"));
        let mut result = ChatMessage::tool(id, text);
        result.name = name;
        Ok(result)
    }
}

/// Returns a message of the assistant. One that is only text has no parts.
fn response(text: String, thinking: Option<String>, calls: Vec<ContentPart>) -> ChatMessage {
    if thinking.is_none() && calls.is_empty() {
        return ChatMessage::assistant(text);
    }
    let mut parts = Vec::with_capacity(calls.len() + 2);
    parts.extend(thinking.map(|thinking| {
        ContentPart::Thinking(ThinkingPart { thinking, ..ThinkingPart::default() })
    }));
    if !text.is_empty() {
        parts.push(ContentPart::text(text));
    }
    parts.extend(calls);
    ChatMessage::assistant(parts)
}

/// Returns an image, or audio, which the protocol has under the same name.
fn medium(data: &str) -> ContentPart {
    let url = DataUrl::of_base64("", data);
    match url.seen_mime() {
        Some(mime) if mime.starts_with("audio/") => ContentPart::audio(data, audio_format(mime)),
        Some(mime) => ContentPart::image_url(DataUrl::of_base64(mime, data).to_string()),
        None => ContentPart::image_url(url.to_string()),
    }
}
