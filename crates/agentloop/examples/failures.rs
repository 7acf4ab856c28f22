//! Shows what errors look like, and how to handle them.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatRequest, ErrorKind};

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentloop::Result<()> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;

    // A failure before the first content fails the call. The error states whether a retry makes sense.
    let limited = ChatRequest::new("sim/echo!status=429;retry-after=2").user("Hello");
    if let Err(error) = ai.stream(limited).await {
        println!(
            "{}: retryable {}, after {:?}",
            error.kind(),
            error.is_retryable(),
            error.retry_after()
        );
    }

    // A truncated stream is an error that contains what arrived, never a short response.
    let cut = ChatRequest::new("sim/long-9!cut-events=4").user("Hello");
    let error = ai.stream(cut).await?.response().await.err();
    if let Some(error) = error.filter(|error| error.kind() == ErrorKind::IncompleteStream) {
        let arrived = error.partial().map(|partial| partial.text()).unwrap_or_default();
        println!("{error}; received so far: {arrived:?}");
    }

    // An unknown provider produces a hint with the known ones.
    if let Err(error) = ai.chat(ChatRequest::new("gorq/model").user("Hello")).await {
        println!("{error}. {}", error.hint().unwrap_or_default());
    }
    Ok(())
}
