//! Reads the log probabilities of tokens.

use serde::Deserialize;
use serde_json::Value;

use crate::chat::{Logprobs, TokenLogprob};
use crate::nesting;
use crate::protocol::logprobs::token;

/// Reads `logprobs`, in OpenAI's form or in the older one of parallel lists, and the `top_logprobs` that Together sends
/// beside it.
pub(in crate::protocol) fn read(raw: &str, top: Option<&str>) -> Logprobs {
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
