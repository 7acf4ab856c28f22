//! The words of requests: what they mean at each provider, and that nothing is lost on the way without a warning.

mod build;
mod kept;
mod server_tools;

use agentloop::inspect;
use agentloop::{AgentLoop, ChatRequest};
use serde_json::{Value, json};

/// A request as it is sent.
pub(crate) struct Sent {
    pub(crate) url: String,
    pub(crate) body: Value,
    /// The subjects of the warnings.
    pub(crate) warned: Vec<String>,
}

/// Sends fields beside a question.
pub(crate) fn ask(model: &str, fields: Value) -> agentloop::Result<Sent> {
    let mut request = json!({ "model": model, "messages": [{"role": "user", "content": "Hi"}] });
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    let request: ChatRequest = serde_json::from_value(request).unwrap();
    let encoded = inspect::encode(&AgentLoop::from_env(), &request, false)?;
    let warned = encoded.warnings.iter().map(|warning| warning.subject.clone().unwrap_or_default());
    Ok(Sent {
        url: encoded.url.clone(),
        body: serde_json::from_str(encoded.body.get()).unwrap(),
        warned: warned.collect(),
    })
}

pub(crate) fn send(model: &str, fields: Value) -> Sent {
    ask(model, fields).unwrap()
}
