use agentloop::ToolDefinition;
use serde_json::json;

use super::*;

fn with_tool(choice: Option<ToolChoice>) -> ChatRequest {
    let mut request = ChatRequest::new("m").user("Hi");
    request.tools.push(ToolDefinition::function("look", json!({"type": "object"})));
    request.tool_choice = choice;
    request
}

#[test]
fn tools_that_may_be_called_have_a_grammar_from_the_first_call_on() {
    let plan = Plan::of(&with_tool(None)).unwrap();
    assert_eq!(plan.grammar.unwrap().after, Some(CALL_START));
    assert!(plan.has_tools);
}

#[test]
fn tools_that_must_be_called_have_a_grammar_from_the_beginning() {
    for choice in [ToolChoice::Required, ToolChoice::function("look")] {
        assert_eq!(Plan::of(&with_tool(Some(choice))).unwrap().grammar.unwrap().after, None);
    }
    let error = Plan::of(&with_tool(Some(ToolChoice::function("other")))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[test]
fn tools_that_must_not_be_called_are_not_described() {
    let plan = Plan::of(&with_tool(Some(ToolChoice::None))).unwrap();
    assert!(plan.grammar.is_none() && plan.conversation.messages.len() == 1);
}

#[test]
fn what_is_not_supported_is_an_error_or_a_warning() {
    let mut request = ChatRequest::new("m").user("Hi");
    request.n = Some(2);
    assert_eq!(Plan::of(&request).unwrap_err().kind(), ErrorKind::Unsupported);
    request.n = Some(1);
    request.temperature = Some(99.0);
    request.logit_bias = Some([("1".to_owned(), 1.0)].into());
    let plan = Plan::of(&request).unwrap();
    assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
    assert_eq!(plan.sampling.temperature, 5.0);
}

#[test]
fn a_seed_is_used_and_none_is_random() {
    let mut request = ChatRequest::new("m").user("Hi");
    let seeds: std::collections::HashSet<u32> =
        (0..8).map(|_| Plan::of(&request).unwrap().sampling.seed).collect();
    assert!(seeds.len() > 1);
    request.seed = Some(7);
    assert_eq!(Plan::of(&request).unwrap().sampling.seed, 7);
}
