//! What a server remembers of a request until it writes the response.

/// What a server remembers of a request until it writes the response: the settings that the response repeats, and the
/// form in which the client declared its tools.
///
/// A reader puts it into [`ServedChat::reply`](super::ServedChat::reply). Without it a response is still complete, but
/// calls of tools are written as calls of functions.
///
/// ```
/// use agentloop::protocol::serve::{read_chat, write_body_for};
/// use agentloop::{ChatResponse, Protocol};
///
/// let body = br#"{"model":"m","input":"Hi"}"#;
/// let served = read_chat(Protocol::OpenAiResponses, "/v1/responses", body)?;
/// let response = ChatResponse::from_parts("lab/m", ["Hello"]);
/// let written = write_body_for(Protocol::OpenAiResponses, &response, &served.reply);
/// assert!(written.starts_with(b"{"));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reply {}
