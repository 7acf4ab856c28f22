//! Asks for embeddings.

use http::Method;
use serde_json::{Map, Value, json};

use super::{model_name, model_path};
use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::embed::purpose_in_capitals;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;

/// Encodes the call for some of the texts of the request: one as a single call, several as a batch.
pub(crate) fn encode(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    let mut warnings = Vec::new();
    if request.user_id.is_some() {
        let why = format!("user: {} does not accept it", provider.name);
        warnings.push(Warning::new(WarningKind::Dropped, "user", why));
    }
    let mut settings = Map::new();
    // For models below a publisher, only the path names the model.
    if !provider.base_url.contains("/publishers/") {
        settings.insert("model".to_owned(), model_name(model).into());
    }
    if let Some(purpose) = request.input_type {
        settings.insert("taskType".to_owned(), purpose_in_capitals(purpose).into());
    }
    if let Some(dimensions) = request.dimensions {
        settings.insert("outputDimensionality".to_owned(), dimensions.into());
    }
    for (name, value) in &request.extra_body {
        if name == "model" || name == "content" {
            let subject = format!("extra_body.{name}");
            let why = format!("{subject}: the request has a field for it");
            warnings.push(Warning::new(WarningKind::Dropped, subject, why));
        } else {
            settings.insert(name.clone(), value.clone());
        }
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
    let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path: model_path(model, method).into(),
        headers,
        body: out.finish(),
        warnings,
        names: ToolNames::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::EmbedInputType;

    fn encoded(provider: &Provider, request: &EmbedRequest) -> (String, Value) {
        let encoded = encode(provider, "e", request, request.input.as_slice()).unwrap();
        (encoded.path.into_owned(), serde_json::from_slice(&encoded.body).unwrap())
    }

    #[test]
    fn one_text_is_a_single_call_and_several_are_a_batch() {
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
}
