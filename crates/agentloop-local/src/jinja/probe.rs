//! Finds out what a template can do, by applying it to small conversations.

use serde_json::{Value as Json, json};

use super::{Input, Template};
use crate::calls;
use crate::grammar::CALL_START;

/// Texts that no template has in itself.
const USER: &str = "probe-user";
const SYSTEM: &str = "probe-system";
const TOOL: &str = "probe_tool";
const TOOL_TEXT: &str = "probe-description";
const RESULT: &str = "probe-result";

/// What a template can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// Whether contents are lists of parts instead of texts.
    pub(crate) has_parts: bool,
    /// Whether there are messages of the system.
    pub(crate) has_system: bool,
    /// Whether it shows tools, their calls and their results, and the calls in the form that the grammar of tools has.
    pub(crate) has_tools: bool,
}

impl Abilities {
    /// Applies a template to small conversations. A template that does not show the message of a user is an error.
    pub(crate) fn of(template: &Template, bos: &str, eos: &str) -> Result<Self, String> {
        let show = |messages: &[Json], tools: &[Json]| {
            template.render(Input { messages, tools, bos, eos })
        };
        let user = json!({ "role": "user", "content": USER });
        let mut has_parts = false;
        match show(std::slice::from_ref(&user), &[]) {
            Ok(text) if text.contains(USER) => {}
            first => {
                has_parts = true;
                match show(&[with_parts(user.clone())], &[]) {
                    Ok(text) if text.contains(USER) => {}
                    _ => return Err(first.err().unwrap_or("it does not show messages".to_owned())),
                }
            }
        }
        let form = |message: Json| if has_parts { with_parts(message) } else { message };
        let system = json!({ "role": "system", "content": SYSTEM });
        let has_system = show(&[form(system), form(user.clone())], &[])
            .is_ok_and(|text| text.contains(SYSTEM) && text.contains(USER));
        let arguments = json!({ "probe_key": "probe-value" });
        let call = json!({
            "id": "call-0",
            "type": "function",
            "function": { "name": TOOL, "arguments": arguments },
        });
        let messages = [
            form(user.clone()),
            json!({ "role": "assistant", "content": "", "tool_calls": [call] }),
            form(
                json!({ "role": "tool", "name": TOOL, "tool_call_id": "call-0", "content": RESULT }),
            ),
            form(user),
        ];
        let parameters =
            json!({ "type": "object", "properties": { "probe_key": { "type": "string" } } });
        let tool = json!({
            "type": "function",
            "function": { "name": TOOL, "description": TOOL_TEXT, "parameters": parameters },
        });
        let has_tools = show(&messages, &[tool]).is_ok_and(|text| {
            let is_call =
                |after: &str| calls::parse(after) == Some((TOOL.to_owned(), arguments.clone()));
            text.contains(TOOL_TEXT)
                && text.contains(RESULT)
                && text.split(CALL_START).skip(1).any(is_call)
        });
        Ok(Self { has_parts, has_system, has_tools })
    }
}

/// Returns a message whose content is a list with one text.
pub(crate) fn with_parts(mut message: Json) -> Json {
    if let Some(Json::String(text)) = message.get("content") {
        let parts = json!([{ "type": "text", "text": text }]);
        message["content"] = parts;
    }
    message
}
