//! Requests and responses that are built in code.

use agentloop::provider::Param;
use agentloop::{
    AudioOutput, ChatRequest, ChatResponse, Effort, FinishReason, Fold, ImageOutput,
    ResponseFormat, ResponsePart, ServerToolCallPart, TextPart, Thinking, ThinkingPart,
    ToolCallPart, ToolChoice, ToolDefinition, UrlCitation,
};
use serde_json::json;

#[test]
fn every_parameter_has_a_setter() {
    let request = ChatRequest::new("openai/gpt-5")
        .temperature(0.5)
        .top_p(0.9)
        .top_k(40)
        .max_tokens(100)
        .stop("END")
        .seed(7)
        .n(2)
        .frequency_penalty(0.1)
        .presence_penalty(0.2)
        .tool(ToolDefinition::function("f", json!({"type": "object"})))
        .tool_choice(ToolChoice::Auto)
        .parallel_tool_calls(false)
        .response_format(ResponseFormat::json())
        .audio(AudioOutput::new("alloy", "wav"))
        .image(ImageOutput::of_ratio("1:1"))
        .modalities(["text", "audio"])
        .verbosity("low")
        .effort(Effort::Low)
        .thinking(Thinking::budget(10))
        .top_logprobs(3)
        .logit_bias("50256", -100.0)
        .service_tier("flex")
        .prompt_cache_key("k")
        .user_id("customer-42")
        .metadata("job", "nightly");
    let written = serde_json::to_value(&request).unwrap();
    for param in Param::ALL {
        assert!(written.get(param.name()).is_some(), "{} has no setter", param.name());
    }
    let read: ChatRequest = serde_json::from_value(written).unwrap();
    assert_eq!(read, request);
}

#[test]
fn the_id_of_the_end_user_is_user_in_json_and_nothing_else() {
    let request = ChatRequest::new("m").user("Hi").user_id("u1");
    let mut written = serde_json::to_value(&request).unwrap();
    assert_eq!(written["user"], "u1");
    assert_eq!(request.messages.len(), 1);
    written["user_id"] = "u2".into();
    let error = serde_json::from_value::<ChatRequest>(written).unwrap_err();
    assert!(error.to_string().contains("user_id"), "{error}");
}

#[test]
fn a_response_from_parts_is_the_fold_of_its_events() {
    let parts: [ResponsePart; 4] = [
        ThinkingPart::new("Hm.").with_signature("Sig").into(),
        TextPart::new("It rains.").with_citation(UrlCitation::new("https://x.test")).into(),
        ServerToolCallPart::new("s1", "web_search", json!({"query": "rain"})).into(),
        ToolCallPart::new("c1", "weather", r#"{"city":"Rome"}"#).into(),
    ];
    let response = ChatResponse::from_parts("lab/some/model", parts);
    assert_eq!((response.provider.as_str(), response.model.as_str()), ("lab", "some/model"));
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    assert_eq!(response.choices[0].content.len(), 4);
    // Thinking names the provider that it goes back to, as in a response that was received.
    let state = response.choices[0].content[0].provider_state().unwrap();
    assert_eq!(state.provider, "lab");
    let mut fold = Fold::new();
    response.unfold().iter().try_for_each(|event| fold.push(event)).unwrap();
    assert_eq!(fold.finish().unwrap(), response);
}

#[test]
fn a_response_needs_neither_parts_nor_a_provider() {
    let empty = ChatResponse::from_parts("m", [""; 0]);
    assert_eq!((empty.provider.as_str(), empty.model.as_str()), ("", "m"));
    assert_eq!(empty.finish_reason(), Some(&FinishReason::Stop));
    assert_eq!(empty.text(), "");
    assert_eq!(ChatResponse::from_parts("", ["a", "b"]).text(), "ab");
}
