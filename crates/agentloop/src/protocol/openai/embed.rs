//! Asks for embeddings.

use std::borrow::Cow;

use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::embed::purpose_word;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers, params};
use crate::provider::quirks::{DimensionsName, EmbeddingEncoding, EmbeddingForm};
use crate::provider::{Param, Provider};

/// Writes the call for some of the request's texts.
pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let quirks = &provider.quirks.embeddings;
    let (texts_name, own_path) = match quirks.form {
        // Instances are a form of another protocol.
        EmbeddingForm::Input | EmbeddingForm::Instances => ("input", "/embeddings"),
        EmbeddingForm::TextsByType => ("texts", "/embed"),
        EmbeddingForm::BareInput => ("input", "/embed"),
    };
    let mut body = Body { request, out: ObjectWriter::new(), warnings: Vec::new() };
    body.out.field("model", model)?;
    if let Some(dimensions) = request.dimensions {
        match quirks.dimensions {
            DimensionsName::Dimensions => body.field("dimensions", &dimensions)?,
            DimensionsName::OutputDimension => body.field("output_dimension", &dimensions)?,
            DimensionsName::Refused => {
                body.dropped("dimensions", &format!("{} cannot set it", provider.name));
            }
        }
    }
    match (quirks.form, quirks.encoding) {
        (EmbeddingForm::TextsByType, _) => body.field("embedding_types", &["float"])?,
        (EmbeddingForm::BareInput, _) | (_, EmbeddingEncoding::Unasked) => {}
        (_, EmbeddingEncoding::Base64) => body.field("encoding_format", "base64")?,
        (_, EmbeddingEncoding::Int8) => body.field("encoding_format", "base64_int8")?,
    }
    body.purpose(provider)?;
    body.user(provider)?;
    for (name, value) in &request.extra_body {
        if name == "model" || name == texts_name {
            body.dropped(&format!("extra_body.{name}"), "the request has a field for it");
        } else {
            body.out.field(name, value)?;
        }
    }
    body.out.field(texts_name, texts)?;
    let mut warnings = body.warnings;
    let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
    let path = quirks.path.as_deref().map(|path| format!("/{}", path.trim_start_matches('/')));
    let path = path.map_or(Cow::Borrowed(own_path), Cow::Owned);
    Ok(Encoded::post(path, headers, body.out.finish(), warnings, ToolNames::default()))
}

/// The body while it is written.
struct Body<'a> {
    request: &'a EmbedRequest,
    out: ObjectWriter,
    warnings: Vec<Warning>,
}

impl Body<'_> {
    /// Writes a field, unless the caller has one of that name, which wins.
    fn field<T: serde::Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        if self.request.extra_body.contains_key(name) {
            Ok(())
        } else {
            self.out.field(name, value)
        }
    }

    fn dropped(&mut self, what: &str, why: &str) {
        self.warn(WarningKind::Dropped, what, why);
    }

    fn warn(&mut self, kind: WarningKind, what: &str, why: &str) {
        self.warnings.push(Warning::new(kind, what, format!("{what}: {why}")));
    }

    /// Writes what the vectors are for, with a default if the provider requires one.
    fn purpose(&mut self, provider: &Provider) -> Result<()> {
        let purpose = self.request.input_type;
        match purpose_word(provider.quirks.embeddings.input_type, purpose) {
            Some((word, same)) => {
                if !same {
                    let why = format!("{} has no word for it; it is sent as {word}", provider.name);
                    self.warn(WarningKind::Converted, "input_type", &why);
                }
                self.field("input_type", word)
            }
            None => {
                if purpose.is_some() {
                    self.dropped("input_type", &format!("{} does not accept it", provider.name));
                }
                Ok(())
            }
        }
    }

    fn user(&mut self, provider: &Provider) -> Result<()> {
        let Some(user) = &self.request.user_id else {
            return Ok(());
        };
        match params::path(provider, Param::User) {
            Some(name) if provider.quirks.embeddings.form == EmbeddingForm::Input => {
                self.field(name, user)
            }
            _ => {
                self.dropped("user", &format!("{} does not accept it", provider.name));
                Ok(())
            }
        }
    }
}
