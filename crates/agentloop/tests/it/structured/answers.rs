//! Responses with prose around the value, and invalid, truncated or refused responses.

use agentloop::structured::StructuredRequest;
use agentloop::{ErrorKind, FinishReason, Protocol, ResponsePart, ToolCallPart, ToolDefinition};
use agentloop_sim::Turn;
use serde_json::json;

use crate::structured::{City, PROTOCOLS, lab, oslo, question, response, strategies};

const RIGHT: &str = r#"{"name":"Oslo","inhabitants":717710,"rivers":["Akerselva"]}"#;

#[tokio::test]
async fn fences_and_prose_around_the_value_are_ignored() {
    for text in [
        format!("```json\n{RIGHT}\n```"),
        format!("Here you are:\n\n{RIGHT}\n\nAnything else?"),
        format!("Sure!\n```\n{RIGHT}\n```\n"),
    ] {
        for protocol in PROTOCOLS {
            for strategy in strategies(protocol) {
                // A model that is forced to call a tool may still respond with text.
                let (ai, _) = lab(protocol, [Turn::text(&text)]);
                let request = StructuredRequest::new(question()).strategy(strategy);
                let structured = ai.chat_structured::<City>(request).await.unwrap();
                assert_eq!(
                    (structured.data, structured.attempts),
                    (oslo(), 1),
                    "{protocol:?}: {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_value_is_requested_again_with_the_reason() {
    for protocol in PROTOCOLS {
        for strategy in strategies(protocol) {
            for wrong in [r#"{"name":"Oslo","inhabitants":"many"}"#, "I do not know."] {
                // The arguments of a tool are always an object.
                if strategy == agentloop::OutputStrategy::Tool && !wrong.starts_with('{') {
                    continue;
                }
                let (ai, sent) =
                    lab(protocol, [response(strategy, wrong), response(strategy, RIGHT)]);
                let request = StructuredRequest::new(question()).strategy(strategy);
                let structured = ai.chat_structured::<City>(request).await.unwrap();
                assert_eq!(
                    (&structured.data, structured.attempts),
                    (&oslo(), 2),
                    "{protocol:?} {wrong}"
                );
                assert!(structured.usage.total_tokens > structured.response.usage.total_tokens);
                let sent = sent.lock().unwrap();
                assert_eq!(sent.len(), 2);
                let last = sent[1].messages.last().unwrap().text();
                assert!(last.contains("Your response could not be used"), "{last}");
                let reason = if wrong.starts_with('{') { "many" } else { "not JSON" };
                assert!(last.contains(reason), "{last}");
            }
        }
    }
}

#[tokio::test]
async fn the_retries_are_limited_and_all_responses_are_kept() {
    let turns = ["{}", r#"{"name":1,"inhabitants":2}"#, "[]"];
    let (ai, sent) = lab(Protocol::OpenAiChat, turns.map(Turn::text));
    let error = ai.chat_structured::<City>(question()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutputMismatch);
    assert_eq!(error.partial().unwrap().text(), "[]");
    assert!(error.partial().unwrap().usage.total_tokens.is_some());
    let before: Vec<String> =
        error.causes().iter().map(|cause| cause.partial().unwrap().text()).collect();
    assert_eq!(before, turns[..2]);
    assert_eq!(sent.lock().unwrap().len(), 3);
    let (ai, sent) = lab(Protocol::OpenAiChat, turns.map(Turn::text));
    let once = StructuredRequest::new(question()).retries(0);
    ai.chat_structured::<City>(once).await.unwrap_err();
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn truncated_refused_and_calling_responses_have_their_own_error_kinds() {
    let call = ToolCallPart::new("c1", "weather", "{}");
    let cases = [
        (
            Turn::text(r#"{"name":"Os"#).with_finish_reason(FinishReason::Length),
            ErrorKind::OutputTruncated,
            r#"{"name":"Os"#,
        ),
        (
            Turn::text("I cannot help with that.").with_finish_reason(FinishReason::ContentFilter),
            ErrorKind::OutputRefused,
            "I cannot help with that.",
        ),
        (Turn::new([ResponsePart::ToolCall(call)]), ErrorKind::OutputCalledTools, ""),
    ];
    for protocol in PROTOCOLS {
        for ((turn, kind, text), strategy) in
            cases.iter().flat_map(|case| strategies(protocol).map(move |one| (case, one)))
        {
            let mut request = question();
            request.output_strategy = Some(strategy);
            request.tools.push(ToolDefinition::function("weather", json!({})));
            let (ai, sent) = lab(protocol, [turn.clone()]);
            let whole = ai.chat_structured::<City>(request.clone()).await.unwrap_err();
            assert_eq!(whole.kind(), *kind, "{protocol:?}: {whole}");
            assert!(!whole.is_retryable());
            let partial = whole.partial().unwrap();
            assert_eq!(partial.text(), *text, "{protocol:?}");
            assert!(!partial.usage.is_empty());
            assert_eq!(sent.lock().unwrap().len(), 1, "another attempt would not help");
            let streamed = ai.stream_structured::<City>(request).await.unwrap();
            let streamed = streamed.finish().await.unwrap_err();
            assert_eq!((streamed.kind(), streamed.message()), (whole.kind(), whole.message()));
        }
    }
}

#[tokio::test]
async fn an_invalid_schema_is_reported_before_anything_is_sent() {
    let (ai, sent) = lab(Protocol::OpenAiChat, []);
    let error = ai.chat_structured_as(json!({ "type": "sting" }), question()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn optional_properties_that_a_strict_mode_filled_with_null_are_dropped() {
    let text = r#"{"name":"Oslo","inhabitants":1,"rivers":null}"#;
    let (ai, _) = lab(Protocol::OpenAiChat, [Turn::text(text)]);
    let structured = ai.chat_structured::<City>(question()).await.unwrap();
    assert_eq!((structured.attempts, structured.data.rivers.len()), (1, 0));
}
