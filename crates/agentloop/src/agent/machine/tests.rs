//! The machine by itself: what happened, and what is to be done next.

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

/// An answer with these calls.
fn answer(calls: &[(&str, &str)], finish: &FinishReason) -> ChatResponse {
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

fn asked(calls: &[(&str, &str)]) -> RunState {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    assert_eq!(state.next(), Action::Ask { last: false });
    state.answered(answer(calls, &FinishReason::ToolCalls), 1, &rules());
    state
}

fn done(state: &mut RunState, at: usize) {
    let result = state.calls()[at].result(at, ToolStatus::Completed, ToolOutput::text("ok"));
    state.finished(at, result, false);
}

fn results(state: &RunState) -> Vec<(&str, String)> {
    let turns = state.messages().iter().filter(|turn| turn.role == Role::Tool);
    turns.map(|turn| (turn.tool_call_id.as_deref().unwrap_or("?"), turn.text())).collect()
}

#[test]
fn calls_are_decided_then_run_and_their_results_stand_in_their_order() {
    let mut state = asked(&[("a", "{}"), ("b", "{}")]);
    assert_eq!(state.next(), Action::Decide(0));
    state.decided(0, Decision::Allow);
    assert_eq!(state.next(), Action::Decide(1));
    state.decided(1, Decision::Allow);
    assert_eq!(state.next(), Action::Run(vec![0, 1]));
    done(&mut state, 1);
    done(&mut state, 0);
    assert_eq!(state.next(), Action::Close);
    state.close(&rules());
    assert_eq!(results(&state), [("a", "ok".to_owned()), ("b", "ok".to_owned())]);
    assert_eq!(state.next(), Action::Ask { last: false });
}

#[test]
fn nothing_runs_before_all_calls_have_their_decision() {
    let mut state = asked(&[("a", "{}"), ("b", "{}")]);
    state.decided(0, Decision::Allow);
    state.decided(1, Decision::Wait);
    assert_eq!(state.next(), Action::Suspend);
    let mut state: RunState =
        serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
    assert!(state.decide_waiting("a", &Decision::Allow).is_err());
    state.decide_waiting("b", &Decision::deny("no")).unwrap();
    assert_eq!(state.next(), Action::Run(vec![0]));
}

#[test]
fn an_abort_cancels_what_has_not_run() {
    let mut state = asked(&[("a", "{}"), ("b", "{}")]);
    state.decided(0, Decision::Allow);
    state.decided(1, Decision::abort("enough"));
    assert_eq!(state.next(), Action::Close);
    state.close(&rules());
    assert_eq!(state.next(), Action::Stop(StopReason::Aborted { reason: "enough".into() }));
    assert_eq!(results(&state).len(), 2);
}

#[test]
fn the_calls_of_a_cut_answer_do_not_run_and_half_a_call_is_not_sent_again() {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    state.answered(answer(&[("a", "{}"), ("b", "{\"x\":")], &FinishReason::Length), 1, &rules());
    assert_eq!(state.next(), Action::Close);
    assert_eq!(state.untold().len(), 2);
    assert_eq!(state.untold().len(), 0);
    let step = state.close(&rules()).unwrap();
    assert!(step.results.iter().all(|result| result.status == ToolStatus::Skipped));
    assert_eq!(results(&state).len(), 1);
    assert_eq!(state.messages()[0].parts().len(), 1);
    assert_eq!(state.next(), Action::Stop(StopReason::Length));
}

#[test]
fn at_the_limit_calls_get_placeholders_and_a_final_answer_is_asked_for_once() {
    let rules = Rules { max_steps: 1, final_answer: true, ..Rules::default() };
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    state.answered(answer(&[("a", "{}")], &FinishReason::ToolCalls), 1, &rules);
    state.close(&rules);
    assert_eq!(state.next(), Action::Ask { last: true });
    state.answered(answer(&[("b", "{}")], &FinishReason::ToolCalls), 1, &rules);
    state.close(&rules);
    assert_eq!(state.next(), Action::Stop(StopReason::MaxSteps { limit: 1 }));
    assert_eq!(results(&state).len(), 2);
}

#[test]
fn a_forced_choice_returns_to_auto_after_the_first_round() {
    for choice in [ToolChoice::Required, ToolChoice::function("t")] {
        let request = ChatRequest::new("p/m").user("Hi").tool_choice(choice);
        let mut state = RunState::new(request);
        assert_ne!(state.tool_choice(), Some(ToolChoice::Auto));
        state.answered(answer(&[("a", "{}")], &FinishReason::ToolCalls), 1, &rules());
        assert_eq!(state.tool_choice(), Some(ToolChoice::Auto));
    }
}

#[test]
fn a_result_that_is_looked_at_is_told_and_sent_only_then() {
    let mut state = asked(&[("a", "{}")]);
    state.decided(0, Decision::Allow);
    let result = state.calls()[0].result(0, ToolStatus::Completed, ToolOutput::text("secret"));
    state.finished(0, result, true);
    assert_eq!(state.next(), Action::Review(0));
    assert!(state.untold().is_empty());
    state.reviewed(0, Review::Wait);
    assert_eq!(state.next(), Action::Suspend);
    state.review_waiting("a", &Review::Withhold { reason: "secret".into() }).unwrap();
    assert_eq!(state.untold()[0].status, ToolStatus::Withheld);
    state.close(&rules());
    assert_eq!(results(&state), [("a", "withheld: secret".to_owned())]);
}

#[test]
fn a_cancelled_run_has_a_result_for_each_call_and_stops_once() {
    let mut state = asked(&[("a", "{}"), ("b", "{}")]);
    state.decided(0, Decision::Allow);
    state.decided(1, Decision::Allow);
    done(&mut state, 0);
    state.cancelled();
    state.close(&rules());
    assert_eq!(results(&state).len(), 2);
    assert_eq!(state.next(), Action::Stop(StopReason::Cancelled));
    state.cancelled();
    assert_eq!(state.next(), Action::Stop(StopReason::Cancelled));
}

#[test]
fn limits_of_tokens_and_cost_stop_before_tools_run_and_so_does_not_knowing() {
    let run = |rules: Rules<'_>, tokens: Option<u64>| {
        let mut response = answer(&[("a", "{}")], &FinishReason::ToolCalls);
        response.usage.total_tokens = tokens;
        let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
        state.answered(response, 1, &rules);
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
fn a_correction_asks_again_until_the_limit() {
    let mut state = RunState::new(ChatRequest::new("p/m").user("Hi"));
    for step in 1..=3 {
        state.answered(answer(&[], &FinishReason::Stop), 1, &rules());
        state.close(&rules());
        assert_eq!(state.next(), Action::Stop(StopReason::Finished));
        state.correct(ChatMessage::user("again"), &rules());
        assert_eq!(state.corrections, step);
    }
    assert_eq!(state.next(), Action::Stop(StopReason::MaxSteps { limit: 3 }));
}
