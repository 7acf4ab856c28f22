//! Google's generateContent, and everyone who speaks it.

mod candidate;
mod characters;
pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod grounding;
mod message;
pub(crate) mod models;
mod params;
mod partial_args;
mod parts;
mod piece;
#[cfg(feature = "serve")]
pub(in crate::protocol) mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

pub(crate) use decode::Decoder;
pub(in crate::protocol) use params::place;

use crate::percent;

/// The path of a call to a model. A name that already says what kind of model it is (`tunedModels/…`) stays as it is.
fn model_path(model: &str, method: &str) -> String {
    format!("/{}:{method}", percent::encode_path(&model_name(model)))
}

/// The model as the API names it.
fn model_name(model: &str) -> String {
    if model.starts_with("models/") || model.starts_with("tunedModels/") {
        model.to_owned()
    } else {
        format!("models/{model}")
    }
}
