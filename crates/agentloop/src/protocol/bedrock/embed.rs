//! Asks for embeddings: InvokeModel, whose body is that of the model's family.
//!
//! Sources, read on 2026-11-18: "Amazon Titan Embeddings G1 - Text" (with V2) and "Cohere Embed and Cohere Embed v4 models" of Amazon's
//! user guide for Bedrock, and litellm of 2026-08-08 (`llms/bedrock/embed`).

use super::model_path;
use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::embed::typed;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;
use crate::provider::model::EmbedBody;

/// The most texts in a call to a model of Cohere.
const MAX_TEXTS: usize = 96;

/// Returns the largest number of texts in one call.
pub(super) fn batch(provider: &Provider, model: &str) -> usize {
    let most = match provider.ruled_traits(model).embed_body {
        EmbedBody::InputText => 1,
        EmbedBody::Texts => MAX_TEXTS,
    };
    provider.quirks.embeddings.batch.map_or(most, |batch| batch.min(most))
}

/// Encodes the call for some of the texts of the request.
pub(super) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let path = model_path(model, "/invoke").into();
    match provider.ruled_traits(model).embed_body {
        EmbedBody::Texts => typed::encode(provider, path, None, request, texts),
        EmbedBody::InputText => {
            let [text] = texts else {
                let message = "the model takes one text in each call for embeddings";
                return Err(Error::new(ErrorKind::InvalidRequest, message));
            };
            let mut warnings = Vec::new();
            let mut dropped = |what: &str, why: &str| {
                let warning = Warning::new(WarningKind::Dropped, what, format!("{what}: {why}"));
                warnings.push(warning);
            };
            let mut out = ObjectWriter::new();
            let is_set = request.extra_body.contains_key("dimensions");
            if let Some(dimensions) = request.dimensions.filter(|_| !is_set) {
                out.field("dimensions", &dimensions)?;
            }
            for (name, is_set) in
                [("input_type", request.input_type.is_some()), ("user", request.user_id.is_some())]
            {
                if is_set {
                    dropped(name, &format!("{} does not accept it", provider.name));
                }
            }
            for (name, value) in &request.extra_body {
                match name.as_str() {
                    "inputText" => {
                        dropped("extra_body.inputText", "the request has a field for it");
                    }
                    _ => out.field(name, value)?,
                }
            }
            out.field("inputText", text)?;
            let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
            Ok(Encoded::post(path, headers, out.finish(), warnings, ToolNames::default()))
        }
    }
}
