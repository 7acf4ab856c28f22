//! Encodes a chat request in the protocol of its provider.

use crate::chat::{ChatRequest, ContentPart, Draft, Warning, WarningKind};
use crate::error::Result;
use crate::history;
use crate::protocol::{Call, Encoded, Forms, OutputForm, Rules, codec, output, params, restrict};
use crate::provider::{Target, server_tools};

/// Encodes a chat request, in these steps:
///
/// 1. set the defaults of the provider;
/// 2. translate server tools to the form that the provider takes;
/// 3. apply the restrictions of the model;
/// 4. turn the response format into one that the provider supports;
/// 5. apply the provider's rules for parameters;
/// 6. repair the conversation;
/// 7. encode the rest with the codec of the protocol.
///
/// Every change and every parameter that is left out is a warning.
///
/// # Errors
///
/// Fails if the request cannot be encoded. In strict mode, also fails if a parameter would be changed or left out.
pub(crate) fn encode_chat(
    call: Call,
    target: &Target,
    request: &ChatRequest,
) -> Result<(Encoded, OutputForm)> {
    let Target { provider, model, .. } = target;
    let protocol = match call {
        Call::Chat | Call::Stream => provider.protocol,
        Call::Count => provider.protocol.facts().counted_in,
    };
    let codec = codec(protocol);
    let mut warnings = Vec::new();
    let mut request = Draft::new(request);
    params::set_defaults(provider, &mut request)?;
    server_tools::resolve(provider, model, &mut request, &mut warnings)?;
    restrict::check_strict(request.strict, &warnings)?;
    let restricted = restrict::apply(target, &request)?;
    let mut shaped = output::shape(target, &restricted)?;
    let mut ruled = params::apply(provider, &mut shaped)?;
    let Forms { ids, names, thinking_as_text, state } = codec.forms(provider, model);
    let order = shaped.order;
    let rules = Rules { provider, model, ids, names, thinking_as_text, state, order };
    let shows = |part: &ContentPart| codec.shows(part, provider);
    let prepared = history::prepare(&shaped.request, &rules, &shows)?;
    let mut encoded = codec.encode(call, provider, model, &shaped, prepared)?;
    // A parameter that the codec dropped was not clamped.
    ruled.retain(|warning| {
        let is_dropped = |other: &Warning| {
            other.kind == WarningKind::Dropped && other.subject == warning.subject
        };
        warning.kind != WarningKind::Clamped || !encoded.warnings.iter().any(is_dropped)
    });
    shaped.warnings.append(&mut ruled);
    prepend(&mut encoded.warnings, std::mem::take(&mut shaped.warnings));
    if call == Call::Count {
        // A count leaves out most parameters and has no place for warnings. The chat itself reports them.
        encoded.warnings.clear();
        return Ok((encoded, std::mem::take(&mut shaped.form)));
    }
    restrict::check_strict(request.strict, &encoded.warnings)?;
    let form = std::mem::take(&mut shaped.form);
    warnings.extend(restricted.warnings);
    prepend(&mut encoded.warnings, warnings);
    Ok((encoded, form))
}

/// Puts warnings before others.
#[inline]
pub(super) fn prepend(warnings: &mut Vec<Warning>, mut first: Vec<Warning>) {
    if !first.is_empty() {
        first.append(warnings);
        *warnings = first;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::error::ErrorKind;
    use crate::provider::Provider;
    use crate::provider::quirks::TokenCount;

    fn target(provider: &Provider) -> Target {
        Target::new(Arc::new(provider.clone()), "m")
    }

    fn count(provider: &Provider, request: &ChatRequest) -> Encoded {
        encode_chat(Call::Count, &target(provider), request).unwrap().0
    }

    #[test]
    fn a_count_sends_only_the_prompt() {
        let openai = Provider::openai_compatible("lab", "http://lab.invalid")
            .quirks(|q| q.token_count = TokenCount::InputTokens);
        let responses = Provider::responses_compatible("lab", "http://lab.invalid")
            .quirks(|q| q.token_count = TokenCount::InputTokens);
        let anthropic = Provider::anthropic_compatible("lab", "http://lab.invalid");
        let request =
            ChatRequest::new("m").user("Hello").temperature(0.5).max_tokens(9).stop("END");
        let items = r#"{"model":"m","input":[{"type":"message","role":"user","content":"Hello"}]}"#;
        let messages = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
        for (provider, path, body) in [
            (openai, "/responses/input_tokens", items),
            (responses, "/responses/input_tokens", items),
            (anthropic, "/messages/count_tokens", messages),
        ] {
            let encoded = count(&provider, &request.clone().extra("background", true));
            assert_eq!((encoded.path.as_ref(), &encoded.body[..]), (path, body.as_bytes()));
            assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
        }
    }

    /// OpenAI counts the tokens of a chat through the Responses API, which has no `stop`.
    #[test]
    fn a_strict_request_is_counted_although_the_count_sends_fewer_parameters() {
        let openai = Provider::openai_compatible("lab", "http://lab.invalid")
            .quirks(|q| q.token_count = TokenCount::InputTokens);
        let encoded = count(&openai, &ChatRequest::new("m").user("Hello").stop("END").strict());
        assert_eq!(encoded.path, "/responses/input_tokens");
    }

    #[test]
    fn gemini_counts_a_request_wrapped_with_its_model_or_as_it_is() {
        let request = ChatRequest::new("p/m").system("s").user("u");
        let wrapped = count(&Provider::gemini_compatible("p", "http://x.test/v1beta"), &request);
        let body: Value = serde_json::from_slice(&wrapped.body).unwrap();
        assert_eq!(body["generateContentRequest"]["model"], "models/m");
        assert_eq!(body["generateContentRequest"]["contents"][0]["parts"][0]["text"], "u");
        let bare = count(&Provider::gemini_compatible("p", "http://x.test/publishers/p"), &request);
        let body: Value = serde_json::from_slice(&bare.body).unwrap();
        assert_eq!(body["contents"][0]["parts"][0]["text"], "u");
        let path = "/models/m:countTokens";
        assert_eq!((wrapped.path.as_ref(), bare.path.as_ref()), (path, path));
    }

    #[test]
    fn every_codec_decodes_a_count_and_an_error_in_its_place() {
        for (provider, number, error) in [
            (
                Provider::responses_compatible("lab", "http://lab.invalid"),
                r#"{"input_tokens":8}"#,
                r#"{"error":{"type":"server_error","message":"no"}}"#,
            ),
            (
                Provider::anthropic_compatible("lab", "http://lab.invalid"),
                r#"{"input_tokens":8}"#,
                r#"{"type":"error","error":{"type":"api_error","message":"no"}}"#,
            ),
            (
                Provider::gemini_compatible("lab", "http://lab.invalid"),
                r#"{"totalTokens":8}"#,
                r#"{"error":{"code":500,"message":"no","status":"INTERNAL"}}"#,
            ),
        ] {
            let codec = codec(provider.protocol);
            assert_eq!(codec.decode_count(&provider, number.as_bytes()).unwrap(), 8);
            let error = codec.decode_count(&provider, error.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Server);
        }
    }

    #[test]
    fn a_request_without_messages_is_refused_in_every_protocol() {
        for provider in [
            Provider::openai_compatible("lab", "http://lab.invalid"),
            Provider::responses_compatible("lab", "http://lab.invalid"),
            Provider::anthropic_compatible("lab", "http://lab.invalid"),
            Provider::gemini_compatible("lab", "http://lab.invalid"),
        ] {
            let error = encode_chat(Call::Chat, &target(&provider), &ChatRequest::new("m"));
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert_eq!(error.message(), "the request has no messages");
        }
    }
}
