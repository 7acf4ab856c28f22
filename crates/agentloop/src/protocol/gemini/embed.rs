//! Asks for embeddings.

use serde_json::{Map, Value, json};

use super::{model_name, model_path};
use crate::chat::{EmbedRequest, Warning, WarningKind};
use crate::error::Result;
use crate::protocol::embed::purpose_in_capitals;
use crate::protocol::json::ObjectWriter;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;
use crate::provider::quirks::EmbeddingForm;

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
    let names_instances = provider.quirks.embeddings.form == EmbeddingForm::Instances;
    if names_instances && is_predicted(model) {
        return predict(provider, model, request, texts, warnings);
    }
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
    if names_instances && !settings.is_empty() {
        settings = Map::from_iter([("embedContentConfig".to_owned(), settings.into())]);
    }
    add_extra(&mut settings, request, &["model", "content"], &mut warnings);
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
    call(provider, request, model_path(model, method), out, warnings)
}

/// Adds the caller's own fields, except those that the request has itself.
fn add_extra(
    settings: &mut Map<String, Value>,
    request: &EmbedRequest,
    fixed: &[&str],
    warnings: &mut Vec<Warning>,
) {
    for (name, value) in &request.extra_body {
        if fixed.contains(&name.as_str()) {
            let subject = format!("extra_body.{name}");
            let why = format!("{subject}: the request has a field for it");
            warnings.push(Warning::new(WarningKind::Dropped, subject, why));
        } else {
            settings.insert(name.clone(), value.clone());
        }
    }
}

fn call(
    provider: &Provider,
    request: &EmbedRequest,
    path: String,
    out: ObjectWriter,
    mut warnings: Vec<Warning>,
) -> Result<Encoded> {
    let headers = headers::build(provider, &request.extra_headers, &mut warnings)?;
    Ok(Encoded::post(path, headers, out.finish(), warnings, ToolNames::default()))
}

/// Returns whether a model of Vertex has no method `embedContent`.
fn is_predicted(model: &str) -> bool {
    let model = model.strip_prefix("models/").unwrap_or(model);
    !model.contains("maas") && (!model.contains("gemini") || model == "gemini-embedding-001")
}

/// Encodes the call of a model that takes texts as instances.
fn predict(
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
    mut warnings: Vec<Warning>,
) -> Result<Encoded> {
    let instance = |text: &String| match request.input_type {
        Some(purpose) => json!({ "content": text, "task_type": purpose_in_capitals(purpose) }),
        None => json!({ "content": text }),
    };
    let mut fields = Map::new();
    fields.insert("instances".to_owned(), texts.iter().map(instance).collect());
    if let Some(dimensions) = request.dimensions {
        fields.insert("parameters".to_owned(), json!({ "outputDimensionality": dimensions }));
    }
    add_extra(&mut fields, request, &["instances"], &mut warnings);
    let mut out = ObjectWriter::new();
    for (name, value) in fields {
        out.field(&name, &value)?;
    }
    call(provider, request, model_path(model, "predict"), out, warnings)
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

    #[test]
    fn models_without_a_method_for_contents_get_instances() {
        let url = "http://x.test/v1/projects/p/locations/l/publishers/google";
        let provider = Provider::gemini_compatible("p", url)
            .quirks(|q| q.embeddings.form = EmbeddingForm::Instances);
        let request = EmbedRequest::new("e", ["a", "b"])
            .dimensions(8)
            .input_type(EmbedInputType::Query)
            .extra("instances", 1);
        for model in ["text-embedding-005", "gemini-embedding-001", "models/gemini-embedding-001"] {
            let encoded = encode(&provider, model, &request, request.input.as_slice()).unwrap();
            let name = model.trim_start_matches("models/");
            assert_eq!(encoded.path, format!("/models/{name}:predict"));
            let instance = |text| json!({ "content": text, "task_type": "RETRIEVAL_QUERY" });
            let body: Value = serde_json::from_slice(&encoded.body).unwrap();
            assert_eq!(
                body,
                json!({ "instances": [instance("a"), instance("b")], "parameters": { "outputDimensionality": 8 } })
            );
            assert_eq!(encoded.warnings.len(), 1);
        }
        for model in ["gemini-embedding-2", "multilingual-e5-large-instruct-maas"] {
            let one = EmbedRequest::new("e", "a").dimensions(8);
            let encoded = encode(&provider, model, &one, one.input.as_slice()).unwrap();
            assert_eq!(encoded.path, format!("/models/{model}:embedContent"));
            let body: Value = serde_json::from_slice(&encoded.body).unwrap();
            assert_eq!(
                body,
                json!({ "content": { "parts": [{ "text": "a" }] }, "embedContentConfig": { "outputDimensionality": 8 } })
            );
        }
    }
}
