//! Request → the body that the host takes.

use std::borrow::Cow;

use http::Method;
use serde_json::{Value, json};

use super::message::Items;
use super::{parts, thinking, tools};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, Effort, ResponseFormat, Warning, WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::openai_chat::encode::{conversation, strictly, system_role};
use crate::protocol::openai_chat::params::Params;
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, headers};
use crate::provider::quirks::{IncludeForm, JsonSchemaSupport, StoreForm, TextFormat, UserLabel};
use crate::provider::{Param, Provider, Sampling};

/// What is asked of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Chat { stream: bool },
    Count,
}

/// The chat call.
pub(crate) fn chat(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    stream: bool,
) -> Result<Encoded> {
    encode(provider, model, shaped, Call::Chat { stream })
}

pub(super) fn encode(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    call: Call,
) -> Result<Encoded> {
    let request = shaped.request.as_ref();
    let shows = |part: &ContentPart| parts::shown(part, provider);
    let mut prepared = conversation(provider, model, shaped, true, &shows)?;
    let nothing = serde_json::Map::new();
    let extra = if call == Call::Count { &nothing } else { &request.extra_body };
    // A stream of a background response is read like any other.
    if call == (Call::Chat { stream: false }) && extra.get("background") == Some(&Value::Bool(true))
    {
        let message = "`extra_body.background` asks for a response that is not waited for";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("ask without `background`, or stream the response"));
    }
    let mut params = Params::new(provider, extra, "input");
    params.warnings.append(&mut prepared.warnings);
    if !shaped.model.is_empty() {
        params.always("model", shaped.model)?;
    }
    let stream = call == Call::Chat { stream: true };
    if call != Call::Count {
        sampling(&mut params, provider, model, request)?;
        labels(&mut params, provider, request)?;
        unknown(&mut params, request);
        if provider.quirks.store == StoreForm::Said {
            params.always("store", &false)?;
        }
        if stream {
            params.always("stream", &true)?;
        }
        include(&mut params, provider, model, request)?;
    }
    thinking::thinking(&mut params, provider, model, request)?;
    tools::tools(&mut params, provider, request, &prepared.names)?;
    text(&mut params, provider, request)?;
    if call != Call::Count {
        params.defaults()?;
    }
    params.extras()?;
    // The items come last: a conversation that grows only adds to the end of what was sent before.
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let items = Items::new(provider, request, &prepared, &mut warnings)
        .with_system(system_role(provider, model, shaped))
        .encode(instructions.as_ref())?;
    params.always("input", &items)?;
    let headers = headers::build(provider, &request.extra_headers, stream, &mut warnings)?;
    let path = if call == Call::Count { "/responses/input_tokens" } else { "/responses" };
    Ok(Encoded {
        method: Method::POST,
        path: path.to_owned(),
        headers,
        body: params.finish(),
        warnings,
        names: prepared.names,
    })
}

/// How words are chosen, and when to stop.
fn sampling(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let refused = match provider.ruled_traits(model).sampling {
        Sampling::Free => false,
        Sampling::Refused => true,
        Sampling::WithoutEffort => request.reasoning_effort != Some(Effort::None),
    };
    for param in [Param::Temperature, Param::TopP, Param::Logprobs, Param::TopLogprobs] {
        params.refuse_if(refused, param, model);
    }
    params.number(Param::Temperature, request.temperature)?;
    params.number(Param::TopP, request.top_p)?;
    let cap = request.max_tokens.map(|asked| {
        let (least, most) = provider.range(Param::MaxTokens).unwrap_or((0.0, f64::INFINITY));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a row's range is of whole numbers"
        )]
        let kept = if (asked as f64) < least {
            least as u64
        } else if asked as f64 > most {
            most as u64
        } else {
            asked
        };
        if kept != asked {
            let why = format!("{asked} is sent as {kept}");
            params.warn(WarningKind::Clamped, Param::MaxTokens, &why);
        }
        kept
    });
    params.put_as(Param::MaxTokens, "max_output_tokens", cap.as_ref())?;
    params.put(Param::TopLogprobs, request.top_logprobs.as_ref()).map(drop)
}

/// Who asks, in which class, and under which labels.
fn labels(params: &mut Params<'_>, provider: &Provider, request: &ChatRequest) -> Result<()> {
    params.put(Param::ServiceTier, request.service_tier.as_ref())?;
    params.put(Param::PromptCacheKey, request.prompt_cache_key.as_ref())?;
    let user = match provider.quirks.user_label {
        UserLabel::User => "user",
        UserLabel::SafetyIdentifier => "safety_identifier",
    };
    params.put_as(Param::User, user, request.user.as_ref())?;
    params.put(Param::Metadata, request.metadata.as_ref()).map(drop)
}

/// Wishes for which the protocol has no form.
fn unknown(params: &mut Params<'_>, request: &ChatRequest) {
    for (set, what) in [
        (request.stop.is_some(), "stop"),
        (request.seed.is_some(), "seed"),
        (request.n.is_some_and(|n| n != 1), "n"),
        (request.top_k.is_some(), "top_k"),
        (request.frequency_penalty.is_some(), "frequency_penalty"),
        (request.presence_penalty.is_some(), "presence_penalty"),
        (request.logit_bias.is_some(), "logit_bias"),
        (request.modalities.iter().any(|kind| kind != "text"), "modalities"),
        (request.audio.is_some(), "audio"),
        (request.image.is_some(), "image"),
    ] {
        if set {
            params.lost(what);
        }
    }
}

/// What the answer shall hold beside the usual: what is needed to send it back, and what the host's own tools found.
fn include(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let form = provider.quirks.include;
    let declared =
        |kind: &str| request.tools.iter().any(|tool| tools::kind(tool).starts_with(kind));
    let mut wanted = Vec::new();
    if form != IncludeForm::Refused && provider.model_traits(model).reasoning != Some(false) {
        wanted.push("reasoning.encrypted_content");
    }
    if form == IncludeForm::All {
        for (kind, what) in [
            ("web_search", "web_search_call.action.sources"),
            ("file_search", "file_search_call.results"),
            ("code_interpreter", "code_interpreter_call.outputs"),
        ] {
            if declared(kind) {
                wanted.push(what);
            }
        }
    }
    if request.logprobs == Some(true) {
        if form != IncludeForm::All {
            params.lost("logprobs");
        } else if params.takes(Param::Logprobs, "include") {
            wanted.push("message.output_text.logprobs");
        }
    }
    if wanted.is_empty() { Ok(()) } else { params.always("include", &wanted) }
}

/// `text`: the form of the words, and how many of them.
fn text(params: &mut Params<'_>, provider: &Provider, request: &ChatRequest) -> Result<()> {
    let mut text = serde_json::Map::new();
    let in_text = provider.quirks.text_format == TextFormat::Text;
    match &request.response_format {
        None => {}
        Some(format) => {
            let format = text_format(&with_schema(params, provider, format), &mut params.warnings);
            if !in_text {
                let nested = nested(format);
                params.put(Param::ResponseFormat, Some(&nested))?;
            } else if params.takes(Param::ResponseFormat, "text") {
                text.insert("format".to_owned(), format);
            }
        }
    }
    if let Some(verbosity) = &request.verbosity
        && params.takes(Param::Verbosity, "text")
    {
        text.insert("verbosity".to_owned(), json!(verbosity));
    }
    if text.is_empty() { Ok(()) } else { params.always("text", &text) }
}

/// JSON without a schema, where the host wants one, is any object.
fn with_schema<'a>(
    params: &mut Params<'_>,
    provider: &Provider,
    format: &'a ResponseFormat,
) -> Cow<'a, ResponseFormat> {
    let only = provider.quirks.json_schema == JsonSchemaSupport::SchemaOnly;
    if !only || *format != (ResponseFormat::JsonObject {}) {
        return Cow::Borrowed(format);
    }
    let why = format!("{} takes JSON mode only with a schema: any object", provider.name);
    params.warn(WarningKind::Converted, Param::ResponseFormat, &why);
    Cow::Owned(ResponseFormat::json_schema("object", json!({ "type": "object" })))
}

/// The form of the text, flat.
fn text_format(format: &ResponseFormat, warnings: &mut Vec<Warning>) -> Value {
    match format {
        ResponseFormat::Text {} => json!({ "type": "text" }),
        ResponseFormat::JsonObject {} => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { json_schema } => {
            let subject = Param::ResponseFormat.name();
            let (schema, strict) =
                strictly(&json_schema.schema, json_schema.strict, subject, warnings);
            let mut wire = json!({
                "type": "json_schema",
                "name": json_schema.name,
                "schema": schema,
                "strict": strict.unwrap_or(false),
            });
            if let Some(about) = &json_schema.description {
                wire["description"] = json!(about);
            }
            wire
        }
    }
}

/// The same as chat has it: the schema in a field of its own.
fn nested(mut format: Value) -> Value {
    if format["type"] == "json_schema"
        && let Some(fields) = format.as_object_mut()
    {
        fields.remove("type");
        return json!({ "type": "json_schema", "json_schema": fields });
    }
    format
}
