//! The shapes of responses, read tolerantly.

use serde_json::value::RawValue;

use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, List, Object, Text};
use crate::protocol::rest::Rest;

/// A whole response, or a line of a stream.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) model: Text<'a>,
    pub(super) created_at: Text<'a>,
    pub(super) message: Object<Message<'a>>,
    /// The text, as `/api/generate` has it.
    pub(super) response: Text<'a>,
    /// The thoughts, as `/api/generate` has them.
    pub(super) thinking: Text<'a>,
    pub(super) done: Option<&'a RawValue>,
    pub(super) done_reason: Text<'a>,
    pub(super) prompt_eval_count: Int,
    pub(super) eval_count: Int,
    pub(super) logprobs: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

// The context of `/api/generate` is the whole conversation as numbers.
fill!(Chunk {
    "model" => model,
    "created_at" => created_at,
    "response" => response,
    "thinking" => thinking,
    "done" => done,
    "done_reason" => done_reason,
    "prompt_eval_count" => prompt_eval_count,
    "eval_count" => eval_count,
    "logprobs" => logprobs,
    "error" => error;
    "message" => message
} rest except "context");

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) content: Text<'a>,
    pub(super) thinking: Text<'a>,
    pub(super) images: List<Text<'a>>,
    pub(super) tool_calls: Few<ToolCall<'a>>,
    pub(super) rest: Rest<'a>,
}

fill!(Message {
    "content" => content,
    "thinking" => thinking,
    "images" => images;
    "tool_calls" => tool_calls
} rest except "role");

#[derive(Debug, Default)]
pub(super) struct ToolCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) function: Object<Function<'a>>,
}

fill!(ToolCall { "id" => id; "function" => function });

#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    pub(super) name: Text<'a>,
    pub(super) arguments: Option<&'a RawValue>,
}

fill!(Function { "name" => name, "arguments" => arguments; });
