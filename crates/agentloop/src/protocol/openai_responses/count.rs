//! How many tokens a request has.

use super::encode::{Call, encode as encode_call};
use crate::error::Result;
use crate::protocol::Encoded;
pub(crate) use crate::protocol::count::input_tokens as decode;
use crate::protocol::output::Shaped;
use crate::provider::Provider;
use crate::provider::quirks::TokenCount;

/// The call: the chat's, without what does not change the prompt. `None` where the host does not count.
pub(crate) fn encode(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
) -> Result<Option<Encoded>> {
    match provider.quirks.token_count {
        TokenCount::Refused => Ok(None),
        TokenCount::InputTokens => encode_call(provider, model, shaped, Call::Count).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatRequest;
    use crate::error::ErrorKind;
    use crate::protocol::{output, restrict};

    #[test]
    fn a_count_asks_for_the_prompt_only() {
        let provider = Provider::responses_compatible("lab", "http://lab.invalid");
        let request = ChatRequest::new("m").user("Hello").temperature(0.5).max_tokens(9);
        let request = request.extra("background", true);
        let restricted = restrict::apply(&provider, "m", &request).unwrap();
        let shaped = output::shape(&provider, "m", &restricted).unwrap();
        assert!(encode(&provider, "m", &shaped).unwrap().is_none());
        let provider = provider.quirks(|q| q.token_count = TokenCount::InputTokens);
        let encoded = encode(&provider, "m", &shaped).unwrap().unwrap();
        assert_eq!(encoded.path, "/responses/input_tokens");
        let expected =
            r#"{"model":"m","input":[{"type":"message","role":"user","content":"Hello"}]}"#;
        assert_eq!(encoded.body, expected);
        assert!(encoded.warnings.is_empty());
        assert_eq!(decode(&provider, br#"{"input_tokens":8}"#).unwrap(), 8);
        let error = decode(&provider, br#"{"error":{"type":"server_error","message":"no"}}"#);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Server);
    }
}
