//! What a server remembers of a request until it writes the response.

#[cfg(any(feature = "openai-chat", feature = "openai-responses"))]
use std::any::Any;
#[cfg(any(feature = "openai-chat", feature = "openai-responses"))]
use std::sync::Arc;

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
/// let body = br#"{"model":"m","input":"Hi","temperature":0.5}"#;
/// let served = read_chat(Protocol::OpenAiResponses, "/v1/responses", body)?;
/// let response = ChatResponse::from_parts("lab/m", ["Hello"]);
/// let written = write_body_for(Protocol::OpenAiResponses, &response, &served.reply);
/// assert!(String::from_utf8_lossy(&written).contains(r#""temperature":0.5"#));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reply {
    /// What the protocol's reader remembers, in a form of its own.
    #[cfg(any(feature = "openai-chat", feature = "openai-responses"))]
    remembered: Option<Arc<dyn Any + Send + Sync>>,
}

#[cfg(any(feature = "openai-chat", feature = "openai-responses"))]
impl Reply {
    pub(in crate::protocol) fn new(remembered: impl Any + Send + Sync) -> Self {
        Self { remembered: Some(Arc::new(remembered)) }
    }

    /// Returns what was remembered, if it has this form.
    pub(in crate::protocol) fn remembered<T: Any>(&self) -> Option<&T> {
        self.remembered.as_deref()?.downcast_ref()
    }
}
