//! What becomes of calls.

use super::super::approval::{Decision, Pending, Review};
use super::super::outcome::StopReason;
use super::super::suspended::nothing_waits;
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use super::{Call, Phase, Reviewing, RunState, Then};
use crate::chat::ToolCallPart;
use crate::error::Result;

const ABORTED: &str = "not run: the run was ended";

impl RunState {
    pub(super) fn calls_mut(&mut self) -> &mut [Call] {
        match &mut self.phase {
            Phase::Calls { calls, .. } => calls,
            _ => &mut [],
        }
    }

    /// The call runs as `fixed` says, and stands so in the conversation.
    pub(in crate::agent) fn repaired(&mut self, at: usize, fixed: ToolCallPart) {
        self.rewrite_call(at, &fixed);
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.call = fixed;
        }
    }

    /// Settles what is decided on: the arguments as the tool receives them, and the tool's definition.
    pub(in crate::agent) fn settled(&mut self, at: usize, arguments: String, definition: String) {
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.call.arguments = arguments;
            call.definition = Some(definition);
        }
    }

    /// Takes back the decisions on calls whose tool is no longer the one they were made for. `now` returns the
    /// fingerprint of a tool.
    pub(in crate::agent) fn reopen_changed(&mut self, now: impl Fn(&str) -> Option<String>) {
        for call in self.calls_mut() {
            let may_run = matches!(
                call.decision,
                Some(Decision::Allow | Decision::AllowWith { .. } | Decision::Wait)
            );
            if !may_run || call.external || call.result.is_some() {
                continue;
            }
            // A tool that is missing cannot run, whatever was decided.
            if let Some(now) = now(&call.call.name)
                && call.definition.as_ref() != Some(&now)
            {
                call.decision = None;
            }
        }
    }

    /// The caller runs the call.
    pub(in crate::agent) fn is_external(&mut self, at: usize) {
        if let Some(call) = self.calls_mut().get_mut(at) {
            call.external = true;
        }
    }

    /// Somebody has said what becomes of the call.
    pub(in crate::agent) fn decided(&mut self, at: usize, decision: Decision) {
        if let Decision::Abort { reason } = decision {
            return self.abort(reason);
        }
        let Some(call) = self.calls_mut().get_mut(at).filter(|call| call.result.is_none()) else {
            return;
        };
        match &decision {
            Decision::AllowWith { arguments } => call.call.arguments.clone_from(arguments),
            Decision::Deny { reason } => {
                let text = match reason.is_empty() {
                    true => "denied: this call is not allowed".to_owned(),
                    false => format!("denied: {reason}"),
                };
                call.result = Some(call.result(at, ToolStatus::Denied, ToolOutput::text(text)));
            }
            Decision::Answer { output } => {
                call.result = Some(call.result(at, ToolStatus::Completed, output.clone()));
            }
            Decision::Allow | Decision::Abort { .. } | Decision::Wait => {}
        }
        let has_result = call.result.is_some();
        call.decision = Some(decision);
        if has_result {
            self.bound(at);
        }
    }

    /// The call has a result, which somebody is to look at if it is to be `reviewed`.
    pub(in crate::agent) fn finished(&mut self, at: usize, result: ToolResult, reviewed: bool) {
        if let Some(call) = self.calls_mut().get_mut(at).filter(|call| call.result.is_none()) {
            call.result = Some(result);
            call.review = if reviewed { Reviewing::Wanted } else { Reviewing::No };
            self.bound(at);
        }
    }

    /// Somebody has looked at the call's result.
    pub(in crate::agent) fn reviewed(&mut self, at: usize, review: Review) {
        if let Review::Abort { reason } = review {
            return self.abort(reason);
        }
        let replaced = matches!(review, Review::Replace { .. } | Review::Withhold { .. });
        if replaced {
            self.unbound(at);
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
                // What it was replaced by is what the caller wants kept.
                result.full = None;
                result.output = output;
            }
            Review::Withhold { reason } => {
                result.full = None;
                result.status = ToolStatus::Withheld;
                result.output = ToolOutput::text(match reason.is_empty() {
                    true => "withheld: this result may not be shown".to_owned(),
                    false => format!("withheld: {reason}"),
                });
            }
        }
        if replaced {
            self.bound(at);
        }
    }

    /// The run ends here: what has not run does not, and what waits for a look is not seen.
    fn abort(&mut self, reason: String) {
        for (at, call) in self.calls_mut().iter_mut().enumerate() {
            match &mut call.result {
                None => {
                    let text = ToolOutput::text(ABORTED);
                    call.result = Some(call.result(at, ToolStatus::Canceled, text));
                }
                Some(result) if !matches!(call.review, Reviewing::No | Reviewing::Done) => {
                    result.full = None;
                    result.status = ToolStatus::Withheld;
                    result.output = ToolOutput::text("withheld: the run was ended");
                    call.review = Reviewing::Done;
                }
                Some(_) => {}
            }
        }
        if let Phase::Calls { then, .. } = &mut self.phase {
            *then = Then::Stop { stop: StopReason::Aborted { reason } };
        }
    }

    /// The run is cancelled: calls under way have no result. `None` outside of a step.
    pub(in crate::agent) fn cancelled(&mut self) {
        match &mut self.phase {
            Phase::Calls { calls, then, .. } => {
                for (at, call) in calls.iter_mut().enumerate() {
                    if call.result.is_none() {
                        let text = ToolOutput::text("cancelled: the call did not end");
                        call.result = Some(call.result(at, ToolStatus::Canceled, text));
                    } else if matches!(call.review, Reviewing::Wanted | Reviewing::Waits)
                        && let Some(result) = &mut call.result
                    {
                        // Nobody has said that the model may see it.
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

    /// The results that are final now and have not been told yet; they count as told then.
    pub(in crate::agent) fn untold(&mut self) -> Vec<ToolResult> {
        let calls = self.calls_mut().iter_mut();
        calls
            .filter(|call| !call.told && call.is_settled())
            .filter_map(|call| {
                call.told = true;
                call.result.clone()
            })
            .collect()
    }

    /// What the run waits for.
    pub(in crate::agent) fn waiting(&self) -> Vec<Pending> {
        let step = self.step();
        let calls = self.calls().iter().enumerate();
        calls.filter(|(_, call)| call.waits()).map(|(at, call)| call.pending(step, at)).collect()
    }

    /// Somebody has said, while the run waits, what becomes of a call.
    pub(in crate::agent) fn decide_waiting(&mut self, id: &str, said: &Decision) -> Result<()> {
        let waiting = self.waiting();
        let fits = |call: &&Call| {
            let answers = matches!(
                said,
                Decision::Answer { .. } | Decision::Deny { .. } | Decision::Abort { .. }
            );
            call.call.id == id
                && call.result.is_none()
                && call.waits()
                && (!call.external || answers)
        };
        let found: Vec<usize> = (0..self.calls().len())
            .filter(|at| self.calls().get(*at).as_ref().is_some_and(fits))
            .collect();
        if found.is_empty() {
            return Err(nothing_waits(id, &waiting));
        }
        found.into_iter().for_each(|at| self.decided(at, said.clone()));
        Ok(())
    }

    /// Somebody has said, while the run waits, what becomes of a result.
    pub(in crate::agent) fn review_waiting(&mut self, id: &str, said: &Review) -> Result<()> {
        let waiting = self.waiting();
        let fits = |call: &Call| call.call.id == id && call.review == Reviewing::Waits;
        let found: Vec<usize> =
            (0..self.calls().len()).filter(|at| self.calls().get(*at).is_some_and(fits)).collect();
        if found.is_empty() {
            return Err(nothing_waits(id, &waiting));
        }
        found.into_iter().for_each(|at| self.reviewed(at, said.clone()));
        Ok(())
    }
}
