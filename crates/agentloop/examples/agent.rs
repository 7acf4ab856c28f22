//! A first agent, with one tool: `cargo run --example agent [MODEL]`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::agent::{Agent, Tool, ToolError};
use agentloop::{AgentLoop, ChatRequest};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The name of the city.
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/echo".to_owned());
    let weather = Tool::new("weather", "Returns the weather of a city", |at: City, _| async move {
        match at.city.as_str() {
            "" => Err(ToolError::new("which city?")),
            city => Ok(format!("18 °C and sunny in {city}")),
        }
    });
    let agent = Agent::new(ai).tool(weather).max_steps(5);
    let outcome = agent.run(ChatRequest::new(model).user("How is the weather in Rome?")).await?;
    println!("{}", outcome.text());
    println!("{} after {} steps", outcome.stop.as_str(), outcome.steps.len());
    Ok(())
}
