//! Calls that generate a response.

use agentloop::carry::has_capsule;
use agentloop::protocol::serve::{Operation, StreamFraming};
use agentloop::relay::{RelayError, RelayRequest, Relayed, sent_once};
use agentloop::{Error, ErrorKind, Protocol};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::api::query_without_key;
use super::attempt::Attempts;
use super::translate::{self, Reply};
use super::{Call, cached, failure, headers, own, refuse};
use crate::account::{Estimate, Hold};
use crate::body::RequestBody;
use crate::record::Record;
use crate::route::{Busy, Member, Options, Plan};
use crate::stream::{GatewayBody, Relaying, Streamed};

/// The longest name of a model, in bytes.
const MAX_MODEL_BYTES: usize = 512;

/// What a request asks for.
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) body: RequestBody,
    /// What it is expected to use.
    pub(crate) estimate: Estimate,
}

impl Asked {
    /// Reads the model and whether to stream: from the body, or from the path for Gemini.
    pub(crate) fn read(call: &Call) -> Result<Self, Error> {
        let body = RequestBody::read(call.body.clone())?;
        let (model, stream) = match call.api.protocol {
            Protocol::Gemini => {
                let path = call.api.path.split('?').next().unwrap_or_default();
                let (rest, method) = path.rsplit_once(':').unwrap_or((path, ""));
                (percent_decode(model_of_path(rest)), method == "streamGenerateContent")
            }
            _ => (body.text("model").unwrap_or_default(), body.is_true("stream")),
        };
        let model = model.strip_prefix("models/").unwrap_or(&model).to_owned();
        check_model(&model)?;
        Ok(Self { model, stream, body, estimate: Estimate::default() })
    }
}

/// Checks the name of a model.
pub(super) fn check_model(model: &str) -> Result<(), Error> {
    if model.is_empty() {
        let message = "the request does not name a model";
        return Err(own(StatusCode::BAD_REQUEST, "missing_model", message));
    }
    // The name becomes a part of the provider's URL in some APIs.
    let is_odd = |letter: char| letter.is_control() || "?#\\".contains(letter);
    if model.len() > MAX_MODEL_BYTES
        || model.contains(is_odd)
        || model.split('/').any(|piece| piece == ".." || piece == ".")
    {
        let message = "the name of the model has characters that no model has";
        return Err(own(StatusCode::BAD_REQUEST, "invalid_model", message));
    }
    Ok(())
}

/// Returns the model in a Gemini path: after `models/`, or after the version (the AI SDK leaves `models/` out if the name of
/// the model has a slash).
fn model_of_path(path: &str) -> &str {
    if let Some((_, model)) = path.split_once("/models/") {
        return model;
    }
    let rest = path.trim_start_matches('/');
    let versions = ["v1beta/", "v1alpha/", "v1/"];
    versions.into_iter().find_map(|version| rest.strip_prefix(version)).unwrap_or(rest)
}

/// Decodes `%2F` and the like. A `%` without two hexadecimal digits stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns what is tried for a model, if the key may use it.
pub(crate) fn plan(call: &Call, asked: &Asked) -> Result<Plan, Error> {
    let affinity = if call.state.router.has_choice(&asked.model) {
        asked.body.affinity(call.api.protocol, &call.headers)
    } else {
        0
    };
    plan_for(call, &asked.model, affinity)
}

/// Returns what is tried for a model, if the key may use it. `affinity` identifies the conversation.
pub(super) fn plan_for(call: &Call, model: &str, affinity: u64) -> Result<Plan, Error> {
    let mut plan = call.state.router.plan(model, affinity)?;
    // A key for a route may use what the route names; a key for models needs all of them.
    let is_allowed = call.key.allows(model)
        || plan.members.iter().all(|member| call.key.allows(&member.full_name()));
    if !is_allowed {
        let message = format!("the API key `{}` may not use the model `{model}`", call.key.name);
        return Err(own(StatusCode::FORBIDDEN, "model_not_allowed", message));
    }
    plan.options.strict |= call.key.strict || call.state.strict;
    Ok(plan)
}

/// The response of one attempt.
enum Begun {
    Relayed(Box<Relayed>, bool),
    Translated(Box<Reply>),
}

/// Responds to a chat request.
pub(super) async fn run(mut call: Box<Call>) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let mut asked = match Asked::read(&call) {
        Ok(asked) => asked,
        Err(error) => return refuse(call.record, protocol, error),
    };
    call.record.model.clone_from(&asked.model);
    call.record.is_stream = asked.stream;
    call.record.follow(&call.state.live);
    let plan = match plan(&call, &asked) {
        Ok(plan) => plan,
        Err(error) => return refuse(call.record, protocol, failure::for_client(&error)),
    };
    asked.estimate = Estimate::of_chat(&asked.body, protocol);
    if let Err(error) = call.enter(&asked.estimate).await {
        return refuse(call.record, protocol, error);
    }
    match cached::Wanted::of(&call, &asked, &plan) {
        Some(wanted) => {
            let make = |(call, asked, plan): cached::Load| {
                Box::pin(async move { respond(call, &asked, plan).await }) as _
            };
            Box::pin(cached::run(wanted, (call, asked, plan), make)).await
        }
        None => respond(call, &asked, plan).await,
    }
}

/// Calls the providers of a plan.
async fn respond(mut call: Box<Call>, asked: &Asked, plan: Plan) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let options = plan.options;
    let mut attempts = Attempts::new(plan);
    let answered = answer(&call, asked, &mut attempts, options.strict).await;
    call.record.attempts = attempts.count;
    let (response, member, busy, hold) = match answered {
        Ok(answered) => answered,
        Err(failed) => return fail(call.record, protocol, failed),
    };
    call.record.hold = Some(hold);
    call.record.provider = Some(member.provider().to_owned());
    call.record.served = Some(member.full_name());
    match response {
        Begun::Relayed(relayed, hides_usage) => {
            call.record.is_relayed = true;
            relayed_response(call, asked, *relayed, hides_usage, options, busy)
        }
        Begun::Translated(reply) => translate::respond(call, *reply, options, busy),
    }
}

/// Calls one provider after another until one responds.
async fn answer(
    call: &Call,
    asked: &Asked,
    attempts: &mut Attempts,
    strict: bool,
) -> Result<(Begun, Member, Busy, Hold), RelayError> {
    loop {
        let (member, busy, hold) = attempts.reserve(call, &asked.estimate).await?;
        let begun = sent_once(begin(call, asked, &member, strict)).await;
        if let Some((begun, hold)) = attempts.settle(&member, hold, begun).await? {
            return Ok((begun, member, busy, hold));
        }
    }
}

async fn begin(
    call: &Call,
    asked: &Asked,
    member: &Member,
    strict: bool,
) -> Result<Begun, RelayError> {
    if is_relayed(call, asked, member) {
        let (request, hides_usage) = relayed_request(call, asked, member)?;
        let relayed = member.slot.client.relay(request).await?;
        return Ok(Begun::Relayed(Box::new(relayed), hides_usage));
    }
    // In a box, so the future of a relayed call does not have room for it.
    let reply = Box::pin(translate::begin(call, asked, member, strict)).await?;
    Ok(Begun::Translated(Box::new(reply)))
}

/// Returns whether the body can be passed on as it is.
fn is_relayed(call: &Call, asked: &Asked, member: &Member) -> bool {
    // Another provider's state is not for this one.
    member.target.relays(call.api.protocol) && !has_capsule(&asked.body.bytes)
}

/// Returns the request to a provider of the same API, and whether the client does not want the usage that its stream will have.
fn relayed_request(
    call: &Call,
    asked: &Asked,
    member: &Member,
) -> Result<(RelayRequest, bool), Error> {
    let target = &member.target;
    let protocol = call.api.protocol;
    let mut hides_usage = false;
    let mut body = match protocol {
        Protocol::Gemini => asked.body.bytes.clone(),
        _ => asked.body.with("model", &json_text(&target.model)),
    };
    if protocol == Protocol::OpenAiChat && asked.stream {
        let options = asked.body.value("stream_options").unwrap_or(b"null");
        let wants = serde_json::from_slice::<serde_json::Value>(options)
            .is_ok_and(|options| options["include_usage"] == true);
        if !wants {
            hides_usage = true;
            body = RequestBody::read(body)?.with("stream_options", "{\"include_usage\":true}");
        }
    }
    let mut request = RelayRequest::new(&member.model, protocol, Operation::Chat, body);
    request.stream = asked.stream;
    request.headers = headers::kept(&call.headers, protocol);
    if protocol == Protocol::Gemini {
        request.method = Some(gemini_method(&call.api.path));
    } else if protocol == Protocol::Anthropic && call.api.path.contains("beta=true") {
        request.query = Some("beta=true".to_owned());
    }
    Ok((request, hides_usage))
}

/// Returns the method of a Gemini call with its query.
pub(super) fn gemini_method(path: &str) -> String {
    let bare = path.split('?').next().unwrap_or_default();
    let method = bare.rsplit_once(':').map_or("generateContent", |(_, method)| method);
    let query = query_without_key(path);
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{method}{mark}{query}")
}

pub(super) fn json_text(text: &str) -> String {
    // Text can always be written.
    serde_json::to_string(text).unwrap_or_default()
}

fn relayed_response(
    call: Box<Call>,
    asked: &Asked,
    mut relayed: Relayed,
    hides_usage: bool,
    options: Options,
    busy: Busy,
) -> Response<GatewayBody> {
    let Call { state, api, mut record, .. } = *call;
    record.status = relayed.status;
    let mut shown = HeaderMap::new();
    failure::copy_headers(&relayed.headers, &mut shown);
    headers::warn(&mut shown, &relayed.warnings);
    let body = match relayed.body.take_whole() {
        Some(bytes) => whole(record, &relayed, bytes),
        None => {
            let framing = framing_of(api.protocol, &api.path);
            let keep_alive = state.keep_alive.filter(|_| framing != StreamFraming::Array);
            let source = Box::new(Relaying::new(relayed.body, api.protocol, hides_usage));
            shown.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            GatewayBody::stream(Streamed::new(
                source,
                framing,
                keep_alive,
                options.drain,
                record,
                busy,
            ))
        }
    };
    if !shown.contains_key(CONTENT_TYPE) {
        let kind = if asked.stream { "text/event-stream" } else { "application/json" };
        shown.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    let mut response = Response::new(body);
    *response.status_mut() = relayed.status;
    *response.headers_mut() = shown;
    response
}

/// Returns how a stream is framed: Gemini's are an array without `alt=sse`.
pub(super) fn framing_of(protocol: Protocol, path: &str) -> StreamFraming {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let is_sse = query.split('&').any(|pair| pair == "alt=sse");
    match protocol {
        Protocol::Gemini if !is_sse => StreamFraming::Array,
        _ => StreamFraming::Events,
    }
}

fn whole(mut record: Record, relayed: &Relayed, bytes: Bytes) -> GatewayBody {
    let report = relayed.body.report();
    record.usage.clone_from(&report.usage);
    record.cost.clone_from(&report.cost);
    record.is_complete = report.is_complete;
    record.saw_bytes(bytes.len());
    record.finish();
    GatewayBody::whole(bytes)
}

/// Responds to a request that failed before its first content.
pub(super) fn fail(
    mut record: Record,
    protocol: Protocol,
    failed: RelayError,
) -> Response<GatewayBody> {
    let relayed = failed.response.as_ref().and_then(|response| {
        let (headers, body) = &**response;
        failure::relay(&failed.error, headers, body.clone())
    });
    match relayed {
        Some(response) => {
            record.status = response.status();
            record.error = Some(failed.error);
            record.is_relayed = true;
            record.finish();
            response
        }
        None => {
            let shown = match failed.error.kind() {
                ErrorKind::Cancelled => failed.error,
                _ => failure::for_client(&failed.error),
            };
            refuse(record, protocol, shown)
        }
    }
}
