//! The memory that a response takes.
//!
//! The count is what a value owns in addition to its own size. The items of a list count with their own size too, so a
//! million empty citations count as much as one long text. The overhead of the allocator is not counted.

use std::collections::BTreeMap;
use std::mem::size_of;

use serde_json::{Map, Value};

use super::{
    AudioPart, BlockCitation, Citation, CodeExecutionPart, CodeResultPart, DocumentCitation,
    FileCitation, FilePart, ImagePart, Logprobs, OpaqueCitation, OpaquePart, PageCitation,
    ProviderState, RedactedThinkingPart, ResponsePart, SearchResultCitation, ServerToolCallPart,
    ServerToolResultPart, TextPart, ThinkingPart, TokenLogprob, ToolCallPart, UrlCitation, Usage,
    UsageDetails, Warning,
};
use crate::chat::{PartDelta, PartStart};
use crate::nesting::{OBJECT_ENTRY, OBJECT_LEAST};

/// The memory of an entry of a sorted map, in addition to its name.
const SORTED_ENTRY: usize = size_of::<String>() + size_of::<u64>() + 16;

/// A value that owns memory.
pub(crate) trait Weight {
    /// Returns how many bytes the value owns in addition to its own size.
    fn weight(&self) -> usize;
}

impl Weight for String {
    fn weight(&self) -> usize {
        self.len()
    }
}

impl<T: Weight> Weight for Option<T> {
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, Weight::weight)
    }
}

impl<T: Weight> Weight for Box<T> {
    fn weight(&self) -> usize {
        size_of::<T>() + (**self).weight()
    }
}

impl<T: Weight> Weight for [T] {
    fn weight(&self) -> usize {
        size_of_val(self) + self.iter().map(Weight::weight).sum::<usize>()
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn weight(&self) -> usize {
        self.as_slice().weight()
    }
}

impl Weight for Value {
    fn weight(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => text.len(),
            Self::Array(items) => items.weight(),
            Self::Object(fields) => fields.weight(),
        }
    }
}

impl Weight for Map<String, Value> {
    fn weight(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let inside = self.iter().map(|(name, value)| name.len() + value.weight());
        self.len().max(OBJECT_LEAST) * OBJECT_ENTRY + inside.sum::<usize>()
    }
}

impl Weight for BTreeMap<String, u64> {
    fn weight(&self) -> usize {
        self.keys().map(|name| name.len() + SORTED_ENTRY).sum()
    }
}

/// Counts the named fields of a struct, which are all that can own memory.
macro_rules! weight {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl Weight for $name {
            fn weight(&self) -> usize {
                0 $(+ self.$field.weight())*
            }
        })*
    };
}

weight! {
    ProviderState { provider, model, data }
    TextPart { text, citations, provider_state }
    ToolCallPart { id, name, arguments, provider_state }
    ThinkingPart { thinking, signature, provider_state }
    RedactedThinkingPart { data, provider_state }
    ImagePart { mime_type, data, url, provider_state }
    AudioPart { mime_type, data, transcript, provider_state }
    FilePart { mime_type, data, url, name, provider_state }
    CodeExecutionPart { id, language, code, provider_state }
    CodeResultPart { id, output, stderr, files, provider_state }
    ServerToolCallPart { id, name, arguments, provider_state }
    ServerToolResultPart { tool_call_id, content, provider_state }
    OpaquePart { provider, kind, data }
    UrlCitation { url, title, cited_text, provider_state }
    DocumentCitation { document_title, cited_text, file_id }
    PageCitation { document_title, cited_text, file_id }
    BlockCitation { document_title, cited_text, file_id }
    SearchResultCitation { source, title, cited_text }
    FileCitation { file_id, filename, container_id, cited_text, provider_state }
    OpaqueCitation { provider, kind, data }
    Logprobs { content, thinking, refusal }
    Warning { subject, message }
    Usage { details }
    UsageDetails { prompt_tokens_by_modality, completion_tokens_by_modality, server_tool_requests }
}

impl Weight for TokenLogprob {
    fn weight(&self) -> usize {
        let bytes = self.bytes.as_ref().map_or(0, Vec::len);
        self.token.len() + bytes + self.top_logprobs.weight()
    }
}

impl Weight for Citation {
    fn weight(&self) -> usize {
        match self {
            Self::Url(citation) => citation.weight(),
            Self::Document(citation) => citation.weight(),
            Self::Page(citation) => citation.weight(),
            Self::Block(citation) => citation.weight(),
            Self::SearchResult(citation) => citation.weight(),
            Self::File(citation) => citation.weight(),
            Self::Opaque(citation) => citation.weight(),
        }
    }
}

impl Weight for ResponsePart {
    fn weight(&self) -> usize {
        match self {
            Self::Text(part) => part.weight(),
            Self::ToolCall(part) => part.weight(),
            Self::Thinking(part) => part.weight(),
            Self::RedactedThinking(part) => part.weight(),
            Self::Image(part) => part.weight(),
            Self::Audio(part) => part.weight(),
            Self::File(part) => part.weight(),
            Self::CodeExecution(part) => part.weight(),
            Self::CodeResult(part) => part.weight(),
            Self::ServerToolCall(part) => part.weight(),
            Self::ServerToolResult(part) => part.weight(),
            Self::Opaque(part) => part.weight(),
        }
    }
}

impl Weight for PartStart {
    fn weight(&self) -> usize {
        match self {
            Self::Text {} | Self::Thinking {} | Self::RedactedThinking {} => 0,
            Self::ToolCall { id, name } | Self::ServerToolCall { id, name } => {
                id.len() + name.len()
            }
            Self::Image { mime_type } | Self::Audio { mime_type } | Self::File { mime_type } => {
                mime_type.len()
            }
            Self::CodeExecution { id, language } => id.weight() + language.len(),
            Self::CodeResult { id } => id.weight(),
            Self::ServerToolResult { tool_call_id } => tool_call_id.len(),
            Self::Opaque { provider, kind } => provider.len() + kind.len(),
        }
    }
}

impl Weight for PartDelta {
    fn weight(&self) -> usize {
        match self {
            Self::Text { text: bytes }
            | Self::ToolCallArguments { arguments: bytes }
            | Self::Thinking { thinking: bytes }
            | Self::ThinkingSignature { signature: bytes }
            | Self::Image { data: bytes }
            | Self::Audio { data: bytes }
            | Self::AudioTranscript { transcript: bytes }
            | Self::Code { code: bytes } => bytes.len(),
            // Kept as text while they arrive, and as a tree when they are complete.
            Self::ServerToolCallArguments { arguments } => arguments.len(),
            Self::Citation { citation } => size_of::<Citation>() + citation.weight(),
            Self::ProviderState { provider_state } => {
                size_of::<ProviderState>() + provider_state.weight()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_items_count_with_their_own_size() {
        let part = TextPart {
            citations: vec![Citation::Url(UrlCitation::default()); 1000],
            ..TextPart::default()
        };
        assert_eq!(part.weight(), 1000 * size_of::<Citation>());
        assert_eq!(vec![Warning::about_response(""); 10].weight(), 10 * size_of::<Warning>());
        assert_eq!(json!([[], [], {}]).weight(), 3 * size_of::<Value>());
    }

    #[test]
    fn everything_inside_a_value_counts() {
        let value = json!({ "name": ["12345", { "inner": "1234567" }] });
        let objects = 2 * OBJECT_LEAST * OBJECT_ENTRY;
        assert_eq!(value.weight(), objects + 2 * size_of::<Value>() + 4 + 5 + 5 + 7);
        let token = TokenLogprob {
            token: "ab".to_owned(),
            bytes: Some(vec![1, 2, 3]),
            top_logprobs: vec![TokenLogprob::default(); 4],
            ..TokenLogprob::default()
        };
        assert_eq!(token.weight(), 2 + 3 + 4 * size_of::<TokenLogprob>());
        let state = ProviderState::new("p", json!("state"));
        let delta = PartDelta::ProviderState { provider_state: state };
        assert_eq!(delta.weight(), size_of::<ProviderState>() + 1 + 5);
    }
}
