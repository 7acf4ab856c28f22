//! Each strategy with each protocol.

use agentloop::structured::StructuredRequest;
use agentloop::{ChatRequest, FinishReason, OutputStrategy, Protocol, WarningKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::structured::{City, PROTOCOLS, lab, oslo, question, response, strategies};

#[tokio::test]
async fn every_strategy_gives_the_same_value_complete_and_streamed() {
    let text = serde_json::to_string(&oslo()).unwrap();
    for protocol in PROTOCOLS {
        for strategy in strategies(protocol) {
            let (ai, _) = lab(protocol, [response(strategy, &text)]);
            let request = StructuredRequest::new(question()).strategy(strategy);
            let structured = ai.chat_structured::<City>(request.clone()).await.unwrap();
            assert_eq!(structured.data, oslo(), "{protocol:?} {strategy:?}");
            assert_eq!((structured.strategy, structured.attempts), (Some(strategy), 1));
            assert_eq!(structured.response.text(), text, "{protocol:?} {strategy:?}");
            assert_eq!(structured.response.finish_reason(), Some(&FinishReason::Stop));
            assert_eq!(structured.response.tool_calls().count(), 0);
            assert_eq!(structured.usage, structured.response.usage);

            let streamed = ai.stream_structured::<City>(request).await.unwrap();
            let streamed = streamed.finish().await.unwrap();
            assert_eq!(streamed.data, structured.data);
            assert_eq!(streamed.response.text(), structured.response.text());
            assert_eq!(streamed.response.choices, structured.response.choices);
        }
    }
}

#[tokio::test]
async fn a_value_that_is_not_an_object_is_wrapped_and_unwrapped() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Green,
    }
    for protocol in PROTOCOLS {
        for strategy in strategies(protocol) {
            let bare = matches!(protocol, Protocol::Gemini | Protocol::Ollama)
                && strategy == OutputStrategy::Native;
            let wrap = |value: &str| {
                if bare { value.to_owned() } else { format!("{{\"value\": {value}}}") }
            };
            let turn = |value: &str| {
                let mut turn = response(strategy, &wrap(value));
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
async fn a_wrapper_in_a_fence_is_found() {
    let fenced = "```json\n{\"value\": [1, 2]}\n```";
    let (ai, _) = lab(Protocol::OpenAiChat, [response(OutputStrategy::Native, fenced)]);
    let structured = ai.chat_structured::<Vec<u8>>(question()).await.unwrap();
    assert_eq!(structured.data, [1, 2]);
}

#[tokio::test]
async fn a_plain_chat_returns_the_value_of_a_forced_tool_as_text() {
    let (ai, _) = lab(Protocol::Anthropic, [response(OutputStrategy::Tool, r#"{"name":"Oslo"}"#)]);
    let mut request: ChatRequest = question();
    request.response_format = Some(agentloop::ResponseFormat::json_schema(
        "City",
        json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
    ));
    request.output_strategy = Some(OutputStrategy::Tool);
    let structured = ai.chat(request).await.unwrap();
    assert_eq!(structured.text(), r#"{"name":"Oslo"}"#);
    assert_eq!(structured.finish_reason(), Some(&FinishReason::Stop));
    assert_eq!(structured.choices[0].raw_finish_reason.as_deref(), Some("tool_use"));
}

#[tokio::test]
async fn a_model_without_schemas_uses_another_strategy_with_a_warning() {
    use agentloop::provider::{ModelRule, NativeSchema};
    let model = agentloop_sim::Model::from_script(agentloop_sim::Script::new([response(
        OutputStrategy::Tool,
        r#"{"name":"Oslo","inhabitants":1}"#,
    )]));
    let row = agentloop_sim::Simulator::new()
        .with_model(model)
        .provider_named("lab", Protocol::Anthropic)
        .model(ModelRule::new("m").with_json_schema(NativeSchema::No));
    let ai = agentloop::AgentLoop::builder().provider(row).build().unwrap();
    let structured = ai.chat_structured::<City>(question()).await.unwrap();
    assert_eq!(structured.strategy, Some(OutputStrategy::Tool));
    assert!(structured.data.rivers.is_empty());
    let warning = &structured.response.warnings[0];
    assert_eq!(
        (warning.kind, warning.subject.as_deref()),
        (WarningKind::Converted, Some("response_format"))
    );
}
