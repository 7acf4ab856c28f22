//! Perplexity.
//!
//! Its current API is the Responses protocol, which refuses fields that it does not know. Chat Completions of Sonar ended on
//! 2026-09-27. The Chat endpoint is kept, so that a request for it gets the provider's own error.
//!
//! Sources, read on 2026-11-15: docs.perplexity.ai (OpenAI compatibility), perplexityai/api-platform-developers
//! (`models-and-presets.md`, `request-mapping.md`), perplexityai SDK 0.46 for Python, and the recordings `perplexity-*`,
//! all of the Chat endpoint. The page of keys is named in ppl-ai/api-cookbook of 2025-08, read on 2026-11-16. Files and
//! batches, read on 2026-11-18: perplexityai SDK 0.46.1 (`BatchesResource`: requests of the Responses protocol only; files have
//! one purpose).

use super::common::{clamp, hosted, metadata, restrict};
use crate::chat::{Effort, Protocol};
use crate::models::{Action, Condition, Restriction};
use crate::provider::model::{ModelRule, ThinkTags};
use crate::provider::quirks::{
    AudioInputForm, BatchApi, CodeExecutionForm, EmbeddingEncoding, EmbeddingQuirks, FileApi,
    FileInputForm, IncludeForm, ItemForm, JsonSchemaSupport, ReasoningTokens, ServerToolQuirks,
    StreamUsage, TextFormat, ToolResultImages, WebFetchForm, WebSearchForm,
};
use crate::provider::{Feature, Param, Provider};

const PRESETS: &str = "perplexityai/api-platform-developers: models-and-presets.md";
const MAPPING: &str = "perplexityai/api-platform-developers: request-mapping.md";

const EFFORTS: &[Effort] =
    &[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];

impl Provider {
    /// Returns the built-in provider `perplexity`: Perplexity, with the key in `PERPLEXITY_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::perplexity().key("pplx-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn perplexity() -> Self {
        let mut row = Self::responses_compatible("perplexity", "https://api.perplexity.ai/v1")
            .modalities([])
            .key_env("PERPLEXITY_API_KEY")
            .key_url("https://www.perplexity.ai/settings/api")
            .quirks(|q| {
                q.items = ItemForm::Plain;
                q.include = IncludeForm::Refused;
                q.text_format = TextFormat::ResponseFormat;
                q.json_schema = JsonSchemaSupport::SchemaOnly;
                q.tool_result_images = ToolResultImages::Refused;
                q.audio = AudioInputForm::Refused;
                q.files = FileInputForm::Refused;
                q.efforts = Some(EFFORTS.into());
                q.embeddings = embeddings();
                q.storage.files = FileApi::PurposeForm;
                q.storage.purpose = Some("batch".into());
                q.storage.batches = BatchApi::InputFile;
                q.server_tools = ServerToolQuirks {
                    web_search: WebSearchForm::DomainFilter,
                    web_fetch: WebFetchForm::FetchUrl,
                    code_execution: CodeExecutionForm::Sandbox,
                    ..ServerToolQuirks::refused()
                };
            })
            .allow(&[
                "model",
                "input",
                "max_output_tokens",
                "temperature",
                "top_p",
                "reasoning",
                "response_format",
                "tools",
                "tool_choice",
                "parallel_tool_calls",
                "metadata",
                "stream",
                "store",
            ])
            // 62 of 130 recordings, `perplexity-json-citations-search-results-2609c1fd` among them.
            .model(ModelRule::new("*reasoning*").with_think_tags(ThinkTags::Paired))
            .speaks_as(sonar())
            .makes([
                Feature::Thinking,
                Feature::Citations,
                Feature::CodeExecution,
                Feature::ServerTools,
            ]);
        row.restrictions.extend(restrictions());
        row
    }
}

/// The Chat endpoint as it was until 2026-09-27.
fn sonar() -> Provider {
    hosted("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY")
        .quirks(|q| {
            // All 54 recorded streams report it in several chunks.
            q.stream_usage = StreamUsage::Unasked;
            q.reasoning_tokens = ReasoningTokens::Beside;
            q.audio = AudioInputForm::Refused;
            q.embeddings = embeddings();
            q.embeddings.path = Some("v1/embeddings".into());
        })
        .strip([
            Param::Tools,
            Param::ToolChoice,
            Param::ParallelToolCalls,
            Param::FrequencyPenalty,
            Param::PresencePenalty,
            Param::Logprobs,
            Param::TopLogprobs,
            Param::LogitBias,
            Param::Seed,
            Param::N,
            Param::User,
            Param::Metadata,
            Param::ServiceTier,
            Param::Verbosity,
            Param::PromptCacheKey,
            Param::Modalities,
            Param::Audio,
        ])
}

/// At most 512 texts in a call, and vectors as base64 of signed bytes (perplexityai SDK 0.46).
fn embeddings() -> EmbeddingQuirks {
    EmbeddingQuirks {
        batch: Some(512),
        encoding: EmbeddingEncoding::Int8,
        ..EmbeddingQuirks::default()
    }
}

/// The Sonar models of the Chat endpoint continue under other names. A model by itself does not search: a preset includes the
/// search, or the tool does. Where only a preset is named, the provider chooses the model.
fn restrictions() -> Vec<Restriction> {
    let sonar = |id, models: &[&'static str], preset: Option<&'static str>| {
        let fields =
            preset.map(|preset| ("preset".to_owned(), preset.into())).into_iter().collect();
        let tools = if preset.is_none() { vec!["web_search".into()] } else { Vec::new() };
        restrict(id, Action::SendAs { model: Some("perplexity/sonar".into()), fields, tools })
            .models(models.to_vec())
            .protocol(Protocol::OpenAiResponses)
            .reason("the model goes on under another name")
            .source(PRESETS)
    };
    let mut rows = vec![
        sonar("perplexity-sonar", &["sonar"], None),
        sonar(
            "perplexity-sonar-pro",
            &["sonar-pro", "sonar-reasoning", "sonar-reasoning-pro"],
            Some("low"),
        ),
        sonar("perplexity-deep-research", &["sonar-deep-research"], Some("medium")),
        restrict("perplexity-max-tokens", Action::MaxTokens(8_192))
            .models(["anthropic/*"])
            .protocol(Protocol::OpenAiResponses)
            .when([Condition::Unset(Param::MaxTokens)])
            .reason("the provider wants a number for this model")
            .source(MAPPING),
        clamp("perplexity-max-tokens-floor", Param::MaxTokens, 16.0, f64::INFINITY)
            .protocol(Protocol::OpenAiResponses)
            .source(MAPPING),
        metadata("perplexity-metadata").protocol(Protocol::OpenAiResponses).source(MAPPING),
    ];
    for preset in [
        "fast",
        "low",
        "medium",
        "high",
        "xhigh",
        "fast-search",
        "pro-search",
        "deep-research",
        "advanced-deep-research",
    ] {
        let fields = std::iter::once(("preset".to_owned(), preset.into())).collect();
        rows.push(
            restrict(
                "perplexity-preset",
                Action::SendAs { model: None, fields, tools: Vec::new() },
            )
            .models([preset])
            .protocol(Protocol::OpenAiResponses)
            .reason("it is the name of a preset")
            .source(PRESETS),
        );
    }
    rows
}
