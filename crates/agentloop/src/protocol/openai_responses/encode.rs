//! Encodes a chat request.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::message::Items;
use super::{thinking, tools};
use crate::chat::{ChatMessage, ChatRequest, ResponseFormat, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::openai::encode::{strictly, system_role, with_schema};
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::quirks::{IncludeForm, StoreForm, TextFormat};
use crate::provider::{Param, Provider, Sampling};

/// Encodes a chat request, or a request that counts its tokens.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    mut prepared: Prepared<'_>,
) -> Result<Encoded> {
    let request = &*shaped.request;
    let nothing = serde_json::Map::new();
    let extra = if call == Call::Count { &nothing } else { &request.extra_body };
    // A stream of a background response is read like any other.
    if call == Call::Chat && extra.get("background") == Some(&Value::Bool(true)) {
        let message = "`extra_body.background` requests a response that is not waited for";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("remove `background`, or stream the response"));
    }
    let fixed = &["model", "input"];
    let mut params = ParamWriter::new(provider, shaped, extra, Extra::Replaces, fixed);
    params.warnings.append(&mut prepared.warnings);
    if !shaped.model.is_empty() {
        params.field("model", shaped.model)?;
    }
    let stream = call == Call::Stream;
    if call != Call::Count {
        sampling(&mut params, model, request)?;
        if provider.quirks.store == StoreForm::Sent {
            params.field("store", &false)?;
        }
        if stream {
            params.field("stream", &true)?;
        }
        include(&mut params, provider, request)?;
    }
    thinking::thinking(&mut params, provider, model, request)?;
    tools::tools(&mut params, provider, request, &prepared.names)?;
    text(&mut params, provider, request)?;
    params.settings(request, |_| call != Call::Count)?;
    // The items are last, so a conversation that grows only appends to what was sent before.
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let items = Items::new(provider, request, &prepared, &mut warnings)
        .with_system(system_role(shaped))
        .encode(instructions.as_ref())?;
    params.field("input", &items)?;
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    let path = if call == Call::Count { "/responses/input_tokens" } else { "/responses" };
    Ok(Encoded::post(path, headers, params.finish(), warnings, prepared.names))
}

/// Writes how tokens are chosen, and the labels of the request.
fn sampling(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) -> Result<()> {
    let is_refused = params.traits().sampling == Sampling::Refused;
    for param in [Param::Temperature, Param::TopP, Param::TopLogprobs] {
        if !is_refused {
            params.copy(request, param)?;
        } else if request.has(param) {
            params.drop(param.name(), &format!("{model} does not accept it"));
        }
    }
    for param in
        [Param::MaxTokens, Param::ServiceTier, Param::PromptCacheKey, Param::User, Param::Metadata]
    {
        params.copy(request, param)?;
    }
    Ok(())
}

/// Writes the optional fields to include in the response: those that are needed to send it back, and the results of
/// server tools.
fn include(params: &mut ParamWriter<'_>, provider: &Provider, request: &ChatRequest) -> Result<()> {
    let form = provider.quirks.include;
    let declared = |kind: &str| {
        form == IncludeForm::All
            && request.tools.iter().any(|tool| tools::kind(tool).starts_with(kind))
    };
    let reasons = form != IncludeForm::Refused && params.traits().reasoning != Some(false);
    let mut has_logprobs = request.logprobs == Some(true);
    if has_logprobs && params.is_renamed(Param::Logprobs) {
        params.copy(request, Param::Logprobs)?;
        has_logprobs = false;
    }
    let wanted = Included([
        reasons.then_some("reasoning.encrypted_content"),
        declared("web_search").then_some("web_search_call.action.sources"),
        declared("file_search").then_some("file_search_call.results"),
        declared("code_interpreter").then_some("code_interpreter_call.outputs"),
        (has_logprobs && params.is_sent(Param::Logprobs)).then_some("message.output_text.logprobs"),
    ]);
    if wanted.0.iter().all(Option::is_none) { Ok(()) } else { params.field("include", &wanted) }
}

/// The fields to include. Not a list on the heap, because every request has them.
struct Included([Option<&'static str>; 5]);

impl Serialize for Included {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().flatten())
    }
}

/// Writes the form of the text and its verbosity.
fn text(params: &mut ParamWriter<'_>, provider: &Provider, request: &ChatRequest) -> Result<()> {
    if let Some(format) = &request.response_format {
        let format = text_format(&with_schema(params, provider, format), &mut params.warnings);
        let is_flat = provider.quirks.text_format == TextFormat::Text;
        let format = if is_flat { format } else { nested(format) };
        params.put(Param::ResponseFormat, Some(&format))?;
    }
    params.copy(request, Param::Verbosity)
}

/// Returns the form of the text, with the schema's fields beside the type.
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

/// Moves the schema into a field of its own, as chat completions have it.
fn nested(mut format: Value) -> Value {
    if format["type"] == "json_schema"
        && let Some(fields) = format.as_object_mut()
    {
        fields.remove("type");
        return json!({ "type": "json_schema", "json_schema": fields });
    }
    format
}
