//! Applies decisions, results and reviews to calls.

use super::super::approval::{Decision, Pending, Review};
use super::super::outcome::StopReason;
use super::super::suspended::not_pending;
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use super::{Call, Phase, Reviewing, RunState, Then};
use crate::chat::ToolCallPart;
use crate::error::Result;

const ABORTED: &str = "not run: the run was aborted";

impl RunState {
    pub(super) fn calls_mut(&mut self) -> &mut [Call] {
        match &mut self.phase {
            Phase::Calls { calls, .. } => calls,
            _ => &mut [],
        }
    }

    /// Replaces a call by its repaired form, also in the conversation.
    pub(in crate::agent) fn replace_call(&mut self, at: usize, fixed: ToolCallPart) {
        self.replace_call_in_history(at, &fixed);
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.call = fixed;
        }
    }

    /// Sets what the decision applies to: the arguments as the tool receives them, and the tool's definition.
    pub(in crate::agent) fn settle_call(
        &mut self,
        at: usize,
        arguments: String,
        definition: String,
    ) {
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.call.arguments = arguments;
            call.definition = Some(definition);
        }
    }

    /// Revokes the decisions about calls whose tool has changed since. `now` returns the current fingerprint of a tool.
    pub(in crate::agent) fn reopen_changed(&mut self, now: impl Fn(&str) -> Option<String>) {
        for call in self.calls_mut() {
            let may_run = matches!(
                call.decision,
                Some(Decision::Allow | Decision::AllowWith { .. } | Decision::Wait)
            );
            if !may_run || call.external || call.result.is_some() {
                continue;
            }
            // A missing tool cannot run, whatever the decision is.
            if let Some(now) = now(&call.call.name)
                && call.definition.as_ref() != Some(&now)
            {
                call.decision = None;
            }
        }
    }

    /// Marks a call as one that the caller runs.
    pub(in crate::agent) fn mark_external(&mut self, at: usize) {
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.external = true;
        }
    }

    /// Applies a decision to a call.
    pub(in crate::agent) fn decide(&mut self, at: usize, decision: Decision) {
        if let Decision::Abort { reason } = decision {
            return self.abort(reason);
        }
        let Some(call) = self.calls_mut().get_mut(at).filter(|call| call.result.is_none()) else {
            return;
        };
        match &decision {
            Decision::AllowWith { arguments } => call.call.arguments.clone_from(arguments),
            Decision::Deny { reason } => {
                let text = if reason.is_empty() {
                    "denied: this call is not allowed".to_owned()
                } else {
                    format!("denied: {reason}")
                };
                call.result =
                    Some(call.make_result(at, ToolStatus::Denied, ToolOutput::text(text)));
            }
            Decision::Answer { output } => {
                call.result = Some(call.make_result(at, ToolStatus::Completed, output.clone()));
            }
            Decision::Allow | Decision::Abort { .. } | Decision::Wait => {}
        }
        let has_result = call.result.is_some();
        call.decision = Some(decision);
        if has_result {
            self.limit_result(at);
        }
    }

    /// Sets the result of a call. A `reviewed` result needs a review before the model sees it.
    pub(in crate::agent) fn finish_call(&mut self, at: usize, result: ToolResult, reviewed: bool) {
        if let Some(call) = self.calls_mut().get_mut(at).filter(|call| call.result.is_none()) {
            call.result = Some(result);
            call.review = if reviewed { Reviewing::Wanted } else { Reviewing::No };
            self.limit_result(at);
        }
    }

    /// Applies a review to the result of a call.
    pub(in crate::agent) fn apply_review(&mut self, at: usize, review: Review) {
        if let Review::Abort { reason } = review {
            return self.abort(reason);
        }
        let replaced = matches!(review, Review::Replace { .. } | Review::Withhold { .. });
        if replaced {
            self.release_result(at);
        }
        let Some(call) = self.calls_mut().get_mut(at) else { return };
        let Some(result) = call.result.as_mut() else { return };
        call.review = match review {
            Review::Wait => Reviewing::Waits,
            _ => Reviewing::Done,
        };
        match review {
            Review::Keep | Review::Abort { .. } | Review::Wait => {}
            Review::Replace { output } => {
                // Only the replacement is kept.
                result.full = None;
                result.output = output;
            }
            Review::Withhold { reason } => {
                result.full = None;
                result.status = ToolStatus::Withheld;
                result.output = ToolOutput::text(if reason.is_empty() {
                    "withheld: this result may not be shown".to_owned()
                } else {
                    format!("withheld: {reason}")
                });
            }
        }
        if replaced {
            self.limit_result(at);
        }
    }

    /// Ends the run: open calls do not run, and results that wait for a review are withheld.
    fn abort(&mut self, reason: String) {
        for (at, call) in self.calls_mut().iter_mut().enumerate() {
            match &mut call.result {
                None => {
                    let text = ToolOutput::text(ABORTED);
                    call.result = Some(call.make_result(at, ToolStatus::Canceled, text));
                }
                Some(result) if !matches!(call.review, Reviewing::No | Reviewing::Done) => {
                    result.full = None;
                    result.status = ToolStatus::Withheld;
                    result.output = ToolOutput::text("withheld: the run was aborted");
                    call.review = Reviewing::Done;
                }
                Some(_) => {}
            }
        }
        if let Phase::Calls { then, .. } = &mut self.phase {
            *then = Then::Stop { stop: StopReason::Aborted { reason } };
        }
    }

    /// Cancels the run: running calls are cancelled, and results that wait for a review are withheld.
    pub(in crate::agent) fn cancel(&mut self) {
        match &mut self.phase {
            Phase::Calls { calls, then, .. } => {
                for (at, call) in calls.iter_mut().enumerate() {
                    if call.result.is_none() {
                        let text = ToolOutput::text("cancelled: the call did not complete");
                        call.result = Some(call.make_result(at, ToolStatus::Canceled, text));
                    } else if matches!(call.review, Reviewing::Wanted | Reviewing::Waits)
                        && let Some(result) = &mut call.result
                    {
                        // No review has allowed the model to see the result.
                        result.status = ToolStatus::Withheld;
                        result.full = None;
                        result.output = ToolOutput::text("withheld: the run was cancelled");
                    }
                    call.review = Reviewing::No;
                }
                *then = Then::Stop { stop: StopReason::Cancelled };
            }
            Phase::Ready { .. } => self.phase = Phase::Stopped { stop: StopReason::Cancelled },
            Phase::Stopped { .. } => {}
        }
    }

    /// Returns the final results that were not reported yet and marks them as reported.
    pub(in crate::agent) fn take_unreported(&mut self) -> Vec<ToolResult> {
        let calls = self.calls_mut().iter_mut();
        calls
            .filter(|call| !call.reported && call.is_settled())
            .filter_map(|call| {
                call.reported = true;
                call.result.clone()
            })
            .collect()
    }

    /// Returns the calls and results that the run waits for.
    pub(in crate::agent) fn pending_calls(&self) -> Vec<Pending> {
        let step = self.step();
        let calls = self.calls().iter().enumerate();
        calls
            .filter(|(_, call)| call.is_waiting())
            .map(|(at, call)| call.to_pending(step, at))
            .collect()
    }

    /// Applies a decision to a pending call of a suspended run.
    pub(in crate::agent) fn decide_pending(&mut self, id: &str, decision: &Decision) -> Result<()> {
        let pending = self.pending_calls();
        let accepts = |call: &&Call| {
            let has_result = matches!(
                decision,
                Decision::Answer { .. } | Decision::Deny { .. } | Decision::Abort { .. }
            );
            call.call.id == id
                && call.result.is_none()
                && call.is_waiting()
                && (!call.external || has_result)
        };
        let found: Vec<usize> = (0..self.calls().len())
            .filter(|at| self.calls().get(*at).as_ref().is_some_and(accepts))
            .collect();
        if found.is_empty() {
            return Err(not_pending(id, &pending));
        }
        found.into_iter().for_each(|at| self.decide(at, decision.clone()));
        Ok(())
    }

    /// Applies a review to a pending result of a suspended run.
    pub(in crate::agent) fn review_pending(&mut self, id: &str, review: &Review) -> Result<()> {
        let pending = self.pending_calls();
        let accepts = |call: &Call| call.call.id == id && call.review == Reviewing::Waits;
        let found: Vec<usize> = (0..self.calls().len())
            .filter(|at| self.calls().get(*at).is_some_and(accepts))
            .collect();
        if found.is_empty() {
            return Err(not_pending(id, &pending));
        }
        found.into_iter().for_each(|at| self.apply_review(at, review.clone()));
        Ok(())
    }
}
