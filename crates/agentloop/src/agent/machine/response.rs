//! What follows from a response of the model.

use super::super::outcome::{Step, StopReason};
use super::super::tool::{ToolOutput, ToolStatus};
use super::history::{has_complete_arguments, remove_incomplete_parts};
use super::{Call, Phase, Rules, RunState, Then, sum_steps};
use crate::chat::{ChatResponse, FinishReason, ToolCallPart};

const CUT: &str = "not run: the response that called the tool was cut off";
const LIMIT: &str = "not run: the run reached its limit";
const CANCELLED: &str = "not run: the run was cancelled";

impl RunState {
    /// Records a complete response and decides what follows.
    pub(in crate::agent) fn record_response(
        &mut self,
        response: ChatResponse,
        model_ms: u64,
        rules: &Rules<'_>,
    ) {
        let last = matches!(self.phase, Phase::Ready { last: true });
        let failure = match response.finish_reason() {
            Some(FinishReason::Length) => Some(StopReason::Length),
            Some(FinishReason::ContentFilter) => Some(StopReason::ContentFilter),
            Some(FinishReason::Error) | None => Some(StopReason::AnswerFailed),
            _ => None,
        };
        let calls: Vec<ToolCallPart> = response.tool_calls().cloned().collect();
        let paused = response.choices.first().is_some_and(crate::chat::Choice::is_paused);
        let continues = !calls.is_empty() || paused;
        self.record_step(response, false, failure.is_some(), model_ms);
        self.choice_met |= !calls.is_empty();
        let (then, skipped) = match (failure, self.reached_limit(rules)) {
            (Some(stop), _) => (Then::Stop { stop }, Some(CUT)),
            (None, _) if last => {
                let stop = self.reached_repeats(rules).unwrap_or_else(|| max_steps(rules));
                (Then::Stop { stop }, Some(LIMIT))
            }
            (None, _) if !continues => (Then::Stop { stop: StopReason::Finished }, None),
            (None, Some(StopReason::MaxSteps { .. })) if rules.final_answer => {
                (Then::AskLast, Some(LIMIT))
            }
            (None, Some(stop)) => (Then::Stop { stop }, Some(LIMIT)),
            (None, None) => (Then::GoOn, None),
        };
        self.begin_calls(calls, then, skipped, ToolStatus::Skipped);
    }

    /// Ends the run because it was cancelled or a request failed. `partial` is the part of the response that arrived.
    pub(in crate::agent) fn interrupt(
        &mut self,
        partial: Option<ChatResponse>,
        stop: StopReason,
        model_ms: u64,
    ) {
        let Some(partial) = partial else {
            self.phase = Phase::Stopped { stop };
            return;
        };
        let calls: Vec<ToolCallPart> = partial.tool_calls().cloned().collect();
        self.record_step(partial, true, true, model_ms);
        let why = if stop == StopReason::Cancelled { CANCELLED } else { CUT };
        self.begin_calls(calls, Then::Stop { stop }, Some(why), ToolStatus::Canceled);
    }

    /// Adds the response as a step and as a message of the conversation. If it `is_incomplete`, only the parts that can be
    /// sent again become part of the message.
    fn record_step(
        &mut self,
        response: ChatResponse,
        partial: bool,
        is_incomplete: bool,
        model_ms: u64,
    ) {
        let mut message = response.clone().into_message();
        if is_incomplete {
            remove_incomplete_parts(&mut message);
        }
        if !message.parts().is_empty() {
            self.request.messages.push(message);
        }
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        let results = Vec::new();
        self.steps.push(Step { number, response, partial, results, model_ms, tools_ms: 0 });
    }

    fn begin_calls(
        &mut self,
        calls: Vec<ToolCallPart>,
        then: Then,
        skipped: Option<&str>,
        status: ToolStatus,
    ) {
        // An incomplete call is left out of the conversation only if the response was cut off.
        let is_cut_off = skipped.is_some_and(|why| why != LIMIT);
        let calls = calls.into_iter().enumerate().map(|(at, part)| {
            let in_history = !is_cut_off || has_complete_arguments(&part);
            let mut call = Call::new(part, in_history);
            if let Some(why) = skipped {
                call.result = Some(call.make_result(at, status, ToolOutput::text(why)));
            }
            call
        });
        self.result_bytes.begin_step();
        self.phase = Phase::Calls { calls: calls.collect(), then, tools_ms: 0 };
    }

    /// Returns the limit that the run has reached.
    pub(super) fn reached_limit(&self, rules: &Rules<'_>) -> Option<StopReason> {
        let spent = sum_steps(&self.steps);
        let unmeasured = |what: &str| Some(StopReason::Unmeasured { what: what.to_owned() });
        let last = self.steps.last().map(|step| &step.response);
        if rules.max_cost.is_some() && last.is_some_and(|response| response.cost.is_none()) {
            return unmeasured("cost");
        }
        if rules.max_tokens.is_some()
            && last.is_some_and(|response| response.usage.total_tokens.is_none())
        {
            return unmeasured("tokens");
        }
        if let (Some(limit), Some(cost)) = (rules.max_cost, &spent.cost)
            && cost.usd >= limit
        {
            return Some(StopReason::CostLimit { limit, spent: cost.usd });
        }
        if let Some(limit) = rules.max_tokens
            && spent.tokens >= limit
        {
            return Some(StopReason::TokenLimit { limit, used: spent.tokens });
        }
        let steps = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        (steps >= rules.max_steps).then(|| max_steps(rules))
    }
}

fn max_steps(rules: &Rules<'_>) -> StopReason {
    StopReason::MaxSteps { limit: rules.max_steps }
}
