use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::chat::ToolDefinition;
use crate::provider::{Condition, Param};

fn lab(rows: impl IntoIterator<Item = Restriction>) -> Target {
    let lab = Provider::openai_compatible("lab", "http://lab.invalid/v1");
    Target::new(Arc::new(rows.into_iter().fold(lab, Provider::restriction)), "m")
}

fn ask() -> ChatRequest {
    ChatRequest::new("m").user("Hello")
}

#[test]
fn a_request_that_keeps_to_the_table_is_not_copied() {
    let row = Restriction::new("r", Action::Drop(vec![Param::TopP]))
        .when([Condition::Set(Param::Temperature)]);
    let request = ask().top_p(0.5);
    let target = lab([row]);
    let restricted = apply(&target, &request).unwrap();
    assert!(restricted.request.is_unchanged());
    assert!(restricted.warnings.is_empty());
}

#[test]
fn applying_the_restrictions_twice_changes_nothing() {
    let row =
        Restriction::new("r", Action::Clamp { param: Param::TopLogprobs, min: 0.0, max: 5.0 });
    let target = lab([row]);
    let request = ChatRequest { top_logprobs: Some(20), ..ask() };
    let once = apply(&target, &request).unwrap();
    assert_eq!(once.request.top_logprobs, Some(5));
    assert_eq!(once.warnings.len(), 1);
    let twice = apply(&target, &once.request).unwrap();
    assert!(twice.warnings.is_empty());
}

#[test]
fn a_later_row_sees_what_an_earlier_one_changed() {
    let target = lab([
        Restriction::new("a", Action::Effort(Effort::None)),
        Restriction::new("b", Action::Drop(vec![Param::Temperature]))
            .when([Condition::EffortOtherThan(Effort::None)]),
    ]);
    let request = ask().temperature(0.5);
    let restricted = apply(&target, &request).unwrap();
    assert_eq!(restricted.request.temperature, Some(0.5));
}

#[test]
fn the_tool_that_must_be_called_is_kept() {
    let target = lab([Restriction::new("r", Action::KeepTools(2))]);
    let tool = |name: &str| ToolDefinition::function(name, json!({}));
    let request = ask()
        .tools([tool("a"), tool("b"), tool("c"), tool("d")])
        .tool_choice(ToolChoice::function("d"));
    let restricted = apply(&target, &request).unwrap();
    let names: Vec<_> = restricted.request.tools.iter().filter_map(ToolDefinition::name).collect();
    assert_eq!(names, ["a", "d"]);
}

#[test]
fn a_nested_field_is_joined_with_the_ones_of_the_request() {
    let row = Restriction::new("r", Action::Field { path: "a.b".into(), value: true.into() });
    let target = lab([row]);
    let request = ask().extra("a", json!({ "c": 1 }));
    let restricted = apply(&target, &request).unwrap();
    assert_eq!(restricted.request.extra_body["a"], json!({ "b": true, "c": 1 }));
    let own = ask().extra("a", json!({ "b": false }));
    let restricted = apply(&target, &own).unwrap();
    assert_eq!(restricted.request.extra_body["a"], json!({ "b": false }));
}

#[test]
fn a_provider_that_paused_gets_no_instruction_to_continue() {
    let target = lab([Restriction::new("r", Action::NoPrefill)]);
    let plain = ask().assistant("Once upon a time");
    assert_eq!(apply(&target, &plain).unwrap().request.messages.len(), 3);
    let part = json!({ "type": "server_tool_call", "id": "s", "name": "web_search",
        "arguments": "{}" });
    let paused = ask().assistant(vec![serde_json::from_value(part).unwrap()]);
    assert_eq!(apply(&target, &paused).unwrap().request.messages.len(), 2);
}
