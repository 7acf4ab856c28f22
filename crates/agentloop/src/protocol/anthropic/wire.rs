//! The JSON of responses, exactly as the API names it.

use serde_json::value::RawValue;

use super::usage;
use crate::protocol::fields::Fields;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, Object, Text};
use crate::protocol::rest::Rest;

/// An event of a stream.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Text<'a>,
    pub(super) index: Int,
    pub(super) message: Object<Message<'a>>,
    pub(super) content_block: Option<&'a RawValue>,
    pub(super) delta: Object<Delta<'a>>,
    pub(super) usage: Object<usage::Wire<'a>>,
    pub(super) context_management: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

fill!(Event {
    "type" => kind,
    "index" => index,
    "content_block" => content_block,
    "context_management" => context_management,
    "error" => error;
    "message" => message,
    "delta" => delta,
    "usage" => usage
});

/// What an event adds to a block, or to the message.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    pub(super) kind: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) partial_json: Text<'a>,
    pub(super) thinking: Text<'a>,
    pub(super) signature: Text<'a>,
    pub(super) citation: Option<&'a RawValue>,
    /// Of a compaction.
    pub(super) content: Text<'a>,
    pub(super) encrypted_content: Text<'a>,
    /// Of a message.
    pub(super) stop_reason: Text<'a>,
    pub(super) stop_sequence: Text<'a>,
    pub(super) stop_details: Option<&'a RawValue>,
    pub(super) container: Option<&'a RawValue>,
}

fill!(Delta {
    "type" => kind,
    "text" => text,
    "partial_json" => partial_json,
    "thinking" => thinking,
    "signature" => signature,
    "citation" => citation,
    "content" => content,
    "encrypted_content" => encrypted_content,
    "stop_reason" => stop_reason,
    "stop_sequence" => stop_sequence,
    "stop_details" => stop_details,
    "container" => container;
});

/// A message: a whole body, or the beginning of a stream.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) id: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) content: Few<Fields<'a>>,
    pub(super) usage: Object<usage::Wire<'a>>,
    pub(super) stop_reason: Text<'a>,
    pub(super) stop_sequence: Text<'a>,
    pub(super) stop_details: Option<&'a RawValue>,
    pub(super) container: Option<&'a RawValue>,
    pub(super) context_management: Option<&'a RawValue>,
    pub(super) diagnostics: Option<&'a RawValue>,
    pub(super) provider: Text<'a>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Message {
    "id" => id,
    "model" => model,
    "type" => kind,
    "role" => role,
    "stop_reason" => stop_reason,
    "stop_sequence" => stop_sequence,
    "stop_details" => stop_details,
    "container" => container,
    "context_management" => context_management,
    "diagnostics" => diagnostics,
    "provider" => provider,
    "error" => error;
    "content" => content,
    "usage" => usage
} rest except);
