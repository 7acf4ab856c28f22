//! The outcome of a run is the sum of its events.

use agentloop::agent::{Outcome, RunEvent, Step, StopReason, ToolResult};
use agentloop::{
    ChatMessage, ChatRequest, ChatResponse, ChatStreamEvent, FinishReason, Fold, Usage,
};

/// Rebuilds the steps from the events alone.
fn steps(stretches: &[Vec<RunEvent>]) -> Vec<(ChatResponse, Vec<ToolResult>)> {
    let mut steps: Vec<(ChatResponse, Vec<ToolResult>)> = Vec::new();
    let mut fold = Fold::new();
    let mut began = false;
    let mut results = Vec::new();
    for event in stretches.iter().flatten() {
        match event {
            RunEvent::StepStart { .. } => {
                (fold, began, results) = (Fold::new(), false, Vec::new());
            }
            RunEvent::Model(ChatStreamEvent::Error { .. }) => {}
            RunEvent::Model(event) => {
                fold.push(event).unwrap();
                began = true;
            }
            RunEvent::ToolCompleted { result, .. }
            | RunEvent::ToolFailed { result, .. }
            | RunEvent::ToolCanceled { result, .. } => results.push(result.clone()),
            RunEvent::StepDone { .. } => {
                assert!(began);
                results.sort_by_key(|result: &ToolResult| result.index);
                steps.push((fold.partial(), std::mem::take(&mut results)));
            }
            _ => {}
        }
    }
    steps
}

fn is_cut(step: &Step) -> bool {
    let reason = step.response.finish_reason();
    step.partial
        || matches!(
            reason,
            None | Some(FinishReason::Length | FinishReason::ContentFilter | FinishReason::Error)
        )
}

pub(crate) fn check(request: &ChatRequest, stretches: &[Vec<RunEvent>], outcome: &Outcome) {
    let folded = steps(stretches);
    assert_eq!(folded.len(), outcome.steps.len());
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut whole = true;
    for ((response, results), step) in folded.iter().zip(&outcome.steps) {
        assert_eq!(results, &step.results);
        if step.partial {
            assert_eq!(response.choices, step.response.choices);
        } else {
            assert_eq!(response, &step.response);
        }
        whole &= !is_cut(step);
        messages.push(response.clone().into_message());
        messages.extend(results.iter().map(ToolResult::to_message));
    }
    if whole {
        assert_eq!(messages, outcome.messages);
    }
    assert_eq!(outcome.response.as_ref(), outcome.steps.last().map(|step| &step.response));
    let counted =
        outcome.steps.iter().filter(|step| !step.partial || !step.response.usage.is_empty());
    let usage = counted.map(|step| step.response.usage.clone()).reduce(|a, b| a.plus(&b));
    assert_eq!(usage.unwrap_or_else(Usage::default), outcome.usage);
    assert_eq!(outcome.error.is_some(), outcome.stop == StopReason::Failed);
    assert!(!request.messages.is_empty());
}

/// Checks that a complete and a streamed run have the same outcome, except for its duration.
pub(crate) fn check_same(whole: &Outcome, streamed: &Outcome) {
    assert_eq!(whole.stop, streamed.stop);
    assert_eq!(whole.usage, streamed.usage);
    assert_eq!(whole.steps.len(), streamed.steps.len());
    for (a, b) in whole.steps.iter().zip(&streamed.steps) {
        assert_eq!(a.response.choices, b.response.choices);
        let results = |step: &Step| -> Vec<_> {
            let results = step.results.iter();
            results
                .map(|result| (result.status, result.output.clone(), result.full.clone()))
                .collect()
        };
        assert_eq!(results(a), results(b));
    }
    assert_eq!(whole.messages, streamed.messages);
}
