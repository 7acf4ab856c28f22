//! Tests one's own code with the simulator: a scripted model, faults on demand, no key and no network.
//!
//! `summarize` stands for the code under test. In a project of your own the functions below it are `#[tokio::test]`s, and
//! `agentloop-sim` is a dev-dependency.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::middleware::Retry;
use agentloop::{AgentLoop, ChatRequest, ErrorKind, Result};
use agentloop_sim::{Fault, Faults, Model, Script, Simulator, Turn};

/// The code under test: it knows nothing of the simulator.
async fn summarize(ai: &AgentLoop, model: &str, article: &str) -> Result<String> {
    let request = ChatRequest::new(model)
        .system("Summarize the article in one sentence.")
        .user(article)
        .max_tokens(200);
    Ok(ai.chat(request).await?.text().trim().to_owned())
}

fn client(simulator: &Simulator) -> Result<AgentLoop> {
    AgentLoop::builder().provider(simulator.provider()).layer(Retry::new()).build()
}

async fn the_summary_is_trimmed() -> Result<()> {
    let script = Script::new([Turn::text("  Rust 1.0 was released. \n")]);
    let simulator = Simulator::new().with_model(Model::from_script(script));
    let summary = summarize(&client(&simulator)?, "sim/any", "A long article").await?;
    assert_eq!(summary, "Rust 1.0 was released.");
    Ok(())
}

async fn a_rate_limit_is_waited_for() -> Result<()> {
    let fault = Fault::status(429).with_retry_after("0");
    let simulator = Simulator::new().with_faults(Faults::first(1, fault));
    summarize(&client(&simulator)?, "sim/echo", "A long article").await?;
    assert_eq!(simulator.ledger().calls, 2);
    Ok(())
}

async fn a_refused_key_is_not_retried() -> Result<()> {
    let simulator = Simulator::new().with_faults(Faults::always(Fault::status(401)));
    let error = summarize(&client(&simulator)?, "sim/echo", "A long article").await.err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Auth));
    assert_eq!(simulator.ledger().calls, 1);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    the_summary_is_trimmed().await?;
    a_rate_limit_is_waited_for().await?;
    a_refused_key_is_not_retried().await?;
    println!("3 tests passed");
    Ok(())
}
