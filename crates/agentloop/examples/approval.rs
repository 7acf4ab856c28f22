//! A tool that needs approval: the run waits, is stored as JSON, and is resumed with a decision.
//!
//! An approver that decides at once (`Agent::approver`) is shown at the end.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::agent::{Agent, Decision, Pending, Policy, StopReason, Suspended, Tool};
use agentloop::{AgentLoop, ChatRequest};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Payment {
    /// The recipient.
    to: String,
    /// In cents.
    amount: u32,
}

fn pay() -> Tool {
    Tool::new("pay", "Pays an amount", |payment: Payment, _| async move {
        Ok(format!("paid {} cents to {}", payment.amount, payment.to))
    })
    .policy(Policy::Ask)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let request = ChatRequest::new("sim/tools").user("Pay the invoice.");

    // Without an approver the run stops before the tool, with everything that is needed to resume it.
    let agent = Agent::new(ai.clone()).tool(pay());
    let outcome = agent.run(request.clone()).await?;
    assert_eq!(outcome.stop, StopReason::Waiting);
    let stored = serde_json::to_string(&outcome.suspended)?;
    println!("waiting, stored in {} bytes", stored.len());

    // Another process, later: it needs an agent with the same tools.
    let mut run: Suspended = serde_json::from_str(&stored)?;
    for call in run.pending() {
        println!("{} wants to run with {}", call.tool, call.arguments);
    }
    run.decide_all(&Decision::Allow);
    println!("{}", agent.resume(run).await?.text());

    // With an approver, the decision is made during the run.
    let agent = Agent::new(ai).tool(pay()).approver(|call: &Pending| {
        println!("refusing {}", call.tool);
        Decision::deny("not on a Sunday")
    });
    println!("{}", agent.run(request).await?.text());
    Ok(())
}
