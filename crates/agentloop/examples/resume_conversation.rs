//! Saves a conversation as JSON, and resumes it with another provider.
//!
//! The simulator plays both providers, each in the provider's own wire format. With keys in the environment the same code runs
//! against the real ones: use `AgentLoop::from_env()`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatMessage, ChatRequest, Provider};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = AgentLoop::builder();
    for name in ["anthropic", "mistral"] {
        let provider = Provider::builtin(name).ok_or("there is no such provider")?;
        builder = builder.provider(agentloop_sim::simulate(provider));
    }
    let ai = builder.build()?;

    // The first part of the conversation, with Anthropic's format. The response keeps the thinking and its signature.
    let mut conversation = vec![ChatMessage::user("Which city has the oldest university?")];
    let request = ChatRequest::new("anthropic/think").messages(conversation.clone());
    conversation.push(ai.chat(request).await?.into_message());
    let saved = serde_json::to_string_pretty(&conversation)?;
    let path = std::env::temp_dir().join(format!("conversation-{}.json", std::process::id()));
    std::fs::write(&path, &saved)?;
    println!("saved {} messages, {} bytes", conversation.len(), saved.len());

    // Another process reads the file and asks another provider. State of the first provider, such as the signature of its
    // thinking, is not sent to the second one: a warning reports what was left out.
    let mut conversation: Vec<ChatMessage> =
        serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    std::fs::remove_file(&path)?;
    conversation.push(ChatMessage::user("And the second oldest?"));
    let response = ai.chat(ChatRequest::new("mistral/echo").messages(conversation)).await?;
    println!("{}", response.text());
    for warning in &response.warnings {
        println!("warning: {warning}");
    }
    Ok(())
}
