//! Reads the log probability of a token, in OpenAI's form.

use serde_json::Value;

use crate::chat::TokenLogprob;

/// Reads one token and its log probability.
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
