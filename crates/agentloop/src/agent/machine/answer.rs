//! What follows from an answer.

use super::super::outcome::{Step, StopReason};
use super::super::tool::{ToolOutput, ToolStatus};
use super::history::{sound_message, whole_arguments};
use super::{Call, Phase, Rules, RunState, Then, spent};
use crate::chat::{ChatResponse, FinishReason, ToolCallPart};

const CUT: &str = "not run: the answer that called it was cut off";
const LIMIT: &str = "not run: the run has reached its limit";
const CANCELLED: &str = "not run: the run was cancelled";

impl RunState {
    /// The model has answered.
    pub(in crate::agent) fn answered(
        &mut self,
        response: ChatResponse,
        model_ms: u64,
        rules: &Rules<'_>,
    ) {
        let last = matches!(self.phase, Phase::Ready { last: true });
        let broken = match response.finish_reason() {
            Some(FinishReason::Length) => Some(StopReason::Length),
            Some(FinishReason::ContentFilter) => Some(StopReason::ContentFilter),
            Some(FinishReason::Error) | None => Some(StopReason::AnswerFailed),
            _ => None,
        };
        let calls: Vec<ToolCallPart> = response.tool_calls().cloned().collect();
        let paused = response.choices.first().is_some_and(crate::chat::Choice::is_paused);
        let goes_on = !calls.is_empty() || paused;
        self.note(response, false, broken.is_some(), model_ms);
        self.choice_met |= !calls.is_empty();
        let (then, skipped) = match (broken, self.at_limit(rules)) {
            (Some(stop), _) => (Then::Stop { stop }, Some(CUT)),
            (None, _) if last => (Then::Stop { stop: max_steps(rules) }, Some(LIMIT)),
            (None, _) if !goes_on => (Then::Stop { stop: StopReason::Finished }, None),
            (None, Some(StopReason::MaxSteps { .. })) if rules.final_answer => {
                (Then::AskLast, Some(LIMIT))
            }
            (None, Some(stop)) => (Then::Stop { stop }, Some(LIMIT)),
            (None, None) => (Then::GoOn, None),
        };
        self.begin(calls, then, skipped, ToolStatus::Skipped);
    }

    /// The answer broke off: the run was cancelled, or the call failed. `partial` is what had come.
    pub(in crate::agent) fn interrupted(
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
        self.note(partial, true, true, model_ms);
        let why = if stop == StopReason::Cancelled { CANCELLED } else { CUT };
        self.begin(calls, Then::Stop { stop }, Some(why), ToolStatus::Canceled);
    }

    /// The answer becomes a step, and a turn of the conversation; of a `broken` one only what can be sent again.
    fn note(&mut self, response: ChatResponse, partial: bool, broken: bool, model_ms: u64) {
        let mut message = response.clone().into_message();
        if broken {
            sound_message(&mut message);
        }
        if !message.parts().is_empty() {
            self.request.messages.push(message);
        }
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        let results = Vec::new();
        self.steps.push(Step { number, response, partial, results, model_ms, tools_ms: 0 });
    }

    fn begin(
        &mut self,
        calls: Vec<ToolCallPart>,
        then: Then,
        skipped: Option<&str>,
        status: ToolStatus,
    ) {
        // Half a call is left out of the conversation only where the answer broke off.
        let broken = skipped.is_some_and(|why| why != LIMIT);
        let calls = calls.into_iter().enumerate().map(|(at, part)| {
            let in_history = !broken || whole_arguments(&part);
            let mut call = Call::new(part, in_history);
            if let Some(why) = skipped {
                call.result = Some(call.result(at, status, ToolOutput::text(why)));
            }
            call
        });
        self.result_bytes.begin_step();
        self.phase = Phase::Calls { calls: calls.collect(), then, tools_ms: 0 };
    }

    /// The limit that the run has met, if it has.
    pub(super) fn at_limit(&self, rules: &Rules<'_>) -> Option<StopReason> {
        let spent = spent(&self.steps);
        let unmeasured = |what: &str| Some(StopReason::Unmeasured { what: what.to_owned() });
        let last = self.steps.last().map(|step| &step.response);
        if rules.max_cost.is_some() && last.is_some_and(|answer| answer.cost.is_none()) {
            return unmeasured("cost");
        }
        if rules.max_tokens.is_some()
            && last.is_some_and(|answer| answer.usage.total_tokens.is_none())
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
        let asked = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        (asked >= rules.max_steps).then(|| max_steps(rules))
    }
}

fn max_steps(rules: &Rules<'_>) -> StopReason {
    StopReason::MaxSteps { limit: rules.max_steps }
}
