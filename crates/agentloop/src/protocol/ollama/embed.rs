//! Asks for embeddings.

use super::encode::with_options;
use super::path;
use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;

/// Encodes the call for some of the texts of the request.
pub(super) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let mut warnings = Vec::new();
    let mut drop = |what: &str, why: &str| {
        warnings.push(Warning::new(WarningKind::Dropped, what, format!("{what}: {why}")));
    };
    let not_accepted = format!("{} does not accept it", provider.name);
    if request.input_type.is_some() {
        drop("input_type", &not_accepted);
    }
    if request.user_id.is_some() {
        drop("user", &not_accepted);
    }
    let extra = with_options(&request.extra_body);
    let mut out = ObjectWriter::new();
    out.field("model", model)?;
    if let Some(dimensions) = request.dimensions.filter(|_| !extra.contains_key("dimensions")) {
        out.field("dimensions", &dimensions)?;
    }
    for (name, value) in extra.iter() {
        if name == "model" || name == "input" {
            drop(&format!("extra_body.{name}"), "the request has a field for it");
        } else {
            out.field(name, value)?;
        }
    }
    out.field("input", texts)?;
    let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
    Ok(Encoded::post(
        path(provider, "/embed"),
        headers,
        out.finish(),
        warnings,
        ToolNames::default(),
    ))
}
