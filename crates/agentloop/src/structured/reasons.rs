//! Why a value does not match a schema, for a model to read.

use jsonschema::Validator;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// How many reasons are told to the model.
const MAX_REASONS: usize = 8;

/// The longest reason that is told.
const MAX_REASON_CHARS: usize = 300;

/// The validator of a schema, which is called `whose` where it is none.
pub(crate) fn validator(whose: &str, schema: &Value) -> Result<Validator> {
    jsonschema::validator_for(schema).map_err(|error| {
        let place = place(&error.instance_path().to_string());
        let message = format!("{whose} cannot be used, at {place}: {error}");
        Error::new(ErrorKind::InvalidRequest, message)
    })
}

/// The first reasons why a value does not match, each with its place.
pub(crate) fn of(validator: &Validator, value: &Value) -> String {
    let reasons: Vec<String> = validator
        .iter_errors(value)
        .take(MAX_REASONS)
        .map(|error| {
            let place = place(&error.instance_path().to_string());
            shorten(format!("{place}: {error}"))
        })
        .collect();
    reasons.join("; ")
}

fn place(path: &str) -> String {
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(MAX_REASON_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
