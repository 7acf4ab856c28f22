//! Tests of structured output against the simulator, with every protocol and every strategy.

mod answers;
mod growing;
mod strategies;

use std::sync::{Arc, Mutex};

use agentloop::middleware::Request;
use agentloop::{
    AgentLoop, ChatRequest, OutputStrategy, Protocol, Provider, ResponsePart, ToolCallPart,
};
use agentloop_sim::{Model, Script, Simulator, Turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use crate::support::PROTOCOLS;

/// The type of the structured output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct City {
    pub(crate) name: String,
    pub(crate) inhabitants: u64,
    #[serde(default)]
    pub(crate) rivers: Vec<String>,
}

pub(crate) fn oslo() -> City {
    City { name: "Oslo".to_owned(), inhabitants: 717_710, rivers: vec!["Akerselva".to_owned()] }
}

const STRATEGIES: [OutputStrategy; 3] =
    [OutputStrategy::Native, OutputStrategy::Tool, OutputStrategy::Prompt];

/// The strategies that a protocol has. Ollama cannot force a call.
pub(crate) fn strategies(protocol: Protocol) -> impl Iterator<Item = OutputStrategy> {
    let has_tool = protocol != Protocol::Ollama;
    STRATEGIES.into_iter().filter(move |one| has_tool || *one != OutputStrategy::Tool)
}

/// The requests that were sent.
pub(crate) type Sent = Arc<Mutex<Vec<ChatRequest>>>;

/// Returns a client whose provider `lab` responds with these messages, and the requests that it sends.
pub(crate) fn lab(protocol: Protocol, turns: impl IntoIterator<Item = Turn>) -> (AgentLoop, Sent) {
    let model = Model::from_script(Script::new(turns));
    let row: Provider = Simulator::new().with_model(model).provider_named("lab", protocol);
    let sent = Sent::default();
    let seen = Arc::clone(&sent);
    let builder = AgentLoop::builder().provider(row).middleware(move |request, next| {
        if let Request::Chat(request) | Request::Stream(request) = &request {
            seen.lock().unwrap().push(ChatRequest::clone(request));
        }
        async move { next.run(request).await }
    });
    (builder.build().unwrap(), sent)
}

/// Returns a response with `text`, in the form of the strategy.
pub(crate) fn response(strategy: OutputStrategy, text: &str) -> Turn {
    match strategy {
        OutputStrategy::Tool => {
            Turn::new([ResponsePart::ToolCall(ToolCallPart::new("call_1", "City", text))])
        }
        _ => Turn::text(text),
    }
}

pub(crate) fn question() -> ChatRequest {
    ChatRequest::new("lab/m").system("Be exact.").user("The largest city of Norway?")
}
