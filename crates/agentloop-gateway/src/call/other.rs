//! Calls that generate nothing: embeddings, token counts, lists of models.

use agentloop::carry::has_capsule;
use agentloop::protocol::serve::{
    Operation, read_embed, write_count, write_embed, write_model, write_models,
};
use agentloop::relay::{RelayError, RelayRequest, sent_once};
use agentloop::{ChatRequest, Cost, Error, ErrorKind, Protocol, Usage, Warning, WarningKind};
use bytes::Bytes;
use http::{Response, StatusCode};

use super::attempt::Attempts;
use super::chat::{self, Asked, gemini_method, json_text, percent_decode};
use super::{Call, cached, failure, headers, json, own, refuse, translate};
use crate::account::{Estimate, Hold};
use crate::models::allowed;
use crate::route::{Member, Plan};
use crate::stream::GatewayBody;

/// How many bytes of a request are estimated as one token, if the provider cannot count.
const BYTES_PER_TOKEN: usize = 4;

/// Lists the models that the key may use.
pub(super) fn models(call: &Call) -> Bytes {
    write_models(call.api.protocol, &allowed(&call.state.models, &call.key))
}

/// Describes one model.
pub(super) fn model(call: &Call) -> Result<Bytes, Error> {
    let path = call.api.path.split('?').next().unwrap_or_default();
    let id = path.split_once("/models/").map_or("", |(_, id)| id);
    let id = percent_decode(id);
    let known = allowed(&call.state.models, &call.key).into_iter().find(|model| model.id == id);
    match known {
        Some(model) => Ok(write_model(call.api.protocol, &model)),
        None => Err(own(
            StatusCode::NOT_FOUND,
            "model_not_found",
            format!("the model `{id}` is not known to this gateway"),
        )),
    }
}

/// Counts the tokens of a request.
pub(super) async fn count(mut call: Box<Call>) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let (asked, plan) = match read(&call) {
        Ok(read) => read,
        Err(error) => return refuse(call.record, protocol, failure::for_client(&error)),
    };
    call.record.model.clone_from(&asked.model);
    call.record.follow(&call.state.live);
    let mut attempts = Attempts::new(plan);
    let counted = count_any(&call, &asked, &mut attempts).await;
    call.record.attempts = attempts.count;
    match counted {
        Ok(((tokens, warning), member)) => {
            call.record.provider = Some(member.provider().to_owned());
            call.record.is_complete = true;
            let mut response = json(call.record, write_count(protocol, tokens));
            headers::warn(response.headers_mut(), warning.as_slice());
            response
        }
        Err(failed) => chat::fail(call.record, protocol, failed),
    }
}

type Counted = (u64, Option<Warning>);

async fn count_any(
    call: &Call,
    asked: &Asked,
    attempts: &mut Attempts,
) -> Result<(Counted, Member), RelayError> {
    let (member, _busy) = attempts.begin()?;
    if let Some(tokens) = count_relayed(call, asked, &member).await {
        return Ok(((tokens, None), member));
    }
    let request = translate::read(call, &member)?;
    let counted = count_one(&request, &member, asked.body.bytes.len()).await;
    Ok((counted, member))
}

/// Asks a provider of the same API, also one of which it is not known whether it can count.
async fn count_relayed(call: &Call, asked: &Asked, member: &Member) -> Option<u64> {
    let (client, protocol) = (&member.slot.client, call.api.protocol);
    if !member.target.relays(protocol) || has_capsule(&asked.body.bytes) {
        return None;
    }
    let target = &member.target;
    let body = match protocol {
        Protocol::Gemini => asked.body.bytes.clone(),
        _ => asked.body.with("model", &json_text(&target.model)),
    };
    let mut request = RelayRequest::new(&member.model, protocol, Operation::Count, body);
    request.headers = headers::kept(&call.headers, protocol);
    let counted = client.relay(request).await.ok()?.body.take_whole()?;
    let counted: serde_json::Value = serde_json::from_slice(&counted).ok()?;
    let tokens = ["input_tokens", "totalTokens"].into_iter().find_map(|name| counted.get(name));
    tokens.and_then(serde_json::Value::as_u64)
}

/// Returns the number of tokens, as the provider counts them if it can.
async fn count_one(request: &ChatRequest, member: &Member, bytes: usize) -> Counted {
    match member.slot.client.count_tokens(request).await {
        Ok(tokens) => (tokens, None),
        Err(error) => {
            let why = format!("the number of tokens is an estimate: {}", error.message());
            let warning = Warning::new(WarningKind::Converted, "input_tokens", why);
            ((bytes / BYTES_PER_TOKEN).max(1) as u64, Some(warning))
        }
    }
}

/// Turns texts into vectors.
pub(super) async fn embed(mut call: Box<Call>) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let (mut asked, plan) = match read(&call) {
        Ok(read) => read,
        Err(error) => return refuse(call.record, protocol, failure::for_client(&error)),
    };
    call.record.model.clone_from(&asked.model);
    call.record.follow(&call.state.live);
    asked.estimate = Estimate::of_embed(&asked.body);
    if let Err(error) = call.enter(&asked.estimate).await {
        return refuse(call.record, protocol, error);
    }
    match cached::Wanted::of(&call, &asked, &plan) {
        Some(wanted) => {
            let make = |load: cached::Load| Box::pin(respond(load.0, load.1, load.2)) as _;
            Box::pin(cached::run(wanted, (call, asked, plan), make)).await
        }
        None => respond(call, asked, plan).await,
    }
}

/// Calls the providers of a plan for embeddings.
async fn respond(mut call: Box<Call>, asked: Asked, plan: Plan) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let mut attempts = Attempts::new(plan);
    let embedded = embed_any(&call, &asked, &mut attempts).await;
    call.record.attempts = attempts.count;
    match embedded {
        Ok((vectors, member, hold)) => {
            call.record.provider = Some(member.provider().to_owned());
            call.record.served = Some(member.full_name());
            call.record.usage = vectors.usage;
            call.record.cost = vectors.cost;
            call.record.hold = Some(hold);
            call.record.is_complete = true;
            let mut response = json(call.record, vectors.body);
            headers::warn(response.headers_mut(), &vectors.warnings);
            response
        }
        Err(failed) => chat::fail(call.record, protocol, failed),
    }
}

/// The response to a request for embeddings.
struct Vectors {
    body: Bytes,
    usage: Option<Usage>,
    cost: Option<Cost>,
    warnings: Vec<Warning>,
}

async fn embed_any(
    call: &Call,
    asked: &Asked,
    attempts: &mut Attempts,
) -> Result<(Vectors, Member, Hold), RelayError> {
    loop {
        let (member, _busy, hold) = attempts.reserve(call, &asked.estimate).await?;
        let vectors = sent_once(embed_one(call, asked, &member)).await;
        if let Some((vectors, hold)) = attempts.settle(&member, hold, vectors).await? {
            return Ok((vectors, member, hold));
        }
    }
}

async fn embed_one(call: &Call, asked: &Asked, member: &Member) -> Result<Vectors, RelayError> {
    let client = &member.slot.client;
    let target = &member.target;
    let protocol = call.api.protocol;
    // Both APIs of OpenAI have the same embeddings.
    let relayed = match protocol {
        Protocol::OpenAiResponses | Protocol::OpenAiChat => Protocol::OpenAiChat,
        other => other,
    };
    if target.relays(relayed) && target.provider.serves.embeddings {
        let body = match relayed {
            Protocol::Gemini => asked.body.bytes.clone(),
            _ => asked.body.with("model", &json_text(&target.model)),
        };
        let mut request = RelayRequest::new(&member.model, relayed, Operation::Embed, body);
        request.headers = headers::kept(&call.headers, relayed);
        if relayed == Protocol::Gemini {
            request.method = Some(gemini_method(&call.api.path));
        }
        let mut response = client.relay(request).await?;
        let body = response.body.take_whole().unwrap_or_default();
        let usage = usage_of(&body);
        return Ok(Vectors { body, usage, cost: None, warnings: response.warnings });
    }
    let served = read_embed(protocol, &call.api.path, &call.body)?;
    let mut request = served.request;
    request.model.clone_from(&member.model);
    let response = client.embed(request).await?;
    let usage = response.usage.as_ref().map(|usage| Usage::new(usage.prompt_tokens, 0));
    let (cost, warnings) = (response.cost.clone(), response.warnings.clone());
    Ok(Vectors { body: write_embed(&response, served.form), usage, cost, warnings })
}

/// Returns the tokens that a response with vectors reports.
fn usage_of(body: &[u8]) -> Option<Usage> {
    let fields = crate::body::scan::fields(body).ok()?;
    let (_, place) = fields.iter().find(|(name, _)| &body[name.clone()] == b"usage")?;
    let value: serde_json::Value = serde_json::from_slice(&body[place.clone()]).ok()?;
    let tokens = value.get("prompt_tokens").and_then(serde_json::Value::as_u64)?;
    Some(Usage::new(tokens, 0))
}

fn read(call: &Call) -> Result<(Asked, Plan), Error> {
    let asked = match Asked::read(call) {
        Err(error) if error.kind() == ErrorKind::InvalidRequest => return Err(error),
        asked => asked?,
    };
    let plan = chat::plan(call, &asked)?;
    Ok((asked, plan))
}
