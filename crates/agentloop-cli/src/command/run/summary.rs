//! Describes the outcome of a run.

use std::time::SystemTime;

use agentloop::agent::{Outcome, StopReason};
use agentloop::{AgentLoop, FinishReason};

use crate::failure::Failure;
use crate::render::describe_incomplete;

/// Summarizes why the run stopped and what it used.
pub(super) fn summarize(outcome: &Outcome, client: &AgentLoop) -> String {
    let steps = outcome.steps.len();
    let mut words = vec![match steps {
        1 => "1 step".to_owned(),
        _ => format!("{steps} steps"),
    }];
    words.extend(outcome.usage.total_tokens.map(|tokens| format!("{tokens} tokens")));
    words.extend(total_cost(outcome, client).map(|usd| format!("${usd}")));
    words.push(format_duration(outcome.elapsed_ms));
    format!("{}: {}", outcome.stop.as_str().replace('_', " "), words.join(", "))
}

/// Returns the cost of the run, if the cost of each step is known.
fn total_cost(outcome: &Outcome, client: &AgentLoop) -> Option<agentloop::Usd> {
    if let Some(cost) = &outcome.cost {
        return Some(cost.usd);
    }
    let mut sum = None;
    for step in &outcome.steps {
        let response = &step.response;
        let known = client.catalog().lookup(&response.provider, &response.model);
        let cost = response.cost.clone();
        let cost = cost.or_else(|| known?.cost(&response.usage, SystemTime::now(), None))?;
        sum = Some(sum.unwrap_or_default() + cost.usd);
    }
    sum
}

/// Formats a duration, for example `250 ms` or `1.5 s`.
pub(super) fn format_duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

/// Returns a failure if the run stopped before the model had finished.
pub(super) fn check_finished(stop: &StopReason) -> Result<(), Failure> {
    let describe = |reason: &FinishReason| {
        describe_incomplete(reason).unwrap_or("the response is not complete").to_owned()
    };
    let message = match stop {
        StopReason::Finished | StopReason::Condition { .. } => return Ok(()),
        StopReason::MaxSteps { limit } => {
            format!("the run reached its limit of {limit} requests to the model (--max-steps)")
        }
        StopReason::Repeated { tool, times } => format!(
            "the model called `{}` {times} times with the same arguments and the same result",
            crate::printable::escape_name(tool)
        ),
        StopReason::TokenLimit { limit, used } => {
            format!("the run used {used} tokens; its limit is {limit} (--max-run-tokens)")
        }
        StopReason::CostLimit { limit, spent } => {
            format!("the run cost ${spent}; its limit is ${limit} (--max-cost)")
        }
        StopReason::Unmeasured { what } => {
            format!("the run has a limit, but the {what} of the last response is unknown")
        }
        StopReason::Length => describe(&FinishReason::Length),
        StopReason::ContentFilter => describe(&FinishReason::ContentFilter),
        StopReason::AnswerFailed => describe(&FinishReason::Error),
        StopReason::Aborted { reason } => format!("the run was stopped: {reason}"),
        StopReason::Cancelled => return Err(Failure::Interrupted),
        other => format!("the run stopped: {}", other.as_str()),
    };
    Err(Failure::Response(message))
}
