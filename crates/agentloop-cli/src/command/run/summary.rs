//! Describes the outcome of a run.

use std::time::Duration;

use agentloop::agent::{Outcome, StopReason};
use agentloop::{AgentLoop, FinishReason};

use crate::failure::Failure;
use crate::notes::Notes;
use crate::render::describe_incomplete;
use crate::screen::last_line;

/// Prints why the run stopped and what it used: on a terminal as the last line, else as a note.
pub(in crate::command) fn print_summary(outcome: &Outcome, client: &AgentLoop, notes: Notes) {
    let count = match outcome.steps.len() {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    let stop = outcome.stop.as_str().replace('_', " ");
    let cost = total_cost(outcome, client);
    let elapsed = Duration::from_millis(outcome.elapsed_ms);
    match &outcome.response {
        Some(response) if notes.is_terminal() => {
            let line = last_line::describe(response, &outcome.usage, cost, elapsed);
            // A response without tools is described like one of `chat`.
            let is_plain = outcome.stop == StopReason::Finished && outcome.steps.len() == 1;
            let line = if is_plain { line } else { format!("{stop} · {count} · {line}") };
            notes.print_dimmed(&line);
        }
        _ => {
            let mut words = vec![count];
            words.extend(outcome.usage.total_tokens.map(|tokens| format!("{tokens} tokens")));
            words.extend(cost.map(|usd| format!("${usd}")));
            words.push(last_line::format_duration(elapsed));
            notes.print_note(&format!("{stop}: {}", words.join(", ")));
        }
    }
}

/// Returns the cost of the run, if the cost of each step is known.
fn total_cost(outcome: &Outcome, client: &AgentLoop) -> Option<agentloop::Usd> {
    if let Some(cost) = &outcome.cost {
        return Some(cost.usd);
    }
    let mut sum = None;
    for step in &outcome.steps {
        let cost = last_line::cost_of(&step.response, client.catalog())?;
        sum = Some(sum.unwrap_or_default() + cost.usd);
    }
    sum
}

/// Returns a failure if the run stopped before the model had finished.
pub(in crate::command) fn check_finished(stop: &StopReason) -> Result<(), Failure> {
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
