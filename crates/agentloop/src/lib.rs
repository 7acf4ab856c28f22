//! One interface to every LLM provider.
//!
//! Name a model as `"provider/model"` and get the same types back from every provider: a list of typed
//! [parts](ResponsePart), complete or as a [stream](ChatStream) of [events](ChatStreamEvent), with one [error](Error)
//! type and one definition of [usage](Usage).
//!
//! ```no_run
//! # async fn example() -> agentloop::Result<()> {
//! use agentloop::{AgentLoop, ChatRequest};
//!
//! let ai = AgentLoop::from_env();
//! let response = ai.chat(ChatRequest::new("groq/openai/gpt-oss-120b").user("Hello")).await?;
//! println!("{}", response.text());
//! # Ok(())
//! # }
//! ```
//!
//! # The path of a call
//!
//! ```text
//! ChatRequest → AgentLoop → middleware… → encode (pure) → transport (I/O)
//!             → framing (pure) → decode (pure) → ChatStreamEvent… → caller of stream()
//!                                                                  → fold → caller of chat()
//! ```
//!
//! - [`AgentLoop`] is the client: [`chat`](AgentLoop::chat), [`stream`](AgentLoop::stream),
//!   [`embed`](AgentLoop::embed), [`image`](AgentLoop::image), [`speak`](AgentLoop::speak),
//!   [`transcribe`](AgentLoop::transcribe), [`rerank`](AgentLoop::rerank), [`moderate`](AgentLoop::moderate),
//!   [`models`](AgentLoop::models).
//! - [`ChatRequest`] is a request. What a provider does not support becomes a [`Warning`] on the response, or an error
//!   before anything is sent.
//! - [`ChatResponse`] is the [fold](Fold) of its events, so `chat` and `stream` always agree.
//!   [`ChatResponse::into_message`] turns it into a message for the conversation without losing anything.
#![cfg_attr(
    feature = "structured",
    doc = "- [`chat_structured`](AgentLoop::chat_structured) returns a response of a type of yours."
)]
#![cfg_attr(
    not(feature = "structured"),
    doc = "- With the feature `structured`, `chat_structured` returns a response of a type of yours."
)]
#![cfg_attr(
    feature = "agent",
    doc = "- [`Agent`](agent::Agent) runs the tools that a model calls until it has a final response."
)]
#![cfg_attr(
    not(feature = "agent"),
    doc = "- With the feature `agent`, an `Agent` runs the tools that a model calls until it has a final response."
)]
#![cfg_attr(feature = "blocking", doc = "- [`blocking::AgentLoop`] is the client without `async`.")]
#![cfg_attr(
    not(feature = "blocking"),
    doc = "- With the feature `blocking`, `blocking::AgentLoop` is the client without `async`."
)]
//! - [`Provider`] describes a provider as data: its URL, its key, and how it differs from the [protocol](Protocol) that
//!   it uses. Any compatible endpoint can be added the same way.
//! - [`middleware`] wraps every call, [`transport`] does all I/O, [`inspect`] encodes and decodes without a network.
//!
//! # Errors
//!
//! Match on [`Error::kind`]. [`Error::is_retryable`] is whether to try again, and [`Error::hint`] what a person can do.
//! A stream that is cut off is an error, never a short response; [`Error::partial`] has the part that arrived.

// docs.rs builds with a nightly compiler and shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What several of the default features share may be unused with one of them alone.
#![cfg_attr(
    not(all(
        feature = "anthropic",
        feature = "cohere",
        feature = "config",
        feature = "gemini",
        feature = "http2",
        feature = "ollama",
        feature = "openai-chat",
        feature = "openai-responses"
    )),
    allow(dead_code, unused_imports, unused_macros)
)]

// Macros come before the modules that use them.
#[macro_use(skip_serializing_none)]
extern crate agentloop_macros;
#[macro_use]
mod macros;

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "blocking")]
pub mod blocking;
mod calendar;
mod canonical;
#[cfg(feature = "serve")]
pub mod carry;
mod chat;
mod client;
#[cfg(feature = "config")]
mod config;
#[cfg(any(feature = "agent", feature = "serve"))]
mod contained;
pub mod credential;
mod error;
mod framing;
mod hash;
mod history;
pub mod inspect;
pub mod limits;
mod lock;
mod long_work;
pub mod media;
mod memo;
pub mod middleware;
pub mod models;
mod nesting;
mod pace;
#[cfg(test)]
#[path = "../tests/it/support/patience.rs"]
mod patience;
mod percent;
mod private_file;
#[cfg(any(feature = "bedrock", feature = "entra", feature = "mcp"))]
mod processes;
#[cfg(test)]
#[cfg(unix)]
#[path = "../tests/it/support/program.rs"]
mod programs;
pub mod protocol;
pub mod provider;
mod regular_file;
mod schema;
mod secret;
#[cfg(feature = "config")]
mod settings;
mod shared_room;
mod stream;
#[cfg(feature = "structured")]
pub mod structured;
mod timeouts;
pub mod transport;
#[cfg(any(feature = "config", feature = "mcp"))]
mod words;

#[cfg(feature = "agent")]
/// Makes a [`Tool`](agent::Tool) from a function.
///
/// ```
/// use agentloop::agent::{Agent, ToolContext};
/// use agentloop::{AgentLoop, ChatRequest, tool};
///
/// /// Returns the weather in a city.
/// #[tool(timeout_secs = 10)]
/// async fn weather(
///     /// The name of the city.
///     city: String,
///     context: ToolContext,
/// ) -> String {
///     context.progress("looking out of the window");
///     format!("It rains in {city}.")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let agent = Agent::new(ai).tool(weather);
/// let outcome = agent.run(ChatRequest::new("sim/tools").user("How is the weather?")).await?;
/// assert!(outcome.text().contains("It rains"));
/// # Ok(())
/// # }
/// ```
///
pub use agentloop_macros::tool;
pub use chat::{
    AudioInput, AudioOutput, AudioPart, Batch, BatchCounts, BatchState, BatchStatus, BlockCitation,
    CacheControl, CacheMode, ChatMessage, ChatRequest, ChatResponse, ChatStreamEvent, Choice,
    Citation, ClientTool, ClientToolKind, CodeExecutionPart, CodeExecutionTool, CodeOutcome,
    CodeResultPart, ContentPart, Cost, CostSource, Display, DocumentCitation, Download, Effort,
    EmbedInput, EmbedInputType, EmbedRequest, EmbedResponse, EmbedUsage, ErrorRecord, ExtraHeaders,
    FileCitation, FileInput, FilePart, FileSearchTool, FinishReason, Fold, FoldError, FunctionCall,
    FunctionDefinition, GeneratedImage, ImageDetail, ImageEvent, ImageOutput, ImagePart,
    ImageRequest, ImageResponse, ImageUrl, JsonSchemaFormat, Logprobs, MediaFile, MediaOptions,
    MediaUrl, MessageContent, Modality, ModerateRequest, ModerateResponse, Moderation,
    OpaqueCitation, OpaquePart, Origin, OutputStrategy, PageCitation, ParseUsdError, PartDelta,
    PartStart, Protocol, ProviderState, RankedDocument, RawResponse, RedactedThinkingPart,
    RerankRequest, RerankResponse, ResponseFormat, ResponsePart, Role, SearchResultCitation,
    ServerTool, ServerToolCallPart, ServerToolResultPart, SpeechEvent, SpeechRequest,
    SpeechResponse, Stop, StreamOptions, Task, TaskEvent, TaskResponse, TextPart, Thinking,
    ThinkingPart, Timestamps, TokenLogprob, ToolCall, ToolCallPart, ToolChoice, ToolDefinition,
    TranscribeEvent, TranscribeRequest, TranscribeResponse, TranscriptSegment, TranscriptWord,
    UrlCitation, Usage, UsageDetails, Usd, UserLocation, Warning, WarningKind, WebFetchTool,
    WebSearchTool,
};
#[cfg(feature = "serve")]
pub use client::relay;
pub use client::{
    AgentLoop, AgentLoopBuilder, BatchResult, BatchResults, Batches, Files, PreparedBatch,
    SharedRequest, WaitOptions,
};
#[cfg(feature = "config")]
pub use config::{
    Config, ConfigFile, ConfigOrigin, ConfigReader, GatewayBudget, GatewayCache, GatewayCacheScope,
    GatewayConfig, GatewayKey, GatewayLedger, GatewayLog, GatewayMember, GatewayPeriod,
    GatewayPool, GatewayRedis, GatewayRoute, GatewayStore, GatewayStrategy, GatewayTeam,
    GatewayTls, GatewayWithoutRedis, LocalConfig, McpConfig, ProgramConfig, RestrictedSetting,
    ToolsConfig,
};
pub use error::{Error, ErrorKind, Result};
pub use models::{ModelCatalog, ModelData, ModelInfo};
pub use provider::{Provider, Target};
pub use secret::Secret;
pub use stream::{ChatStream, ImageStream, SpeechStream, TaskStream, TextStream, TranscribeStream};
pub use timeouts::Timeouts;
pub use transport::BoxFuture;

/// What the other crates of the workspace share. It is not part of the API.
#[doc(hidden)]
pub mod internal {
    #[cfg(any(feature = "agent", feature = "serve"))]
    pub use crate::contained::{contained, poll_contained};
    pub use crate::lock::{lock, read, write};
    pub use crate::long_work::LongWork;
    #[cfg(any(feature = "bedrock", feature = "entra", feature = "mcp"))]
    pub use crate::processes::{Family, find_program, kill_group};
    pub use crate::secret::echo::Echo;
    pub use crate::shared_room::SharedRoom;

    pub mod files {
        pub use crate::private_file::{
            Replacement, append_suffix, create, create_folder, options, parent_folder, replace,
        };
        pub use crate::regular_file::{open_regular, read_regular, read_regular_text};
    }
}

/// Compiles and runs the Rust code of the pages of the guide, as documentation tests. A test of the command fails if a page is missing.
#[cfg(doctest)]
macro_rules! guide {
    ($($page:ident: $path:literal,)*) => {
        $(
            #[doc = include_str!(concat!("../../../", $path))]
            struct $page;
        )*
    };
}

#[cfg(doctest)]
guide! {
    Readme: "README.md",
    Agent: "docs/agent.md",
    Approval: "docs/approval.md",
    BatchGuide: "docs/batch.md",
    Cache: "docs/cache.md",
    Conversations: "docs/conversations.md",
    Costs: "docs/costs.md",
    Credentials: "docs/credentials.md",
    Custom: "docs/custom.md",
    Embeddings: "docs/embeddings.md",
    Errors: "docs/errors.md",
    FirstChat: "docs/first-chat.md",
    Local: "docs/local.md",
    Mcp: "docs/mcp.md",
    Media: "docs/media.md",
    Middleware: "docs/middleware.md",
    Modalities: "docs/modalities.md",
    Models: "docs/models.md",
    Security: "docs/SECURITY.md",
    Streaming: "docs/streaming.md",
    Structured: "docs/structured.md",
    Testing: "docs/testing.md",
    Tools: "docs/tools.md",
    WebChat: "docs/web-chat.md",
    FromAiSdk: "docs/migrate/ai-sdk.md",
    FromAsyncOpenai: "docs/migrate/async-openai.md",
    FromGenai: "docs/migrate/genai.md",
    FromLitellm: "docs/migrate/litellm.md",
    FromRig: "docs/migrate/rig.md",
}
