//! Detects a model that makes the same calls again and again.

use super::super::outcome::{Step, StopReason};
use super::{Rules, RunState};

impl RunState {
    /// Returns why the run should stop, if the last steps made the same calls with the same results as often as the rules allow.
    pub(super) fn reached_repeats(&self, rules: &Rules<'_>) -> Option<StopReason> {
        let limit = rules.max_repeats?;
        // The step of a last request, which is sent without tools, has no calls.
        let with_calls = self.steps.iter().rev().skip_while(|step| step.results.is_empty());
        let mut steps = with_calls.peekable();
        let last = *steps.peek()?;
        let times = steps.take_while(|step| is_same(step, last)).count();
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        let tool = last.results.first().map(|result| result.tool.clone()).unwrap_or_default();
        (times >= limit).then_some(StopReason::Repeated { tool, times })
    }
}

/// Returns whether two steps made the same calls, in the same order, with the same results.
fn is_same(one: &Step, other: &Step) -> bool {
    one.results.len() == other.results.len()
        && one.results.iter().zip(&other.results).all(|(one, other)| {
            one.tool == other.tool
                && one.arguments == other.arguments
                && one.status == other.status
                && one.output == other.output
        })
}
