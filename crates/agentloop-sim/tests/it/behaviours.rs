//! The behaviours of the simulated model, complete and streamed.

use crate::common::ask;
use agentloop::{
    AudioOutput, ChatMessage, ChatRequest, Citation, FinishReason, ResponseFormat, ResponsePart,
    ToolChoice, ToolDefinition,
};
use serde_json::{Value, json};

fn weather() -> ToolDefinition {
    let schema = json!({"type": "object", "required": ["city", "unit"], "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer"},
    }});
    ToolDefinition::function("get_weather", schema)
}

fn clock() -> ToolDefinition {
    ToolDefinition::function("get_time", json!({"type": "object", "properties": {}}))
}

#[tokio::test]
async fn echo_repeats_the_prompt_and_explains_how_to_set_a_key() {
    let response = ask(ChatRequest::new("sim/echo").user("Good morning")).await;
    assert!(response.text().starts_with("Good morning"));
    assert!(response.text().contains("GROQ_API_KEY"));
    assert!(response.text().contains("agentloop providers"));
    assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
    assert_eq!(response.usage.prompt_tokens, Some(2));
    assert!(response.id.starts_with("sim-"));
    assert!(response.request_id.is_some());
}

#[tokio::test]
async fn an_unknown_model_echoes() {
    let response = ask(ChatRequest::new("sim/vendor/some-model-7b").user("Hi")).await;
    assert!(response.text().starts_with("Hi"));
    assert_eq!(response.model, "vendor/some-model-7b");
}

#[tokio::test]
async fn the_same_request_gets_the_same_response() {
    let one = ask(ChatRequest::new("sim/echo").user("one")).await;
    assert_eq!(one, ask(ChatRequest::new("sim/echo").user("one")).await);
    assert_ne!(one.id, ask(ChatRequest::new("sim/echo").user("two")).await.id);
}

#[tokio::test]
async fn thinking_precedes_the_text_and_counts_as_reasoning() {
    let response = ask(ChatRequest::new("sim/think").user("Hi")).await;
    let parts = &response.choices[0].content;
    assert!(matches!(parts[..], [ResponsePart::Thinking(_), ResponsePart::Text(_)]));
    let reasoning = response.usage.details.reasoning_tokens.unwrap();
    let thoughts = response.thinking().unwrap();
    assert_eq!(reasoning, thoughts.split_whitespace().count() as u64);
    assert!(response.usage.completion_tokens.unwrap() > reasoning);
}

#[tokio::test]
async fn a_tool_is_called_with_generated_arguments_and_its_result_is_used() {
    let request = ChatRequest::new("sim/echo").user("Rain?").tool(weather());
    let response = ask(request.clone()).await;
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    let call = response.tool_calls().next().unwrap().clone();
    assert_eq!(call.name, "get_weather");
    let arguments: Value = call.parse().unwrap();
    assert_eq!(arguments, json!({"city": "city", "unit": "celsius"}));

    let request = request.message(response.into_message());
    let request = request.message(ChatMessage::tool(call.id, "It rains."));
    let response = ask(request).await;
    assert_eq!(response.text(), "get_weather says: It rains.");
    assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
}

#[tokio::test]
async fn tool_choice_is_respected() {
    let request = || ChatRequest::new("sim/echo").user("Hi").tools([weather(), clock()]);
    let response = ask(request().tool_choice(ToolChoice::function("get_time"))).await;
    assert_eq!(response.tool_calls().next().unwrap().name, "get_time");
    assert_eq!(response.tool_calls().count(), 1);
    let response = ask(request().tool_choice(ToolChoice::None)).await;
    assert_eq!(response.tool_calls().count(), 0);
    assert!(response.text().starts_with("Hi"));
}

#[tokio::test]
async fn all_tools_are_called_in_parallel_and_all_results_are_used() {
    let request = ChatRequest::new("sim/tools").user("Hi").tools([weather(), clock()]);
    let response = ask(request.clone()).await;
    let calls: Vec<_> = response.tool_calls().cloned().collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].id, calls[1].id);
    let mut next = request.clone().message(response.into_message());
    for call in &calls {
        next = next.message(ChatMessage::tool(&call.id, format!("{} ran", call.name)));
    }
    let response = ask(next).await;
    let expected = "get_weather says: get_weather ran\nget_time says: get_time ran";
    assert_eq!(response.text(), expected);

    let one_at_a_time = ask(request.parallel_tool_calls(false)).await;
    assert_eq!(one_at_a_time.tool_calls().count(), 1);
}

#[tokio::test]
async fn citations_have_the_range_of_their_text() {
    let response = ask(ChatRequest::new("sim/cite").user("Hi")).await;
    let text = response.text();
    let cited: Vec<String> = response.choices[0]
        .citations()
        .map(|citation| {
            let Citation::Url(url) = citation else { panic!("{citation:?}") };
            let (start, end) = (url.start_index.unwrap(), url.end_index.unwrap());
            let length = usize::try_from(end - start).unwrap();
            let skipped = usize::try_from(start).unwrap();
            text.chars().skip(skipped).take(length).collect()
        })
        .collect();
    assert_eq!(cited, ["Water boils at 100 °C", "and freezes at 0 °C"]);
}

#[tokio::test]
async fn a_refusal_is_a_content_filter() {
    let response = ask(ChatRequest::new("sim/refuse").user("Hi")).await;
    assert_eq!(response.finish_reason(), Some(&FinishReason::ContentFilter));
    assert!(!response.text().is_empty());
}

#[tokio::test]
async fn length_writes_until_the_token_limit() {
    let response = ask(ChatRequest::new("sim/length").user("Hi")).await;
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
    assert_eq!(response.usage.completion_tokens, Some(16));
    let response = ask(ChatRequest::new("sim/length").user("Hi").max_tokens(3)).await;
    assert_eq!(response.text(), "word1 word2 word3");
}

#[tokio::test]
async fn json_matches_the_requested_schema() {
    let response = ask(ChatRequest::new("sim/json").user("Hi")).await;
    let value: Value = serde_json::from_str(&response.text()).unwrap();
    assert_eq!(value, json!({"echo": "Hi"}));
    let schema = json!({"type": "object", "required": ["name", "size"], "properties": {
        "name": {"type": "string"}, "size": {"type": "object", "required": ["width"],
        "properties": {"width": {"type": "number"}}}}, "additionalProperties": false});
    for model in ["sim/json", "sim/echo", "sim/think"] {
        let format = ResponseFormat::json_schema("thing", schema.clone());
        let response = ask(ChatRequest::new(model).user("Hi").response_format(format)).await;
        let value: Value = serde_json::from_str(&response.text()).unwrap();
        assert_eq!(value, json!({"name": "name", "size": {"width": 1.0}}));
    }
}

#[tokio::test]
async fn long_writes_the_requested_number_of_words() {
    let response = ask(ChatRequest::new("sim/long-500").user("Hi")).await;
    assert_eq!(response.usage.completion_tokens, Some(500));
    assert!(response.text().ends_with(" word500"));
}

#[tokio::test]
async fn an_image_and_audio_are_returned() {
    let response = ask(ChatRequest::new("sim/image").user("Hi")).await;
    let image = response.choices[0].images().next().unwrap();
    assert_eq!(image.mime_type, "image/png");
    assert!(image.data.starts_with("iVBOR"));
    let request = ChatRequest::new("sim/audio").user("Hi");
    let response = ask(request.audio(AudioOutput::new("alloy", "wav"))).await;
    let audio = response.choices[0].audio().unwrap();
    assert_eq!(audio.mime_type, "audio/wav");
    assert_eq!(audio.transcript.as_deref(), Some("This audio is completely silent."));
}

#[tokio::test]
async fn several_choices_have_distinct_call_ids() {
    let request = ChatRequest::new("sim/tools").user("Hi").tools([weather(), clock()]).n(3);
    let response = ask(request).await;
    assert_eq!(response.choices.len(), 3);
    let mut ids: Vec<&str> = response
        .choices
        .iter()
        .flat_map(|choice| choice.tool_calls())
        .map(|call| call.id.as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[tokio::test]
async fn stop_sequences_and_token_limits_end_the_response() {
    let request = || ChatRequest::new("sim/echo").user("one two three four");
    let response = ask(request().stop("three")).await;
    assert_eq!(response.text(), "one two ");
    assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
    let response = ask(request().stop(vec!["four", "two"]).max_tokens(9)).await;
    assert_eq!(response.text(), "one ");
    let response = ask(request().max_tokens(2)).await;
    assert_eq!(response.text(), "one two ");
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
    let response = ask(ChatRequest::new("sim/think").user("Hi").max_tokens(3)).await;
    assert_eq!(response.thinking().as_deref(), Some("The user wrote "));
    assert_eq!(response.usage.details.reasoning_tokens, Some(3));
    assert_eq!(response.text(), "");
}

#[tokio::test]
async fn a_truncated_tool_call_has_the_finish_reason_length() {
    let request = ChatRequest::new("sim/echo").user("Hi").tool(weather());
    let response = ask(request.max_tokens(1)).await;
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
    let call = response.tool_calls().next().unwrap();
    assert_eq!(call.arguments, "{\"city\":\"city\",\"");
}

#[tokio::test]
async fn history_shows_which_messages_arrived() {
    let first = ChatRequest::new("sim/history").user("My name is Ada.");
    let response = ask(first.clone()).await;
    assert_eq!(response.text(), "1 message. The user wrote:\n- My name is Ada.");
    let request = first.message(response.into_message()).user("Who am I?");
    let shown = "3 messages. The user wrote:\n- My name is Ada.\n- Who am I?";
    assert_eq!(ask(request).await.text(), shown);
    // A long conversation does not make a long response.
    let many = (0..9).fold(ChatRequest::new("sim/history"), |request, number| {
        request.user(format!("{number}{}", "é".repeat(1_000)))
    });
    let text = ask(many).await.text();
    assert!(text.starts_with("9 messages."), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[4], format!("- 8{}…", "é".repeat(199)));
}
