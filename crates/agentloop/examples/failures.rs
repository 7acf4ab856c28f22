//! What failures look like, and what to do about them.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatRequest, ErrorKind};

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentloop::Result<()> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;

    // Before the first content, the call itself fails, and says whether to try again.
    let limited = ChatRequest::new("sim/echo!status=429;retry-after=2").user("Hello");
    if let Err(error) = ai.stream(limited).await {
        println!(
            "{}: retryable {}, after {:?}",
            error.kind(),
            error.is_retryable(),
            error.retry_after()
        );
    }

    // A stream that breaks off is an error with what had arrived, never a short answer.
    let cut = ChatRequest::new("sim/long-9!cut-events=4").user("Hello");
    let error = ai.stream(cut).await?.response().await.err();
    if let Some(error) = error.filter(|error| error.kind() == ErrorKind::IncompleteStream) {
        let arrived = error.partial().map(|partial| partial.text()).unwrap_or_default();
        println!("{error}; it had said {arrived:?}");
    }

    // A typo says what is known.
    if let Err(error) = ai.chat(ChatRequest::new("gorq/model").user("Hello")).await {
        println!("{error}. {}", error.hint().unwrap_or_default());
    }
    Ok(())
}
