//! What a cache may do with a request.

use serde::{Deserialize, Serialize};

/// What a [cache](crate::middleware::Cache) does with a request. Without a cache it means nothing.
///
/// ```
/// use agentloop::{CacheMode, ChatRequest};
///
/// let request = ChatRequest::new("groq/openai/gpt-oss-120b").user("What is new?").cache(CacheMode::Refresh);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CacheMode {
    /// Answers from the cache if it can, and stores the answer if it cannot.
    #[default]
    Use,
    /// Asks, and leaves the cache as it is.
    Bypass,
    /// Asks, and stores the answer in place of the one that is there.
    Refresh,
}
