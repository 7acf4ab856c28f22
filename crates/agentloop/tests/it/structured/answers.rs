//! Answers that are dressed, broken, cut, refused, or wrong at first.

use agentloop::structured::StructuredRequest;
use agentloop::{ErrorKind, FinishReason, Protocol, ResponsePart, ToolCallPart, ToolDefinition};
use agentloop_sim::Turn;
use serde_json::json;

use crate::structured::{City, PROTOCOLS, STRATEGIES, lab, oslo, question, said};

const RIGHT: &str = r#"{"name":"Oslo","inhabitants":717710,"rivers":["Akerselva"]}"#;

#[tokio::test]
async fn fences_and_words_around_it_do_not_matter() {
    for text in [
        format!("```json\n{RIGHT}\n```"),
        format!("Here you are:\n\n{RIGHT}\n\nAnything else?"),
        format!("Sure!\n```\n{RIGHT}\n```\n"),
    ] {
        for protocol in PROTOCOLS {
            for strategy in STRATEGIES {
                // A model that shall call a tool may still answer in words.
                let (ai, _) = lab(protocol, [Turn::text(&text)]);
                let request = StructuredRequest::new(question()).strategy(strategy);
                let answer = ai.chat_structured::<City>(request).await.unwrap();
                assert_eq!((answer.data, answer.attempts), (oslo(), 1), "{protocol:?}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_wrong_once_is_asked_for_again_with_the_reason() {
    for protocol in PROTOCOLS {
        for strategy in STRATEGIES {
            for wrong in [r#"{"name":"Oslo","inhabitants":"many"}"#, "I do not know."] {
                // What a tool is called with is always an object.
                if strategy == agentloop::OutputStrategy::Tool && !wrong.starts_with('{') {
                    continue;
                }
                let (ai, asked) = lab(protocol, [said(strategy, wrong), said(strategy, RIGHT)]);
                let request = StructuredRequest::new(question()).strategy(strategy);
                let answer = ai.chat_structured::<City>(request).await.unwrap();
                assert_eq!((&answer.data, answer.attempts), (&oslo(), 2), "{protocol:?} {wrong}");
                assert!(answer.usage.total_tokens > answer.response.usage.total_tokens);
                let asked = asked.lock().unwrap();
                assert_eq!(asked.len(), 2);
                let last = asked[1].messages.last().unwrap().text();
                assert!(last.contains("That answer cannot be used"), "{last}");
                let reason = if wrong.starts_with('{') { "many" } else { "no JSON" };
                assert!(last.contains(reason), "{last}");
            }
        }
    }
}

#[tokio::test]
async fn it_is_asked_for_no_more_often_than_allowed_and_nothing_is_lost() {
    let turns = ["{}", r#"{"name":1,"inhabitants":2}"#, "[]"];
    let (ai, asked) = lab(Protocol::OpenAiChat, turns.map(Turn::text));
    let error = ai.chat_structured::<City>(question()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutputMismatch);
    assert_eq!(error.partial().unwrap().text(), "[]");
    assert!(error.partial().unwrap().usage.total_tokens.is_some());
    let before: Vec<String> =
        error.causes().iter().map(|cause| cause.partial().unwrap().text()).collect();
    assert_eq!(before, turns[..2]);
    assert_eq!(asked.lock().unwrap().len(), 3);
    let (ai, asked) = lab(Protocol::OpenAiChat, turns.map(Turn::text));
    let once = StructuredRequest::new(question()).retries(0);
    ai.chat_structured::<City>(once).await.unwrap_err();
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn cut_refused_and_calling_answers_are_errors_of_their_own() {
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
            cases.iter().flat_map(|case| STRATEGIES.map(|strategy| (case, strategy)))
        {
            let mut request = question();
            request.output_strategy = Some(strategy);
            request.tools.push(ToolDefinition::function("weather", json!({})));
            let (ai, asked) = lab(protocol, [turn.clone()]);
            let whole = ai.chat_structured::<City>(request.clone()).await.unwrap_err();
            assert_eq!(whole.kind(), *kind, "{protocol:?}: {whole}");
            assert!(!whole.is_retryable());
            let partial = whole.partial().unwrap();
            assert_eq!(partial.text(), *text, "{protocol:?}");
            assert!(!partial.usage.is_empty());
            assert_eq!(asked.lock().unwrap().len(), 1, "asking again would not help");
            let streamed = ai.stream_structured::<City>(request).await.unwrap();
            let streamed = streamed.finish().await.unwrap_err();
            assert_eq!((streamed.kind(), streamed.message()), (whole.kind(), whole.message()));
        }
    }
}

#[tokio::test]
async fn what_no_schema_can_be_is_said_before_anything_is_sent() {
    let (ai, asked) = lab(Protocol::OpenAiChat, []);
    let error = ai.chat_structured_as(json!({ "type": "sting" }), question()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn optional_properties_that_a_strict_host_filled_with_null_are_left_out() {
    let text = r#"{"name":"Oslo","inhabitants":1,"rivers":null}"#;
    let (ai, _) = lab(Protocol::OpenAiChat, [Turn::text(text)]);
    let answer = ai.chat_structured::<City>(question()).await.unwrap();
    assert_eq!((answer.attempts, answer.data.rivers.len()), (1, 0));
}
