//! What Anthropic's Messages and Amazon Bedrock's Converse share: conversations of blocks, for Claude models above all.

pub(super) mod input;
pub(super) mod message;
pub(super) mod sampling;
#[cfg(feature = "serve")]
pub(super) mod serve;
pub(super) mod thinking;
pub(super) mod tools;
