//! What the simulated model does, seen through a client, whole and streamed.

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
async fn an_echo_says_what_was_said_and_how_to_set_a_key() {
    let answer = ask(ChatRequest::new("sim/echo").user("Good morning")).await;
    assert!(answer.text().starts_with("Good morning"));
    assert!(answer.text().contains("GROQ_API_KEY"));
    assert!(answer.text().contains("agentloop providers"));
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
    assert_eq!(answer.usage.prompt_tokens, Some(2));
    assert!(answer.id.starts_with("sim-"));
    assert!(answer.request_id.is_some());
}

#[tokio::test]
async fn an_unknown_model_echoes() {
    let answer = ask(ChatRequest::new("sim/vendor/some-model-7b").user("Hi")).await;
    assert!(answer.text().starts_with("Hi"));
    assert_eq!(answer.model, "vendor/some-model-7b");
}

#[tokio::test]
async fn the_same_question_gets_the_same_answer_and_another_one_another() {
    let one = ask(ChatRequest::new("sim/echo").user("one")).await;
    assert_eq!(one, ask(ChatRequest::new("sim/echo").user("one")).await);
    assert_ne!(one.id, ask(ChatRequest::new("sim/echo").user("two")).await.id);
}

#[tokio::test]
async fn thinking_comes_before_the_text_and_is_counted_as_reasoning() {
    let answer = ask(ChatRequest::new("sim/think").user("Hi")).await;
    let parts = &answer.choices[0].content;
    assert!(matches!(parts[..], [ResponsePart::Thinking(_), ResponsePart::Text(_)]));
    let reasoning = answer.usage.details.reasoning_tokens.unwrap();
    let thoughts = answer.thinking().unwrap();
    assert_eq!(reasoning, thoughts.split_whitespace().count() as u64);
    assert!(answer.usage.completion_tokens.unwrap() > reasoning);
}

#[tokio::test]
async fn a_tool_is_called_with_arguments_of_its_schema_and_its_result_is_answered() {
    let request = ChatRequest::new("sim/echo").user("Rain?").tool(weather());
    let answer = ask(request.clone()).await;
    assert_eq!(answer.finish_reason(), Some(&FinishReason::ToolCalls));
    let call = answer.tool_calls().next().unwrap().clone();
    assert_eq!(call.name, "get_weather");
    let arguments: Value = call.parse().unwrap();
    assert_eq!(arguments, json!({"city": "city", "unit": "celsius"}));

    let request = request.message(answer.into_message());
    let request = request.message(ChatMessage::tool(call.id, "It rains."));
    let answer = ask(request).await;
    assert_eq!(answer.text(), "get_weather says: It rains.");
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
}

#[tokio::test]
async fn the_choice_of_tools_is_kept() {
    let request = || ChatRequest::new("sim/echo").user("Hi").tools([weather(), clock()]);
    let answer = ask(request().tool_choice(ToolChoice::function("get_time"))).await;
    assert_eq!(answer.tool_calls().next().unwrap().name, "get_time");
    assert_eq!(answer.tool_calls().count(), 1);
    let answer = ask(request().tool_choice(ToolChoice::None)).await;
    assert_eq!(answer.tool_calls().count(), 0);
    assert!(answer.text().starts_with("Hi"));
}

#[tokio::test]
async fn all_tools_are_called_side_by_side_and_all_results_are_answered() {
    let request = ChatRequest::new("sim/tools").user("Hi").tools([weather(), clock()]);
    let answer = ask(request.clone()).await;
    let calls: Vec<_> = answer.tool_calls().cloned().collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].id, calls[1].id);
    let mut next = request.clone().message(answer.into_message());
    for call in &calls {
        next = next.message(ChatMessage::tool(&call.id, format!("{} ran", call.name)));
    }
    let answer = ask(next).await;
    let expected = "get_weather says: get_weather ran\nget_time says: get_time ran";
    assert_eq!(answer.text(), expected);

    let one_at_a_time = ask(request.parallel_tool_calls(false)).await;
    assert_eq!(one_at_a_time.tool_calls().count(), 1);
}

#[tokio::test]
async fn citations_point_at_the_text_they_support() {
    let answer = ask(ChatRequest::new("sim/cite").user("Hi")).await;
    let text = answer.text();
    let cited: Vec<String> = answer.choices[0]
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
    let answer = ask(ChatRequest::new("sim/refuse").user("Hi")).await;
    assert_eq!(answer.finish_reason(), Some(&FinishReason::ContentFilter));
    assert!(!answer.text().is_empty());
}

#[tokio::test]
async fn an_answer_runs_to_its_length() {
    let answer = ask(ChatRequest::new("sim/length").user("Hi")).await;
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Length));
    assert_eq!(answer.usage.completion_tokens, Some(16));
    let answer = ask(ChatRequest::new("sim/length").user("Hi").max_tokens(3)).await;
    assert_eq!(answer.text(), "word1 word2 word3");
}

#[tokio::test]
async fn json_is_of_the_schema_that_was_asked_for() {
    let answer = ask(ChatRequest::new("sim/json").user("Hi")).await;
    let value: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(value, json!({"echo": "Hi"}));
    let schema = json!({"type": "object", "required": ["name", "size"], "properties": {
        "name": {"type": "string"}, "size": {"type": "object", "required": ["width"],
        "properties": {"width": {"type": "number"}}}}, "additionalProperties": false});
    for model in ["sim/json", "sim/echo", "sim/think"] {
        let format = ResponseFormat::json_schema("thing", schema.clone());
        let answer = ask(ChatRequest::new(model).user("Hi").response_format(format)).await;
        let value: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(value, json!({"name": "name", "size": {"width": 1.0}}));
    }
}

#[tokio::test]
async fn a_long_answer_has_so_many_words() {
    let answer = ask(ChatRequest::new("sim/long-500").user("Hi")).await;
    assert_eq!(answer.usage.completion_tokens, Some(500));
    assert!(answer.text().ends_with(" word500"));
}

#[tokio::test]
async fn a_picture_and_a_sound_arrive() {
    let answer = ask(ChatRequest::new("sim/image").user("Hi")).await;
    let image = answer.choices[0].images().next().unwrap();
    assert_eq!(image.mime_type, "image/png");
    assert!(image.data.starts_with("iVBOR"));
    let request = ChatRequest::new("sim/audio").user("Hi");
    let answer = ask(request.audio(AudioOutput::new("alloy", "wav"))).await;
    let audio = answer.choices[0].audio().unwrap();
    assert_eq!(audio.mime_type, "audio/wav");
    assert_eq!(audio.transcript.as_deref(), Some("Silence is also an answer."));
}

#[tokio::test]
async fn several_answers_come_side_by_side() {
    let request = ChatRequest::new("sim/tools").user("Hi").tools([weather(), clock()]).n(3);
    let answer = ask(request).await;
    assert_eq!(answer.choices.len(), 3);
    let mut ids: Vec<&str> = answer
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
async fn a_stop_sequence_and_a_token_limit_end_the_answer() {
    let request = || ChatRequest::new("sim/echo").user("one two three four");
    let answer = ask(request().stop("three")).await;
    assert_eq!(answer.text(), "one two ");
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
    let answer = ask(request().stop(vec!["four", "two"]).max_tokens(9)).await;
    assert_eq!(answer.text(), "one ");
    let answer = ask(request().max_tokens(2)).await;
    assert_eq!(answer.text(), "one two ");
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Length));
    let answer = ask(ChatRequest::new("sim/think").user("Hi").max_tokens(3)).await;
    assert_eq!(answer.thinking().as_deref(), Some("The user wrote "));
    assert_eq!(answer.usage.details.reasoning_tokens, Some(3));
    assert_eq!(answer.text(), "");
}

#[tokio::test]
async fn a_cut_tool_call_says_length() {
    let request = ChatRequest::new("sim/echo").user("Hi").tool(weather());
    let answer = ask(request.max_tokens(1)).await;
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Length));
    let call = answer.tool_calls().next().unwrap();
    assert_eq!(call.arguments, "{\"city\":\"city\",\"");
}
