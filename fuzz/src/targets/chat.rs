//! What is piped into a chat, through the whole client, to a simulated model; and a model of any name.

use std::sync::LazyLock;

use agentloop::{AgentLoop, ChatRequest};
use agentloop_sim::Model;

use super::laws::{Nowhere, run};
use crate::seeds::{input, parts};

/// The longest response that a name may request, in words. The simulator writes up to a million, which takes longer than an input
/// may take.
const MAX_WORDS: u64 = 10_000;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "Why is the sky blue?",
        "é🙂\u{301}\0",
        "\n\n",
        "<think>a</think>b",
        "{\"a\": [1, 2]}",
        "data: x\n\n[DONE]",
    ];
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        for model in 0..Model::list().len() {
            let model = u8::try_from(model).unwrap_or_default();
            seeds.push(input(model, u8::try_from(at % 4).unwrap_or_default(), text));
        }
    }
    for name in
        ["echo+status=500", "echo+cut-events=2", "sim/long-20", "unknown/nothing", "echo+stall"]
    {
        seeds.push(input(255, 3, name));
    }
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        let builder = AgentLoop::builder().provider(agentloop_sim::provider());
        builder.transport(Nowhere).media_transport(Nowhere).build().unwrap()
    });
    let Some((model, how, text)) = parts(bytes) else { return };
    let text = String::from_utf8_lossy(text).into_owned();
    let models = Model::list();
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
    let is_long = text.contains("long-")
        && numbers.map(str::parse::<u64>).any(|words| words.is_ok_and(|words| words > MAX_WORDS));
    if is_long {
        return;
    }
    let request = match models.get(usize::from(model)) {
        Some(model) => ChatRequest::new(format!("sim/{}", model.id)).user(text.clone()),
        None => ChatRequest::new(format!("sim/{text}")).user("Hello"),
    };
    let request = if how & 1 == 1 { request.system(text) } else { request };
    run(async {
        let whole = CLIENT.chat(request.clone()).await;
        let streamed = match CLIENT.stream(request).await {
            Ok(stream) => stream.response().await,
            Err(error) => Err(error),
        };
        match (whole, streamed) {
            (Ok(whole), Ok(streamed)) => {
                assert_eq!(whole.choices.len(), streamed.choices.len());
                let same = [&whole, &streamed].map(|answer| answer.text());
                assert_eq!(same[0], same[1], "chat and stream cannot disagree");
            }
            // What goes wrong with a stream need not go wrong with a body.
            (Err(error), _) | (_, Err(error)) => assert!(!error.message().is_empty()),
        }
    });
}
