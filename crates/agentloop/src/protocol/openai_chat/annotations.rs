//! What stands beside the text: sources, images, log probabilities, the record of reasoning.
//!
//! None of it is needed to read the answer, so every shape is accepted and an unknown one is left out or kept
//! as it came.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::chat::{
    Citation, ImagePart, Logprobs, OpaqueCitation, TokenLogprob, UrlCitation, file_citation,
};
use crate::nesting;

fn list(raw: &str) -> Vec<Value> {
    nesting::read_list(raw)
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `annotations`: sources of parts of the text.
pub(super) fn citations(raw: &str, provider: &str) -> Vec<Citation> {
    citations_of(list(raw), provider)
}

/// The same, read already.
pub(in crate::protocol) fn citations_of(list: Vec<Value>, provider: &str) -> Vec<Citation> {
    list.into_iter()
        .map(|annotation| {
            let kind = text(&annotation, "type").unwrap_or_default();
            let source = annotation.get("url_citation").unwrap_or(&annotation);
            match text(source, "url") {
                Some(url) if kind == "url_citation" => Citation::Url(UrlCitation {
                    url,
                    title: text(source, "title"),
                    cited_text: text(source, "content"),
                    start_index: source.get("start_index").and_then(Value::as_u64),
                    end_index: source.get("end_index").and_then(Value::as_u64),
                    ..UrlCitation::default()
                }),
                _ => match file_citation::read(annotation, provider) {
                    Ok(file) => Citation::File(file),
                    Err(data) => Citation::Opaque(OpaqueCitation {
                        provider: provider.to_owned(),
                        kind,
                        data,
                    }),
                },
            }
        })
        .collect()
}

/// The sources of the whole response: a list of URLs, and what the search results say of them.
#[derive(Debug)]
pub(super) struct Sources {
    urls: Vec<Value>,
    results: Vec<Value>,
}

impl Sources {
    pub(super) fn read(urls: &str, search_results: &str) -> Self {
        Self { urls: list(urls), results: list(search_results) }
    }

    /// The citations, numbered as in the text of the response, each made when it is asked for: a long result that many
    /// URLs refer to is not copied before its copy is counted.
    pub(super) fn citations(&self) -> impl Iterator<Item = Citation> {
        let mut by_url: HashMap<&str, &Value> = HashMap::new();
        for result in &self.results {
            if let Some(url) = result.get("url").and_then(Value::as_str) {
                by_url.entry(url).or_insert(result);
            }
        }
        let urls = if self.urls.is_empty() { &self.results } else { &self.urls };
        (1u32..).zip(urls).filter_map(move |(number, listed)| {
            let url = match listed {
                Value::String(url) => url.clone(),
                other => text(other, "url")?,
            };
            let result = by_url.get(url.as_str());
            Some(Citation::Url(UrlCitation {
                title: result.and_then(|result| text(result, "title")),
                cited_text: result.and_then(|result| text(result, "snippet")),
                number: Some(number),
                url,
                ..UrlCitation::default()
            }))
        })
    }

    /// The list of URLs, as it came.
    pub(super) fn into_urls(self) -> Option<Value> {
        (!self.urls.is_empty()).then_some(Value::Array(self.urls))
    }
}

/// `images`: a list of image references.
pub(super) fn images(raw: &str) -> Vec<ImagePart> {
    list(raw).iter().filter_map(image_of).collect()
}

/// One image reference.
pub(super) fn image(raw: &str) -> Option<ImagePart> {
    image_of(&nesting::read(raw).ok()?)
}

/// One image reference, read already.
pub(in crate::protocol) fn image_of(value: &Value) -> Option<ImagePart> {
    let place = value.get("image_url").unwrap_or(value);
    let url = match place {
        Value::String(url) => url.as_str(),
        other => other.get("url")?.as_str()?,
    };
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((mime_type, data)) => Some(ImagePart {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
            ..ImagePart::default()
        }),
        None => Some(ImagePart {
            // The kind is not known before the image is fetched, and is not guessed.
            mime_type: "image/*".to_owned(),
            url: Some(url.to_owned()),
            ..ImagePart::default()
        }),
    }
}

/// `reasoning_details`: the provider's own record of its reasoning.
pub(super) fn reasoning_details(raw: &str) -> Vec<Value> {
    list(raw).into_iter().filter(Value::is_object).collect()
}

/// The readable text of one entry of that record.
pub(super) fn detail_text(detail: &Value) -> Option<String> {
    text(detail, "text").or_else(|| text(detail, "summary"))
}

/// Adds an entry to the record. In a stream the text of one entry comes in pieces.
pub(super) fn merge_detail(details: &mut Vec<Value>, detail: Value) {
    let same = |name: &str, a: &Value, b: &Value| a.get(name) == b.get(name);
    if let Some(last) = details.last_mut()
        && same("type", last, &detail)
        && same("index", last, &detail)
        && (text(&detail, "text").is_some() || text(&detail, "signature").is_some())
        && let Some(last) = last.as_object_mut()
    {
        let Value::Object(detail) = detail else { return };
        for (name, value) in detail {
            match (last.get_mut(&name), value) {
                (Some(Value::String(sum)), Value::String(more)) if name == "text" => {
                    sum.push_str(&more);
                }
                (Some(_), Value::Null) => {}
                (Some(known), value) => *known = value,
                (None, value) => {
                    last.insert(name, value);
                }
            }
        }
        return;
    }
    details.push(detail);
}

/// Reads `logprobs`, in OpenAI's form or in the older one of parallel lists, and the `top_logprobs` that Together sends
/// beside it.
pub(super) fn logprobs(raw: &str, top: Option<&str>) -> Logprobs {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Wire {
        content: Option<Vec<Value>>,
        reasoning_content: Option<Vec<Value>>,
        refusal: Option<Vec<Value>>,
        tokens: Option<Vec<Value>>,
        token_logprobs: Option<Vec<Value>>,
        top_logprobs: Option<Value>,
    }
    let wire: Wire = serde_json::from_str(raw).unwrap_or_default();
    let read = |tokens: Option<Vec<Value>>| -> Vec<TokenLogprob> {
        tokens.unwrap_or_default().iter().filter_map(token).collect()
    };
    let mut logprobs = Logprobs {
        content: read(wire.content),
        thinking: read(wire.reasoning_content),
        refusal: read(wire.refusal),
    };
    let top_logprobs = wire.top_logprobs.or_else(|| nesting::read(top?).ok());
    if let Some(tokens) = wire.tokens.filter(|_| logprobs.content.is_empty()) {
        let numbers = wire.token_logprobs.unwrap_or_default();
        logprobs.content = tokens
            .iter()
            .enumerate()
            .filter_map(|(at, token)| {
                Some(TokenLogprob {
                    token: token.as_str()?.to_owned(),
                    logprob: numbers.get(at).and_then(Value::as_f64),
                    ..TokenLogprob::default()
                })
            })
            .collect();
    }
    // Alternatives that are listed apart belong to the tokens in their order.
    if let Some(Value::Array(tops)) = top_logprobs {
        for (token, top) in logprobs.content.iter_mut().zip(&tops) {
            if token.top_logprobs.is_empty() {
                token.top_logprobs = alternatives(top);
            }
        }
    }
    logprobs
}

/// Reads the alternatives of one token: an object of tokens and numbers (Together), or a list in OpenAI's form.
fn alternatives(top: &Value) -> Vec<TokenLogprob> {
    match top {
        Value::Object(tokens) => tokens
            .iter()
            .map(|(token, number)| TokenLogprob {
                token: token.clone(),
                logprob: number.as_f64(),
                ..TokenLogprob::default()
            })
            .collect(),
        Value::Array(list) => list.iter().filter_map(token).collect(),
        _ => Vec::new(),
    }
}

/// One token, and how sure the model was of it.
pub(in crate::protocol) fn token(value: &Value) -> Option<TokenLogprob> {
    let bytes = value
        .get("bytes")
        .and_then(Value::as_array)
        .map(|bytes| bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect());
    Some(TokenLogprob {
        token: value.get("token")?.as_str()?.to_owned(),
        logprob: value.get("logprob").and_then(Value::as_f64),
        bytes,
        top_logprobs: value
            .get("top_logprobs")
            .and_then(Value::as_array)
            .map(|tokens| tokens.iter().filter_map(token).collect())
            .unwrap_or_default(),
    })
}
