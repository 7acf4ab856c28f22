//! The models that a provider lists.

use serde::{Deserialize, Serialize};

/// A model that a provider offers.
///
/// ```
/// use agentloop::ModelInfo;
///
/// let model = ModelInfo::new("groq", "openai/gpt-oss-20b");
/// assert_eq!(model.qualified(), "groq/openai/gpt-oss-20b");
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelInfo {
    /// The id: the part after the slash.
    pub id: String,
    /// The provider that offers it.
    pub provider: String,
    /// Its name for people.
    pub name: Option<String>,
    /// When it was made (Unix seconds).
    pub created: Option<i64>,
    /// How many tokens it can look at.
    pub context_window: Option<u64>,
    /// How many tokens it can write.
    pub max_output_tokens: Option<u64>,
    /// Whose it is.
    pub owned_by: Option<String>,
}

impl ModelInfo {
    /// Returns the name of the model for a request: `provider/id`.
    pub fn qualified(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

impl ModelInfo {
    /// Creates a model with only its id known.
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self { provider: provider.into(), id: id.into(), ..Self::default() }
    }
}
