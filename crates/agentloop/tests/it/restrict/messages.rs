//! What messages must be like.

use agentloop::{ChatMessage, ContentPart, ErrorKind, Protocol, ResponseFormat, inspect};
use serde_json::{Value, json};

use super::{ask, client, refused, sent};

fn called(id: &str) -> ChatMessage {
    serde_json::from_value(json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } }] }))
    .unwrap()
}

fn roles(body: &Value) -> Vec<&str> {
    body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect()
}

#[test]
fn mistral_sees_the_assistant_between_a_tool_and_the_user() {
    let request = ask("mistral/mistral-large-latest")
        .message(called("abc123def"))
        .message(ChatMessage::tool("abc123def", "1"))
        .user("And now?");
    let (body, warnings) = sent(&request);
    assert_eq!(roles(&body), ["user", "assistant", "tool", "assistant", "user"]);
    let between = &body["messages"][3];
    assert!(!between["content"].as_str().unwrap().is_empty(), "an empty message is refused");
    assert!(warnings[0].contains("follow a tool's result"), "{warnings:?}");
    assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
    // Others take it as it is.
    let mut elsewhere = request;
    elsewhere.model = "openai/gpt-4.1".to_owned();
    assert_eq!(roles(&sent(&elsewhere).0), ["user", "assistant", "tool", "user"]);
}

#[test]
fn mistral_sees_the_assistant_after_a_result_that_was_made_up() {
    let request = ask("mistral/mistral-large-latest").message(called("abc123def")).user("Well?");
    let (body, warnings) = sent(&request);
    assert_eq!(roles(&body), ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn mistral_gets_an_assistant_message_before_an_image_from_a_tool() {
    let image = ContentPart::image_url("data:image/png;base64,iVBORw0KGgo=");
    let request = ask("mistral/mistral-large-latest")
        .message(called("abc123def"))
        .message(ChatMessage::tool("abc123def", vec![image]));
    let (body, _) = sent(&request);
    assert_eq!(roles(&body), ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn json_mode_adds_the_word_json_where_it_is_required() {
    for model in ["openai/gpt-4.1", "mistral/mistral-large-latest", "deepseek/deepseek-flash"] {
        let request = ask(model).response_format(ResponseFormat::json());
        let (body, warnings) = sent(&request);
        assert_eq!(body["response_format"]["type"], "json_object");
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("JSON"), "{body}");
        assert!(warnings[0].contains("the word JSON"), "{warnings:?}");
        assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
        let named = ask(model).user("as json").response_format(ResponseFormat::json());
        let (body, warnings) = sent(&named);
        assert_eq!(body["messages"].as_array().unwrap().len(), 2);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    let request = ask("openai/gpt-4.1").response_format(ResponseFormat::json());
    let (body, _) = sent(&request.protocol(Protocol::OpenAiResponses));
    assert!(body["input"][0]["content"].as_str().unwrap().contains("JSON"), "{body}");
}

#[test]
fn claude_gets_an_instruction_to_continue_where_it_does_not_accept_prefill() {
    for model in ["claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-5-5", "claude-fable-5-1"] {
        let request = ask(&format!("anthropic/{model}")).assistant("Once upon a");
        let (body, warnings) = sent(&request);
        assert_eq!(roles(&body), ["user", "assistant", "user"]);
        assert_eq!(body["messages"][1]["content"], "Once upon a");
        assert!(warnings[0].contains("must not end"), "{warnings:?}");
        assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
    }
    for model in ["claude-sonnet-4-5", "claude-3-5-haiku"] {
        let (body, warnings) = sent(&ask(&format!("anthropic/{model}")).assistant("Once upon a"));
        assert_eq!(roles(&body), ["user", "assistant"], "{model}");
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn ids_of_calls_fit_into_responses() {
    let long = "call_".repeat(20);
    let request = ask("openai/gpt-6-sol")
        .message(called(&long))
        .message(ChatMessage::tool(&long, "1"))
        .protocol(Protocol::OpenAiResponses);
    let (body, warnings) = sent(&request);
    let id = body["input"][1]["call_id"].as_str().unwrap();
    assert!(id.len() <= 64, "{id}");
    assert_eq!(body["input"][2]["call_id"], id);
    assert!(warnings[0].contains("64"), "{warnings:?}");
}

#[test]
fn ollama_gets_no_gif() {
    let gif = ContentPart::image_url("data:image/gif;base64,R0lGODlhAQABAAAAACw=");
    let png = ContentPart::image_url("data:image/png;base64,iVBORw0KGgo=");
    let request = ask("ollama/llava").user(vec![ContentPart::text("Look"), gif.clone(), png]);
    let error = inspect::encode(&client(), &request, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("messages[1].content[1]"), "{error}");
    let (body, warnings) = sent(&request.lenient());
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // The caller does not choose what a tool returns, so the model gets a note.
    let shown = ask("ollama/llava").message(called("a")).message(ChatMessage::tool("a", vec![gif]));
    let (body, warnings) = sent(&shown);
    assert!(body["messages"][2]["content"].to_string().contains("cannot be shown"), "{body}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

/// Found by fuzzing: a conversation with a generated image of an odd type could not be continued with another provider.
#[test]
fn an_image_that_another_model_generated_is_left_out_if_its_type_is_refused() {
    for model in ["ollama/llava", "anthropic/claude-sonnet-4-5"] {
        for data in ["image/gif;base64,R0lGODlhAQABAAAAACw=", "image/;base64,iVBORw0KGgo="] {
            let image = ContentPart::image_url(format!("data:{data}"));
            for parts in [vec![image.clone()], vec![ContentPart::text("Look"), image]] {
                let mut message = ChatMessage::assistant("");
                message.content = Some(agentloop::MessageContent::Parts(parts));
                let request = ask(model).message(message).user("Go on");
                inspect::encode(&client(), &request, false).unwrap();
                let strict = inspect::encode(&client(), &request.strict(), false);
                assert!(strict.is_err() || model.contains("claude"), "{model} {data}");
            }
        }
    }
}

#[test]
fn instructions_have_the_role_that_the_model_knows() {
    for (model, role) in [
        ("gpt-4.1", "system"),
        ("gpt-5-chat-latest", "system"),
        ("gpt-5-mini", "developer"),
        ("gpt-6-sol", "developer"),
        ("o3", "developer"),
    ] {
        let request = ask(&format!("openai/{model}")).system("Be brief.");
        let (body, _) = sent(&request.clone().protocol(Protocol::OpenAiChat));
        assert_eq!(body["messages"][1]["role"], role, "{model}");
        let (body, _) = sent(&request.protocol(Protocol::OpenAiResponses));
        assert_eq!(body["input"][1]["role"], role, "{model}");
    }
}

#[test]
fn a_file_that_was_uploaded_to_anthropic_is_sent_with_its_header() {
    let file: ContentPart =
        serde_json::from_value(json!({ "type": "file", "file": { "file_id": "file_1" } })).unwrap();
    let request = ask("anthropic/claude-sonnet-4-5").user(vec![file]);
    let header = |request: &agentloop::ChatRequest| {
        let encoded = inspect::encode(&client(), request, false).unwrap();
        encoded.headers.get("anthropic-beta").cloned()
    };
    assert_eq!(header(&request).as_deref(), Some("files-api-2025-04-14"));
    let more = request.header("anthropic-beta", "context-1m-2025-08-07");
    assert_eq!(header(&more).as_deref(), Some("context-1m-2025-08-07,files-api-2025-04-14"));
    assert_eq!(header(&ask("anthropic/claude-sonnet-4-5")), None);
}

#[test]
fn a_refused_cache_marker_leaves_the_text_as_it_is() {
    let marked =
        json!([{ "type": "text", "text": "Hi", "cache_control": { "type": "ephemeral" } }]);
    let message = json!({ "role": "user", "content": marked });
    let message: ChatMessage = serde_json::from_value(message).unwrap();
    for model in ["openai/gpt-4.1", "xai/grok-4.6"] {
        let request = agentloop::ChatRequest::new(model).message(message.clone());
        let (body, warnings) = sent(&request);
        let messages = body.get("messages").or(body.get("input")).unwrap();
        assert_eq!(messages[0]["content"], "Hi", "{body}");
        assert!(warnings[0].contains("does not accept cache markers"), "{warnings:?}");
    }
}
