//! Azure OpenAI (Azure AI Foundry), at the URL that needs no API version.
//!
//! A model is named by its deployment. A deployment can have any name; most have the name of their model, so what is known of
//! GPT and Claude models applies by that name.
//!
//! Sources, read on 2026-11-15: ai-sdk azure 4.0 (`azure-openai-provider.ts`), learn.microsoft.com (API version lifecycle),
//! anthropic SDK 2.8 (Foundry), and the recordings `azure-*`. Tokens instead of keys: azure-identity 1.27. Images, speech and
//! transcripts, read on 2026-11-18: learn.microsoft.com (Azure OpenAI in Microsoft Foundry, v1 REST API: `/openai/v1/audio/speech` and
//! others, whose `api-version` is optional), ai-sdk azure 3.0.128 (one URL for all modalities), and openai SDK 3.51
//! (`lib/azure.py`: which paths a deployment has). There are no recordings of them. Files and batches, read on 2026-11-18:
//! learn.microsoft.com (Microsoft Foundry REST reference: `/openai/v1/batches`, whose endpoints are `/v1/chat/completions`,
//! `/v1/responses` and others).

use super::common::{hosted, names, restrict};
use super::families::{claude, gpt};
use super::openai::{LEAST_OUTPUT, MAKES, server_tools};
use crate::chat::{Modality, Protocol};
use crate::models::Action;
use crate::provider::credential::CredentialSource;
use crate::provider::quirks::{BatchApi, FileApi, TokenCap, ToolResultImages, UserLabel};
use crate::provider::{Auth, KeySource, Param, Provider};

/// The deployments of Anthropic's models: their names are those of the models, unless a customer chooses others.
const CLAUDE: &str = "*claude*";

impl Provider {
    /// Returns the built-in provider `azure`: Azure OpenAI, with the key in `AZURE_OPENAI_API_KEY` and the name of the
    /// resource in `AZURE_RESOURCE_NAME`. Without a key, tokens of Microsoft Entra ID are used (feature `entra`).
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder()
    ///     .provider(Provider::azure().key("example"))
    ///     .env("AZURE_RESOURCE_NAME", "my-resource")
    ///     .build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn azure() -> Self {
        let mut row = hosted(
            "azure",
            "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
            "AZURE_OPENAI_API_KEY",
        )
        .auth(Auth::ApiKey)
        .modalities([Modality::Image, Modality::Speech, Modality::Transcription])
        .quirks(|q| {
            q.token_cap = TokenCap::MaxCompletionTokens;
            q.embeddings = gpt::embeddings();
            q.server_tools = server_tools();
            // Azure does not have OpenAI's purpose "user_data" (learn.microsoft.com: Responses API).
            q.storage.files = FileApi::PurposeForm;
            q.storage.purpose = Some("assistants".into());
            q.storage.batches = BatchApi::InputFile;
        })
        // Unknown parameters are refused, as by OpenAI itself.
        .strip([Param::TopK])
        .speaks(
            Protocol::Anthropic,
            "https://${AZURE_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1",
            Auth::XApiKey,
        )
        .also_responses(|row| {
            row.quirks(|q| {
                q.tool_result_images = ToolResultImages::Accepted;
                q.user_label = UserLabel::SafetyIdentifier;
            })
            .clamp(Param::MaxTokens, LEAST_OUTPUT, f64::INFINITY)
        })
        .makes(MAKES)
        .telemetry_name("azure.ai.openai");
        row.key = KeySource::EnvIfSet(names(["AZURE_OPENAI_API_KEY"]));
        row.credential = CredentialSource::Entra(Default::default());
        for endpoint in &mut row.endpoints {
            if endpoint.protocol == Protocol::Anthropic {
                endpoint.models = names([CLAUDE]);
            }
        }
        claude::extend(gpt::extend(row)).restriction(
            restrict("azure-claude", Action::Speak(Protocol::Anthropic))
                .models([CLAUDE])
                .reason("the models of Anthropic have a protocol of their own")
                .source("anthropic SDK 2.9: lib/foundry.py"),
        )
    }
}
