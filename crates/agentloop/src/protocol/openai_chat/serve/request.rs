//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::messages::Messages;
use crate::chat::{ChatRequest, Thinking, ToolDefinition, WebSearchTool};
use crate::error::Result;
use crate::protocol::openai::serve;
use crate::protocol::openai::serve::Remembered;
use crate::protocol::openai::serve::fields::{
    self, Fields, drop_default, invalid, list, object, read, take, take_in,
};
use crate::protocol::openai::serve::tools::Tools;
use crate::protocol::serve::{Operation, Reply, ServedChat, StreamFraming};

pub(super) use crate::protocol::openai::serve::read_embed;

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str, _: &HeaderMap) -> Option<Operation> {
    let end = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::POST && end.ends_with("/chat/completions") {
        Some(Operation::Chat)
    } else {
        serve::route(method, path)
    }
}

/// Reads the body of a chat request.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(_: &str, body: &[u8]) -> Result<ServedChat> {
    let mut fields = fields::body(body)?;
    let stream = take(&mut fields, "stream")?.unwrap_or(false);
    let options: Option<Fields> = take(&mut fields, "stream_options")?;
    let include_usage = match options {
        Some(mut options) => {
            take_in(&mut options, "stream_options", "include_usage")?.unwrap_or(false)
        }
        None => false,
    };
    let mut request = ChatRequest::default();
    let mut tools = Tools::default();
    read_tools(&mut fields, &mut tools)?;
    request.tool_choice = tools.choice(choice(&mut fields))?;
    read_settings(&mut fields, &mut request)?;
    let messages = match fields.remove("messages") {
        Some(messages) => list(messages, "messages")?,
        None => return Err(invalid("messages", "it is required")),
    };
    let mut conversation = Messages::default();
    for (at, message) in messages.into_iter().enumerate() {
        let path = format!("messages[{at}]");
        conversation.read(object(message, &path)?, at, &path)?;
    }
    request.messages = conversation.messages;
    request.tools = tools.definitions;
    let mut warnings = tools.warnings;
    warnings.append(&mut conversation.warnings);
    drop_defaults(&mut fields);
    serve::drop_default_settings(&mut request);
    request.extra_body = fields;
    let remembered =
        Remembered { tools: tools.declared, has_own_words: true, ..Remembered::default() };
    Ok(ServedChat {
        request,
        stream,
        include_usage,
        framing: StreamFraming::Events,
        warnings,
        reply: Reply::new(remembered),
    })
}

/// Reads the tools, also in the form that preceded them.
fn read_tools(fields: &mut Fields, tools: &mut Tools) -> Result<()> {
    tools.read(fields.remove("tools").unwrap_or_default(), "tools")?;
    let functions = list(fields.remove("functions").unwrap_or_default(), "functions")?;
    let functions =
        functions.into_iter().map(|function| json!({ "type": "function", "function": function }));
    tools.read(functions.collect(), "functions")?;
    // The model searches the web whenever these options are there.
    if let Some(options) = take::<Fields>(fields, "web_search_options")? {
        let search: WebSearchTool = read(Value::Object(options), "web_search_options")?;
        tools.definitions.push(ToolDefinition::from(search));
    }
    Ok(())
}

/// Returns which tools to call, also in the form that preceded it.
fn choice(fields: &mut Fields) -> Value {
    let older = fields.remove("function_call").unwrap_or_default();
    match (fields.remove("tool_choice").unwrap_or_default(), older) {
        (Value::Null, Value::Object(function)) => {
            json!({ "type": "function", "function": function })
        }
        (Value::Null, older) => older,
        (choice, _) => choice,
    }
}

fn read_settings(fields: &mut Fields, request: &mut ChatRequest) -> Result<()> {
    request.model = take(fields, "model")?.unwrap_or_default();
    request.temperature = take(fields, "temperature")?;
    request.top_p = take(fields, "top_p")?;
    request.top_k = take(fields, "top_k")?;
    let older: Option<u64> = take(fields, "max_tokens")?;
    request.max_tokens = take(fields, "max_completion_tokens")?.or(older);
    request.stop = take(fields, "stop")?;
    request.seed = take(fields, "seed")?;
    request.n = take(fields, "n")?;
    request.frequency_penalty = take(fields, "frequency_penalty")?;
    request.presence_penalty = take(fields, "presence_penalty")?;
    request.parallel_tool_calls = take(fields, "parallel_tool_calls")?;
    if let Some(format) = take::<Fields>(fields, "response_format")? {
        request.response_format = Some(read(serve::text_format(format), "response_format")?);
    }
    request.modalities = take(fields, "modalities")?.unwrap_or_default();
    request.audio = take(fields, "audio")?;
    request.verbosity = take(fields, "verbosity")?;
    request.reasoning_effort = take(fields, "reasoning_effort")?;
    request.top_logprobs = take(fields, "top_logprobs")?;
    // Some providers take the number of alternatives here.
    match fields.get("logprobs") {
        Some(Value::Number(_)) => {
            let count: Option<u32> = take(fields, "logprobs")?;
            request.logprobs = Some(true);
            request.top_logprobs = request.top_logprobs.or(count);
        }
        _ => request.logprobs = take(fields, "logprobs")?,
    }
    request.logit_bias = take(fields, "logit_bias")?;
    request.service_tier = take(fields, "service_tier")?;
    request.prompt_cache_key = take(fields, "prompt_cache_key")?;
    let older: Option<String> = take(fields, "user")?;
    request.user_id = take(fields, "safety_identifier")?.or(older);
    request.metadata = take(fields, "metadata")?;
    // The form of routers: {"effort": …, "max_tokens": …, "enabled": …, "exclude": …}.
    if let Some(Value::Object(mut reasoning)) = fields.remove("reasoning") {
        let effort = take_in(&mut reasoning, "reasoning", "effort")?;
        request.reasoning_effort = request.reasoning_effort.or(effort);
        let hidden: Option<bool> = take_in(&mut reasoning, "reasoning", "exclude")?;
        let thinking = Thinking {
            enabled: take_in(&mut reasoning, "reasoning", "enabled")?,
            budget_tokens: take_in(&mut reasoning, "reasoning", "max_tokens")?,
            include: hidden.map(|hidden| !hidden),
        };
        request.thinking = (thinking != Thinking::default()).then_some(thinking);
        if !reasoning.is_empty() {
            fields.insert("reasoning".to_owned(), Value::Object(reasoning));
        }
    }
    Ok(())
}

/// Removes fields that change nothing.
fn drop_defaults(fields: &mut Fields) {
    fields.retain(|_, value| !value.is_null());
    // Whether the provider keeps the response for its own dashboards.
    fields.remove("store");
    drop_default(fields, "prompt_cache_retention", &[json!("in_memory"), json!("in-memory")]);
}
