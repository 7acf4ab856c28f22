//! Calls while they grow: of the caller's tools, of the provider's own, and code that the provider runs.

use serde_json::{Map, Value};

use super::message::without;
use super::received::Received;
use super::server_tools::{self, word};
use crate::chat::{PartDelta, PartStart, ProviderState};
use crate::error::Result;
use crate::protocol::tool_calls::check_arguments;
use crate::protocol::{Emitter, free_text};

/// A call and the arguments received so far.
#[derive(Debug)]
pub(super) struct Growing {
    kind: Kind,
    id: String,
    part: u32,
    received: Received,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of the caller's tool.
    Call,
    /// Of the caller's tool, with an input that is free text.
    Custom,
    /// Of the provider's tool.
    Server,
    Code,
}

impl Growing {
    pub(super) fn open(kind: Kind, id: String, name: &str, emitter: &mut Emitter) -> Result<Self> {
        let (own, name) = (id.clone(), name.to_owned());
        let start = match kind {
            Kind::Call | Kind::Custom => PartStart::ToolCall { id, name },
            Kind::Server => PartStart::ServerToolCall { id, name },
            Kind::Code => PartStart::CodeExecution { id: Some(id), language: name },
        };
        Ok(Self { kind, id: own, part: emitter.open(0, start)?, received: Received::default() })
    }

    pub(super) fn grow(&mut self, piece: &str, emitter: &mut Emitter) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let is_first = self.received.bytes() == 0;
        self.received.add(piece);
        check_arguments(self.received.bytes())?;
        let piece = match self.kind {
            Kind::Custom => free_text::piece(piece, is_first),
            _ => piece.to_owned(),
        };
        let delta = match self.kind {
            Kind::Call | Kind::Custom => PartDelta::ToolCallArguments { arguments: piece },
            Kind::Server => PartDelta::ServerToolCallArguments { arguments: piece },
            Kind::Code => PartDelta::Code { code: piece },
        };
        emitter.delta(0, self.part, delta)
    }

    /// Completes the input.
    pub(super) fn complete(&mut self, whole: &str, emitter: &mut Emitter) -> Result<()> {
        match self.received.rest_of(whole) {
            Some(rest) => self.grow(rest, emitter),
            None => Ok(()),
        }
    }

    /// Ends the call. `item` is all of it, if the provider sent that; `cut` is set if the response was cut off.
    pub(super) fn close(
        &mut self,
        item: Option<&Map<String, Value>>,
        cut: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(item) = item {
            let whole = match self.kind {
                Kind::Call | Kind::Custom => input(item),
                Kind::Server => server_tools::arguments(item),
                Kind::Code => server_tools::code(item),
            };
            self.complete(&whole, emitter)?;
        }
        if self.received.bytes() == 0 && self.kind == Kind::Call && !cut {
            self.grow("{}", emitter)?;
        }
        if self.kind == Kind::Custom && !cut {
            let arguments = free_text::end(self.received.bytes() == 0).to_owned();
            emitter.delta(0, self.part, PartDelta::ToolCallArguments { arguments })?;
        }
        let Some(item) = item else {
            return emitter.close(0, self.part, |_| {});
        };
        let own_fields: &[&str] = match self.kind {
            Kind::Call => &["call_id", "name", "arguments"],
            Kind::Custom => &["call_id", "name", "input"],
            Kind::Server | Kind::Code => &[],
        };
        let state = Value::Object(without(item, own_fields));
        let provider_state = ProviderState::new(emitter.provider(), state);
        emitter.delta(0, self.part, PartDelta::ProviderState { provider_state })?;
        emitter.close(0, self.part, |_| {})?;
        let results = match self.kind {
            Kind::Call | Kind::Custom => Vec::new(),
            Kind::Server => {
                server_tools::result(item, &self.id, emitter.provider()).into_iter().collect()
            }
            Kind::Code => server_tools::code_results(item, &self.id, emitter.provider()),
        };
        results.into_iter().try_for_each(|part| emitter.whole(0, part))
    }
}

/// Returns the arguments, or the input of a tool that takes no JSON.
fn input(item: &Map<String, Value>) -> String {
    match item.get("arguments").or_else(|| item.get("input")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Returns the kind and the name of a call, or `None` if the item is not a call that is streamed.
pub(super) fn kind(item: &Map<String, Value>, provider_runs_custom: bool) -> Option<(Kind, &str)> {
    let name = word(item, "name");
    match word(item, "type") {
        "function_call" => (!name.is_empty()).then_some((Kind::Call, name)),
        "custom_tool_call" if name.is_empty() => None,
        "custom_tool_call" if provider_runs_custom => Some((Kind::Server, name)),
        "custom_tool_call" => Some((Kind::Custom, name)),
        "code_interpreter_call" => Some((Kind::Code, "python")),
        _ => server_tools::name(item).map(|name| (Kind::Server, name)),
    }
}
