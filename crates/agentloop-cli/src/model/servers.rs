//! Finds model servers that run on this machine.

use std::time::Duration;

use agentloop::AgentLoop;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The providers whose servers usually run on this machine: Ollama, LM Studio, llama.cpp and vLLM.
const LOCAL: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];

/// How long to wait for a connection. A server on this machine accepts one at once.
const CONNECT_WAIT: Duration = Duration::from_millis(200);

/// How long to wait for the list of models, which other servers on the same port do not have.
const LIST_WAIT: Duration = Duration::from_secs(2);

/// Returns a model of the first local server that runs, as `provider/model`.
///
/// Only loopback addresses are contacted, all at once.
pub(super) async fn find_model(client: &AgentLoop) -> Option<String> {
    let [ollama, lmstudio, llamacpp, vllm] = LOCAL.map(|name| is_running(name, client));
    let running = tokio::join!(ollama, lmstudio, llamacpp, vllm);
    let running = [running.0, running.1, running.2, running.3];
    for (name, _) in LOCAL.iter().zip(running).filter(|(_, is_running)| *is_running) {
        if let Ok(Ok(Some(model))) = timeout(LIST_WAIT, list_first(name, client)).await {
            return Some(format!("{name}/{model}"));
        }
    }
    None
}

/// Returns the first model that a provider lists, except models for embeddings.
pub(super) async fn list_first(
    provider: &str,
    client: &AgentLoop,
) -> agentloop::Result<Option<String>> {
    let models = client.models(provider).await?;
    let mut chat = models.into_iter().filter(|model| !model.id.to_lowercase().contains("embed"));
    Ok(chat.next().map(|model| model.id))
}

/// Returns whether a server accepts connections at the provider's URL, if that is a loopback address.
async fn is_running(provider: &str, client: &AgentLoop) -> bool {
    match client.base_url(provider) {
        Ok(url) => is_listening(&url).await,
        Err(_) => false,
    }
}

/// Returns whether a server accepts connections at a URL, if that is a loopback address.
pub(crate) async fn is_listening(url: &str) -> bool {
    let Ok(url) = url.parse::<http::Uri>() else { return false };
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    if !matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1") {
        return false;
    }
    let port = url.port_u16().unwrap_or(80);
    timeout(CONNECT_WAIT, TcpStream::connect((host, port))).await.is_ok_and(|open| open.is_ok())
}
