//! Reads the items of a request: messages, and parts of the assistant's messages.

use serde_json::Value;

use super::compaction;
use super::content::{content, output, pieces};
use crate::chat::{
    ChatMessage, ContentPart, MessageContent, OpaquePart, Role, ThinkingPart, ToolCallPart,
    Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::openai::serve::fields::{Fields, invalid, kind_of, list, required, take_in};
use crate::protocol::openai::serve::tools::{Tools, arguments_of};

/// The conversation of a request while it is read.
#[derive(Debug)]
pub(super) struct Items<'a> {
    pub(super) messages: Vec<ChatMessage>,
    warnings: Vec<Warning>,
    tools: &'a mut Tools,
    is_compaction: bool,
}

impl<'a> Items<'a> {
    pub(super) fn new(tools: &'a mut Tools) -> Self {
        Self { messages: Vec::new(), warnings: Vec::new(), tools, is_compaction: false }
    }

    /// Returns the messages, the warnings, and whether the response is a summary of the conversation.
    pub(super) fn finish(self) -> (Vec<ChatMessage>, Vec<Warning>, bool) {
        (self.messages, self.warnings, self.is_compaction)
    }

    /// Reads an item, which is number `at` and at `path` of the body.
    pub(super) fn read(&mut self, mut item: Fields, at: usize, path: &str) -> Result<()> {
        let kind: Option<String> = take_in(&mut item, path, "type")?;
        let kind = kind.unwrap_or_else(|| match item.contains_key("role") {
            true => "message".to_owned(),
            false if item.contains_key("id") => "item_reference".to_owned(),
            false => String::new(),
        });
        match kind.as_str() {
            "message" => self.message(item, path),
            "reasoning" => {
                let thinking = thinking(item, path)?;
                self.part(ContentPart::Thinking(thinking));
                Ok(())
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
            | "apply_patch_call" | "computer_call" => self.call(&kind, item, at, path),
            "tool_search_call" if !is_of_provider(&item) => self.call(&kind, item, at, path),
            "tool_search_output" if !is_of_provider(&item) => self.found_tools(item, path),
            "additional_tools" => {
                self.tools.read(item.remove("tools").unwrap_or_default(), &format!("{path}.tools"))
            }
            kind if kind.ends_with("_call_output") => self.result(kind, item, path),
            "compaction_trigger" => {
                self.messages.push(ChatMessage::user(compaction::INSTRUCTION));
                self.is_compaction = true;
                Ok(())
            }
            "compaction" | "compaction_summary" => {
                self.compaction(&item, path);
                Ok(())
            }
            "item_reference" => {
                let why = "this server does not store responses; set `store` to false in the client, so it sends the items themselves";
                Err(invalid(path, why).with_code("item_not_found"))
            }
            "configuration_update" => {
                self.warn(WarningKind::Dropped, path, "settings apply to the whole request");
                Ok(())
            }
            "" => Err(invalid(&format!("{path}.type"), "it is required")),
            _ => {
                self.opaque(&kind, item);
                Ok(())
            }
        }
    }

    fn message(&mut self, mut item: Fields, path: &str) -> Result<()> {
        let role: String = required(&mut item, path, "role")?;
        let value = item.remove("content").unwrap_or_default();
        let at = format!("{path}.content");
        let role = match role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => {
                match value {
                    Value::Array(list) => {
                        let parts = pieces(list, &at, &mut self.warnings)?;
                        parts.into_iter().for_each(|part| self.part(part));
                    }
                    value => match content(value, &at, &mut self.warnings)? {
                        MessageContent::Text(text) => self.part(ContentPart::text(text)),
                        MessageContent::Parts(parts) => {
                            parts.into_iter().for_each(|part| self.part(part));
                        }
                    },
                }
                return Ok(());
            }
            other => {
                let why = format!(
                    "unknown role `{other}`; known roles: user, assistant, system, developer"
                );
                return Err(invalid(&format!("{path}.role"), why));
            }
        };
        let content = content(value, &at, &mut self.warnings)?;
        self.messages.push(ChatMessage::new(role, content));
        Ok(())
    }

    /// Adds a part to the message of the assistant that is open, or begins one.
    fn part(&mut self, part: ContentPart) {
        if let Some(message) = self.messages.last_mut()
            && message.role == Role::Assistant
            && let Some(MessageContent::Parts(parts)) = &mut message.content
        {
            parts.push(part);
            return;
        }
        self.messages.push(ChatMessage::assistant(vec![part]));
    }

    fn call(&mut self, kind: &str, mut item: Fields, at: usize, path: &str) -> Result<()> {
        let id = call_id(&mut item, path)?.unwrap_or_else(|| format!("call_{at}"));
        let (name, arguments) = match kind {
            "function_call" => (None, text_or_json(item.remove("arguments"), path, "arguments")?),
            "custom_tool_call" => {
                let input: Option<String> = take_in(&mut item, path, "input")?;
                (None, arguments_of(&input.unwrap_or_default()))
            }
            "local_shell_call" | "shell_call" => {
                (None, text_or_json(item.remove("action"), path, "action")?)
            }
            "apply_patch_call" => {
                (None, text_or_json(item.remove("operation"), path, "operation")?)
            }
            "tool_search_call" => {
                (None, text_or_json(item.remove("arguments"), path, "arguments")?)
            }
            _ => {
                item.retain(|name, value| {
                    matches!(name.as_str(), "action" | "actions") && !value.is_null()
                });
                (Some("computer"), Value::Object(item.clone()).to_string())
            }
        };
        let name = match (name, kind) {
            (Some(name), _) => name.to_owned(),
            (None, "function_call" | "custom_tool_call") => {
                let namespace: Option<String> = take_in(&mut item, path, "namespace")?;
                let name: String = required(&mut item, path, "name")?;
                self.tools.called(namespace.as_deref(), &name)
            }
            (None, kind) => kind.strip_suffix("_call").unwrap_or(kind).to_owned(),
        };
        self.part(ContentPart::ToolCall(ToolCallPart::new(id, name, arguments)));
        Ok(())
    }

    fn result(&mut self, kind: &str, mut item: Fields, path: &str) -> Result<()> {
        let id = call_id(&mut item, path)?;
        let Some(id) = id else {
            return Err(invalid(&format!("{path}.call_id"), "it is required"));
        };
        let value = item.remove("output").unwrap_or_default();
        let content = output(value, &format!("{path}.output"), &mut self.warnings)?;
        let mut message = ChatMessage::tool(id, content);
        let status = item.get("status").and_then(Value::as_str);
        message.is_error = kind == "apply_patch_call_output" && status == Some("failed");
        self.messages.push(message);
        Ok(())
    }

    /// Reads the tools that a search found: they can be called from now on.
    fn found_tools(&mut self, mut item: Fields, path: &str) -> Result<()> {
        let id = call_id(&mut item, path)?;
        let Some(id) = id else {
            return Err(invalid(&format!("{path}.call_id"), "it is required"));
        };
        let tools = item.remove("tools").unwrap_or_default();
        let text = tools.to_string();
        // A search may find the same tool again.
        let before = self.tools.warnings.len();
        self.tools.read(tools, &format!("{path}.tools"))?;
        self.tools.warnings.truncate(before);
        self.messages.push(ChatMessage::tool(id, text));
        Ok(())
    }

    fn compaction(&mut self, item: &Fields, path: &str) {
        let text = item.get("encrypted_content").and_then(Value::as_str).and_then(compaction::text);
        match text {
            Some(text) => self.messages.push(ChatMessage::user(text)),
            None => {
                let why = "only the server that wrote the summary can read it";
                self.warn(WarningKind::Dropped, path, why);
            }
        }
    }

    fn opaque(&mut self, kind: &str, mut item: Fields) {
        item.insert("type".to_owned(), Value::from(kind));
        self.part(ContentPart::Opaque(OpaquePart {
            provider: String::new(),
            kind: kind.to_owned(),
            data: Value::Object(item),
        }));
    }

    fn warn(&mut self, kind: WarningKind, subject: &str, why: &str) {
        self.warnings.push(Warning::new(kind, subject, format!("{subject}: {why}")));
    }
}

/// Returns the id of a call; some kinds of items have it in another field.
fn call_id(item: &mut Fields, path: &str) -> Result<Option<String>> {
    let own: Option<String> = take_in(item, path, "call_id")?;
    let other: Option<String> = take_in(item, path, "id")?;
    Ok(own.into_iter().chain(other).find(|id| !id.is_empty()))
}

/// Returns whether the provider searched for tools itself.
fn is_of_provider(item: &Fields) -> bool {
    item.get("execution").and_then(Value::as_str) == Some("server")
        || item.get("call_id").is_none_or(Value::is_null)
}

/// Returns a text as it is, and an object as JSON.
fn text_or_json(value: Option<Value>, path: &str, name: &str) -> Result<String> {
    match value {
        None | Some(Value::Null) => Ok("{}".to_owned()),
        Some(Value::String(text)) => Ok(text),
        Some(object @ Value::Object(_)) => Ok(object.to_string()),
        Some(other) => {
            let why = format!("expected a text or an object, found {}", kind_of(&other));
            Err(invalid(&format!("{path}.{name}"), why))
        }
    }
}

/// Reads reasoning: the thoughts themselves, else their summary.
fn thinking(mut item: Fields, path: &str) -> Result<ThinkingPart> {
    let mut texts = |name: &str| -> Result<String> {
        let path = format!("{path}.{name}");
        let mut texts = Vec::new();
        for section in list(item.remove(name).unwrap_or_default(), &path)? {
            match section {
                Value::String(text) => texts.push(text),
                Value::Object(mut section) => texts.push(required(&mut section, &path, "text")?),
                other => {
                    let why = format!("expected an object, found {}", kind_of(&other));
                    return Err(invalid(&path, why));
                }
            }
        }
        Ok(texts.join("\n\n"))
    };
    let (thoughts, summary) = (texts("content")?, texts("summary")?);
    let signature: Option<String> = take_in(&mut item, path, "encrypted_content")?;
    Ok(ThinkingPart {
        thinking: if thoughts.is_empty() { summary } else { thoughts },
        signature: signature.filter(|text| !text.is_empty()),
        provider_state: None,
    })
}
