//! Turns texts into vectors and compares them: `cargo run --example embeddings [MODEL]`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, EmbedRequest};

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentloop::Result<()> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/vectors".to_owned());
    let texts = ["a cat on a mat", "a cat on a mat", "quarterly results"];
    let response = ai.embed(EmbedRequest::new(model, texts)).await?;
    let [first, same, other] = &response.embeddings[..] else { return Ok(()) };
    println!(
        "similarity to the same text {:.3}, to another text {:.3}",
        cosine(first, same),
        cosine(first, other)
    );
    Ok(())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
