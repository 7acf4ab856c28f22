//! Asks for embeddings.

use http::Method;

use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::embed::purpose_word;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;
use crate::provider::quirks::InputTypeWords;

/// Encodes the call for some of the texts of the request. The provider requires what the vectors are for: without a purpose, the
/// texts are documents.
pub(super) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let mut warnings = Vec::new();
    let mut warn = |kind, what: &str, why: String| {
        warnings.push(Warning::new(kind, what, format!("{what}: {why}")));
    };
    let has = |name: &str| request.extra_body.contains_key(name);
    let mut out = ObjectWriter::new();
    out.field("model", model)?;
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
    Ok(Encoded {
        method: Method::POST,
        path: "/embed".into(),
        headers,
        body: out.finish(),
        warnings,
        names: ToolNames::default(),
    })
}
