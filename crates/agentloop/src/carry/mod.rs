//! Carries a provider's state through a client of another API.
//!
//! A gateway answers a client of one API with the response of a provider of another. The provider's own state (signatures
//! of thinking, encrypted reasoning, thought signatures, ids of items, blocks without a counterpart) must come back
//! with the next request, but the client's API has no field for it. So it travels in a *capsule*: a short text in a
//! field that clients send back unchanged.
//!
//! | client's API | thinking and parts that it cannot show | state of a tool call |
//! |---|---|---|
//! | Anthropic | `signature` of a thinking block, `data` of a redacted one | id of the call |
//! | OpenAI Responses | `encrypted_content` of a reasoning item | id of the call |
//! | OpenAI chat | id of the next tool call; lost if there is none | id of the call |
//! | Gemini | `thoughtSignature` of the next call, or of an empty text at the end | `thoughtSignature` of the call |
//!
//! [`Carrier`] puts capsules into responses and [`restore`] takes them out of requests. Both are pure, and the same state
//! always makes the same capsule, so appending to a conversation only appends to what the provider receives.

mod capsule;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use capsule::has_capsule;
pub use request::restore;
pub use response::Carrier;

/// The longest capsule that is written, in bytes of text. State that needs more is left out.
pub const MAX_CAPSULE_BYTES: usize = 256 << 10;

/// The most bytes that the capsules of one request may have together, after decompression. Further ones are left out.
pub const MAX_RESTORED_BYTES: usize = 32 << 20;
