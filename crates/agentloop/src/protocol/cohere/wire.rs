//! The shapes of responses, read tolerantly.

use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::protocol::fields::Fields;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, Object, Text};
use crate::protocol::rest::Rest;

/// A whole response.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) id: Text<'a>,
    pub(super) message: Object<Message<'a>>,
    pub(super) finish_reason: Text<'a>,
    pub(super) usage: Object<WireUsage<'a>>,
    /// Where an early version of the API had the usage.
    pub(super) meta: Object<WireUsage<'a>>,
    pub(super) logprobs: Option<&'a RawValue>,
    pub(super) error: Text<'a>,
    pub(super) error_type: Text<'a>,
    pub(super) rest: Rest<'a>,
}

fill!(Body {
    "id" => id,
    "finish_reason" => finish_reason,
    "logprobs" => logprobs,
    "error" => error,
    "error_type" => error_type;
    "message" => message,
    "usage" => usage,
    "meta" => meta
} rest except);

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) content: Few<Fields<'a>>,
    pub(super) tool_plan: Text<'a>,
    pub(super) tool_calls: Few<ToolCall<'a>>,
    pub(super) citations: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Message {
    "tool_plan" => tool_plan,
    "citations" => citations;
    "content" => content,
    "tool_calls" => tool_calls
} rest except "role");

/// An event of a stream.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) index: Int,
    pub(super) delta: Object<Delta<'a>>,
    pub(super) logprobs: Option<&'a RawValue>,
    pub(super) message: Option<&'a RawValue>,
}

fill!(Event {
    "type" => kind,
    "id" => id,
    "index" => index,
    "logprobs" => logprobs,
    "message" => message;
    "delta" => delta
});

/// What an event adds. The last one has the end of the response.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    pub(super) message: Object<MessageDelta<'a>>,
    pub(super) finish_reason: Text<'a>,
    pub(super) usage: Object<WireUsage<'a>>,
    pub(super) error: Text<'a>,
    pub(super) error_type: Text<'a>,
    pub(super) rest: Rest<'a>,
}

fill!(Delta {
    "finish_reason" => finish_reason,
    "error" => error,
    "error_type" => error_type;
    "message" => message,
    "usage" => usage
} rest except);

/// A piece of the message. Where a whole message has a list, a piece has one element.
#[derive(Debug, Default)]
pub(super) struct MessageDelta<'a> {
    pub(super) content: Object<Fields<'a>>,
    pub(super) tool_plan: Text<'a>,
    pub(super) tool_calls: Object<ToolCall<'a>>,
    pub(super) citations: Option<&'a RawValue>,
}

fill!(MessageDelta {
    "tool_plan" => tool_plan,
    "citations" => citations;
    "content" => content,
    "tool_calls" => tool_calls
});

#[derive(Debug, Default)]
pub(super) struct ToolCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) function: Object<Function<'a>>,
}

fill!(ToolCall { "id" => id; "function" => function });

#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    pub(super) name: Text<'a>,
    pub(super) arguments: Text<'a>,
}

fill!(Function { "name" => name, "arguments" => arguments; });
