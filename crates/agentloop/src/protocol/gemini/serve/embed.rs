//! Reads embeddings requests.

use serde_json::{Map, Value};

use super::contents;
use super::names::camel_case;
use super::request::parts_of;
use crate::chat::{EmbedInputType, EmbedRequest};
use crate::error::Result;
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_object};
use crate::protocol::serve::{ServedEmbed, VectorForm};

/// Reads an embeddings request, single or batched. The settings of a batch are those of its first request.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub(super) fn read_embed(path: &str, body: &[u8]) -> Result<ServedEmbed> {
    let (model, method, _) = parts_of(path);
    let mut fields = camel_case(read_object(body)?);
    let is_single = method == "embedContent";
    if method == "predict" {
        return read_instances(model, fields);
    }
    let mut texts = Vec::new();
    let mut first = None;
    if is_single {
        let (text, rest) = read(fields)?;
        texts.push(text);
        first = Some(rest);
    } else {
        let requests = fields.list("requests")?.ok_or_else(|| Wrong::missing("requests"))?;
        for (at, request) in requests.into_iter().enumerate() {
            let (text, rest) = object_of(request)
                .and_then(|request| read(camel_case(request)))
                .map_err(|wrong| wrong.at("requests", at))?;
            texts.push(text);
            first.get_or_insert(rest);
        }
    }
    let mut request = EmbedRequest::new(model, texts);
    if let Some(mut settings) = first {
        request.dimensions = settings.small_count("outputDimensionality")?;
        request.input_type = settings.text("taskType")?.as_deref().and_then(input_type);
    }
    let form = if is_single { VectorForm::Single } else { VectorForm::Batch };
    Ok(ServedEmbed { request, form })
}

/// Reads texts that are instances. The purpose is that of the first one.
fn read_instances(model: String, mut fields: Map<String, Value>) -> Result<ServedEmbed> {
    let instances = fields.list("instances")?.ok_or_else(|| Wrong::missing("instances"))?;
    let mut request = EmbedRequest::new(model, Vec::<String>::new());
    let mut texts = Vec::new();
    for (at, instance) in instances.into_iter().enumerate() {
        let of_instance = || -> Read<(String, Option<String>)> {
            let mut instance = camel_case(object_of(instance)?);
            let text = instance.text("content")?.ok_or_else(|| Wrong::missing("content"))?;
            Ok((text, instance.text("taskType")?))
        };
        let (text, purpose) = of_instance().map_err(|wrong| wrong.at("instances", at))?;
        texts.push(text);
        request.input_type = request.input_type.or(purpose.as_deref().and_then(input_type));
    }
    if let Some(parameters) = fields.object("parameters")? {
        request.dimensions = camel_case(parameters).small_count("outputDimensionality")?;
    }
    request.input = texts.into();
    Ok(ServedEmbed { request, form: VectorForm::Predictions })
}

/// Returns the text of one request, and its settings, which newer clients put into an object of their own.
fn read(mut fields: Map<String, Value>) -> Read<(String, Map<String, Value>)> {
    let content = fields.any("content").ok_or_else(|| Wrong::missing("content"))?;
    let text = contents::plain_text(content).map_err(|wrong| wrong.within("content"))?;
    if let Some(config) = fields.object("embedContentConfig")? {
        for (name, value) in camel_case(config) {
            fields.entry(name).or_insert(value);
        }
    }
    Ok((text, fields))
}

fn input_type(word: &str) -> Option<EmbedInputType> {
    match word {
        "RETRIEVAL_QUERY" | "QUESTION_ANSWERING" | "FACT_VERIFICATION" | "CODE_RETRIEVAL_QUERY" => {
            Some(EmbedInputType::Query)
        }
        "RETRIEVAL_DOCUMENT" => Some(EmbedInputType::Document),
        "CLASSIFICATION" => Some(EmbedInputType::Classification),
        "CLUSTERING" => Some(EmbedInputType::Clustering),
        "SEMANTIC_SIMILARITY" => Some(EmbedInputType::Similarity),
        _ => None,
    }
}
