//! Many streams at once: none lost, order kept, memory flat.

use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent, PartDelta, Provider};
use agentloop_sim::Server;

use crate::memory::{alone, memory};

const STREAMS: usize = 200;
const EVENTS: usize = 500;
const WARM_UP: usize = 3;
const ROUNDS: usize = 6;

async fn one(ai: AgentLoop, number: usize) {
    let request = ChatRequest::new(format!("lab/long-{EVENTS}")).user(format!("stream {number}"));
    let mut stream = ai.stream(request).await.unwrap();
    let (mut deltas, mut text) = (0, String::new());
    let mut whole = None;
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text: more }, .. } => {
                deltas += 1;
                text.push_str(&more);
            }
            ChatStreamEvent::MessageDone { response } => whole = Some(response.text()),
            _ => {}
        }
    }
    assert_eq!(deltas, EVENTS);
    assert_eq!(whole, Some(text));
}

#[test]
fn two_hundred_streams_of_five_hundred_events_lose_nothing() {
    alone(|| async {
        let server = Server::start("127.0.0.1:0").await.unwrap();
        let ai = AgentLoop::builder()
            .provider(Provider::openai_compatible("lab", server.url()))
            .build()
            .unwrap();
        let mut after = Vec::new();
        for _ in 0..ROUNDS {
            let streams: Vec<_> =
                (0..STREAMS).map(|number| tokio::spawn(one(ai.clone(), number))).collect();
            for stream in streams {
                stream.await.unwrap();
            }
            server.simulator().clear_requests();
            after.push(memory());
        }
        // The first rounds fill the pool of connections and the allocator's. After that nothing stays behind: a hundred
        // bytes for each of the 100,000 events of a round would be 30 MB by the last.
        let growth = after[ROUNDS - 1].saturating_sub(after[WARM_UP - 1]);
        println!("{after:?}");
        assert!(growth < 16 << 20, "memory grew by {growth} bytes: {after:?}");
        server.shutdown().await;
    });
}
