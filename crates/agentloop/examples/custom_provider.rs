//! Adds a provider for a custom endpoint, and a middleware around every call.
//!
//! The endpoint here is the simulator on loopback, over HTTP.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::provider::Param;
use agentloop::{AgentLoop, ChatRequest, Provider};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = agentloop_sim::Server::start("127.0.0.1:0").await?;
    let lab = Provider::openai_compatible("lab", server.url()).strip([Param::LogitBias]);
    let ai = AgentLoop::builder()
        .provider(lab)
        .alias("ours", "lab/echo")
        .middleware(|request, next| async move {
            let model = request.model().to_owned();
            let began = std::time::Instant::now();
            let events = next.run(request).await?;
            println!("{model} responded after {} ms", began.elapsed().as_millis());
            Ok(events)
        })
        .build()?;

    let mut request = ChatRequest::new("ours").user("Hello");
    request.logit_bias = Some([("50256".to_owned(), -100.0)].into());
    let response = ai.chat(request).await?;
    println!("{}", response.text());
    for warning in &response.warnings {
        println!("warning: {warning}");
    }
    server.shutdown().await;
    Ok(())
}
