//! Embeddings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::history::ToolNames;
use crate::protocol::json::{ObjectWriter, read_json_body};
use crate::protocol::lenient::{Int, Object, Text};
use crate::protocol::{Embedded, Encoded, error_body, headers};
use crate::provider::Provider;
use crate::provider::quirks::{DimensionsName, EmbeddingEncoding, InputTypeWords};
use crate::request::{EmbedInputType, EmbedRequest, EmbedUsage};
use crate::response::{Warning, WarningKind};

/// The call for some of the request's texts.
pub(crate) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let quirks = &provider.quirks.embeddings;
    let mut warnings = Vec::new();
    let mut dropped = |what: &str, why: String| {
        warnings.push(Warning::new(WarningKind::Dropped, what, format!("{what}: {why}")));
    };
    let mut out = ObjectWriter::new();
    out.field("model", model)?;
    let extra = &request.extra_body;
    let ours = |name: &str| !extra.contains_key(name);
    if let Some(dimensions) = request.dimensions {
        let name = match quirks.dimensions {
            DimensionsName::Dimensions => Some("dimensions"),
            DimensionsName::OutputDimension => Some("output_dimension"),
            DimensionsName::Refused => None,
        };
        match name {
            Some(name) if ours(name) => out.field(name, &dimensions)?,
            Some(_) => {}
            None => dropped("dimensions", format!("{} cannot set it", provider.name)),
        }
    }
    if quirks.encoding == EmbeddingEncoding::Int8 && ours("encoding_format") {
        out.field("encoding_format", "base64_int8")?;
    }
    if let Some(purpose) = request.input_type {
        match purpose_word(quirks.input_type, purpose) {
            Some(word) if ours("input_type") => out.field("input_type", word)?,
            Some(_) => {}
            None => dropped("input_type", format!("{} does not take it", provider.name)),
        }
    }
    if let Some(user) = &request.user {
        match provider.allow {
            None if ours("user") => out.field("user", user)?,
            None => {}
            Some(_) => dropped("user", format!("{} does not take it", provider.name)),
        }
    }
    for (name, value) in extra {
        out.field(name, value)?;
    }
    out.field("input", texts)?;
    let headers = headers::build(provider, &request.extra_headers, false, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path: "/embeddings".to_owned(),
        headers,
        body: out.finish(),
        warnings,
        names: ToolNames::default(),
    })
}

fn purpose_word(words: InputTypeWords, purpose: EmbedInputType) -> Option<&'static str> {
    match (words, purpose) {
        (InputTypeWords::Refused, _) => None,
        (InputTypeWords::Search, EmbedInputType::Query) => Some("search_query"),
        (InputTypeWords::Search, EmbedInputType::Document) => Some("search_document"),
        (InputTypeWords::Search, EmbedInputType::Classification) => Some("classification"),
        (InputTypeWords::Search, EmbedInputType::Clustering) => Some("clustering"),
        (InputTypeWords::Search, EmbedInputType::Similarity) => None,
        (InputTypeWords::Passage, EmbedInputType::Query) => Some("query"),
        (InputTypeWords::Passage, _) => Some("passage"),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    data: Option<Vec<WireVector<'a>>>,
    usage: Object<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireVector<'a> {
    index: Int,
    #[serde(borrow)]
    embedding: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Int,
    total_tokens: Int,
}

/// The vectors, in the order of their indices.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<Embedded> {
    let wire: Wire<'_> = read_json_body(body.trim_ascii())
        .map_err(|error| error.with_provider(provider.name.as_ref()))?;
    if wire.error.is_some_and(|error| error.get() != "{}") || error_body::is_bare_error(body) {
        return Err(error_body::in_answer(&provider.name, body));
    }
    let no_vectors = |what: &str| {
        Error::new(ErrorKind::Protocol, what).with_provider(provider.name.as_ref()).with_raw(body)
    };
    let data = wire.data.ok_or_else(|| no_vectors("the answer has no `data`"))?;
    let mut vectors = Vec::with_capacity(data.len());
    for (at, item) in data.iter().enumerate() {
        let raw = item.embedding.ok_or_else(|| no_vectors("a vector is missing"))?;
        let vector = vector(raw.get(), provider.quirks.embeddings.encoding)
            .ok_or_else(|| no_vectors("a vector cannot be understood"))?;
        vectors.push((item.index.0.unwrap_or(at as i64), vector));
    }
    vectors.sort_by_key(|(index, _)| *index);
    let usage = wire.usage.0.unwrap_or_default();
    let prompt = usage.prompt_tokens.unsigned().or(usage.total_tokens.unsigned());
    Ok(Embedded {
        model: wire.model.into_non_empty().map(std::borrow::Cow::into_owned),
        vectors: vectors.into_iter().map(|(_, vector)| vector).collect(),
        usage: prompt.map(|prompt_tokens| EmbedUsage {
            prompt_tokens,
            total_tokens: usage.total_tokens.unsigned().unwrap_or(prompt_tokens),
        }),
    })
}

/// Numbers, or base64 of little-endian 32-bit floats or of signed bytes.
fn vector(raw: &str, encoding: EmbeddingEncoding) -> Option<Vec<f32>> {
    if raw.starts_with('[') {
        return serde_json::from_str(raw).ok();
    }
    let text: String = serde_json::from_str(raw).ok()?;
    let bytes = STANDARD.decode(text.trim()).ok()?;
    match encoding {
        EmbeddingEncoding::Int8 => {
            Some(bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect())
        }
        EmbeddingEncoding::Unasked => {
            let (numbers, rest) = bytes.as_chunks::<4>();
            rest.is_empty().then(|| numbers.iter().map(|four| f32::from_le_bytes(*four)).collect())
        }
    }
}
