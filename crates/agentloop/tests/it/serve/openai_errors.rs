//! Errors in the words of OpenAI's protocols.

use agentloop::protocol::serve::{
    StreamWriter, read_embed, write_error, write_model, write_models,
};
use agentloop::{
    ChatResponse, ChatStreamEvent, Error, ErrorKind, ErrorRecord, ModelInfo, Protocol,
};
use serde_json::{Value, json};

use super::openai_chat::chunks;

#[test]
fn an_error_has_the_words_of_the_protocol() {
    for (kind, kind_word, code) in [
        (ErrorKind::Auth, "invalid_request_error", json!("invalid_api_key")),
        (ErrorKind::Quota, "insufficient_quota", json!("insufficient_quota")),
        (ErrorKind::RateLimit, "rate_limit_error", json!("rate_limit_exceeded")),
        (ErrorKind::ContextLength, "invalid_request_error", json!("context_length_exceeded")),
        (ErrorKind::InvalidRequest, "invalid_request_error", Value::Null),
        (ErrorKind::NotFound, "invalid_request_error", json!("model_not_found")),
        (ErrorKind::Server, "server_error", Value::Null),
    ] {
        for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
            let body = write_error(protocol, &Error::new(kind, "no").with_param("model"));
            let body: Value = serde_json::from_slice(&body).unwrap();
            let expected = json!({"error": {"message": "no", "type": kind_word, "param": "model", "code": code}});
            assert_eq!(body, expected, "{kind}");
        }
    }
    let own = Error::new(ErrorKind::InvalidRequest, "no").with_code("invalid_value");
    let body: Value = serde_json::from_slice(&write_error(Protocol::OpenAiChat, &own)).unwrap();
    assert_eq!(body["error"]["code"], "invalid_value");
}

#[test]
fn a_stream_that_fails_has_an_error_and_no_end_marker() {
    let mut events = ChatResponse::from_parts("lab/m", ["Hi"]).unfold();
    let end = events.pop().unwrap();
    let error = ErrorRecord::from(&Error::new(ErrorKind::Overloaded, "busy"));
    events.push(ChatStreamEvent::Error { error: Box::new(error) });
    events.push(end);
    let mut writer = StreamWriter::new(Protocol::OpenAiChat, true);
    let bytes: Vec<u8> = events.iter().flat_map(|event| writer.write(event)).collect();
    let (events, is_done) = chunks(&bytes);
    assert!(!is_done);
    assert_eq!(events.last().unwrap()["error"]["message"], "busy");
}

#[test]
fn models_have_the_fields_that_clients_require() {
    let model = ModelInfo::new("lab", "m");
    let one: Value = serde_json::from_slice(&write_model(Protocol::OpenAiChat, &model)).unwrap();
    for name in ["id", "object", "created", "owned_by"] {
        assert!(!one[name].is_null(), "{name}");
    }
    let all: Value =
        serde_json::from_slice(&write_models(Protocol::OpenAiResponses, &[model])).unwrap();
    assert_eq!(all, json!({"object": "list", "data": [one]}));
}

/// The official SDKs know only some codes. Codex stops at one and shortens the conversation at another.
#[test]
fn a_response_that_failed_has_a_code_that_clients_know() {
    for (kind, code) in [
        (ErrorKind::Overloaded, "server_error"),
        (ErrorKind::Connection, "server_error"),
        (ErrorKind::RateLimit, "rate_limit_exceeded"),
        (ErrorKind::InvalidRequest, "invalid_prompt"),
        (ErrorKind::Quota, "insufficient_quota"),
        (ErrorKind::ContextLength, "context_length_exceeded"),
    ] {
        let error =
            ErrorRecord::from(&Error::new(kind, "no").with_code("word_of_another_provider"));
        let mut writer = StreamWriter::new(Protocol::OpenAiResponses, true);
        let bytes = writer.write(&ChatStreamEvent::Error { error: Box::new(error) });
        let written = super::openai_responses::events(&bytes);
        assert_eq!(written[0]["response"]["error"], json!({"code": code, "message": "no"}));
    }
}

#[test]
fn a_field_of_an_embeddings_request_that_cannot_be_read_is_named() {
    for (body, name) in [
        (json!({"model": "m"}), "input"),
        (json!({"model": "m", "input": [[1, 2]]}), "input"),
        (json!({"model": 1, "input": "a"}), "model"),
        (json!({"model": "m", "input": "a", "dimensions": "many"}), "dimensions"),
    ] {
        let error = read_embed(Protocol::OpenAiChat, "/v1/embeddings", body.to_string().as_bytes())
            .unwrap_err();
        assert_eq!((error.status(), error.param()), (Some(400), Some(name)), "{error}");
    }
}
