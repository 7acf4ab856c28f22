//! Encodes a chat request.

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderValue;
use http::header::ACCEPT;
use serde_json::{Map, Value, json};

use super::cache_points;
use super::message::{Conversation, Messages};
use super::params::{MEMBERS, OF_MODEL};
use super::parts::{Block, BlockBody};
use super::{model_path, thinking, tools};
use crate::chat::{ChatRequest, ResponseFormat, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::blocks::sampling;
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::model::ModelTraits;
use crate::provider::{Param, Provider};
use crate::schema::{self, Dialect, Sent};

/// The fields that a count of tokens accepts (`ConverseTokensRequest`).
const COUNTED: [&str; 3] = ["system", "toolConfig", OF_MODEL];

/// The tiers of `ServiceTierType`.
const TIERS: [&str; 4] = ["default", "priority", "flex", "reserved"];

/// The most bytes of a key and of a value of `requestMetadata`.
const LONGEST_LABEL: usize = 256;

/// The content type of streams.
const FRAMES: HeaderValue = HeaderValue::from_static("application/vnd.amazon.eventstream");

/// Encodes a chat request, or a request that counts its tokens.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    prepared: Prepared<'_>,
) -> Result<Encoded> {
    let request = &*shaped.request;
    let traits = shaped.traits;
    let extra = with_members(&request.extra_body);
    let mut params = ParamWriter::new(provider, shaped, &extra, Extra::Merges, &["messages"]);
    params.warnings.extend(prepared.warnings);
    let forced = tools::forced(request, traits, thinking::is_requested(request));
    let plan = thinking::plan(&mut params, model, request, traits, forced);
    if call != Call::Count {
        params.copy(request, Param::MaxTokens)?;
        sampling(&mut params, model, request, traits, plan.thinks())?;
        labels(&mut params, request)?;
        response_format(&mut params, request)?;
    }
    thinking::put(&mut params, request, plan, call)?;
    let mut wire_tools = tools::definitions(&mut params, request, &prepared.names, traits);

    let mut warnings = std::mem::take(&mut params.warnings);
    let messages = Messages::new(provider, &prepared.names, request.lenient, &mut warnings);
    let mut conversation = messages.encode(&prepared.messages, prepared.places.as_deref())?;
    if conversation.start_with_user() {
        let why = "messages: the first is of the assistant, which is refused; \".\" of the user is sent before it";
        warnings.push(Warning::new(WarningKind::Repaired, "messages", why));
    }
    let Conversation { mut system, mut wire_messages, has_calls } = conversation;
    if wire_messages.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has no messages")
            .with_provider(provider.name.as_ref())
            .with_hint("add at least one message that is not empty, with `.user(…)`"));
    }
    let own = shaped.instructions.as_deref().filter(|text| !text.trim().is_empty());
    system.extend(own.map(|text| Block::new(BlockBody::Text(Cow::Borrowed(text)))));
    cache_points::limit(&mut wire_tools, &mut system, &mut wire_messages, &mut warnings);
    params.warnings = warnings;

    tools::put(&mut params, model, request, &prepared.names, wire_tools, forced)?;
    if !system.is_empty() {
        params.content("system", &cache_points::Blocks(&system))?;
    }
    params.settings(request, |name| call != Call::Count || COUNTED.contains(&name))?;
    // The messages are last, so a conversation that grows only appends to what was sent before.
    params.reserve_for(&prepared.messages);
    params.field("messages", &wire_messages)?;
    if has_calls {
        tools::put_placeholder(&mut params, request)?;
    }
    let mut warnings = std::mem::take(&mut params.warnings);
    let mut headers = headers::of_chat(provider, shaped, call == Call::Stream, &mut warnings)?;
    let is_accept = |name: &String| name.eq_ignore_ascii_case(ACCEPT.as_str());
    if call == Call::Stream && !request.extra_headers.keys().any(is_accept) {
        headers.insert(ACCEPT, FRAMES);
    }
    let (path, body) = match call {
        Call::Chat => ("/converse", params.finish()),
        Call::Stream => ("/converse-stream", params.finish()),
        Call::Count => ("/count-tokens", counted(&params.finish())),
    };
    Ok(Encoded::post(model_path(shaped.model, path), headers, body, warnings, prepared.names))
}

/// Wraps a request whose tokens are counted.
fn counted(body: &Bytes) -> Bytes {
    [br#"{"input":{"converse":"#.as_slice(), body, b"}}"].concat().into()
}

/// Moves the fields that the API does not have into those of the model. One that is in both places stays as it is there.
fn with_members(extra: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let is_member = |name: &str| MEMBERS.contains(&name);
    let has_room = extra.get(OF_MODEL).is_none_or(Value::is_object);
    if !has_room || extra.keys().all(|name| is_member(name)) {
        return Cow::Borrowed(extra);
    }
    let (mut fields, more): (Map<_, _>, Map<_, _>) =
        extra.clone().into_iter().partition(|(name, _)| is_member(name));
    let place = fields.entry(OF_MODEL).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(known) = place {
        for (name, value) in more {
            known.entry(name).or_insert(value);
        }
    }
    Cow::Owned(fields)
}

/// Writes how tokens are chosen and when to stop.
fn sampling(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    thinks: bool,
) -> Result<()> {
    let refused = sampling::refusal(model, traits, thinks);
    sampling::put(params, request, thinks, refused.as_ref())?;
    let mut stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
    let most = params.provider().quirks.max_stops;
    if let Some(first) = most.and_then(|most| stops.get(..most)).filter(|first| *first != stops) {
        let why = format!("only the first {} are sent", first.len());
        params.warn(WarningKind::Clamped, Param::Stop.name(), &why);
        stops = first;
    }
    sampling::put_stops(params, stops)
}

/// Writes the labels of the request and its tier.
fn labels(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    if params.is_renamed(Param::Metadata) {
        params.copy(request, Param::Metadata)?;
    } else if params.is_sent(Param::Metadata) {
        let mut taken = Map::new();
        for (name, value) in request.metadata.iter().flatten() {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            if name.is_empty() || !is_label(name) || !is_label(&text) {
                let why = "only some characters are accepted, and at most 256 of them";
                params.drop(&format!("metadata.{name}"), why);
                continue;
            }
            if !value.is_string() {
                let why = "only text is accepted: its JSON is sent";
                params.warn(WarningKind::Converted, &format!("metadata.{name}"), why);
            }
            taken.insert(name.clone(), text.into());
        }
        params.merge(Param::Metadata, taken);
    }
    let tier = match request.service_tier.as_deref() {
        None => None,
        Some(tier) if params.is_renamed(Param::ServiceTier) || TIERS.contains(&tier) => Some(tier),
        Some(tier @ ("standard" | "standard_only")) => {
            let why = format!("`{tier}` is sent as `default`");
            params.warn(WarningKind::Converted, "service_tier", &why);
            Some("default")
        }
        Some(tier) => {
            let why = format!("`{tier}` is unknown to {}", params.provider().name);
            params.drop("service_tier", &why);
            None
        }
    };
    params.put(Param::ServiceTier, tier).map(drop)
}

/// Returns whether a text may be a key or a value of `requestMetadata`.
fn is_label(text: &str) -> bool {
    let is_taken = |letter: char| {
        letter.is_ascii_alphanumeric() || letter.is_whitespace() || ":_@$#=/+,-.".contains(letter)
    };
    text.len() <= LONGEST_LABEL && text.chars().all(is_taken)
}

/// Writes the form of the text. The schema is a text inside of the JSON.
fn response_format(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format else {
        return Ok(());
    };
    // The API has no rules of its own about schemas. Those of the models that follow one are the rules of Anthropic.
    let converted = schema::converted(&json_schema.schema, Dialect::Anthropic);
    for lost in converted.lost() {
        params.drop("response_format", lost);
    }
    let schema = Sent::Converted(converted).into_value().to_string();
    let mut definition = json!({ "schema": schema, "name": json_schema.name });
    if let Some(description) = &json_schema.description {
        definition["description"] = description.as_str().into();
    }
    let format = json!({ "type": "json_schema", "structure": { "jsonSchema": definition } });
    params.put(Param::ResponseFormat, Some(&format)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_no_members_go_to_the_model() {
        let extra = json!({ "top_k": 5, "guardrailConfig": { "guardrailIdentifier": "g" },
                            "additionalModelRequestFields": { "top_k": 7, "a": 1 } });
        let moved = with_members(extra.as_object().unwrap()).into_owned();
        let expected = json!({ "guardrailConfig": { "guardrailIdentifier": "g" },
                               "additionalModelRequestFields": { "top_k": 7, "a": 1 } });
        assert_eq!(Value::Object(moved), expected);
        let alone = json!({ "anthropic_beta": ["b"] });
        let moved = with_members(alone.as_object().unwrap()).into_owned();
        assert_eq!(Value::Object(moved)["additionalModelRequestFields"], alone);
    }

    #[test]
    fn labels_are_those_of_the_pattern() {
        assert!(is_label("a B:_@$#=/+,-.9") && is_label(""));
        assert!(!is_label("ä") && !is_label("a{") && !is_label(&"a".repeat(257)));
    }
}
