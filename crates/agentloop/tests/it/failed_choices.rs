//! Errors inside a choice: the provider behind a router failed while it wrote.

use agentloop::{Error, ErrorKind, ResponsePart};

use crate::support::{Decoded, Wire, decode};

const PROVIDER: &str = "openrouter";

fn whole(finish: &str, error: &str) -> String {
    format!(
        r#"{{"id":"g","model":"m","choices":[{{"index":0,"finish_reason":{finish},"error":{error},
            "message":{{"role":"assistant","content":"Canada is a vast"}}}}]}}"#
    )
}

fn stream(finish: &str, error: &str) -> String {
    format!(
        "data: {{\"id\":\"g\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"Canada is\"}}}}]}}\n\n\
         data: {{\"id\":\"g\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"finish_reason\":{finish},\"error\":{error},\"delta\":{{\"content\":\" a vast\"}}}}]}}\n\n\
         data: [DONE]\n\n"
    )
}

fn error_of(decoded: Decoded) -> Error {
    decoded.error.unwrap_or_else(|| panic!("a response: {:?}", decoded.events))
}

fn text(error: &Error) -> String {
    error.partial().map(|partial| partial.text()).unwrap_or_default()
}

#[test]
fn an_error_inside_a_choice_fails_the_call_with_what_had_arrived() {
    let upstream = r#"{"code":502,"message":"Upstream error"}"#;
    for finish in ["null", "\"error\"", "\"tool_calls\"", "\"stop\""] {
        let error = error_of(decode(&Wire::of(PROVIDER), whole(finish, upstream).as_bytes()));
        assert_eq!((error.kind(), error.status()), (ErrorKind::Server, Some(502)), "{finish}");
        assert!(error.is_retryable(), "{finish}: the caller has seen nothing");
        assert_eq!(
            (error.message(), text(&error).as_str()),
            ("Upstream error", "Canada is a vast")
        );
        assert!(error.raw().unwrap().contains("\"choices\""));

        let wire = Wire { stream: true, ..Wire::of(PROVIDER) };
        let error = error_of(decode(&wire, stream(finish, upstream).as_bytes()));
        assert_eq!((error.kind(), error.status()), (ErrorKind::Server, Some(502)), "{finish}");
        assert!(!error.is_retryable(), "{finish}: the caller has seen the text");
        assert_eq!(text(&error), "Canada is a vast");
        // A complete body for a streaming request fails the call itself, so it can be retried.
        let decoded = decode(&wire, whole(finish, upstream).as_bytes());
        assert!(decoded.events.is_empty(), "{:?}", decoded.events);
        assert!(error_of(decoded).is_retryable());
    }
}

#[test]
fn the_kind_of_an_error_inside_a_choice_is_that_of_its_cause() {
    let upstream = r#"{"code":400,"message":"Provider returned error","metadata":
        {"provider_name":"Up","raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}"}}"#;
    let error = error_of(decode(&Wire::of(PROVIDER), whole("\"error\"", upstream).as_bytes()));
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::ContextLength, false));
    assert!(error.message().contains("prompt is too long"), "{error}");
}

#[test]
fn an_error_of_one_choice_of_several_fails_the_call_and_all_choices_are_in_the_partial_response() {
    let body = r#"{"id":"g","model":"m","choices":[
        {"index":0,"finish_reason":"stop","message":{"content":"one"}},
        {"index":1,"finish_reason":"error","error":{"code":429,"message":"slow down"},"message":{"content":"two"}}]}"#;
    let error = error_of(decode(&Wire::of(PROVIDER), body.as_bytes()));
    assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
    let partial = error.partial().unwrap();
    let texts: Vec<String> = partial.choices.iter().map(|choice| choice.text()).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn an_empty_error_inside_a_choice_is_none() {
    for error in ["null", "{}", "\"\"", "false"] {
        let response =
            decode(&Wire::of(PROVIDER), whole("\"stop\"", error).as_bytes()).response().unwrap();
        assert!(matches!(&response.choices[0].content[..], [ResponsePart::Text(_)]), "{error}");
    }
}

#[test]
fn an_error_survives_json_with_all_details_of_the_provider() {
    let body = r#"{"error":{"message":"bad","type":"invalid_request_error","param":"temperature","code":"c"}}"#;
    let wire = Wire { status: 400, model: Some("m-1"), ..Wire::of(PROVIDER) };
    let error = error_of(decode(&wire, body.as_bytes()));
    let json = serde_json::to_value(&error).unwrap();
    assert_eq!(
        (&json["raw"], &json["model"], &json["param"]),
        (&body.into(), &"m-1".into(), &"temperature".into())
    );
    let again: Error = serde_json::from_value(json).unwrap();
    assert_eq!(again, error);
    assert_eq!(
        (again.raw(), again.model(), again.param()),
        (Some(body), Some("m-1"), Some("temperature"))
    );
    // An error that was stored by an older version has none of them.
    let old: Error =
        serde_json::from_str(r#"{"kind":"server","message":"m","retryable":true}"#).unwrap();
    assert_eq!((old.raw(), old.model(), old.param()), (None, None, None));
}

#[test]
fn the_raw_body_of_an_error_is_bounded_and_stays_text() {
    use agentloop::limits::MAX_ERROR_RAW_BYTES;
    for filling in ["a", "é", "😀", "\u{0}"] {
        let body = filling.repeat(MAX_ERROR_RAW_BYTES);
        let error = Error::new(ErrorKind::Server, "m").with_raw(body.as_bytes());
        let raw = error.raw().unwrap();
        assert!(raw.len() <= MAX_ERROR_RAW_BYTES && body.starts_with(raw), "{filling:?}");
        let again: Error = serde_json::from_str(&serde_json::to_string(&error).unwrap()).unwrap();
        assert_eq!(again, error);
    }
    let error = Error::new(ErrorKind::Server, "m").with_raw(&[0xff; 2 * MAX_ERROR_RAW_BYTES]);
    assert!(error.raw().unwrap().len() <= MAX_ERROR_RAW_BYTES);
}
