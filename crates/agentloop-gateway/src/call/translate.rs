//! Requests to a provider that speaks another API.

use std::sync::Arc;

use agentloop::carry::{Carrier, restore};
use agentloop::protocol::serve::{
    self, ServedChat, StreamFraming, StreamWriter, read_chat, write_body_for,
};
use agentloop::relay::{RelayError, with_rate_limits};
use agentloop::{
    ChatRequest, ChatResponse, ChatStream, ChatStreamEvent, ContentPart, Error, MessageContent,
    Protocol, ProviderState, Role, Warning, WarningKind,
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::chat::Asked;
use super::server_tools::drop_unlisted;
use super::{Call, failure, headers, own};
use crate::route::{Busy, Member, Options};
use crate::stream::{GatewayBody, Streamed, Translated, now};

/// What is done with the complete response.
type AtEnd = Arc<dyn Fn(&ChatResponse) + Send + Sync>;

/// The start of a response that is translated.
pub(super) struct Reply {
    /// What the response repeats of the request.
    form: serve::Reply,
    outcome: Outcome,
    /// The headers of the provider about its rate limits.
    limits: HeaderMap,
    carrier: Carrier,
    writer: Option<StreamWriter>,
    framing: StreamFraming,
    /// The id that the client gets.
    id: Option<String>,
    model: String,
    warnings: Vec<Warning>,
    /// What the client said so far, if the response is to be kept.
    items: Option<Vec<Value>>,
}

enum Outcome {
    /// The events before the first content, and the rest.
    Stream(Vec<ChatStreamEvent>, ChatStream),
    Whole(Box<ChatResponse>),
}

/// Calls a provider that speaks another API.
pub(super) async fn begin(
    call: &Call,
    asked: &Asked,
    member: &Member,
    strict: bool,
) -> Result<Reply, RelayError> {
    let protocol = call.api.protocol;
    let client = &member.slot.client;
    let (body, items) = match protocol {
        Protocol::OpenAiResponses => {
            let (body, items) = call.state.stored.continued(&call.key.name, &asked.body)?;
            let keeps = asked.body.value("store") != Some(b"false");
            (body, keeps.then_some(items))
        }
        _ => (asked.body.bytes.clone(), None),
    };
    let mut served = read_chat(protocol, &call.api.path, &body)?;
    served.request.model.clone_from(&member.model);
    let upstream = client.protocol_for(&served.request)?;
    let mut warnings = std::mem::take(&mut served.warnings);
    warnings.extend(restore(&mut served.request));
    if upstream == protocol {
        claim(&mut served.request, member.provider());
    } else {
        drop_unknown(&mut served.request, &mut warnings);
        if upstream == Protocol::OpenAiChat {
            let target = client.resolve(&member.model)?;
            drop_unlisted(&mut served.request, &target.provider, &mut warnings);
        }
    }
    if strict {
        if let Some(warning) = warnings.first() {
            let message = format!("{} (this key or route is strict)", warning.message);
            return Err(own(StatusCode::BAD_REQUEST, "not_expressible", message).into());
        }
        served.request.strict = true;
    }
    let ServedChat { request, stream, include_usage, framing, reply: form, .. } = served;
    let model = asked.model.clone();
    let mut carrier = Carrier::new(protocol, upstream);
    if protocol == Protocol::OpenAiResponses && !asked.body.has_word("include", "encrypted_content")
    {
        carrier = carrier.without_thinking();
    }
    let calling = async {
        Ok::<_, Error>(if stream || asked.stream {
            let mut events = client.stream(request).await?;
            let first = first_events(&mut events, &mut warnings).await?;
            Outcome::Stream(first, events)
        } else {
            Outcome::Whole(Box::new(client.chat(request).await?))
        })
    };
    let (outcome, limits) = with_rate_limits(calling).await;
    let outcome = outcome?;
    let writer = match &outcome {
        Outcome::Stream(..) => Some(StreamWriter::for_reply(protocol, include_usage, &form)),
        Outcome::Whole(response) => {
            warnings.extend(response.warnings.iter().cloned());
            None
        }
    };
    let id = match protocol {
        // Clients look responses up by this id.
        Protocol::OpenAiResponses => Some(call.record.id.replacen("req_", "resp_", 1)),
        _ => None,
    };
    Ok(Reply { form, outcome, limits, carrier, writer, framing, id, model, warnings, items })
}

/// Reads the events before the first content, which have arrived already: the warnings among them go into the headers.
async fn first_events(
    events: &mut ChatStream,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ChatStreamEvent>, Error> {
    let mut first = Vec::new();
    while let Some(event) = events.next().await {
        let event = event?;
        if let ChatStreamEvent::Warning { warning } = &event {
            warnings.push(warning.clone());
        }
        let is_enough = event.is_content() || matches!(event, ChatStreamEvent::MessageDone { .. });
        first.push(event);
        if is_enough {
            break;
        }
    }
    Ok(first)
}

/// Names the provider in the state that a client of the same API sends: it is the provider's own.
fn claim(request: &mut ChatRequest, provider: &str) {
    let name = |state: &mut Option<Box<ProviderState>>| match state {
        Some(state) if state.provider.is_empty() => provider.clone_into(&mut state.provider),
        Some(_) => {}
        None => *state = Some(Box::new(ProviderState::new(provider, Value::Null))),
    };
    let assistant = request.messages.iter_mut().filter(|message| message.role == Role::Assistant);
    for message in assistant {
        let Some(MessageContent::Parts(parts)) = &mut message.content else { continue };
        for part in parts {
            match part {
                ContentPart::Thinking(part) => name(&mut part.provider_state),
                ContentPart::RedactedThinking(part) => name(&mut part.provider_state),
                ContentPart::ToolCall(part) if part.provider_state.is_some() => {
                    name(&mut part.provider_state);
                }
                ContentPart::Text(part) if part.provider_state.is_some() => {
                    name(&mut part.provider_state);
                }
                ContentPart::ServerToolCall(part) => name(&mut part.provider_state),
                ContentPart::ServerToolResult(part) => name(&mut part.provider_state),
                ContentPart::Opaque(part) if part.provider.is_empty() => {
                    provider.clone_into(&mut part.provider);
                }
                _ => {}
            }
        }
    }
}

/// Leaves out the fields that only the client's API has, with a warning each.
fn drop_unknown(request: &mut ChatRequest, warnings: &mut Vec<Warning>) {
    for (name, value) in std::mem::take(&mut request.extra_body) {
        if !value.is_null() {
            let why = format!("{name}: the provider's API has no such field");
            warnings.push(Warning::new(WarningKind::Dropped, name, why));
        }
    }
}

/// Writes the response in the format of the client's API.
pub(super) fn respond(
    mut call: Box<Call>,
    reply: Reply,
    options: Options,
    busy: Busy,
) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let Reply { form, outcome, limits, carrier, writer, framing, id, model, warnings, items } =
        reply;
    let state = Arc::clone(&call.state);
    let key = call.key.name.clone();
    let at_end: Option<AtEnd> = items.map(|items| -> AtEnd {
        Arc::new(move |response: &ChatResponse| state.stored.keep(&key, items.clone(), response))
    });
    let (body, kind) = match outcome {
        Outcome::Whole(mut response) => {
            call.record.usage = Some(response.usage.clone()).filter(|usage| !usage.is_empty());
            call.record.cost.clone_from(&response.cost);
            call.record.is_complete = true;
            if let Some(id) = id {
                response.id = id;
            }
            let mut response = carrier.response(*response);
            // Claude Code 2.1.325 drops the thinking of a stored session if the response names another model than it asked for.
            response.model = model;
            response.created.get_or_insert_with(now);
            if let Some(at_end) = at_end {
                at_end(&response);
            }
            let bytes = write_body_for(protocol, &response, &form);
            call.record.saw_bytes(bytes.len());
            call.record.finish();
            (GatewayBody::whole(bytes), "application/json")
        }
        Outcome::Stream(first, events) => {
            let writer = writer.unwrap_or_else(|| StreamWriter::for_reply(protocol, true, &form));
            let source =
                Box::new(Translated::new(first, events, carrier, writer, id, model, at_end));
            let keep_alive = call.state.keep_alive;
            let streamed =
                Streamed::new(source, framing, keep_alive, options.drain, call.record, busy);
            let kind = match framing {
                StreamFraming::Array => "application/json",
                _ => "text/event-stream",
            };
            (GatewayBody::stream(streamed), kind)
        }
    };
    let mut response = Response::new(body);
    failure::copy_headers(&limits, response.headers_mut());
    headers::warn(response.headers_mut(), &warnings);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Reads a request for the calls that do not generate anything.
pub(super) fn read(call: &Call, member: &Member) -> Result<ChatRequest, Error> {
    let mut served = read_chat(call.api.protocol, &call.api.path, &call.body)?;
    served.request.model.clone_from(&member.model);
    restore(&mut served.request);
    served.request.extra_body.clear();
    Ok(served.request)
}
