//! Converts a request to the messages of a chat template.

mod structured;

use agentloop::{ChatMessage, ChatRequest, ContentPart, Error, ErrorKind, Result, Role};
use agentloop::{MessageContent, ToolDefinition};
use serde_json::{Value, json};

pub(crate) use structured::Structured;

use crate::grammar::{CALL_END, CALL_START, Tool};
use crate::limits::MAX_PROMPT_BYTES;

/// A message of a chat template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) role: &'static str,
    pub(crate) text: String,
}

/// Returns the functions of a request. Tools that only a provider can run are an error.
pub(crate) fn tools(request: &ChatRequest) -> Result<Vec<Tool>> {
    let mut tools = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        match tool {
            ToolDefinition::Function { function, .. } => tools.push(Tool {
                name: function.name.clone(),
                description: function.description.clone(),
                parameters: function.parameters.clone(),
            }),
            _ => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "a local model cannot run a provider's tools; only functions are supported",
                ));
            }
        }
    }
    Ok(tools)
}

/// A conversation, in the two forms that chat templates read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversation {
    /// Roles and texts: the calls of tools and their results are text, and the system prompt describes the tools.
    pub(crate) messages: Vec<Message>,
    /// The form for templates that show tools. Absent if there are neither tools nor calls.
    pub(crate) structured: Option<Structured>,
}

impl Conversation {
    /// Converts the messages of a request. The tools are those that may be called.
    pub(crate) fn of(request: &ChatRequest, tools: &[Tool]) -> Result<Self> {
        let messages = messages(request, tools)?;
        Ok(Self { messages, structured: Structured::of(request, tools)? })
    }
}

/// Converts the messages. The description of the tools is added to the system prompt.
fn messages(request: &ChatRequest, tools: &[Tool]) -> Result<Vec<Message>> {
    let mut messages: Vec<Message> = Vec::with_capacity(request.messages.len() + 1);
    if !tools.is_empty() {
        messages.push(Message { role: "system", text: describe(tools) });
    }
    let mut bytes = 0;
    for message in &request.messages {
        let next = convert(message)?;
        bytes += next.text.len();
        let is_first = messages.len() == 1 && !tools.is_empty();
        match messages.last_mut() {
            // The user's system prompt comes before the description of the tools. Templates expect one system prompt.
            Some(last) if last.role == "system" && next.role == "system" => {
                last.text = match is_first {
                    true => format!("{}\n\n{}", next.text, last.text),
                    false => format!("{}\n\n{}", last.text, next.text),
                };
            }
            // The results of parallel calls are one message.
            Some(last) if message.role == Role::Tool && last.role == next.role => {
                last.text = format!("{}\n{}", last.text, next.text);
            }
            _ => messages.push(next),
        }
    }
    bytes += messages.first().map_or(0, |first| first.text.len());
    if bytes > MAX_PROMPT_BYTES {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!("the messages have more than {MAX_PROMPT_BYTES} bytes"),
        ));
    }
    Ok(messages)
}

fn convert(message: &ChatMessage) -> Result<Message> {
    let mut text = read(message, &mut |text, call| push_call(text, call.name, call.arguments))?;
    let role = match message.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::Tool => {
            text = format!("<tool_response>\n{text}\n</tool_response>");
            "user"
        }
        _ => "user",
    };
    Ok(Message { role, text })
}

/// A tool call of an earlier message.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

/// Reads the text of a message. `on_call` receives each tool call, with the text so far.
fn read<'a>(
    message: &'a ChatMessage,
    on_call: &mut dyn FnMut(&mut String, Call<'a>),
) -> Result<String> {
    let mut text = match &message.content {
        None => String::new(),
        Some(MessageContent::Text(text)) => text.clone(),
        Some(MessageContent::Parts(parts)) => {
            let mut text = String::new();
            for part in parts {
                read_part(part, &mut text, on_call)?;
            }
            text
        }
    };
    for call in &message.tool_calls {
        let (id, name, arguments) = (&*call.id, &*call.function.name, &*call.function.arguments);
        on_call(&mut text, Call { id, name, arguments });
    }
    // The engine takes texts that end at the first NUL.
    if text.contains('\0') {
        let message = "a message contains a NUL character, which local models cannot read";
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    Ok(text)
}

fn read_part<'a>(
    part: &'a ContentPart,
    text: &mut String,
    on_call: &mut dyn FnMut(&mut String, Call<'a>),
) -> Result<()> {
    match part {
        ContentPart::Text(part) => text.push_str(&part.text),
        ContentPart::ToolCall(call) => {
            on_call(text, Call { id: &call.id, name: &call.name, arguments: &call.arguments });
        }
        // What a model thought is not part of the conversation.
        ContentPart::Thinking(_) | ContentPart::RedactedThinking(_) => {}
        _ => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "local models read text only; the request has an image, audio, a file or another part",
            ));
        }
    }
    Ok(())
}

fn push_call(text: &mut String, name: &str, arguments: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let arguments = match arguments.trim() {
        "" => "{}",
        arguments => arguments,
    };
    let name = json!(name);
    text.push_str(&format!(
        "{CALL_START}\n{{\"name\": {name}, \"arguments\": {arguments}}}\n{CALL_END}"
    ));
}

/// Describes the tools, in the words of the Hermes format.
fn describe(tools: &[Tool]) -> String {
    let mut text = String::from(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures \
         within <tools></tools> XML tags:\n<tools>",
    );
    for tool in tools {
        text.push('\n');
        text.push_str(&definition(tool).to_string());
    }
    text.push_str(&format!(
        "\n</tools>\n\nFor each function call, return a json object with function name and arguments within \
         {CALL_START}{CALL_END} XML tags:\n{CALL_START}\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n{CALL_END}"
    ));
    text
}

/// Returns a tool as JSON, in the form of OpenAI, which templates expect.
fn definition(tool: &Tool) -> Value {
    let mut function = json!({ "name": tool.name });
    if let Some(description) = &tool.description {
        function["description"] = json!(description);
    }
    if let Some(parameters) = &tool.parameters {
        function["parameters"] = parameters.clone();
    }
    json!({ "type": "function", "function": function })
}

#[cfg(test)]
mod tests;
