//! Reads the messages of a request.

use serde_json::{Value, json};

use crate::chat::{
    ChatMessage, ContentPart, MessageContent, OpaquePart, RedactedThinkingPart, Role, ThinkingPart,
    ToolCallPart, Warning, WarningKind, vendor_state,
};
use crate::error::Result;
use crate::protocol::openai::serve;
use crate::protocol::openai::serve::fields::{
    self, Fields, invalid, kind_of, list, object, read, required, take_in,
};
use crate::protocol::openai::serve::tools::arguments_of;

/// The fields of a message that are read under the same names.
const FIELDS: [&str; 14] = [
    "role",
    "content",
    "name",
    "tool_call_id",
    "cache_control",
    "refusal",
    "annotations",
    "audio",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "images",
    "extra_content",
    "executed_tools",
];

/// The fields of a message of the assistant that become parts of its content.
const BESIDE: [&str; 9] = [
    "refusal",
    "annotations",
    "audio",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "images",
    "extra_content",
    "executed_tools",
];

/// The messages of a request while they are read.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) messages: Vec<ChatMessage>,
    pub(super) warnings: Vec<Warning>,
    /// The calls in the form that preceded tool calls, which have no ids: name and id.
    functions: Vec<(String, String)>,
}

impl Messages {
    /// Reads a message, which is number `at` and at `path` of the body.
    pub(super) fn read(&mut self, mut fields: Fields, at: usize, path: &str) -> Result<()> {
        let calls =
            list(fields.remove("tool_calls").unwrap_or_default(), &format!("{path}.tool_calls"))?;
        let older: Option<Fields> = take_in(&mut fields, path, "function_call")?;
        let blocks = list(
            fields.remove("thinking_blocks").unwrap_or_default(),
            &format!("{path}.thinking_blocks"),
        )?;
        let role = fields.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_response = matches!(role.as_str(), "assistant" | "model");
        self.keep_known(&mut fields, path);
        if !is_response {
            // Clients that write every field of a message.
            for name in ["annotations", "audio", "images", "refusal", "reasoning_content"] {
                if fields.get(name).is_some_and(|value| value.is_null() || *value == json!([])) {
                    fields.remove(name);
                }
            }
        }
        let content = fields.remove("content").unwrap_or_default();
        let content = self.content(content, is_response, &format!("{path}.content"))?;
        if is_response && fields.get("audio").is_some_and(Value::is_object) {
            keep(&mut fields, "audio", &["id", "data", "transcript", "expires_at", "format"]);
        }
        let mut thinking = Vec::new();
        for (number, block) in blocks.into_iter().enumerate() {
            let path = format!("{path}.thinking_blocks[{number}]");
            thinking.push(thinking_block(object(block, &path)?, &path)?);
        }
        if !thinking.is_empty() {
            // They are the same thoughts.
            for name in ["reasoning_content", "reasoning"] {
                take_in::<String>(&mut fields, path, name)?;
            }
        }
        // What completes the content is beside it, and read together with it.
        let is_completed = is_response
            && BESIDE.iter().any(|name| fields.get(*name).is_some_and(|value| !value.is_null()));
        if is_completed && let Some(content) = &content {
            let content = serde_json::to_value(content).map_err(|error| invalid(path, error))?;
            fields.insert("content".to_owned(), content);
        }
        let mut message: ChatMessage = read(Value::Object(fields), path)?;
        if !is_completed {
            message.content = content;
        }
        if role == "function" {
            self.result_of_function(&mut message, at);
        }
        let mut parts = Vec::new();
        for (number, call) in calls.into_iter().enumerate() {
            let path = format!("{path}.tool_calls[{number}]");
            let id = format!("call_{at}_{number}");
            parts.push(ContentPart::ToolCall(tool_call(object(call, &path)?, id, &path)?));
        }
        if let Some(mut function) = older {
            let id = format!("call_{at}");
            let path = format!("{path}.function_call");
            let name: String = required(&mut function, &path, "name")?;
            let arguments = arguments(function.remove("arguments"), &path)?;
            self.functions.push((name.clone(), id.clone()));
            parts.push(ContentPart::ToolCall(ToolCallPart::new(id, name, arguments)));
        }
        if !parts.is_empty() && !is_response {
            let why = format!("a message of `{role}` cannot call tools");
            return Err(invalid(&format!("{path}.tool_calls"), why));
        }
        surround(&mut message, thinking, parts);
        self.messages.push(message);
        Ok(())
    }

    /// Removes the fields that a message does not have.
    fn keep_known(&mut self, fields: &mut Fields, path: &str) {
        let warnings = &mut self.warnings;
        fields.retain(|name, value| {
            let is_known = FIELDS.contains(&name.as_str());
            // What clients note down about their messages.
            let is_neutral = matches!(
                name.as_str(),
                "id" | "status"
                    | "type"
                    | "index"
                    | "created"
                    | "parsed"
                    | "provider_specific_fields"
            );
            if !is_known && !is_neutral && !value.is_null() {
                let subject = format!("{path}.{name}");
                let why = format!("{subject}: messages have no such field here");
                warnings.push(Warning::new(WarningKind::Dropped, subject, why));
            }
            is_known && !(value.is_null() && name != "content")
        });
    }

    /// Connects the result of a function to its call, which has no id of its own.
    fn result_of_function(&mut self, message: &mut ChatMessage, at: usize) {
        let name = message.name.as_deref().unwrap_or_default();
        let called = self.functions.iter().rposition(|(called, _)| called == name);
        let id = called.map(|called| self.functions.remove(called).1);
        message.role = Role::Tool;
        message.tool_call_id = Some(id.unwrap_or_else(|| format!("call_{at}")));
    }

    fn content(
        &mut self,
        content: Value,
        is_response: bool,
        path: &str,
    ) -> Result<Option<MessageContent>> {
        let parts = match content {
            Value::Null => return Ok(None),
            Value::String(text) => return Ok(Some(MessageContent::Text(text))),
            Value::Array(parts) => parts,
            other => {
                let why = format!("expected a text or a list, found {}", kind_of(&other));
                return Err(invalid(path, why));
            }
        };
        let mut read = Vec::with_capacity(parts.len());
        for (at, part) in parts.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            read.push(match part {
                Value::String(text) => ContentPart::text(text),
                part => self.part(object(part, &path)?, is_response, &path)?,
            });
        }
        Ok(Some(MessageContent::Parts(read)))
    }

    /// Reads a part of a message, without the fields that it does not have here.
    fn part(&mut self, mut part: Fields, is_response: bool, path: &str) -> Result<ContentPart> {
        let known: &[&str] = match fields::kind(&part) {
            "text" | "input_text" | "output_text" => {
                part.insert("type".to_owned(), json!("text"));
                &["text", "cache_control"]
            }
            "refusal" => &["refusal"],
            "image_url" | "video_url" => {
                let kind = fields::kind(&part).to_owned();
                if let Some(Value::String(url)) = part.get(&kind) {
                    let url = json!({ "url": url });
                    part.insert(kind.clone(), url);
                }
                keep(
                    &mut part,
                    &kind,
                    if kind == "image_url" { &["url", "detail"] } else { &["url"] },
                );
                match kind.as_str() {
                    "image_url" => &["image_url", "cache_control"],
                    _ => &["video_url"],
                }
            }
            "input_audio" => {
                if let Some(Value::String(data)) = part.get("input_audio") {
                    let audio = json!({ "data": data });
                    part.insert("input_audio".to_owned(), audio);
                }
                keep(&mut part, "input_audio", &["data", "format", "url"]);
                &["input_audio"]
            }
            "file" => {
                const OF_FILE: [&str; 5] =
                    ["file_data", "file_url", "file_id", "filename", "mime_type"];
                keep(&mut part, "file", &OF_FILE);
                &["file", "cache_control"]
            }
            "document_url" | "file_url" => {
                let url = part.remove("document_url").or_else(|| part.remove("file_url"));
                let name = part.remove("document_name").or_else(|| part.remove("file_name"));
                let url = match url {
                    Some(Value::Object(mut inner)) => inner.remove("url"),
                    url => url,
                };
                let file = json!({ "file_url": url, "filename": name });
                part.insert("type".to_owned(), json!("file"));
                part.insert("file".to_owned(), file);
                &["file"]
            }
            "thinking" => &["thinking", "signature"],
            // A piece that only its provider knows.
            kind if is_response && !kind.is_empty() => {
                let kind = kind.to_owned();
                let data = Value::Object(part);
                return Ok(ContentPart::Opaque(OpaquePart { provider: String::new(), kind, data }));
            }
            _ => return read(Value::Object(part), path),
        };
        if known.contains(&"cache_control")
            && let Some(mark) = serve::breakpoint(&mut part, path)?
        {
            let mark = serde_json::to_value(mark).map_err(|error| invalid(path, error))?;
            part.entry("cache_control").or_insert(mark);
        }
        let warnings = &mut self.warnings;
        part.retain(|name, value| {
            let is_known = name == "type" || known.contains(&name.as_str());
            let is_neutral = matches!(name.as_str(), "id" | "annotations" | "logprobs" | "closed");
            if !is_known && !is_neutral && !value.is_null() {
                let subject = format!("{path}.{name}");
                let why = format!("{subject}: parts of this type have no such field here");
                warnings.push(Warning::new(WarningKind::Dropped, subject, why));
            }
            is_known
        });
        read(Value::Object(part), path)
    }
}

/// Removes the fields that the object in a field does not have here.
fn keep(fields: &mut Fields, name: &str, known: &[&str]) {
    if let Some(Value::Object(inner)) = fields.get_mut(name) {
        inner.retain(|name, value| known.contains(&name.as_str()) && !value.is_null());
    }
}

/// Puts parts before and after the content of a message.
fn surround(message: &mut ChatMessage, before: Vec<ContentPart>, after: Vec<ContentPart>) {
    if before.is_empty() && after.is_empty() {
        return;
    }
    let mut parts = before;
    match message.content.take() {
        Some(MessageContent::Parts(content)) => parts.extend(content),
        Some(MessageContent::Text(text)) if !text.is_empty() => parts.push(ContentPart::text(text)),
        _ => {}
    }
    parts.extend(after);
    message.content = Some(MessageContent::Parts(parts));
}

/// Reads a tool call. `generated` is its id if it has none.
fn tool_call(mut call: Fields, generated: String, path: &str) -> Result<ToolCallPart> {
    let id: Option<String> = take_in(&mut call, path, "id")?;
    let id = id.filter(|id| !id.is_empty()).unwrap_or(generated);
    let kind: Option<String> = take_in(&mut call, path, "type")?;
    let extra = call.remove("extra_content").filter(|extra| !extra.is_null());
    let mut part = if kind.as_deref() == Some("custom") {
        let mut custom: Fields = required(&mut call, path, "custom")?;
        let path = format!("{path}.custom");
        let input: String = take_in(&mut custom, &path, "input")?.unwrap_or_default();
        ToolCallPart::new(id, required::<String>(&mut custom, &path, "name")?, arguments_of(&input))
    } else {
        let mut function: Fields = required(&mut call, path, "function")?;
        let path = format!("{path}.function");
        let arguments = arguments(function.remove("arguments"), &path)?;
        ToolCallPart::new(id, required::<String>(&mut function, &path, "name")?, arguments)
    };
    part.provider_state = extra.map(|extra| Box::new(vendor_state(&extra, &str::to_owned)));
    Ok(part)
}

/// Returns arguments as text. Some clients send the object itself.
fn arguments(arguments: Option<Value>, path: &str) -> Result<String> {
    match arguments {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(object @ Value::Object(_)) => Ok(object.to_string()),
        Some(other) => {
            let why = format!("expected a text, found {}", kind_of(&other));
            Err(invalid(&format!("{path}.arguments"), why))
        }
    }
}

/// Reads a block of thinking, as libraries that speak to several providers keep it beside the text.
fn thinking_block(mut block: Fields, path: &str) -> Result<ContentPart> {
    if fields::kind(&block) == "redacted_thinking" {
        let data = required(&mut block, path, "data")?;
        return Ok(ContentPart::RedactedThinking(RedactedThinkingPart {
            data,
            provider_state: None,
        }));
    }
    Ok(ContentPart::Thinking(ThinkingPart {
        thinking: take_in(&mut block, path, "thinking")?.unwrap_or_default(),
        signature: take_in(&mut block, path, "signature")?,
        provider_state: None,
    }))
}
