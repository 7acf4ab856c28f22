//! Sends one request and prints the response: `cargo run --example chat [MODEL]`.
//!
//! Without a model, the simulated one responds.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatRequest};

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentloop::Result<()> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/echo".to_owned());
    let response = ai.chat(ChatRequest::new(model).user("Hello")).await?;
    println!("{}", response.text());
    println!("{:?}", response.usage);
    Ok(())
}
