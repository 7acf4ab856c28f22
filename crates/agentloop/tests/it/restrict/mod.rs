//! Requests that a provider would refuse are changed with a warning, or refused before they are sent.

mod combinations;
mod config;
mod docs;
mod messages;
mod perplexity;
mod table;
mod trigger;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{AgentLoop, ChatRequest, Error, Provider, ToolDefinition};
use serde_json::{Value, json};

/// A client that needs no environment.
fn client() -> AgentLoop {
    let mut builder = AgentLoop::builder()
        .env("AZURE_RESOURCE_NAME", "lab")
        .env("AWS_REGION", "us-east-1")
        .env("VERTEX_LOCATION", "europe-west4")
        .env("VERTEX_PROJECT", "lab");
    for provider in Provider::all() {
        for variable in provider.key.variables() {
            builder = builder.env(variable.as_ref(), "k");
        }
    }
    builder.build().unwrap()
}

fn body_of(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

/// The body that is sent and the messages of the warnings.
fn sent(request: &ChatRequest) -> (Value, Vec<String>) {
    let encoded = inspect::encode(&client(), request, false).unwrap();
    let warnings = encoded.warnings.iter().map(|warning| warning.message.clone()).collect();
    (body_of(&encoded), warnings)
}

/// The error of the same request in strict mode.
fn refused(request: &ChatRequest) -> Error {
    inspect::encode(&client(), &request.clone().strict(), false).unwrap_err()
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::function(name, json!({ "type": "object", "properties": {} }))
}

fn server_tool(kind: &str) -> ToolDefinition {
    serde_json::from_value(json!({ "type": kind })).unwrap()
}
