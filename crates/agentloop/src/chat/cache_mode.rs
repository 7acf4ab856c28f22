//! How a cache treats a request.

use serde::{Deserialize, Serialize};

/// How a [cache](crate::middleware::Cache) treats a request. It has no effect without a cache.
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
    /// Uses the stored response if there is one, else calls the provider and stores the response.
    #[default]
    Use,
    /// Calls the provider and leaves the cache unchanged.
    Bypass,
    /// Calls the provider and replaces the stored response.
    Refresh,
}
