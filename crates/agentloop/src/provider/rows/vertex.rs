//! Google's Vertex AI: the models that Google publishes there itself.
//!
//! Sources, read on 2026-11-15: ai-sdk google-vertex 5.0 and the recordings `vertex-*` (wire `gemini`). Which embedding
//! models take more than one text in a call is not documented in one place, so one text is sent in a call.

use super::common::names;
use super::google::MAKES;
use crate::provider::quirks::{FileSearchForm, ServerToolQuirks};
use crate::provider::{Auth, Provider};

impl Provider {
    /// Returns the built-in provider `vertex`: Google's Vertex AI.
    ///
    /// The access token is in `VERTEX_ACCESS_TOKEN`, the project in `VERTEX_PROJECT` and the location in
    /// `VERTEX_LOCATION`. The library does not obtain tokens.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder()
    ///     .provider(Provider::vertex().key("ya29.example"))
    ///     .env("VERTEX_PROJECT", "example")
    ///     .env("VERTEX_LOCATION", "us-central1")
    ///     .build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn vertex() -> Self {
        Self::gemini_compatible(
            "vertex",
            "https://${VERTEX_LOCATION}-aiplatform.googleapis.com/v1/projects/${VERTEX_PROJECT}/locations/${VERTEX_LOCATION}/publishers/google",
        )
        .modalities([])
        .key_env("VERTEX_ACCESS_TOKEN")
        .auth(Auth::Bearer)
        .quirks(|q| {
            q.embeddings.batch = Some(1);
            q.server_tools = ServerToolQuirks {
                file_search: FileSearchForm::Refused,
                ..ServerToolQuirks::default().without_chat()
            };
        })
        .without_model_list()
        .makes(MAKES)
        .listing(|list| {
            list.models_dev = Some("google-vertex".into());
            list.set_litellm([("vertex_ai-language-models", ""), ("vertex_ai-embedding-models", "")]);
            // The URL ends in `publishers/google`: models of other publishers have another one.
            list.only = names(["gemini*", "gemma*", "text-*", "embedding*"]);
        })
        .telemetry_name("gcp.vertex_ai")
    }
}
