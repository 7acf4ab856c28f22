//! What became of a run, in words.

use std::time::SystemTime;

use agentloop::AgentLoop;
use agentloop::agent::{Outcome, StopReason};

use crate::failure::Failure;

/// Why it stopped, and what it took.
pub(super) fn summary(outcome: &Outcome, client: &AgentLoop) -> String {
    let steps = outcome.steps.len();
    let mut words = vec![match steps {
        1 => "1 step".to_owned(),
        _ => format!("{steps} steps"),
    }];
    words.extend(outcome.usage.total_tokens.map(|tokens| format!("{tokens} tokens")));
    words.extend(cost(outcome, client).map(|usd| format!("${usd}")));
    words.push(took(outcome.elapsed_ms));
    format!("{}: {}", outcome.stop.as_str().replace('_', " "), words.join(", "))
}

/// What the run cost, where each step's is known.
fn cost(outcome: &Outcome, client: &AgentLoop) -> Option<agentloop::Usd> {
    if let Some(cost) = &outcome.cost {
        return Some(cost.usd);
    }
    let mut sum = None;
    for step in &outcome.steps {
        let answer = &step.response;
        let known = client.catalog().lookup(&answer.provider, &answer.model);
        let cost = answer.cost.clone();
        let cost = cost.or_else(|| known?.cost(&answer.usage, SystemTime::now(), None))?;
        sum = Some(sum.unwrap_or_default() + cost.usd);
    }
    sum
}

/// How long something took.
pub(super) fn took(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

/// Why there is no whole answer, if there is none.
pub(super) fn complaint(stop: &StopReason) -> Result<(), Failure> {
    let message = match stop {
        StopReason::Finished | StopReason::Condition { .. } => return Ok(()),
        StopReason::MaxSteps { limit: 1 } => {
            "the model was asked once, which is as often as it may be (--max-steps)".to_owned()
        }
        StopReason::MaxSteps { limit } => {
            format!(
                "the model was asked {limit} times, which is as often as it may be (--max-steps)"
            )
        }
        StopReason::TokenLimit { limit, used } => {
            format!("the run used {used} tokens, and may use {limit} (--max-tokens)")
        }
        StopReason::CostLimit { limit, spent } => {
            format!("the run cost ${spent}, and may cost ${limit} (--max-cost)")
        }
        StopReason::Unmeasured { what } => {
            format!("the run has a limit, and nobody knows the {what} of its last answer")
        }
        StopReason::Length => "the answer is cut: it ran into the token limit".to_owned(),
        StopReason::ContentFilter => "the answer was refused, or cut by a filter".to_owned(),
        StopReason::AnswerFailed => "the provider failed before the answer was whole".to_owned(),
        StopReason::Aborted { reason } => format!("the run was ended: {reason}"),
        StopReason::Cancelled => return Err(Failure::Interrupted),
        other => format!("the run stopped: {}", other.as_str()),
    };
    Err(Failure::Answer(message))
}
