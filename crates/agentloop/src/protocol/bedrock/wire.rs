//! The JSON of responses, exactly as the API names it.

use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::protocol::fields::Fields;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, Object, Text};
use crate::protocol::rest::Rest;

/// A whole response, or the content of a frame. What a body has in one object, a stream has in several events.
#[derive(Debug, Default)]
pub(super) struct Wire<'a> {
    /// Of a body.
    pub(super) output: Object<Output<'a>>,
    /// Of the events of a block.
    pub(super) index: Int,
    pub(super) start: Option<&'a RawValue>,
    pub(super) delta: Object<Fields<'a>>,
    /// Of a body, and of the last events.
    pub(super) stop_reason: Text<'a>,
    pub(super) additional: Option<&'a RawValue>,
    pub(super) metrics: Option<&'a RawValue>,
    pub(super) trace: Option<&'a RawValue>,
    pub(super) performance: Option<&'a RawValue>,
    pub(super) tier: Object<Tier<'a>>,
    pub(super) usage: Object<WireUsage<'a>>,
    pub(super) rest: Rest<'a>,
}

// `p` is padding, which hides the lengths of the texts from those who see only encrypted traffic.
fill!(Wire {
    "contentBlockIndex" => index,
    "start" => start,
    "stopReason" => stop_reason,
    "additionalModelResponseFields" => additional,
    "metrics" => metrics,
    "trace" => trace,
    "performanceConfig" => performance;
    "output" => output,
    "delta" => delta,
    "serviceTier" => tier,
    "usage" => usage
} rest except "p", "role", "message");

#[derive(Debug, Default)]
pub(super) struct Output<'a> {
    pub(super) message: Object<Message<'a>>,
}

fill!(Output { ; "message" => message });

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) content: Few<Fields<'a>>,
    pub(super) rest: Rest<'a>,
}

fill!(Message { ; "content" => content } rest except "role");

#[derive(Debug, Default)]
pub(super) struct Tier<'a> {
    pub(super) kind: Text<'a>,
}

fill!(Tier { "type" => kind; });
