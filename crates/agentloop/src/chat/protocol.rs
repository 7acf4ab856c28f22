//! The protocols, and what each can express, as data.

use serde::{Deserialize, Serialize};

/// The wire format in which a provider is called.
///
/// ```
/// use agentloop::{ChatRequest, Protocol};
///
/// let request = ChatRequest::new("openai/gpt-4.1").user("Hello").protocol(Protocol::OpenAiResponses);
/// assert_eq!(request.protocol, Some(Protocol::OpenAiResponses));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's chat completions, which most providers implement.
    #[serde(rename = "openai_chat")]
    OpenAiChat,
    /// OpenAI's responses, also known as Open Responses.
    #[serde(rename = "openai_responses")]
    OpenAiResponses,
    /// Anthropic's messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Google's generateContent.
    #[serde(rename = "gemini")]
    Gemini,
    /// Ollama's own API.
    #[serde(rename = "ollama")]
    Ollama,
    /// Cohere's own API, version 2.
    #[serde(rename = "cohere")]
    Cohere,
    /// Amazon Bedrock's Converse.
    #[serde(rename = "bedrock")]
    Bedrock,
    /// Gemini's Interactions API.
    #[serde(rename = "gemini_interactions")]
    GeminiInteractions,
}

impl Protocol {
    /// All protocols.
    pub const ALL: &'static [Self] = &[
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Cohere,
        Self::Bedrock,
        Self::GeminiInteractions,
    ];

    /// Returns the name that configuration and the command line use.
    ///
    /// ```
    /// use agentloop::Protocol;
    ///
    /// assert_eq!(Protocol::OpenAiChat.name(), "openai_chat");
    /// ```
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the protocol of a name.
    ///
    /// ```
    /// use agentloop::Protocol;
    ///
    /// assert_eq!(Protocol::from_name("gemini"), Some(Protocol::Gemini));
    /// assert_eq!(Protocol::from_name("gopher"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// Returns what the protocol can express.
    pub(crate) const fn facts(self) -> &'static ProtocolFacts {
        match self {
            Self::OpenAiChat => &OPENAI_CHAT,
            Self::OpenAiResponses => &OPENAI_RESPONSES,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Ollama => &OLLAMA,
            Self::Cohere => &COHERE,
            Self::Bedrock => &BEDROCK,
            Self::GeminiInteractions => &GEMINI_INTERACTIONS,
        }
    }
}

/// What a protocol can express, for the modules that decide what is sent before anything is encoded.
#[derive(Debug)]
pub(crate) struct ProtocolFacts {
    pub(crate) name: &'static str,
    /// The protocol in which tokens are counted.
    pub(crate) counted_in: Protocol,
    /// Whether the fields of `extra_body` are merged into nested objects rather than replacing them.
    pub(crate) merges_extra_body: bool,
    /// Whose names the protocol uses for server tools.
    pub(crate) tool_dialect: ToolDialect,
    /// Whether a provider takes only the server tools that its row lists.
    pub(crate) lists_server_tools: bool,
    /// Whether the protocol has a tool that fetches pages.
    pub(crate) has_web_fetch: bool,
    /// Whether the protocol has a tool that searches uploaded files.
    pub(crate) has_file_search: bool,
    pub(crate) json_schema: Support,
    pub(crate) image_input: Support,
    pub(crate) audio_input: Support,
    pub(crate) file_input: Support,
    pub(crate) video_input: Support,
    pub(crate) cache_markers: Support,
    pub(crate) token_count: Support,
    pub(crate) image_urls: UrlSupport,
    pub(crate) audio_urls: UrlSupport,
    pub(crate) file_urls: UrlSupport,
    pub(crate) video_urls: UrlSupport,
    /// Whether media that the model made are sent back to it.
    pub(crate) sends_made_media: bool,
    /// Whether the provider reads videos of its own site and uploaded files by their URLs.
    pub(crate) reads_own_urls: bool,
}

/// Whose names a protocol uses for server tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolDialect {
    OpenAi,
    Anthropic,
    Gemini,
}

/// Whether a protocol can express something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    Never,
    /// A quirk of the provider decides.
    ByQuirk,
    Always,
}

/// Which media a protocol takes by URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlSupport {
    /// None: the bytes are sent.
    Never,
    /// A quirk of the provider decides.
    ByQuirk,
    /// Only PDFs.
    Pdf,
    /// Only those whose media type is known.
    WithType,
    Always,
}

const OPENAI_CHAT: ProtocolFacts = ProtocolFacts {
    name: "openai_chat",
    // OpenAI counts tokens only in its other protocol.
    counted_in: Protocol::OpenAiResponses,
    merges_extra_body: false,
    tool_dialect: ToolDialect::OpenAi,
    lists_server_tools: true,
    has_web_fetch: false,
    has_file_search: true,
    json_schema: Support::ByQuirk,
    image_input: Support::Always,
    audio_input: Support::ByQuirk,
    file_input: Support::ByQuirk,
    video_input: Support::ByQuirk,
    cache_markers: Support::ByQuirk,
    token_count: Support::ByQuirk,
    image_urls: UrlSupport::ByQuirk,
    audio_urls: UrlSupport::ByQuirk,
    file_urls: UrlSupport::ByQuirk,
    video_urls: UrlSupport::Always,
    sends_made_media: false,
    reads_own_urls: false,
};

const OPENAI_RESPONSES: ProtocolFacts = ProtocolFacts {
    name: "openai_responses",
    lists_server_tools: false,
    video_input: Support::Never,
    cache_markers: Support::Never,
    audio_urls: UrlSupport::Never,
    file_urls: UrlSupport::Always,
    ..OPENAI_CHAT
};

const ANTHROPIC: ProtocolFacts = ProtocolFacts {
    name: "anthropic",
    counted_in: Protocol::Anthropic,
    merges_extra_body: false,
    tool_dialect: ToolDialect::Anthropic,
    lists_server_tools: false,
    has_web_fetch: true,
    has_file_search: false,
    json_schema: Support::Always,
    image_input: Support::Always,
    audio_input: Support::Never,
    file_input: Support::Always,
    video_input: Support::Never,
    cache_markers: Support::Always,
    token_count: Support::Always,
    image_urls: UrlSupport::ByQuirk,
    audio_urls: UrlSupport::Always,
    // Text files are sent in the message itself.
    file_urls: UrlSupport::Pdf,
    video_urls: UrlSupport::Always,
    sends_made_media: false,
    reads_own_urls: false,
};

const GEMINI: ProtocolFacts = ProtocolFacts {
    name: "gemini",
    counted_in: Protocol::Gemini,
    merges_extra_body: true,
    tool_dialect: ToolDialect::Gemini,
    lists_server_tools: false,
    has_web_fetch: true,
    has_file_search: true,
    json_schema: Support::Always,
    image_input: Support::Always,
    audio_input: Support::Always,
    file_input: Support::Always,
    video_input: Support::Always,
    cache_markers: Support::Never,
    token_count: Support::Always,
    image_urls: UrlSupport::WithType,
    audio_urls: UrlSupport::WithType,
    file_urls: UrlSupport::WithType,
    video_urls: UrlSupport::WithType,
    sends_made_media: true,
    reads_own_urls: true,
};

const OLLAMA: ProtocolFacts = ProtocolFacts {
    name: "ollama",
    counted_in: Protocol::Ollama,
    merges_extra_body: true,
    tool_dialect: ToolDialect::OpenAi,
    lists_server_tools: true,
    has_web_fetch: false,
    has_file_search: false,
    json_schema: Support::Always,
    image_input: Support::Always,
    audio_input: Support::Always,
    file_input: Support::Never,
    video_input: Support::Never,
    cache_markers: Support::Never,
    token_count: Support::Never,
    image_urls: UrlSupport::Never,
    audio_urls: UrlSupport::Never,
    file_urls: UrlSupport::Never,
    video_urls: UrlSupport::Never,
    sends_made_media: false,
    reads_own_urls: false,
};

const COHERE: ProtocolFacts = ProtocolFacts {
    name: "cohere",
    counted_in: Protocol::Cohere,
    merges_extra_body: false,
    json_schema: Support::ByQuirk,
    audio_input: Support::Never,
    image_urls: UrlSupport::Always,
    ..OLLAMA
};

const BEDROCK: ProtocolFacts = ProtocolFacts {
    name: "bedrock",
    counted_in: Protocol::Bedrock,
    merges_extra_body: true,
    tool_dialect: ToolDialect::Anthropic,
    lists_server_tools: true,
    has_web_fetch: false,
    has_file_search: false,
    json_schema: Support::Always,
    image_input: Support::Always,
    audio_input: Support::Always,
    file_input: Support::Always,
    video_input: Support::Always,
    cache_markers: Support::Always,
    token_count: Support::Always,
    image_urls: UrlSupport::Never,
    audio_urls: UrlSupport::Never,
    file_urls: UrlSupport::Never,
    video_urls: UrlSupport::Never,
    sends_made_media: false,
    reads_own_urls: false,
};

/// The same models as generateContent, which counts their tokens.
const GEMINI_INTERACTIONS: ProtocolFacts = ProtocolFacts { name: "gemini_interactions", ..GEMINI };
