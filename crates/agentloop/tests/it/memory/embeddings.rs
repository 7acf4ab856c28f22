//! Many texts: every vector at its place, memory flat.

use agentloop::provider::quirks::EmbeddingEncoding;
use agentloop::{AgentLoop, EmbedRequest, Provider};
use agentloop_sim::{Server, Simulator};

use crate::memory::{alone, memory};

const TEXTS: usize = 10_000;
const DIMENSIONS: u32 = 64;
const BATCH: usize = 64;
const WARM_UP: usize = 2;
const ROUNDS: usize = 5;

fn request(model: &str, texts: &[String]) -> EmbedRequest {
    EmbedRequest::new(model, texts.to_vec()).dimensions(DIMENSIONS)
}

/// The vectors that the simulator has for the texts, asked for in calls of which none is split or waits for another.
async fn expected(texts: &[String]) -> Vec<Vec<f32>> {
    const AT_ONCE: usize = 100;
    let simulator = Simulator::new();
    let whole = simulator.provider().quirks(|quirks| quirks.embeddings.batch = Some(AT_ONCE));
    let ai = AgentLoop::builder().provider(whole).build().unwrap();
    let mut vectors = Vec::with_capacity(texts.len());
    for texts in texts.chunks(AT_ONCE) {
        let of_these = ai.embed(request("sim/vectors", texts)).await.unwrap().embeddings;
        // A text by itself has the same vector as among others.
        let one = ai.embed(request("sim/vectors", &texts[7..8])).await.unwrap();
        assert_eq!(one.embeddings[0], of_these[7]);
        vectors.extend(of_these);
    }
    assert_eq!(simulator.ledger().calls, 2 * (TEXTS / AT_ONCE) as u64);
    vectors
}

#[test]
fn ten_thousand_texts_keep_their_order_and_nothing_stays_behind() {
    alone(|| async {
        let texts: Vec<String> = (0..TEXTS).map(|number| format!("text number {number}")).collect();
        let expected = expected(&texts).await;
        let server = Server::start("127.0.0.1:0").await.unwrap();
        let lab = Provider::openai_compatible("lab", server.url()).quirks(|q| {
            q.embeddings.batch = Some(BATCH);
            q.embeddings.encoding = EmbeddingEncoding::Base64;
        });
        let ai = AgentLoop::builder().provider(lab).build().unwrap();
        let mut after = Vec::new();
        for _ in 0..ROUNDS {
            let response = ai.embed(request("lab/vectors", &texts)).await.unwrap();
            assert!(response.embeddings == expected, "a vector is not at its place");
            let usage = response.usage.unwrap();
            assert_eq!(usage.prompt_tokens, 3 * TEXTS as u64);
            drop(response);
            server.simulator().clear_requests();
            after.push(memory());
        }
        let ledger = server.simulator().ledger();
        assert_eq!(ledger.embeds, (ROUNDS * TEXTS.div_ceil(BATCH)) as u64);
        // The vectors of a round are 2.5 MB, their bodies 4 MB: kept, they would be 19 MB by the last.
        let growth = after[ROUNDS - 1].saturating_sub(after[WARM_UP - 1]);
        println!("{after:?}");
        assert!(growth < 4 << 20, "memory grew by {growth} bytes: {after:?}");
        server.shutdown().await;
    });
}
