//! Google's Gemini API, under its own protocol.
//!
//! Sources, read on 2026-11-15: google-genai SDK 3.1 for Python (`types.py`: `GenerateContentConfig`, `ToolConfig`),
//! ai-sdk google 4.0, and the recordings `google-*`; on 2026-11-18: google-genai SDK 3.3.0 (`_gaos/types/interactions`). What its models refuse is in
//! [`families::gemini`](super::families::gemini). The page of keys is named in README of google-gemini/cookbook, read on
//! 2026-11-16.

use std::borrow::Cow;

use super::common::{names, restrict};
use crate::chat::Protocol;
use crate::models::{Action, Condition};
use crate::provider::quirks::{BatchApi, FileApi, ServerToolQuirks};
use crate::provider::{Feature, KeySource, Param, Provider};

/// What Gemini models produce beside text and function calls (google-genai SDK: the fields of `Part`).
pub(super) const MAKES: [Feature; 6] = [
    Feature::Thinking,
    Feature::Citations,
    Feature::ImageOutput,
    Feature::AudioOutput,
    Feature::CodeExecution,
    Feature::ServerTools,
];

/// Fields that only the Interactions API has (`CreateModelInteraction` and `CreateAgentInteraction` of the SDK).
const OWN_FIELDS: [&str; 7] = [
    "previous_interaction_id",
    "background",
    "agent",
    "agent_config",
    "environment",
    "webhook_config",
    "continuation_token",
];

impl Provider {
    /// Returns the built-in provider `google`: Google's Gemini API, with the key in `GOOGLE_API_KEY` or `GEMINI_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::google().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// A request that sets a field of the Interactions API, such as `previous_interaction_id`, is sent there:
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest, inspect};
    ///
    /// let ai = AgentLoop::builder().key("google", "example").build()?;
    /// let request = ChatRequest::new("google/gemini-2.5-flash").user("And then?").extra("previous_interaction_id", "v1_a");
    /// let encoded = inspect::encode(&ai, &request, false)?;
    /// assert_eq!(encoded.url, "https://generativelanguage.googleapis.com/v1beta/interactions");
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn google() -> Self {
        let mut row =
            Self::gemini_compatible("google", "https://generativelanguage.googleapis.com/v1beta");
        // google-genai SDK: the first variable wins.
        row.key =
            KeySource::Env(vec![Cow::Borrowed("GOOGLE_API_KEY"), Cow::Borrowed("GEMINI_API_KEY")]);
        row.quirks(|q| {
            // More texts in one `batchEmbedContents` get 400 (langchainjs#4491, vercel/ai#16575).
            q.embeddings.batch = Some(100);
            q.server_tools = ServerToolQuirks::default().without_chat();
            q.storage.files = FileApi::Resumable;
            q.storage.batches = BatchApi::Operation;
        })
        .speaks_as(Self::interactions_compatible(
            "google",
            "https://generativelanguage.googleapis.com/v1beta",
        ))
        .key_url("https://aistudio.google.com/app/apikey")
        .makes(MAKES)
        .telemetry_name("gcp.gemini")
        .restriction(
            restrict(
                "google-2.5-penalties",
                Action::Drop(vec![Param::FrequencyPenalty, Param::PresencePenalty]),
            )
            .models(["*gemini-2.5*"])
            .protocol(Protocol::Gemini)
            .reason("penalties are not enabled for the model")
            .source("google-genai SDK 3.1: GenerateContentConfig; ai-sdk google"),
        )
        .restriction(
            restrict("google-interactions", Action::Speak(Protocol::GeminiInteractions))
                .when([Condition::Field(names(OWN_FIELDS))])
                .reason("only the Interactions API has these fields")
                .source("google-genai SDK 3.3.0: CreateModelInteraction, CreateAgentInteraction"),
        )
        .restriction(
            restrict(
                "google-functions-and-server-tools",
                Action::Field {
                    path: "toolConfig.includeServerSideToolInvocations".into(),
                    value: true.into(),
                },
            )
            .models(["*gemini-3*", "*gemini-4*", "*gemini-*-latest"])
            .protocol(Protocol::Gemini)
            .when([Condition::Functions, Condition::ServerTools])
            .reason("functions beside the provider's own tools need it")
            .source("google-genai SDK 3.1: ToolConfig; ai-sdk google"),
        )
    }
}
