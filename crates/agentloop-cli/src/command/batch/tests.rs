#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::*;

fn message(failure: Failure) -> String {
    match failure {
        Failure::Input { message, .. } => message,
        other => panic!("expected wrong input, got {other:?}"),
    }
}

fn row(values: Value) -> Row {
    let Value::Object(values) = values else { panic!("not an object") };
    Row { index: 0, values }
}

fn plan(prompt: Option<&str>) -> Plan {
    let base = ChatRequest::new("sim/echo").system("Be brief.");
    Plan::new(base, prompt.map(str::to_owned), false)
}

fn prompt_of(request: &ChatRequest) -> String {
    let json = serde_json::to_value(request.messages.last().unwrap()).unwrap();
    json["content"].as_str().unwrap().to_owned()
}

#[test]
fn the_prompt_is_filled_with_the_values_of_the_row() {
    let request = plan(Some("{{a}} and {{b}} and {{c}}"))
        .build(&row(json!({ "a": "{{b}}", "b": 2, "c": [1, null] })))
        .unwrap();
    assert_eq!(prompt_of(&request), "{{b}} and 2 and [1,null]");
    let missing = plan(Some("{{x}}")).build(&row(json!({ "a": 1 })));
    assert_eq!(message(missing.unwrap_err()), "row 1: there is no value `x` for the prompt");
}

#[test]
fn without_a_prompt_the_value_of_the_row_is_used() {
    let prompt = |values| plan(None).build(&row(values)).map(|request| prompt_of(&request));
    assert_eq!(prompt(json!({ "whatever": "only" })).unwrap(), "only");
    assert_eq!(prompt(json!({ "id": 7, "text": "Hello" })).unwrap(), "Hello");
    let unclear = prompt(json!({ "id": 7, "name": "x" })).unwrap_err();
    assert_eq!(message(unclear), "row 1: it is not clear which value is the prompt");
}

#[test]
fn a_row_with_messages_is_a_request() {
    let values = json!({ "messages": [{ "role": "user", "content": "Hi" }], "temperature": 0.5 });
    let request = plan(None).build(&row(values)).unwrap();
    assert_eq!(request.model, "sim/echo");
    assert_eq!(request.temperature, Some(0.5));
    assert_eq!(prompt_of(&request), "Hi");
    assert_eq!(request.messages.len(), 2, "the system prompt of the command line is added");
    let mut settings = plan(None);
    settings.base.temperature = Some(1.0);
    let values = json!({ "messages": [{ "role": "user", "content": "Hi" }], "temperature": 0.5, "top_p": 0.5 });
    let request = settings.build(&row(values)).unwrap();
    assert_eq!((request.temperature, request.top_p), (Some(1.0), Some(0.5)));
    let own = json!({ "model": "a/b", "messages": [{ "role": "user", "content": "Hi" }] });
    assert_eq!(plan(None).build(&row(own)).unwrap().model, "a/b");
    let wrong = plan(None).build(&row(json!({ "messages": 3 })));
    assert!(message(wrong.unwrap_err()).starts_with("row 1: not a ChatRequest"));
}
