//! A response as a value of a Rust type, complete and while it grows: `cargo run --example structured [MODEL]`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::structured::StructuredEvent;
use agentloop::{AgentLoop, ChatRequest};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Recipe {
    /// The name of the dish.
    name: String,
    ingredients: Vec<Ingredient>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Ingredient {
    name: String,
    grams: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentloop::Result<()> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/echo".to_owned());
    let request = ChatRequest::new(model).user("A recipe for bread, please.");

    // The schema comes from the type. A response that does not match it is sent back to the model with the reason.
    let recipe = ai.chat_structured::<Recipe>(request.clone()).await?.data;
    println!("{} with {} ingredients", recipe.name, recipe.ingredients.len());
    for ingredient in &recipe.ingredients {
        println!("- {} g of {}", ingredient.grams, ingredient.name);
    }

    // While it is streamed, each partial value is what has arrived so far.
    let mut stream = ai.stream_structured::<Recipe>(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            StructuredEvent::Partial(value) => println!("so far: {value}"),
            StructuredEvent::Done(done) => println!("complete: {}", done.data.name),
            _ => {}
        }
    }
    Ok(())
}
