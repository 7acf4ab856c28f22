//! Suspended runs.

use serde::{Deserialize, Serialize};

use super::approval::{Decision, Pending, Review};
use super::machine::RunState;
use super::tool::ToolOutput;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};

/// A run that waits for decisions, for results of tools that the caller runs, or for reviews.
///
/// It is a value: store it as JSON, read it in another process, decide about its [pending](Self::pending) calls, and
/// [resume](super::Agent::resume) it with an agent that has the same tools. Calls that have run do not run again. It holds
/// the whole conversation but no keys.
///
/// ```no_run
/// # use agentloop::agent::{Agent, Decision, Suspended};
/// # async fn example(agent: Agent, stored: &str) -> agentloop::Result<()> {
/// let mut run: Suspended = serde_json::from_str(stored).unwrap();
/// for call in run.pending() {
///     println!("{} wants to run with {}", call.tool, call.arguments);
/// }
/// run.decide_all(&Decision::Allow);
/// let outcome = agent.resume(run).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspended {
    pub(super) run: RunState,
}

impl Suspended {
    /// Returns the calls and results that need a decision, in the order of the calls.
    pub fn pending(&self) -> Vec<Pending> {
        self.run.pending_calls()
    }

    /// Returns the request that started the run. The messages that the run has added are in
    /// [`Outcome::messages`](super::Outcome::messages).
    ///
    /// ```
    /// # use agentloop::agent::{Agent, Policy, Tool};
    /// # use agentloop::{AgentLoop, ChatMessage, ChatRequest};
    /// # use serde_json::{Value, json};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let send = Tool::dynamic("send", "Sends", json!({"type": "object"}), |_: Value, _| async { Ok("sent") });
    /// let agent = Agent::new(ai).tool(send.policy(Policy::Ask));
    /// let outcome = agent.run(ChatRequest::new("sim/tools").user("Send it.")).await?;
    /// let run = outcome.suspended.unwrap();
    /// assert_eq!(run.initial_request(), ChatRequest::new("sim/tools").user("Send it."));
    /// # Ok(())
    /// # }
    /// ```
    pub fn initial_request(&self) -> ChatRequest {
        let mut request = self.run.request.clone();
        request.messages.truncate(self.run.given);
        request
    }

    /// Returns the content of [`RunData`](super::RunData).
    pub fn data(&self) -> &serde_json::Map<String, serde_json::Value> {
        &self.run.data
    }

    /// Decides about a pending call.
    ///
    /// # Errors
    ///
    /// Returns an error if no call with this id is pending, or if the call needs a result and `decision` does not contain
    /// one.
    #[expect(clippy::needless_pass_by_value, reason = "a decision is made once")]
    pub fn decide(&mut self, call_id: &str, decision: Decision) -> Result<()> {
        self.run.decide_pending(call_id, &decision)
    }

    /// Sets the result of a pending call, usually of a tool that the caller runs.
    ///
    /// # Errors
    ///
    /// Returns an error if no call with this id is pending.
    pub fn answer(&mut self, call_id: &str, output: ToolOutput) -> Result<()> {
        self.decide(call_id, Decision::Answer { output })
    }

    /// Decides about a pending result.
    ///
    /// # Errors
    ///
    /// Returns an error if the call with this id has no result that waits for a review.
    #[expect(clippy::needless_pass_by_value, reason = "a review is made once")]
    pub fn review(&mut self, call_id: &str, review: Review) -> Result<()> {
        self.run.review_pending(call_id, &review)
    }

    /// Applies one decision to all calls that need a decision.
    pub fn decide_all(&mut self, decision: &Decision) {
        for call in self.pending() {
            // Calls that need something else stay pending.
            let _ = self.run.decide_pending(&call.call_id, decision);
        }
    }
}

/// Returns the error for a decision that no pending call accepts.
pub(super) fn not_pending(call_id: &str, pending: &[Pending]) -> Error {
    let known: Vec<&str> = pending.iter().map(|call| call.call_id.as_str()).collect();
    let hint = if known.is_empty() {
        "no call is pending".to_owned()
    } else {
        format!("the pending calls are: {}", known.join(", "))
    };
    let message = format!("the call `{call_id}` is not pending or does not accept this decision");
    Error::new(ErrorKind::InvalidRequest, message).with_hint(hint)
}
