//! Shared helpers.

#[path = "../../../agentloop/tests/it/support/folder.rs"]
pub(crate) mod folder;

use agentloop::{AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, Fold, Result};
use agentloop_sim::Simulator;

pub(crate) fn client(simulator: &Simulator) -> AgentLoop {
    let builder = AgentLoop::builder().provider(simulator.provider());
    builder.build().unwrap()
}

/// Reads a stream to its end, and checks that its events fold to the response.
pub(crate) async fn streamed(ai: &AgentLoop, request: ChatRequest) -> Result<ChatResponse> {
    let mut stream = ai.stream(request).await?;
    let mut fold = Fold::new();
    while let Some(event) = stream.next().await {
        let event = event?;
        if let ChatStreamEvent::MessageDone { response } = event {
            assert!(stream.next().await.is_none());
            assert_eq!(fold.finish().unwrap(), *response);
            return Ok(*response);
        }
        fold.push(&event).unwrap();
    }
    panic!("the stream ended without message.done");
}

/// Sends a request complete and streamed, and checks that both responses are the same.
pub(crate) async fn ask(request: ChatRequest) -> ChatResponse {
    let simulator = Simulator::new();
    let ai = client(&simulator);
    let complete = ai.chat(request.clone()).await.unwrap();
    let stream = streamed(&ai, request).await.unwrap();
    assert_eq!(complete, stream);
    let ledger = simulator.ledger();
    let used = |tokens: Option<u64>| tokens.unwrap() * 2;
    assert_eq!(used(complete.usage.prompt_tokens), ledger.prompt_tokens);
    assert_eq!(used(complete.usage.completion_tokens), ledger.completion_tokens);
    complete
}
