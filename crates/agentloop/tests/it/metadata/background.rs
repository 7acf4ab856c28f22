//! Responses that run in the background are refused, not started again.

use agentloop::inspect;
use agentloop::{AgentLoop, ChatRequest, ErrorKind};
use serde_json::json;

use crate::support::{Wire, decode};

#[test]
fn a_response_that_runs_in_the_background_is_never_retried() {
    for status in ["queued", "in_progress"] {
        let body = json!({ "id": "resp_1", "object": "response", "status": status, "output": [] });
        let decoded = decode(&Wire::of_responses(false), body.to_string().as_bytes());
        let error = decoded.error.unwrap();
        assert!(!error.is_retryable(), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("resp_1"), "{error:?}");
        assert!(error.hint().unwrap().contains("GET /responses/resp_1"));
    }
}

#[test]
fn a_background_request_is_refused_before_it_is_sent() {
    let ai = AgentLoop::from_env();
    let mut request = ChatRequest::new("xai/grok-4").user("hi");
    request.extra_body.insert("background".to_owned(), json!(true));
    let error = inspect::encode(&ai, &request, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // A stream of such a response is read to its end.
    assert!(inspect::encode(&ai, &request, true).is_ok());
}
