//! Tests of the state machine by itself.

use serde_json::json;

use super::super::approval::{Decision, Review};
use super::super::outcome::StopReason;
use super::super::tool::{ToolOutput, ToolStatus};
use super::*;
use crate::chat::{ChatMessage, ChatResponse, Fold, Role, ToolChoice};
use crate::{ChatStreamEvent, FinishReason};

fn rules() -> Rules<'static> {
    Rules { max_steps: 3, ..Rules::default() }
}

/// Returns a response with these calls.
fn response(calls: &[(&str, &str)], finish: &FinishReason) -> ChatResponse {
    let mut events = vec![json!({"type":"message.start","id":"a","model":"m","provider":"p"})];
    for (at, (id, arguments)) in calls.iter().enumerate() {
        events.push(json!({"type":"content.start","choiceIndex":0,"partIndex":at,
            "part":{"type":"tool_call","id":id,"name":"t"}}));
        events.push(json!({"type":"content.done","choiceIndex":0,"partIndex":at,
            "part":{"type":"tool_call","id":id,"name":"t","arguments":arguments}}));
    }
    events.push(json!({"type":"message.delta","choiceIndex":0,"finishReason":finish}));
    let mut fold = Fold::new();
    for event in events {
        fold.push(&serde_json::from_value::<ChatStreamEvent>(event).unwrap()).unwrap();
    }
    fold.finish().unwrap()
}

fn state_with(calls: &[(&str, &str)]) -> RunState {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    assert_eq!(state.next(), Action::Ask { last: false });
    state.record_response(response(calls, &FinishReason::ToolCalls), 1, &rules());
    state
}

fn complete(state: &mut RunState, at: usize) {
    let result = state.calls()[at].make_result(at, ToolStatus::Completed, ToolOutput::text("ok"));
    state.finish_call(at, result, false);
}

fn results(state: &RunState) -> Vec<(&str, String)> {
    let messages = state.messages().iter().filter(|message| message.role == Role::Tool);
    messages
        .map(|message| (message.tool_call_id.as_deref().unwrap_or("?"), message.text()))
        .collect()
}

#[test]
fn calls_are_decided_then_run_and_results_keep_the_order_of_calls() {
    let mut state = state_with(&[("a", "{}"), ("b", "{}")]);
    assert_eq!(state.next(), Action::Decide(0));
    state.decide(0, Decision::Allow);
    assert_eq!(state.next(), Action::Decide(1));
    state.decide(1, Decision::Allow);
    assert_eq!(state.next(), Action::Run(vec![0, 1]));
    complete(&mut state, 1);
    complete(&mut state, 0);
    assert_eq!(state.next(), Action::Close);
    state.close(&rules());
    assert_eq!(results(&state), [("a", "ok".to_owned()), ("b", "ok".to_owned())]);
    assert_eq!(state.next(), Action::Ask { last: false });
}

#[test]
fn no_call_runs_before_all_calls_have_a_decision() {
    let mut state = state_with(&[("a", "{}"), ("b", "{}")]);
    state.decide(0, Decision::Allow);
    state.decide(1, Decision::Wait);
    assert_eq!(state.next(), Action::Suspend);
    let mut state: RunState =
        serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
    assert!(state.decide_pending("a", &Decision::Allow).is_err());
    state.decide_pending("b", &Decision::deny("no")).unwrap();
    assert_eq!(state.next(), Action::Run(vec![0]));
}

#[test]
fn an_abort_cancels_calls_that_have_not_run() {
    let mut state = state_with(&[("a", "{}"), ("b", "{}")]);
    state.decide(0, Decision::Allow);
    state.decide(1, Decision::abort("enough"));
    assert_eq!(state.next(), Action::Close);
    state.close(&rules());
    assert_eq!(state.next(), Action::Stop(StopReason::Aborted { reason: "enough".into() }));
    assert_eq!(results(&state).len(), 2);
}

#[test]
fn calls_of_a_truncated_response_do_not_run_and_incomplete_calls_are_not_sent_again() {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    state.record_response(
        response(&[("a", "{}"), ("b", "{\"x\":")], &FinishReason::Length),
        1,
        &rules(),
    );
    assert_eq!(state.next(), Action::Close);
    assert_eq!(state.take_unreported().len(), 2);
    assert_eq!(state.take_unreported().len(), 0);
    let step = state.close(&rules()).unwrap();
    assert!(step.results.iter().all(|result| result.status == ToolStatus::Skipped));
    assert_eq!(results(&state).len(), 1);
    assert_eq!(state.messages()[0].parts().len(), 1);
    assert_eq!(state.next(), Action::Stop(StopReason::Length));
}

#[test]
fn at_the_limit_calls_get_placeholders_and_one_last_response_is_requested() {
    let rules = Rules { max_steps: 1, final_answer: true, ..Rules::default() };
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    state.record_response(response(&[("a", "{}")], &FinishReason::ToolCalls), 1, &rules);
    state.close(&rules);
    assert_eq!(state.next(), Action::Ask { last: true });
    state.record_response(response(&[("b", "{}")], &FinishReason::ToolCalls), 1, &rules);
    state.close(&rules);
    assert_eq!(state.next(), Action::Stop(StopReason::MaxSteps { limit: 1 }));
    assert_eq!(results(&state).len(), 2);
}

/// Makes one step with a call that returns `output`.
fn step(state: &mut RunState, arguments: &str, output: &str, rules: &Rules<'_>) {
    let id = format!("call_{}", state.steps.len());
    state.record_response(response(&[(&id, arguments)], &FinishReason::ToolCalls), 1, rules);
    state.decide(0, Decision::Allow);
    let result = state.calls()[0].make_result(0, ToolStatus::Completed, ToolOutput::text(output));
    state.finish_call(0, result, false);
    state.close(rules);
}

#[test]
fn a_run_stops_when_the_same_call_has_the_same_result_too_often() {
    let rules = Rules { max_steps: 20, max_repeats: Some(3), ..Rules::default() };
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    for (arguments, output) in [("{}", "a"), ("{}", "a"), ("{}", "b"), ("{\"x\":1}", "b")] {
        step(&mut state, arguments, output, &rules);
        assert_eq!(state.next(), Action::Ask { last: false }, "{arguments} {output}");
    }
    for _ in 0..2 {
        step(&mut state, "{\"x\":1}", "b", &rules);
    }
    let Action::Stop(StopReason::Repeated { times, .. }) = state.next() else {
        panic!("{:?}", state.next())
    };
    assert_eq!(times, 3);
}

#[test]
fn after_repeated_calls_one_last_response_is_requested() {
    let rules =
        Rules { max_steps: 20, max_repeats: Some(2), final_answer: true, ..Rules::default() };
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    step(&mut state, "{}", "a", &rules);
    step(&mut state, "{}", "a", &rules);
    assert_eq!(state.next(), Action::Ask { last: true });
    state.record_response(response(&[], &FinishReason::Stop), 1, &rules);
    state.close(&rules);
    assert!(matches!(state.next(), Action::Stop(StopReason::Repeated { times: 2, .. })));
}

#[test]
fn a_forced_tool_choice_becomes_auto_after_the_first_step() {
    for choice in [ToolChoice::Required, ToolChoice::function("t")] {
        let request = ChatRequest::new("p/m").user("Hi").tool_choice(choice);
        let mut state = RunState::new(request);
        assert_ne!(state.tool_choice(), Some(ToolChoice::Auto));
        state.record_response(response(&[("a", "{}")], &FinishReason::ToolCalls), 1, &rules());
        assert_eq!(state.tool_choice(), Some(ToolChoice::Auto));
    }
}

#[test]
fn a_reviewed_result_is_reported_and_sent_only_after_its_review() {
    let mut state = state_with(&[("a", "{}")]);
    state.decide(0, Decision::Allow);
    let result = state.calls()[0].make_result(0, ToolStatus::Completed, ToolOutput::text("secret"));
    state.finish_call(0, result, true);
    assert_eq!(state.next(), Action::Review(0));
    assert!(state.take_unreported().is_empty());
    state.apply_review(0, Review::Wait);
    assert_eq!(state.next(), Action::Suspend);
    state.review_pending("a", &Review::Withhold { reason: "secret".into() }).unwrap();
    assert_eq!(state.take_unreported()[0].status, ToolStatus::Withheld);
    state.close(&rules());
    assert_eq!(results(&state), [("a", "withheld: secret".to_owned())]);
}

#[test]
fn a_cancelled_run_has_a_result_for_each_call_and_stops_once() {
    let mut state = state_with(&[("a", "{}"), ("b", "{}")]);
    state.decide(0, Decision::Allow);
    state.decide(1, Decision::Allow);
    complete(&mut state, 0);
    state.cancel();
    state.close(&rules());
    assert_eq!(results(&state).len(), 2);
    assert_eq!(state.next(), Action::Stop(StopReason::Cancelled));
    state.cancel();
    assert_eq!(state.next(), Action::Stop(StopReason::Cancelled));
}

#[test]
fn token_and_cost_limits_stop_before_tools_run_also_when_usage_is_unknown() {
    let run = |rules: Rules<'_>, tokens: Option<u64>| {
        let mut response = response(&[("a", "{}")], &FinishReason::ToolCalls);
        response.usage.total_tokens = tokens;
        let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
        state.record_response(response, 1, &rules);
        state.close(&rules);
        state.next()
    };
    let limit = |tokens| Rules { max_tokens: Some(10), max_steps: tokens, ..Rules::default() };
    let stop = StopReason::TokenLimit { limit: 10, used: 12 };
    assert_eq!(run(limit(3), Some(12)), Action::Stop(stop));
    let stop = StopReason::Unmeasured { what: "tokens".into() };
    assert_eq!(run(limit(3), None), Action::Stop(stop));
    let dear = Rules { max_cost: Some(Usd::from_picos(5)), max_steps: 3, ..Rules::default() };
    assert_eq!(run(dear, Some(1)), Action::Stop(StopReason::Unmeasured { what: "cost".into() }));
}

#[test]
fn a_correction_requests_another_response_until_the_limit() {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    for step in 1..=3 {
        state.record_response(response(&[], &FinishReason::Stop), 1, &rules());
        state.close(&rules());
        assert_eq!(state.next(), Action::Stop(StopReason::Finished));
        state.correct(ChatMessage::user("again"), &rules());
        assert_eq!(state.corrections, step);
    }
    assert_eq!(state.next(), Action::Stop(StopReason::MaxSteps { limit: 3 }));
}
