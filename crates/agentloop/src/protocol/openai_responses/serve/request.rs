//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::echo;
use super::items::Items;
use crate::chat::{ChatMessage, ChatRequest, Thinking, ToolChoice};
use crate::error::Result;
use crate::protocol::openai::serve;
use crate::protocol::openai::serve::Remembered;
use crate::protocol::openai::serve::fields::{
    self, Fields, drop_default, invalid, kind_of, object, read, take, take_in,
};
use crate::protocol::openai::serve::tools::Tools;
use crate::protocol::serve::{Operation, Reply, ServedChat, StreamFraming};

pub(super) use crate::protocol::openai::serve::read_embed;

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str, _: &HeaderMap) -> Option<Operation> {
    let end = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::POST && end.ends_with("/responses") {
        Some(Operation::Chat)
    } else if method == Method::POST && end.ends_with("/responses/input_tokens") {
        Some(Operation::Count)
    } else {
        serve::route(method, path)
    }
}

/// Reads a chat request.
///
/// # Errors
///
/// When the body is not a JSON object, when a known field has a form that cannot be read, or when the request refers to
/// a response that the server does not have.
pub(super) fn read_chat(_: &str, body: &[u8]) -> Result<ServedChat> {
    let mut fields = fields::body(body)?;
    let stream = take(&mut fields, "stream")?.unwrap_or(false);
    refuse_stored(&fields)?;
    let echo = echo::of_request(&fields);
    let mut request = ChatRequest::default();
    let mut tools = Tools::default();
    tools.read(fields.remove("tools").unwrap_or_default(), "tools")?;
    let mut items = Items::new(&mut tools);
    if let Some(instructions) = take::<String>(&mut fields, "instructions")? {
        items.messages.push(ChatMessage::system(instructions));
    }
    match fields.remove("input") {
        Some(Value::String(text)) => items.messages.push(ChatMessage::user(text)),
        Some(Value::Array(list)) => {
            for (at, item) in list.into_iter().enumerate() {
                let path = format!("input[{at}]");
                items.read(object(item, &path)?, at, &path)?;
            }
        }
        // A prompt that the provider stores may be all there is.
        None | Some(Value::Null) if fields.contains_key("prompt") => {}
        None => return Err(invalid("input", "it is required")),
        Some(other) => {
            let why = format!("expected a text or a list, found {}", kind_of(&other));
            return Err(invalid("input", why));
        }
    }
    let (messages, mut warnings, is_compaction) = items.finish();
    request.messages = messages;
    request.tool_choice = tools.choice(fields.remove("tool_choice").unwrap_or_default())?;
    if is_compaction && !tools.definitions.is_empty() {
        request.tool_choice = Some(ToolChoice::None);
    }
    request.tools = tools.definitions;
    warnings.append(&mut tools.warnings);
    read_settings(&mut fields, &mut request)?;
    drop_defaults(&mut fields);
    serve::drop_default_settings(&mut request);
    request.extra_body = fields;
    // The protocol always reports usage.
    Ok(ServedChat {
        request,
        stream,
        include_usage: true,
        framing: StreamFraming::Events,
        warnings,
        reply: Reply::new(Remembered {
            tools: tools.declared,
            echo,
            has_own_words: true,
            is_compaction,
        }),
    })
}

/// Returns an error if the request refers to a conversation that only the provider has.
fn refuse_stored(fields: &Fields) -> Result<()> {
    for name in ["previous_response_id", "conversation"] {
        if fields.get(name).is_some_and(|value| !value.is_null()) {
            let why =
                "this server does not store responses; send the whole conversation in `input`";
            return Err(invalid(name, why).with_code("previous_response_not_found"));
        }
    }
    Ok(())
}

fn read_settings(fields: &mut Fields, request: &mut ChatRequest) -> Result<()> {
    request.model = take(fields, "model")?.unwrap_or_default();
    request.temperature = take(fields, "temperature")?;
    request.top_p = take(fields, "top_p")?;
    request.max_tokens = take(fields, "max_output_tokens")?;
    request.parallel_tool_calls = take(fields, "parallel_tool_calls")?;
    request.top_logprobs = take::<u32>(fields, "top_logprobs")?.filter(|count| *count > 0);
    request.service_tier = take(fields, "service_tier")?;
    request.prompt_cache_key = take(fields, "prompt_cache_key")?;
    let older: Option<String> = take(fields, "user")?;
    request.user_id = take(fields, "safety_identifier")?.or(older);
    request.metadata = take(fields, "metadata")?;
    // Some clients write it where chat completions have it.
    if let Some(format) = take::<Fields>(fields, "response_format")? {
        request.response_format = Some(read(serve::text_format(format), "response_format")?);
    }
    if let Some(mut reasoning) = take::<Fields>(fields, "reasoning")? {
        request.reasoning_effort = take_in(&mut reasoning, "reasoning", "effort")?;
        let older: Option<String> = take_in(&mut reasoning, "reasoning", "generate_summary")?;
        let summary: Option<String> = take_in(&mut reasoning, "reasoning", "summary")?;
        if summary.or(older).is_some_and(|word| word != "none") {
            request.thinking = Some(Thinking { include: Some(true), ..Thinking::default() });
        }
        put_back(fields, "reasoning", reasoning);
    }
    if let Some(mut text) = take::<Fields>(fields, "text")? {
        request.verbosity = take_in(&mut text, "text", "verbosity")?;
        if let Some(format) = take_in::<Fields>(&mut text, "text", "format")? {
            request.response_format = Some(read(serve::text_format(format), "text.format")?);
        }
        put_back(fields, "text", text);
    }
    let wanted: Vec<String> = take(fields, "include")?.unwrap_or_default();
    if wanted.iter().any(|what| what == "message.output_text.logprobs") {
        request.logprobs = Some(true);
    }
    Ok(())
}

/// Keeps what was not read of an object.
fn put_back(fields: &mut Fields, name: &str, mut rest: Fields) {
    rest.retain(|_, value| !value.is_null());
    if !rest.is_empty() {
        fields.insert(name.to_owned(), Value::Object(rest));
    }
}

/// Removes fields that change nothing.
fn drop_defaults(fields: &mut Fields) {
    fields.retain(|_, value| !value.is_null());
    // Nothing is stored, and encrypted reasoning is always included. `client_metadata` is for OpenAI's statistics.
    for name in ["store", "stream_options", "client_metadata"] {
        fields.remove(name);
    }
    drop_default(fields, "background", &[json!(false)]);
    drop_default(fields, "truncation", &[json!("disabled")]);
    drop_default(fields, "prompt_cache_retention", &[json!("in_memory"), json!("in-memory")]);
}
