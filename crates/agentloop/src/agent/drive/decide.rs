//! What becomes of a call, and of its result.

use std::sync::Arc;

use super::super::approval::{Decision, Policy, Review};
use super::super::event::RunEvent;
use super::super::hook::BrokenCall;
use super::super::tool::{Tool, ToolOutput, ToolStatus};
use super::Run;
use crate::chat::ToolCallPart;

/// How many names are told to a model that called a tool that is not there.
const MAX_NAMES: usize = 64;

/// What a call is of.
enum Found {
    /// A tool that runs here, or that the caller runs, and the arguments that it receives.
    Tool(Box<Tool>, String),
    /// A tool that the caller runs and of which only the declaration is known.
    External,
    /// Why it cannot run.
    Broken(ToolStatus, String),
}

impl Run {
    /// Says what becomes of a call.
    pub(super) async fn decide(&mut self, at: usize) {
        let found = match self.find(at) {
            Found::Broken(problem, message) => match self.mend(at, problem, &message).await {
                Some(fixed) => {
                    self.state.repaired(at, fixed);
                    // Mended once: what is still broken is told to the model.
                    self.find(at)
                }
                None => Found::Broken(problem, message),
            },
            found => found,
        };
        match found {
            Found::Broken(status, message) => {
                let Some(call) = self.state.calls().get(at) else { return };
                let result = call.result(at, status, ToolOutput::text(message));
                self.state.finished(at, result, false);
            }
            Found::External => {
                self.state.is_external(at);
                self.state.decided(at, Decision::Wait);
            }
            Found::Tool(tool, arguments) => {
                self.state.settled(at, arguments, tool.fingerprint());
                self.decide_on(at, &tool).await;
            }
        }
    }

    async fn decide_on(&mut self, at: usize, tool: &Tool) {
        if tool.is_external() {
            self.state.is_external(at);
            return self.state.decided(at, Decision::Wait);
        }
        let arguments = self.state.calls().get(at).map(|call| call.call.arguments.as_str());
        let needs_person = arguments.is_some_and(|arguments| tool.needs_person(arguments));
        match self.agent.settings.policy_of(tool) {
            Policy::Allow if needs_person => self.ask_approver(at).await,
            Policy::Allow => self.state.decided(at, Decision::Allow),
            Policy::Deny => {
                let reason = format!("the tool `{}` may not be used here", tool.name());
                self.state.decided(at, Decision::deny(reason));
            }
            Policy::Ask => self.ask_approver(at).await,
        }
    }

    /// Refuses the calls whose tool was replaced by its source after the decision: a server can change what is behind a
    /// name while a person thinks. Tools that may run without asking are not affected.
    pub(super) fn refuse_changed(&mut self, calls: &[usize]) -> bool {
        let settings = &self.agent.settings;
        let is_bound = |at: &usize| {
            let call = self.state.calls().get(*at);
            let tool = call.and_then(|call| self.listed.get(&call.call.name));
            tool.is_some_and(|tool| settings.is_bound(tool))
        };
        if !settings.tools.has_sources() || !calls.iter().any(is_bound) {
            return false;
        }
        let now = self.agent.settings.tools.gathered();
        let mut refused = false;
        for at in calls.iter().copied() {
            let Some(call) = self.state.calls().get(at) else { continue };
            let name = &call.call.name;
            // A hook may have changed the tool for this step, so the two lists of the source are compared.
            let (Some(then), Some(now)) = (self.listed.get(name), now.get(name)) else { continue };
            if then.fingerprint() == now.fingerprint()
                || self.agent.settings.policy_of(now) == Policy::Allow
            {
                continue;
            }
            let text = format!(
                "denied: the definition of the tool `{name}` changed after this call was decided on"
            );
            let result = call.result(at, ToolStatus::Denied, ToolOutput::text(text));
            self.state.finished(at, result, false);
            refused = true;
        }
        refused
    }

    fn find(&self, at: usize) -> Found {
        let Some(call) = self.state.calls().get(at).map(|call| &call.call) else {
            return Found::External;
        };
        match self.tools.get(&call.name) {
            Some(tool) => match tool.read(&call.arguments) {
                Err(why) => Found::Broken(ToolStatus::InvalidArguments, why),
                Ok(arguments) => Found::Tool(Box::new(tool.clone()), arguments.to_string()),
            },
            None if self.state.request.tools.iter().any(|tool| tool.name() == Some(&call.name)) => {
                Found::External
            }
            None => Found::Broken(ToolStatus::UnknownTool, self.unknown(&call.name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.tools.iter().map(Tool::name).take(MAX_NAMES).collect();
        match known.is_empty() {
            true => format!("there is no tool `{name}`, and no other"),
            false => format!("there is no tool `{name}`; there are: {}", known.join(", ")),
        }
    }

    async fn mend(&self, at: usize, problem: ToolStatus, message: &str) -> Option<ToolCallPart> {
        let mend = self.agent.settings.repair.as_ref()?;
        let call = &self.state.calls().get(at)?.call;
        let broken = BrokenCall { call, problem, message, tools: &self.tools };
        let fixed = self.cancel.stops(mend(broken)).await??;
        // It answers the same call, whatever the hook says.
        Some(ToolCallPart { id: call.id.clone(), ..fixed })
    }

    async fn ask_approver(&mut self, at: usize) {
        let Some(approver) = self.agent.settings.approver.clone() else {
            return self.state.decided(at, Decision::Wait);
        };
        let step = self.state.step();
        let Some(pending) = self.state.calls().get(at).map(|call| call.pending(step, at)) else {
            return;
        };
        let calls = vec![pending.clone()];
        self.sink.emit(RunEvent::ApprovalNeeded { step, calls }).await;
        match self.cancel.stops(approver.decide(&pending)).await {
            Some(decision) => self.state.decided(at, decision),
            None => self.state.cancelled(),
        }
    }

    /// Says what becomes of a result.
    pub(super) async fn review(&mut self, at: usize) {
        let Some(approver) = self.agent.settings.approver.clone() else {
            return self.state.reviewed(at, Review::Wait);
        };
        let step = self.state.step();
        let Some(call) = self.state.calls().get(at) else { return };
        let Some(result) = call.result.clone() else { return };
        let calls = vec![call.pending(step, at)];
        self.sink.emit(RunEvent::ApprovalNeeded { step, calls }).await;
        let reviewing = Arc::clone(&approver);
        match self.cancel.stops(reviewing.review(&result)).await {
            Some(review) => self.state.reviewed(at, review),
            None => self.state.cancelled(),
        }
    }
}
