//! Chats, streams and embeds without `async`: `cargo run --example blocking --features blocking`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::blocking::AgentLoop;
use agentloop::{ChatRequest, EmbedRequest};

fn main() -> agentloop::Result<()> {
    let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
    let ai = AgentLoop::new(builder.build()?)?;

    let response = ai.chat(ChatRequest::new("sim/echo").user("Hello"))?;
    println!("{}", response.text());

    for piece in ai.stream(ChatRequest::new("sim/think").user("Write a poem"))?.text() {
        print!("{}", piece?);
    }
    println!();

    let vectors = ai.embed(EmbedRequest::new("sim/embed", ["one", "two"]))?;
    println!("{} vectors", vectors.embeddings.len());
    Ok(())
}
