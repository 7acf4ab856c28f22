//! An endpoint of one's own as a row of data, and a middleware around every call.
//!
//! The endpoint here is the simulator on loopback, over real HTTP.

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
            let answer = next.run(request).await?;
            println!("{model} began to answer after {} ms", began.elapsed().as_millis());
            Ok(answer)
        })
        .build()?;

    let mut request = ChatRequest::new("ours").user("Hello");
    request.logit_bias = Some([("50256".to_owned(), -100.0)].into());
    let answer = ai.chat(request).await?;
    println!("{}", answer.text());
    for warning in &answer.warnings {
        println!("warning: {warning}");
    }
    server.shutdown().await;
    Ok(())
}
