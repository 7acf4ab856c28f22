//! Constructors of parts, citations and numbers, for messages, tests and mocks.

use serde_json::Value;

use super::{
    AudioInput, AudioPart, BlockCitation, CacheControl, Citation, CodeExecutionPart, CodeOutcome,
    CodeResultPart, ContentPart, Display, DocumentCitation, EmbedUsage, FileCitation, FileInput,
    FilePart, FunctionCall, FunctionDefinition, ImageDetail, ImagePart, ImageUrl, JsonSchemaFormat,
    MediaUrl, OpaqueCitation, OpaquePart, Origin, PageCitation, ProviderState,
    RedactedThinkingPart, ResponsePart, SearchResultCitation, ServerToolCallPart,
    ServerToolResultPart, StreamOptions, TextPart, Thinking, ThinkingPart, TokenLogprob,
    ToolCallPart, UrlCitation, Usage, UsageDetails,
};

/// Implements what all kinds of parts that carry state share.
macro_rules! parts {
    ($($part:ident => $response:ident, $content:ident;)*) => {$(
        impl $part {
            /// Sets the state of the provider that made the part.
            #[must_use]
            pub fn with_provider_state(mut self, state: ProviderState) -> Self {
                self.provider_state = Some(Box::new(state));
                self
            }
        }

        parts!(@convert $part => $response, $content);
    )*};
    (@convert $part:ident => $response:ident, $content:ident) => {
        impl From<$part> for ResponsePart {
            fn from(part: $part) -> Self {
                Self::$response(part)
            }
        }

        impl From<$part> for ContentPart {
            fn from(part: $part) -> Self {
                Self::$content(part)
            }
        }
    };
}

parts! {
    TextPart => Text, Text;
    ToolCallPart => ToolCall, ToolCall;
    ThinkingPart => Thinking, Thinking;
    RedactedThinkingPart => RedactedThinking, RedactedThinking;
    ImagePart => Image, Image;
    AudioPart => Audio, Audio;
    FilePart => File, GeneratedFile;
    CodeExecutionPart => CodeExecution, CodeExecution;
    CodeResultPart => CodeResult, CodeResult;
    ServerToolCallPart => ServerToolCall, ServerToolCall;
    ServerToolResultPart => ServerToolResult, ServerToolResult;
}
parts!(@convert OpaquePart => Opaque, Opaque);

impl From<&str> for ResponsePart {
    fn from(text: &str) -> Self {
        Self::Text(TextPart::new(text))
    }
}

impl From<String> for ResponsePart {
    fn from(text: String) -> Self {
        Self::Text(TextPart::new(text))
    }
}

impl TextPart {
    setters! {
        /// Adds a source of the text.
        with_citation(self, citation: impl Into<Citation>) => self.citations.push(citation.into());
    }

    setters! {
        /// Asks the provider to cache the prompt up to and including this part.
        with_cache(cache_control: CacheControl);
    }
}

impl ToolCallPart {
    setters! {
        /// Replaces the arguments (JSON text).
        with_arguments(self, arguments: impl Into<String>) => self.arguments = arguments.into();
    }
}

impl ThinkingPart {
    setters! {
        /// Sets the provider's proof that the thoughts are its own.
        with_signature(signature: impl Into<String>);
    }
}

impl RedactedThinkingPart {
    /// Creates a part from encrypted thoughts.
    pub fn new(data: impl Into<String>) -> Self {
        Self { data: data.into(), provider_state: None }
    }
}

impl ImagePart {
    /// Creates a part from an image in base64.
    pub fn new(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), data: data.into(), ..Self::default() }
    }

    /// Creates a part from the URL of an image.
    pub fn from_url(mime_type: impl Into<String>, url: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), url: Some(url.into()), ..Self::default() }
    }
}

impl AudioPart {
    /// Creates a part from audio in base64.
    pub fn new(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), data: data.into(), ..Self::default() }
    }

    setters! {
        /// Sets the text that is spoken.
        with_transcript(transcript: impl Into<String>);
    }
}

impl FilePart {
    /// Creates a part from a file in base64.
    pub fn new(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), data: data.into(), ..Self::default() }
    }

    /// Creates a part from the URL of a file.
    pub fn from_url(mime_type: impl Into<String>, url: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), url: Some(url.into()), ..Self::default() }
    }

    setters! {
        /// Sets the name of the file.
        with_name(name: impl Into<String>);
    }
}

impl CodeExecutionPart {
    /// Creates a part from code in a language such as `python`.
    pub fn new(language: impl Into<String>, code: impl Into<String>) -> Self {
        Self { language: language.into(), code: code.into(), ..Self::default() }
    }

    setters! {
        /// Sets the id that the result refers to.
        with_id(id: impl Into<String>);
    }
}

impl CodeResultPart {
    /// Creates a part from what a code run printed.
    pub fn new(outcome: CodeOutcome, output: impl Into<String>) -> Self {
        Self { outcome, output: output.into(), ..Self::default() }
    }

    setters! {
        /// Sets the id of the [`CodeExecutionPart`] that ran.
        with_id(id: impl Into<String>);
    }
}

impl ServerToolCallPart {
    /// Creates a call of one of the provider's tools.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments, provider_state: None }
    }
}

impl ServerToolResultPart {
    /// Creates the result of the call with this id.
    pub fn new(tool_call_id: impl Into<String>, content: Value) -> Self {
        Self { tool_call_id: tool_call_id.into(), content, ..Self::default() }
    }
}

impl OpaquePart {
    /// Creates a part of a kind that only `provider` knows.
    pub fn new(provider: impl Into<String>, kind: impl Into<String>, data: Value) -> Self {
        Self { provider: provider.into(), kind: kind.into(), data }
    }
}

/// Implements the conversion of one kind of citation.
macro_rules! citations {
    ($($citation:ident => $kind:ident,)*) => {$(
        impl From<$citation> for Citation {
            fn from(citation: $citation) -> Self {
                Self::$kind(citation)
            }
        }
    )*};
}

citations! {
    UrlCitation => Url,
    DocumentCitation => Document,
    PageCitation => Page,
    BlockCitation => Block,
    SearchResultCitation => SearchResult,
    FileCitation => File,
    OpaqueCitation => Opaque,
}

impl UrlCitation {
    /// Creates a citation of the page at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    setters! {
        /// Sets the title of the page.
        with_title(title: impl Into<String>);
    }

    /// Sets which text of the response the page supports, in characters of the part.
    #[must_use]
    pub fn with_range(mut self, start_index: u64, end_index: u64) -> Self {
        self.start_index = Some(start_index);
        self.end_index = Some(end_index);
        self
    }
}

impl DocumentCitation {
    /// Creates a citation of the document with this index, counted from 0.
    pub fn new(document_index: u64) -> Self {
        Self { document_index, ..Self::default() }
    }
}

impl PageCitation {
    /// Creates a citation of pages of the document with this index, counted from 0.
    pub fn new(document_index: u64) -> Self {
        Self { document_index, ..Self::default() }
    }
}

impl BlockCitation {
    /// Creates a citation of content blocks of the document with this index, counted from 0.
    pub fn new(document_index: u64) -> Self {
        Self { document_index, ..Self::default() }
    }
}

impl SearchResultCitation {
    /// Creates a citation of a search result from `source`.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }
}

impl OpaqueCitation {
    /// Creates a citation of a kind that only `provider` knows.
    pub fn new(provider: impl Into<String>, kind: impl Into<String>, data: Value) -> Self {
        Self { provider: provider.into(), kind: kind.into(), data }
    }
}

impl AudioInput {
    /// Creates input from audio in base64, of a format such as `wav` or `mp3`.
    pub fn new(data: impl Into<String>, format: impl Into<String>) -> Self {
        Self { data: data.into(), format: format.into(), url: None }
    }

    /// Creates input from the URL of audio, for providers that take one.
    pub fn from_url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }
}

impl FileInput {
    /// Creates input from a file's content as a data URL.
    pub fn from_data(data_url: impl Into<String>) -> Self {
        Self { file_data: Some(data_url.into()), ..Self::default() }
    }

    /// Creates input from the URL of a file.
    pub fn from_url(url: impl Into<String>) -> Self {
        Self { file_url: Some(url.into()), ..Self::default() }
    }

    /// Creates input from the provider's id of a file that was uploaded earlier.
    pub fn from_id(id: impl Into<String>) -> Self {
        Self { file_id: Some(id.into()), ..Self::default() }
    }

    setters! {
        /// Sets the name of the file.
        with_filename(filename: impl Into<String>);
        /// Sets the media type of the file.
        with_mime_type(mime_type: impl Into<String>);
        /// Sets the title of the file in citations.
        with_title(title: impl Into<String>);
        /// Sets whether the model cites from the file.
        with_citations(citations: bool);
    }
}

impl ImageUrl {
    setters! {
        /// Sets how closely the model looks at the image.
        with_detail(detail: ImageDetail);
    }
}

impl MediaUrl {
    /// Creates a reference to the medium at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into() }
    }
}

impl Display {
    /// Creates a screen of this size, in pixels.
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
}

impl Origin {
    /// Names the model that a message came from.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}

impl FunctionCall {
    /// Creates a call of `name` with `arguments` (JSON text).
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: arguments.into() }
    }
}

impl FunctionDefinition {
    /// Creates a function with these parameters (a JSON Schema), or with `None`.
    pub fn new(name: impl Into<String>, parameters: impl Into<Option<Value>>) -> Self {
        Self { name: name.into(), parameters: parameters.into(), ..Self::default() }
    }

    setters! {
        /// Sets what the function does, for the model.
        with_description(description: impl Into<String>);
        /// Sets whether the model must keep to the schema exactly.
        with_strict(strict: bool);
    }
}

impl JsonSchemaFormat {
    /// Creates a format from a schema that the provider need not keep to exactly.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), description: None, strict: None, schema }
    }

    setters! {
        /// Sets what the schema is for.
        with_description(description: impl Into<String>);
        /// Sets whether the provider must keep to the schema exactly.
        with_strict(strict: bool);
    }
}

impl Thinking {
    setters! {
        /// Sets whether the thoughts, or their summary, are part of the response.
        with_include(include: bool);
    }
}

impl StreamOptions {
    /// Creates options that ask for the usage at the end of the stream, or do not.
    pub fn new(include_usage: bool) -> Self {
        Self { include_usage }
    }
}

impl TokenLogprob {
    /// Creates a token with its log probability.
    pub fn new(token: impl Into<String>, logprob: f64) -> Self {
        Self { token: token.into(), logprob: Some(logprob), ..Self::default() }
    }
}

impl Usage {
    /// Creates the usage of a call; the total is the sum.
    pub fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens: Some(prompt_tokens),
            completion_tokens: Some(completion_tokens),
            total_tokens: Some(prompt_tokens.saturating_add(completion_tokens)),
            details: UsageDetails::default(),
        }
    }

    setters! {
        /// Sets the tokens of special kinds.
        with_details(self, details: UsageDetails) => self.details = details;
    }
}

impl EmbedUsage {
    /// Creates the usage of an embeddings call.
    pub fn new(prompt_tokens: u64, total_tokens: u64) -> Self {
        Self { prompt_tokens, total_tokens }
    }
}
