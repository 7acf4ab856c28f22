//! Google's generateContent API, and the providers that implement it.

mod citations;
mod count;
mod decode;
mod embed;
mod encode;
mod growing;
mod message;
mod params;
mod parts;
mod repeat;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

use http::HeaderMap;

use super::codec::{Codec, delegate};
use super::google::{error, models};
use super::{Forms, NamePattern, Shown};
use crate::chat::ContentPart;
use crate::error::{Error, Result};
use crate::percent;
use crate::provider::Provider;

/// Google's generateContent.
pub(super) struct Gemini;

impl Codec for Gemini {
    fn forms(&self, _: &Provider, _: &str) -> Forms {
        Forms { names: NamePattern::Dotted128, ..Forms::default() }
    }

    fn shows(&self, _: &ContentPart, _: &Provider) -> Shown {
        Shown::InResult
    }

    delegate!(encode, place, decoder, encode_embed, models, server);

    fn decode_count(&self, provider: &Provider, body: &[u8]) -> Result<u64> {
        count::decode(provider, body)
    }

    fn decode_error(&self, provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
        error::decode(provider, status, headers, body)
    }

    fn decode_error_in_response(&self, provider: &str, body: &[u8]) -> Error {
        error::in_body(provider, body)
    }

    fn takes_any_root(&self) -> bool {
        true
    }
}

/// Returns the path of a call to a model. A name that includes the kind of the model (`tunedModels/…`) is kept.
fn model_path(model: &str, method: &str) -> String {
    let model_name = percent::encode_path(model);
    // With room for `?alt=sse`.
    let mut path =
        String::with_capacity("/models/:?alt=sse".len() + model_name.len() + method.len());
    path.push_str(if has_kind(model) { "/" } else { "/models/" });
    path.push_str(&model_name);
    path.push(':');
    path.push_str(method);
    path
}

/// Returns whether a name includes the kind of the model.
fn has_kind(model: &str) -> bool {
    model.starts_with("models/") || model.starts_with("tunedModels/")
}

/// Returns the model as the API names it.
fn model_name(model: &str) -> String {
    if has_kind(model) { model.to_owned() } else { ["models/", model].concat() }
}
