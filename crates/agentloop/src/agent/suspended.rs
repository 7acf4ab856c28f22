//! A run that waits.

use serde::{Deserialize, Serialize};

use super::approval::{Decision, Pending, Review};
use super::machine::RunState;
use super::tool::ToolOutput;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};

/// A run that waits: for decisions, for results of the caller's own tools, or for reviews.
///
/// It is a value: store it as JSON, read it in another process, say what is to be said, and [resume](super::Agent::resume)
/// it there with the same tools. What ran before does not run again. It holds the whole conversation, and no key.
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
    /// What somebody has to say something to, in the order of the calls.
    pub fn pending(&self) -> Vec<Pending> {
        self.run.waiting()
    }

    /// What the run began with. What it added since is in its outcome's [messages](super::Outcome::messages).
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
    /// assert_eq!(run.question(), ChatRequest::new("sim/tools").user("Send it."));
    /// # Ok(())
    /// # }
    /// ```
    pub fn question(&self) -> ChatRequest {
        let mut request = self.run.request.clone();
        request.messages.truncate(self.run.given);
        request
    }

    /// What the tools of the run kept.
    pub fn data(&self) -> &serde_json::Map<String, serde_json::Value> {
        &self.run.data
    }

    /// Says what becomes of a call that waits.
    ///
    /// # Errors
    ///
    /// When no call of that id waits for a decision, or it waits for a result and is given none.
    #[expect(clippy::needless_pass_by_value, reason = "what is said is said once")]
    pub fn decide(&mut self, call_id: &str, decision: Decision) -> Result<()> {
        self.run.decide_waiting(call_id, &decision)
    }

    /// Gives the result of a call of the caller's own tool.
    ///
    /// # Errors
    ///
    /// When no call of that id waits.
    pub fn answer(&mut self, call_id: &str, output: ToolOutput) -> Result<()> {
        self.decide(call_id, Decision::Answer { output })
    }

    /// Says what becomes of a result that waits.
    ///
    /// # Errors
    ///
    /// When no result of that call waits for a review.
    #[expect(clippy::needless_pass_by_value, reason = "what is said is said once")]
    pub fn review(&mut self, call_id: &str, review: Review) -> Result<()> {
        self.run.review_waiting(call_id, &review)
    }

    /// Says the same to all calls that wait for a decision.
    pub fn decide_all(&mut self, decision: &Decision) {
        for call in self.pending() {
            // Those that wait for something else are left as they are.
            let _ = self.run.decide_waiting(&call.call_id, decision);
        }
    }
}

/// No call waits for what is said to it.
pub(super) fn nothing_waits(call_id: &str, waiting: &[Pending]) -> Error {
    let known: Vec<&str> = waiting.iter().map(|call| call.call_id.as_str()).collect();
    Error::new(ErrorKind::InvalidRequest, format!("the call `{call_id}` does not wait for this"))
        .with_hint(format!("those that wait are: {}", known.join(", ")))
}
