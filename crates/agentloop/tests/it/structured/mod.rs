//! Answers of a given type, against the simulator: every protocol, every way to ask.

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

/// What is asked for.
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

pub(crate) const PROTOCOLS: [Protocol; 4] =
    [Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::Anthropic, Protocol::Gemini];

pub(crate) const STRATEGIES: [OutputStrategy; 3] =
    [OutputStrategy::Native, OutputStrategy::Tool, OutputStrategy::Prompt];

/// What was asked.
pub(crate) type Asked = Arc<Mutex<Vec<ChatRequest>>>;

/// A client whose provider `lab` answers with these turns.
pub(crate) fn lab(protocol: Protocol, turns: impl IntoIterator<Item = Turn>) -> (AgentLoop, Asked) {
    let model = Model::from_script(Script::new(turns));
    let row: Provider = Simulator::new().with_model(model).provider_named("lab", protocol);
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let builder = AgentLoop::builder().provider(row).middleware(move |request, next| {
        if let Request::Chat(request) | Request::Stream(request) = &request {
            seen.lock().unwrap().push(ChatRequest::clone(request));
        }
        async move { next.run(request).await }
    });
    (builder.build().unwrap(), asked)
}

/// An answer of `text`, in the way in which it was asked for.
pub(crate) fn said(strategy: OutputStrategy, text: &str) -> Turn {
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
