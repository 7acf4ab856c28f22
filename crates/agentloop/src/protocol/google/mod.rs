//! What Google's two protocols share: the paths of models, embeddings, the list of models, errors, and how values are written.

pub(super) mod arguments;
pub(super) mod embed;
pub(super) mod error;
pub(super) mod media;
pub(super) mod models;
pub(super) mod offsets;
#[cfg(feature = "serve")]
pub(super) mod serve;
pub(super) mod thinking;
pub(super) mod tools;

use crate::percent;

/// Returns the path of a call to a model. A name that includes the kind of the model (`tunedModels/…`) is kept.
pub(super) fn model_path(model: &str, method: &str) -> String {
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
pub(super) fn model_name(model: &str) -> String {
    if has_kind(model) { model.to_owned() } else { ["models/", model].concat() }
}
