//! Embeddings.

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{error, model_name, model_path};
use crate::error::{Error, ErrorKind, Result};
use crate::history::ToolNames;
use crate::protocol::json::{ObjectWriter, read_json_body};
use crate::protocol::lenient::{Int, Object};
use crate::protocol::{Embedded, Encoded, error_body, headers};
use crate::provider::Provider;
use crate::request::{EmbedInputType, EmbedRequest, EmbedUsage};
use crate::response::{Warning, WarningKind};

/// The call for some of the request's texts: one by itself, several as a batch.
pub(crate) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let mut warnings = Vec::new();
    if request.user.is_some() {
        let why = format!("user: {} does not take it", provider.name);
        warnings.push(Warning::new(WarningKind::Dropped, "user", why));
    }
    let mut settings = Map::new();
    // Where models stand below a publisher, only the path names them.
    if !provider.base_url.contains("/publishers/") {
        settings.insert("model".to_owned(), model_name(model).into());
    }
    if let Some(purpose) = request.input_type {
        settings.insert("taskType".to_owned(), purpose_word(purpose).into());
    }
    if let Some(dimensions) = request.dimensions {
        settings.insert("outputDimensionality".to_owned(), dimensions.into());
    }
    for (name, value) in &request.extra_body {
        settings.insert(name.clone(), value.clone());
    }
    let single = |text: &String| {
        let mut fields = settings.clone();
        fields.insert("content".to_owned(), json!({ "parts": [{ "text": text }] }));
        Value::Object(fields)
    };
    let mut out = ObjectWriter::new();
    let method = if let [text] = texts {
        if let Value::Object(fields) = single(text) {
            for (name, value) in fields {
                out.field(&name, &value)?;
            }
        }
        "embedContent"
    } else {
        let requests: Vec<Value> = texts.iter().map(single).collect();
        out.field("requests", &requests)?;
        "batchEmbedContents"
    };
    let headers = headers::build(provider, &request.extra_headers, false, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path: model_path(model, method),
        headers,
        body: out.finish(),
        warnings,
        names: ToolNames::default(),
    })
}

fn purpose_word(purpose: EmbedInputType) -> &'static str {
    match purpose {
        EmbedInputType::Query => "RETRIEVAL_QUERY",
        EmbedInputType::Document => "RETRIEVAL_DOCUMENT",
        EmbedInputType::Classification => "CLASSIFICATION",
        EmbedInputType::Clustering => "CLUSTERING",
        EmbedInputType::Similarity => "SEMANTIC_SIMILARITY",
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Wire {
    embedding: Object<WireVector>,
    embeddings: Option<Vec<WireVector>>,
    usage_metadata: Object<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireVector {
    values: Option<Vec<f32>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Int,
    total_token_count: Int,
}

/// The vectors, which come in the order of the texts.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<Embedded> {
    let body = body.trim_ascii();
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    if value.get("error").is_some()
        || error_body::is_listed_error(body)
        || error_body::is_bare_error(body)
    {
        return Err(error::in_answer(&provider.name, body));
    }
    let wire: Wire =
        read_json_body(body).map_err(|error| error.with_provider(provider.name.as_ref()))?;
    let no_vectors = |what: &str| {
        Error::new(ErrorKind::Protocol, what).with_provider(provider.name.as_ref()).with_raw(body)
    };
    let vectors = wire
        .embeddings
        .or_else(|| wire.embedding.0.map(|one| vec![one]))
        .ok_or_else(|| no_vectors("the answer has no vectors"))?
        .into_iter()
        .map(|vector| vector.values.ok_or_else(|| no_vectors("a vector is missing")))
        .collect::<Result<Vec<_>>>()?;
    let usage = wire.usage_metadata.0.unwrap_or_default();
    let prompt = usage.prompt_token_count.unsigned().or(usage.total_token_count.unsigned());
    Ok(Embedded {
        model: None,
        vectors,
        usage: prompt.map(|prompt_tokens| EmbedUsage {
            prompt_tokens,
            total_tokens: usage.total_token_count.unsigned().unwrap_or(prompt_tokens),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(provider: &Provider, request: &EmbedRequest) -> (String, Value) {
        let encoded = encode(provider, "e", request, request.input.as_slice()).unwrap();
        (encoded.path, serde_json::from_slice(&encoded.body).unwrap())
    }

    #[test]
    fn one_text_goes_by_itself_and_several_as_a_batch() {
        let provider = Provider::gemini_compatible("p", "http://x.test/v1beta");
        let one = EmbedRequest::new("e", "a").dimensions(8).input_type(EmbedInputType::Query);
        let alone = json!({ "model": "models/e", "content": { "parts": [{ "text": "a" }] },
                            "outputDimensionality": 8, "taskType": "RETRIEVAL_QUERY" });
        assert_eq!(encoded(&provider, &one), ("/models/e:embedContent".to_owned(), alone));
        let two = EmbedRequest::new("e", ["a", "b"]);
        let single =
            |text| json!({ "model": "models/e", "content": { "parts": [{ "text": text }] } });
        assert_eq!(
            encoded(&provider, &two),
            (
                "/models/e:batchEmbedContents".to_owned(),
                json!({ "requests": [single("a"), single("b")] })
            )
        );
    }

    #[test]
    fn vectors_come_single_or_in_a_list_with_usage_or_without() {
        let provider = Provider::gemini_compatible("p", "http://x.test/v1beta");
        let many = decode(&provider, br#"{"embeddings":[{"values":[1]},{"values":[2]}]}"#).unwrap();
        assert_eq!((many.vectors, many.usage), (vec![vec![1.0], vec![2.0]], None));
        let body = br#"{"embedding":{"values":[1]},"usageMetadata":{"promptTokenCount":3}}"#;
        let one = decode(&provider, body).unwrap();
        assert_eq!(one.vectors, [[1.0]]);
        assert_eq!(one.usage, Some(EmbedUsage { prompt_tokens: 3, total_tokens: 3 }));
        let error = decode(&provider, br#"{"error":{"code":404,"message":"no"}}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(decode(&provider, b"{}").unwrap_err().kind(), ErrorKind::Protocol);
    }
}
