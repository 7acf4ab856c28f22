//! Google's generateContent, and everyone who speaks it.

mod candidate;
mod contents;
pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod grounding;
mod media;
pub(crate) mod models;
mod params;
mod partial_args;
pub mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

pub(crate) use decode::Decoder;

/// The path of a call to a model. A name that already says what kind of model it is (`tunedModels/…`) stays as it is.
fn model_path(model: &str, method: &str) -> String {
    format!("/{}:{method}", model_name(model))
}

/// The model as the API names it.
fn model_name(model: &str) -> String {
    if model.starts_with("models/") || model.starts_with("tunedModels/") {
        model.to_owned()
    } else {
        format!("models/{model}")
    }
}
