//! Runs a tool that the model calls: `cargo run --example tools [MODEL]`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatMessage, ChatRequest, ToolDefinition};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/echo".to_owned());
    let weather = ToolDefinition::function(
        "get_weather",
        json!({
            "type": "object",
            "properties": { "city": { "type": "string" } },
            "required": ["city"],
        }),
    )
    .with_description("Returns the weather of a city");

    let mut request = ChatRequest::new(model).user("What is the weather in Rome?").tool(weather);
    let response = ai.chat(&request).await?;
    let calls: Vec<_> = response.tool_calls().cloned().collect();
    // The complete response becomes part of the conversation, before the results.
    request = request.message(response.into_message());
    for call in calls {
        let arguments: Value = call.parse()?;
        println!("{} {arguments}", call.name);
        request = request.message(ChatMessage::tool(call.id, "18 °C and sunny"));
    }
    println!("{}", ai.chat(request).await?.text());
    Ok(())
}
