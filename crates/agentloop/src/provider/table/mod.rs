//! The built-in providers: one row each.
//!
//! What a row says about its host comes from recorded traffic, from the host's own SDK or from its published
//! descriptions. A row says only what differs from [`Provider::openai_compatible`].

mod makes;
mod responses;
mod tools;

use std::borrow::Cow;

use crate::chat::{Effort, Protocol};
use crate::provider::families::{with_claude, with_gpt};
use crate::provider::model::{ModelRule, ThinkTags};
use crate::provider::quirks::{
    AudioInputForm, CacheMarkers, ClientTools, DimensionsName, EmbeddingEncoding, EmbeddingForm,
    EmbeddingQuirks, FileInputForm, Fingerprint, ImageInput, ImageOutputForm, IncludeForm,
    InputTypeWords, ItemForm, JsonSchemaSupport, LogprobsForm, ParsedFiles, ReasoningEcho,
    ReasoningTokens, SpeakerName, StreamUsage, TextFormat, ThinkingForm, TokenCap, TokenCount,
    ToolCallIds, ToolResultImages, ToolResultName, VideoInput,
};
use crate::provider::restrict::with_restrictions;
use crate::provider::{Auth, KeySource, Param, Provider};

/// Every built-in row, in the order of the documentation.
pub(crate) fn rows() -> Vec<Provider> {
    let rows = vec![
        openai(),
        anthropic(),
        google(),
        groq(),
        together(),
        mistral(),
        deepseek(),
        fireworks(),
        perplexity(),
        ollama(),
        cohere(),
        xai(),
        openrouter(),
        cerebras(),
        azure(),
        vertex(),
        huggingface(),
        nvidia(),
        moonshot(),
        deepinfra(),
        sambanova(),
        github(),
        vllm(),
        llamacpp(),
        lmstudio(),
    ];
    let complete =
        |row| with_restrictions(makes::with_features(responses::beside(tools::with_tools(row))));
    rows.into_iter().map(complete).collect()
}

fn row(name: &'static str, base_url: &'static str, key: &'static str) -> Provider {
    Provider::openai_compatible(name, base_url).key_env(key)
}

/// A server on this machine: a key is sent if one is set.
fn local(name: &'static str, base_url: &'static str, key: &'static str) -> Provider {
    let mut provider = Provider::openai_compatible(name, base_url);
    provider.key = KeySource::EnvIfSet(vec![Cow::Borrowed(key)]);
    provider
}

const LOW_TO_MAX: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];
const NONE_TO_HIGH: &[Effort] = &[Effort::None, Effort::Low, Effort::Medium, Effort::High];
const MINIMAL_TO_XHIGH: &[Effort] =
    &[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];

fn openai() -> Provider {
    let row = row("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")
        .quirks(|q| {
            q.token_cap = TokenCap::MaxCompletionTokens;
            q.max_stops = Some(4);
            q.embeddings = many_embeddings();
            q.token_count = TokenCount::InputTokens;
        })
        .strip([Param::TopK]);
    with_gpt(row)
}

/// At most 2,048 texts and 300,000 tokens in one call.
fn many_embeddings() -> EmbeddingQuirks {
    EmbeddingQuirks {
        batch: Some(2048),
        batch_bytes: Some(300_000),
        encoding: EmbeddingEncoding::Base64,
        ..EmbeddingQuirks::default()
    }
}

/// At most 512 texts in one call, whose vectors come as bytes.
fn short_embeddings() -> EmbeddingQuirks {
    EmbeddingQuirks {
        batch: Some(512),
        encoding: EmbeddingEncoding::Int8,
        ..EmbeddingQuirks::default()
    }
}

fn anthropic() -> Provider {
    Provider::anthropic_compatible("anthropic", "https://api.anthropic.com/v1")
        .key_env("ANTHROPIC_API_KEY")
        .quirks(|q| q.client_tools = ClientTools::Versioned)
}

fn google() -> Provider {
    let mut google =
        Provider::gemini_compatible("google", "https://generativelanguage.googleapis.com/v1beta");
    google.key =
        KeySource::Env(vec![Cow::Borrowed("GOOGLE_API_KEY"), Cow::Borrowed("GEMINI_API_KEY")]);
    google.quirks(|q| q.embeddings.batch = Some(100))
}

/// With a token that the user supplies; project and location stand in the address.
fn vertex() -> Provider {
    Provider::gemini_compatible(
        "vertex",
        "https://${VERTEX_LOCATION}-aiplatform.googleapis.com/v1/projects/${VERTEX_PROJECT}/locations/${VERTEX_LOCATION}/publishers/google",
    )
    .key_env("VERTEX_ACCESS_TOKEN")
    .auth(Auth::Bearer)
    .quirks(|q| q.embeddings.batch = Some(1))
    .without_model_list()
}

fn groq() -> Provider {
    row("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY")
        .quirks(|q| {
            q.token_cap = TokenCap::MaxCompletionTokens;
            q.reasoning_echo = ReasoningEcho::Reasoning;
            q.json_schema = JsonSchemaSupport::NotWithTools;
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
            q.efforts = Some(NONE_TO_HIGH.into());
            q.thinking = ThinkingForm::ReasoningFormat;
            q.max_stops = Some(4);
            q.embeddings.dimensions = DimensionsName::Refused;
        })
        .strip([
            Param::FrequencyPenalty,
            Param::PresencePenalty,
            Param::Logprobs,
            Param::TopLogprobs,
            Param::LogitBias,
            Param::Metadata,
            Param::TopK,
            Param::Verbosity,
            Param::PromptCacheKey,
            Param::Modalities,
            Param::Audio,
        ])
        .clamp(Param::N, 1.0, 1.0)
        .clamp(Param::Temperature, 0.0, 2.0)
}

fn together() -> Provider {
    row("together", "https://api.together.ai/v1", "TOGETHER_API_KEY")
        .quirks(|q| {
            q.logprobs = LogprobsForm::Count;
            q.reasoning_echo = ReasoningEcho::ReasoningContent;
            q.files = FileInputForm::Refused;
            q.video = VideoInput::VideoUrl;
            // Which of them a model knows stands in the table of restrictions.
            q.efforts = Some(LOW_TO_MAX.into());
            q.thinking = ThinkingForm::ReasoningEnabled;
            q.embeddings.dimensions = DimensionsName::Refused;
        })
        .strip([
            Param::User,
            Param::ParallelToolCalls,
            Param::ServiceTier,
            Param::Metadata,
            Param::Verbosity,
            Param::PromptCacheKey,
            Param::Modalities,
            Param::Audio,
        ])
}

fn mistral() -> Provider {
    row("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY")
        .quirks(|q| {
            q.stream_usage = StreamUsage::Unasked;
            q.reasoning_echo = ReasoningEcho::ThinkingChunk;
            q.tool_call_ids = ToolCallIds::NineAlphanumeric;
            q.tool_result_name = ToolResultName::Required;
            q.speaker_name = SpeakerName::Refused;
            q.audio = AudioInputForm::Text;
            q.files = FileInputForm::DocumentUrl;
            q.embeddings.batch = Some(32);
            q.embeddings.dimensions = DimensionsName::OutputDimension;
        })
        .rename(Param::Seed, "random_seed")
        .clamp(Param::Temperature, 0.0, 1.5)
        .allow(&[
            "model",
            "messages",
            "temperature",
            "top_p",
            "top_k",
            "max_tokens",
            "stream",
            "stop",
            "random_seed",
            "metadata",
            "response_format",
            "tools",
            "tool_choice",
            "presence_penalty",
            "frequency_penalty",
            "n",
            "parallel_tool_calls",
            "reasoning_effort",
            "prompt_cache_key",
            "service_tier",
            "logprobs",
            "top_logprobs",
        ])
}

fn deepseek() -> Provider {
    let row = row("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY")
        .quirks(|q| {
            q.reasoning_echo = ReasoningEcho::ReasoningContentRequired;
            q.json_schema = JsonSchemaSupport::InInstructions;
            q.tool_result_images = ToolResultImages::Accepted;
            q.audio = AudioInputForm::Refused;
            q.efforts = Some((&[Effort::Low, Effort::High, Effort::Max]).into());
            q.thinking = ThinkingForm::TypeSwitch;
            q.max_stops = Some(16);
        })
        .strip([
            Param::N,
            Param::Seed,
            Param::LogitBias,
            Param::FrequencyPenalty,
            Param::PresencePenalty,
            Param::ParallelToolCalls,
            Param::ServiceTier,
            Param::Metadata,
            Param::TopK,
            Param::Verbosity,
            Param::PromptCacheKey,
            Param::Modalities,
            Param::Audio,
        ])
        .without_embeddings();
    // In Anthropic's messages the user has the name of that protocol.
    let messages = Provider {
        protocol: Protocol::Anthropic,
        base_url: "https://api.deepseek.com/anthropic/v1".into(),
        auth: Auth::XApiKey,
        ..row.clone()
    };
    row.rename(Param::User, "user_id").speaks_as(messages)
}

fn fireworks() -> Provider {
    row("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY")
        .quirks(|q| {
            q.reasoning_echo = ReasoningEcho::ReasoningContent;
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
            q.video = VideoInput::VideoUrl;
            q.efforts = Some(NONE_TO_HIGH.into());
            q.thinking = ThinkingForm::TypeSwitchWithBudget;
            q.max_stops = Some(4);
        })
        .strip([Param::Verbosity, Param::Modalities, Param::Audio])
        .speaks(Protocol::Anthropic, "https://api.fireworks.ai/inference/v1", Auth::Bearer)
}

/// Its live form is that of responses, in which it refuses what it does not know. The chat form of Sonar is kept: where
/// the service has ended, its own words say so.
fn perplexity() -> Provider {
    let sonar = row("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY")
        .quirks(|q| {
            q.stream_usage = StreamUsage::Unasked;
            q.reasoning_tokens = ReasoningTokens::Beside;
            q.audio = AudioInputForm::Refused;
            q.embeddings = short_embeddings();
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
        ]);
    Provider::responses_compatible("perplexity", "https://api.perplexity.ai/v1")
        .key_env("PERPLEXITY_API_KEY")
        .quirks(|q| {
            q.items = ItemForm::Plain;
            q.include = IncludeForm::Refused;
            q.text_format = TextFormat::ResponseFormat;
            q.json_schema = JsonSchemaSupport::SchemaOnly;
            q.tool_result_images = ToolResultImages::Refused;
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
            q.efforts = Some(MINIMAL_TO_XHIGH.into());
            q.embeddings = short_embeddings();
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
        .model(ModelRule::new("*reasoning*").with_think_tags(ThinkTags::Paired))
        .speaks_as(sonar)
}

fn ollama() -> Provider {
    local("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY")
        .quirks(|q| {
            q.reasoning_echo = ReasoningEcho::Reasoning;
            q.images = ImageInput::DataOnly;
            q.files = FileInputForm::Refused;
            q.fingerprint = Fingerprint::Constant;
            // The native call: only there `truncate`, `keep_alive` and `options` are listened to.
            q.embeddings.form = EmbeddingForm::BareInput;
            q.embeddings.path = Some("../api/embed".into());
        })
        .ignored(Param::ToolChoice)
        .ignored(Param::ParallelToolCalls)
        .ignored(Param::LogitBias)
        .ignored(Param::N)
        .ignored(Param::User)
        .ignored(Param::Metadata)
        .ignored(Param::ServiceTier)
        .ignored(Param::TopK)
        .ignored(Param::Verbosity)
        .ignored(Param::PromptCacheKey)
        .speaks(Protocol::Anthropic, "http://localhost:11434/v1", Auth::Bearer)
}

fn cohere() -> Provider {
    row("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY")
        .quirks(|q| {
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
            q.efforts = Some((&[Effort::None, Effort::High]).into());
            // The native call: the compatible one cannot say what the vectors are for.
            q.embeddings.form = EmbeddingForm::TextsByType;
            q.embeddings.path = Some("../../v2/embed".into());
            q.embeddings.batch = Some(96);
            q.embeddings.dimensions = DimensionsName::OutputDimension;
            q.embeddings.input_type = InputTypeWords::Search;
        })
        .strip([
            Param::LogitBias,
            Param::TopLogprobs,
            Param::N,
            Param::User,
            Param::ParallelToolCalls,
            Param::Metadata,
            Param::ServiceTier,
            Param::TopK,
            Param::Verbosity,
            Param::PromptCacheKey,
            Param::Modalities,
            Param::Audio,
        ])
        .clamp(Param::Temperature, 0.0, 1.0)
        .clamp(Param::FrequencyPenalty, 0.0, 1.0)
        .clamp(Param::PresencePenalty, 0.0, 1.0)
        .without_model_list()
}

/// Prefers responses, and shows what it thinks only there; chat is on its way out.
fn xai() -> Provider {
    let chat = row("xai", "https://api.x.ai/v1", "XAI_API_KEY")
        .quirks(|q| {
            q.token_cap = TokenCap::MaxCompletionTokens;
            q.audio = AudioInputForm::Refused;
        })
        .strip([Param::TopK, Param::Verbosity, Param::Modalities, Param::Audio, Param::Metadata]);
    Provider::responses_compatible("xai", "https://api.x.ai/v1")
        .key_env("XAI_API_KEY")
        .quirks(|q| {
            q.include = IncludeForm::Reasoning;
            q.tool_result_images = ToolResultImages::Refused;
            q.audio = AudioInputForm::Refused;
        })
        .strip([Param::Verbosity, Param::Metadata])
        .speaks_as(chat)
}

fn openrouter() -> Provider {
    row("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
        .quirks(|q| {
            q.reasoning_echo = ReasoningEcho::ReasoningDetails;
            q.thinking = ThinkingForm::ReasoningObject;
            q.cache_markers = CacheMarkers::OnParts;
            q.parsed_files = ParsedFiles::Returned;
            q.video = VideoInput::VideoUrl;
            q.image_output = ImageOutputForm::ImageConfig;
        })
        .speaks(Protocol::Anthropic, "https://openrouter.ai/api/v1", Auth::Bearer)
}

fn cerebras() -> Provider {
    row("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")
        .quirks(|q| {
            q.token_cap = TokenCap::MaxCompletionTokens;
            q.reasoning_echo = ReasoningEcho::Reasoning;
            q.json_schema = JsonSchemaSupport::NotWithTools;
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
        })
        .strip([
            Param::FrequencyPenalty,
            Param::PresencePenalty,
            Param::LogitBias,
            Param::Metadata,
            Param::TopK,
            Param::Verbosity,
            Param::Modalities,
            Param::Audio,
        ])
        .without_embeddings()
}

fn azure() -> Provider {
    let row = row(
        "azure",
        "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
        "AZURE_OPENAI_API_KEY",
    )
    .auth(Auth::ApiKey)
    .quirks(|q| {
        q.token_cap = TokenCap::MaxCompletionTokens;
        q.embeddings = many_embeddings();
    })
    // Unknown parameters are refused, as OpenAI itself does.
    .strip([Param::TopK])
    .speaks(
        Protocol::Anthropic,
        "https://${AZURE_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1",
        Auth::XApiKey,
    );
    // A deployment has any name; most have the name of their model.
    with_claude(with_gpt(row))
}

fn huggingface() -> Provider {
    row("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN").without_embeddings()
}

fn nvidia() -> Provider {
    row("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY").quirks(|q| {
        q.reasoning_echo = ReasoningEcho::ReasoningContent;
        q.thinking = ThinkingForm::TemplateArgument;
        q.embeddings.input_type = InputTypeWords::Passage;
    })
}

fn moonshot() -> Provider {
    row("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY")
        .quirks(|q| q.reasoning_echo = ReasoningEcho::ReasoningContent)
        .without_embeddings()
}

fn deepinfra() -> Provider {
    row("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY")
        .quirks(|q| q.reasoning_echo = ReasoningEcho::ReasoningContent)
}

fn sambanova() -> Provider {
    row("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY")
}

fn github() -> Provider {
    row("github", "https://models.github.ai/inference", "GITHUB_TOKEN").without_model_list()
}

fn vllm() -> Provider {
    local("vllm", "http://localhost:8000/v1", "VLLM_API_KEY").quirks(|q| {
        q.reasoning_echo = ReasoningEcho::Reasoning;
        q.thinking = ThinkingForm::TemplateArgument;
        q.video = VideoInput::VideoUrl;
    })
}

fn llamacpp() -> Provider {
    local("llamacpp", "http://localhost:8080/v1", "LLAMACPP_API_KEY")
        .quirks(|q| {
            q.reasoning_echo = ReasoningEcho::ReasoningContent;
            q.thinking = ThinkingForm::TemplateArgument;
        })
        .speaks(Protocol::Anthropic, "http://localhost:8080/v1", Auth::Bearer)
}

fn lmstudio() -> Provider {
    local("lmstudio", "http://localhost:1234/v1", "LMSTUDIO_API_KEY")
        .quirks(|q| q.json_schema = JsonSchemaSupport::SchemaOnly)
}
