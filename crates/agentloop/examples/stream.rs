//! Prints a response, including its thinking, as it arrives: `cargo run --example stream [MODEL]`.
//! For the text alone, `ChatStream::text_stream` is shorter.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::io::Write as _;

use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent, PartDelta};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/think".to_owned());
    let mut stream = ai.stream(ChatRequest::new(model).user("Write a poem")).await?;
    while let Some(event) = stream.next().await {
        match event? {
            ChatStreamEvent::ContentDelta { delta: PartDelta::Thinking { thinking }, .. } => {
                eprint!("{thinking}");
            }
            ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text }, .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            ChatStreamEvent::MessageDone { response } => println!("\n{:?}", response.usage),
            _ => {}
        }
    }
    Ok(())
}
