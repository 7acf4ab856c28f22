//! Embeddings of texts for a purpose, as Cohere's models take them: at Cohere, and at Amazon Bedrock.

use std::borrow::Cow;

use super::purpose_word;
#[cfg(feature = "serve")]
use super::write::VectorForm;
#[cfg(feature = "serve")]
use crate::chat::EmbedInputType;
use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::json::ObjectWriter;
#[cfg(feature = "serve")]
use crate::protocol::serve::ServedEmbed;
#[cfg(feature = "serve")]
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;
use crate::provider::quirks::InputTypeWords;

/// Encodes the call for some of the texts of the request. The provider requires what the vectors are for: without a purpose, the
/// texts are documents. `model` is absent if the path names it.
pub(in crate::protocol) fn encode(
    provider: &Provider,
    path: Cow<'static, str>,
    model: Option<&str>,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let mut warnings = Vec::new();
    let mut warn = |kind, what: &str, why: String| {
        warnings.push(Warning::new(kind, what, format!("{what}: {why}")));
    };
    let has = |name: &str| request.extra_body.contains_key(name);
    let mut out = ObjectWriter::new();
    if let Some(model) = model {
        out.field("model", model)?;
    }
    if let Some((word, same)) = purpose_word(InputTypeWords::Search, request.input_type) {
        if !same {
            let why = format!("{} has no word for it; it is sent as {word}", provider.name);
            warn(WarningKind::Converted, "input_type", why);
        }
        if !has("input_type") {
            out.field("input_type", word)?;
        }
    }
    if !has("embedding_types") {
        out.field("embedding_types", &["float"])?;
    }
    if let Some(dimensions) = request.dimensions.filter(|_| !has("output_dimension")) {
        out.field("output_dimension", &dimensions)?;
    }
    if request.user_id.is_some() {
        warn(WarningKind::Dropped, "user", format!("{} does not accept it", provider.name));
    }
    for (name, value) in &request.extra_body {
        if name == "model" || name == "texts" {
            let subject = format!("extra_body.{name}");
            warn(WarningKind::Dropped, &subject, "the request has a field for it".to_owned());
        } else {
            out.field(name, value)?;
        }
    }
    out.field("texts", texts)?;
    let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
    Ok(Encoded::post(path, headers, out.finish(), warnings, ToolNames::default()))
}

/// Reads such a request, as a server does.
#[cfg(feature = "serve")]
pub(in crate::protocol) fn read(
    model: String,
    fields: &mut serde_json::Map<String, serde_json::Value>,
) -> Read<ServedEmbed> {
    let texts = fields.texts("texts")?.ok_or_else(|| Wrong::missing("texts"))?;
    let purpose = fields.required_text("input_type")?;
    let mut request = EmbedRequest::new(model, texts);
    request.input_type = match purpose.as_str() {
        "search_query" => Some(EmbedInputType::Query),
        "search_document" => Some(EmbedInputType::Document),
        "classification" => Some(EmbedInputType::Classification),
        "clustering" => Some(EmbedInputType::Clustering),
        _ => None,
    };
    request.dimensions = fields.small_count("output_dimension")?;
    Ok(ServedEmbed { request, form: VectorForm::ByType })
}
