//! Each way to ask, over each protocol.

use agentloop::structured::StructuredRequest;
use agentloop::{ChatRequest, FinishReason, OutputStrategy, Protocol, WarningKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::structured::{City, PROTOCOLS, STRATEGIES, lab, oslo, question, said};

#[tokio::test]
async fn every_way_gives_the_same_answer_whole_and_streamed() {
    let text = serde_json::to_string(&oslo()).unwrap();
    for protocol in PROTOCOLS {
        for strategy in STRATEGIES {
            let (ai, _) = lab(protocol, [said(strategy, &text)]);
            let request = StructuredRequest::new(question()).strategy(strategy);
            let answer = ai.chat_structured::<City>(request.clone()).await.unwrap();
            assert_eq!(answer.data, oslo(), "{protocol:?} {strategy:?}");
            assert_eq!((answer.strategy, answer.attempts), (Some(strategy), 1));
            assert_eq!(answer.response.text(), text, "{protocol:?} {strategy:?}");
            assert_eq!(answer.response.finish_reason(), Some(&FinishReason::Stop));
            assert_eq!(answer.response.tool_calls().count(), 0);
            assert_eq!(answer.usage, answer.response.usage);

            let streamed = ai.stream_structured::<City>(request).await.unwrap();
            let streamed = streamed.finish().await.unwrap();
            assert_eq!(streamed.data, answer.data);
            assert_eq!(streamed.response.text(), answer.response.text());
            assert_eq!(streamed.response.choices, answer.response.choices);
        }
    }
}

#[tokio::test]
async fn what_is_no_object_is_wrapped_and_unwrapped() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Green,
    }
    for protocol in PROTOCOLS {
        for strategy in STRATEGIES {
            let bare = protocol == Protocol::Gemini && strategy == OutputStrategy::Native;
            let dress = |value: &str| {
                if bare { value.to_owned() } else { format!("{{\"value\": {value}}}") }
            };
            let turn = |value: &str| {
                let mut turn = said(strategy, &dress(value));
                if let Some(agentloop::ResponsePart::ToolCall(call)) = turn.parts.first_mut() {
                    call.name = "answer".to_owned();
                }
                turn
            };
            let request =
                StructuredRequest::new(question()).strategy(strategy).name("answer").retries(0);
            let (ai, _) = lab(protocol, [turn(r#"["red","green"]"#)]);
            let list = ai.chat_structured::<Vec<Colour>>(request.clone()).await.unwrap();
            assert_eq!(list.data, [Colour::Red, Colour::Green], "{protocol:?} {strategy:?}");
            assert_eq!(list.response.text(), r#"["red","green"]"#);
            let (ai, _) = lab(protocol, [turn(r#""green""#)]);
            let one = ai.chat_structured::<Colour>(request.clone()).await.unwrap();
            assert_eq!(one.data, Colour::Green);
            let (ai, _) = lab(protocol, [turn("42")]);
            let number = ai.stream_structured::<u8>(request.clone()).await.unwrap();
            assert_eq!(number.finish().await.unwrap().data, 42);
            let (ai, _) = lab(protocol, [turn("null")]);
            let schema = json!({ "type": ["string", "null"] });
            let null = ai.chat_structured_as(schema, request).await.unwrap();
            assert_eq!(null.data, json!(null));
        }
    }
}

#[tokio::test]
async fn a_wrapper_in_a_fence_is_found_too() {
    let fenced = "```json\n{\"value\": [1, 2]}\n```";
    let (ai, _) = lab(Protocol::OpenAiChat, [said(OutputStrategy::Native, fenced)]);
    let answer = ai.chat_structured::<Vec<u8>>(question()).await.unwrap();
    assert_eq!(answer.data, [1, 2]);
}

#[tokio::test]
async fn plain_chats_find_the_answer_of_a_tool_in_the_text() {
    let (ai, _) = lab(Protocol::Anthropic, [said(OutputStrategy::Tool, r#"{"name":"Oslo"}"#)]);
    let mut request: ChatRequest = question();
    request.response_format = Some(agentloop::ResponseFormat::json_schema(
        "City",
        json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
    ));
    request.output_strategy = Some(OutputStrategy::Tool);
    let answer = ai.chat(request).await.unwrap();
    assert_eq!(answer.text(), r#"{"name":"Oslo"}"#);
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
    assert_eq!(answer.choices[0].raw_finish_reason.as_deref(), Some("tool_use"));
}

#[tokio::test]
async fn the_models_that_keep_to_no_schema_are_asked_otherwise_and_say_so() {
    use agentloop::provider::{ModelRule, NativeSchema};
    let model = agentloop_sim::Model::from_script(agentloop_sim::Script::new([said(
        OutputStrategy::Tool,
        r#"{"name":"Oslo","inhabitants":1}"#,
    )]));
    let row = agentloop_sim::Simulator::new()
        .with_model(model)
        .provider_named("lab", Protocol::Anthropic)
        .model(ModelRule::new("m").with_json_schema(NativeSchema::No));
    let ai = agentloop::AgentLoop::builder().provider(row).build().unwrap();
    let answer = ai.chat_structured::<City>(question()).await.unwrap();
    assert_eq!(answer.strategy, Some(OutputStrategy::Tool));
    assert!(answer.data.rivers.is_empty());
    let told = &answer.response.warnings[0];
    assert_eq!(
        (told.kind, told.subject.as_deref()),
        (WarningKind::Converted, Some("response_format"))
    );
}
