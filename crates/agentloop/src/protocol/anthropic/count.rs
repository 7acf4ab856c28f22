//! How many tokens a request has.

use super::encode::{Call, encode as encode_call};
use crate::error::Result;
use crate::protocol::Encoded;
pub(crate) use crate::protocol::count::input_tokens as decode;
use crate::protocol::output::Shaped;
use crate::provider::Provider;

/// The call: the chat's, without what does not change the prompt.
pub(crate) fn encode(provider: &Provider, model: &str, shaped: &Shaped<'_>) -> Result<Encoded> {
    encode_call(provider, model, shaped, Call::Count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatRequest;
    use crate::error::ErrorKind;
    use crate::protocol::{output, restrict};

    #[test]
    fn a_count_asks_for_the_prompt_only() {
        let provider = Provider::anthropic_compatible("lab", "http://lab.invalid");
        let request =
            ChatRequest::new("m").user("Hello").temperature(0.5).max_tokens(9).stop("END");
        let restricted = restrict::apply(&provider, "m", &request).unwrap();
        let shaped = output::shape(&provider, "m", &restricted).unwrap();
        let encoded = encode(&provider, "m", &shaped).unwrap();
        assert_eq!(encoded.path, "/messages/count_tokens");
        let expected = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
        assert_eq!(encoded.body, expected);
        assert!(encoded.warnings.is_empty());
        assert_eq!(decode(&provider, br#"{"input_tokens":8}"#).unwrap(), 8);
        let error =
            decode(&provider, br#"{"type":"error","error":{"type":"api_error","message":"no"}}"#);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Server);
    }
}
