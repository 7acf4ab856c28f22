//! Decides about calls and reviews results.

use std::sync::Arc;

use super::super::approval::{Decision, Policy, Review};
use super::super::event::RunEvent;
use super::super::hook::BrokenCall;
use super::super::tool::{Tool, ToolOutput, ToolStatus};
use super::Run;
use crate::chat::ToolCallPart;

/// The most names of available tools in the result of a call of an unknown tool.
const MAX_NAMES: usize = 64;

/// What was found for a call.
enum Found {
    /// A tool, which the agent or the caller runs, and the arguments that it receives.
    Tool(Box<Tool>, String),
    /// A tool that the caller runs and that is known only by its declaration.
    External,
    /// The reason why the call cannot run.
    Broken(ToolStatus, String),
}

impl Run {
    /// Decides about a call.
    pub(super) async fn decide(&mut self, at: usize) {
        let found = match self.find_tool(at) {
            Found::Broken(problem, message) => match self.repair(at, problem, &message).await {
                Some(fixed) => {
                    self.state.replace_call(at, fixed);
                    // A call is repaired once. If it still cannot run, the model receives the error.
                    self.find_tool(at)
                }
                None => Found::Broken(problem, message),
            },
            found => found,
        };
        match found {
            Found::Broken(status, message) => {
                let Some(call) = self.state.calls().get(at) else { return };
                let result = call.make_result(at, status, ToolOutput::text(message));
                self.state.finish_call(at, result, false);
            }
            Found::External => {
                self.state.mark_external(at);
                self.state.decide(at, Decision::Wait);
            }
            Found::Tool(tool, arguments) => {
                self.state.settle_call(at, arguments, tool.fingerprint());
                self.apply_policy(at, &tool).await;
            }
        }
    }

    async fn apply_policy(&mut self, at: usize, tool: &Tool) {
        if tool.is_external() {
            self.state.mark_external(at);
            return self.state.decide(at, Decision::Wait);
        }
        let arguments = self.state.calls().get(at).map(|call| call.call.arguments.as_str());
        let requires_approval =
            arguments.is_some_and(|arguments| tool.requires_approval(arguments));
        match self.agent.settings.policy_of(tool) {
            Policy::Allow if requires_approval => self.ask_approver(at).await,
            Policy::Allow => self.state.decide(at, Decision::Allow),
            Policy::Deny => {
                let reason =
                    format!("the policy of the tool `{}` does not allow calls", tool.name());
                self.state.decide(at, Decision::deny(reason));
            }
            Policy::Ask => self.ask_approver(at).await,
        }
    }

    /// Denies the calls whose tool was replaced by its source after the decision, because a server can change the
    /// definition behind a name while a person decides. Tools that need no approval are not affected.
    pub(super) fn deny_changed(&mut self, calls: &[usize]) -> bool {
        let settings = &self.agent.settings;
        let is_bound = |at: &usize| {
            let call = self.state.calls().get(*at);
            let tool = call.and_then(|call| self.listed.get(&call.call.name));
            tool.is_some_and(|tool| settings.is_bound_to_definition(tool))
        };
        if !settings.tools.has_sources() || !calls.iter().any(is_bound) {
            return false;
        }
        let now = self.agent.settings.tools.resolve_sources();
        let mut is_any_denied = false;
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
                "denied: the definition of the tool `{name}` changed after the decision about this call"
            );
            let result = call.make_result(at, ToolStatus::Denied, ToolOutput::text(text));
            self.state.finish_call(at, result, false);
            is_any_denied = true;
        }
        is_any_denied
    }

    fn find_tool(&self, at: usize) -> Found {
        let Some(call) = self.state.calls().get(at).map(|call| &call.call) else {
            return Found::External;
        };
        match self.tools.get(&call.name) {
            Some(tool) => match tool.parse_arguments(&call.arguments) {
                Err(why) => Found::Broken(ToolStatus::InvalidArguments, why),
                Ok(arguments) => Found::Tool(Box::new(tool.clone()), arguments.to_string()),
            },
            None if self.state.request.tools.iter().any(|tool| tool.name() == Some(&call.name)) => {
                Found::External
            }
            None => Found::Broken(ToolStatus::UnknownTool, self.describe_unknown_tool(&call.name)),
        }
    }

    fn describe_unknown_tool(&self, name: &str) -> String {
        let known: Vec<&str> = self.tools.iter().map(Tool::name).take(MAX_NAMES).collect();
        if known.is_empty() {
            format!("unknown tool `{name}`; no tools are available")
        } else {
            format!("unknown tool `{name}`; the available tools are: {}", known.join(", "))
        }
    }

    async fn repair(&self, at: usize, problem: ToolStatus, message: &str) -> Option<ToolCallPart> {
        let hook = self.agent.settings.repair.as_ref()?;
        let call = &self.state.calls().get(at)?.call;
        let broken = BrokenCall { call, problem, message, tools: &self.tools };
        let fixed = self.cancel.run_until_cancelled(hook(broken)).await??;
        // The hook cannot change the id: the result belongs to the model's call.
        Some(ToolCallPart { id: call.id.clone(), ..fixed })
    }

    async fn ask_approver(&mut self, at: usize) {
        let Some(approver) = self.agent.settings.approver.clone() else {
            return self.state.decide(at, Decision::Wait);
        };
        let step = self.state.step();
        let Some(pending) = self.state.calls().get(at).map(|call| call.to_pending(step, at)) else {
            return;
        };
        let calls = vec![pending.clone()];
        self.sink.emit(RunEvent::ApprovalNeeded { step, calls }).await;
        match self.cancel.run_until_cancelled(approver.decide(&pending)).await {
            Some(decision) => self.state.decide(at, decision),
            None => self.state.cancel(),
        }
    }

    /// Reviews the result of a call.
    pub(super) async fn review(&mut self, at: usize) {
        let Some(approver) = self.agent.settings.approver.clone() else {
            return self.state.apply_review(at, Review::Wait);
        };
        let step = self.state.step();
        let Some(call) = self.state.calls().get(at) else { return };
        let Some(result) = call.result.clone() else { return };
        let calls = vec![call.to_pending(step, at)];
        self.sink.emit(RunEvent::ApprovalNeeded { step, calls }).await;
        let reviewing = Arc::clone(&approver);
        match self.cancel.run_until_cancelled(reviewing.review(&result)).await {
            Some(review) => self.state.apply_review(at, review),
            None => self.state.cancel(),
        }
    }
}
