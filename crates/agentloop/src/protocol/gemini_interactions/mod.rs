//! Gemini's Interactions API.
//!
//! Sources: google-genai SDK 3.3.0 for Python (`_gaos/types/interactions`, read on 2026-11-18); recorded bodies and streams of
//! vercel/ai (`packages/google/src/interactions/__fixtures__`, recorded on 2026-05-15, snapshot of 2026-08-22).
//!
//! A response is a list of steps: thoughts, calls, results, and the output of the model, which has contents. Each step becomes a part,
//! and each content of an output does.
//!
//! # State for sending steps back
//!
//! The state of a part is `{"step": {…}}`: the step as the provider sent it, without the fields that the part itself has. A step without
//! other fields than these has no state, except for thoughts and tools of the provider, whose state names the kind of the step. The state of a
//! medium also has its `content`, without the data. An opaque part has the whole step.

mod citations;
mod decode;
mod encode;
mod growing;
mod message;
mod params;
mod parts;
mod repeat;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

use http::HeaderMap;

use super::codec::{Codec, delegate};
use super::google::{error, models};
use super::{Forms, NamePattern, Shown, StateForm};
use crate::chat::ContentPart;
use crate::error::Error;
use crate::provider::Provider;

/// Gemini's Interactions API.
pub(super) struct GeminiInteractions;

impl Codec for GeminiInteractions {
    fn forms(&self, _: &Provider, _: &str) -> Forms {
        Forms { names: NamePattern::Dotted128, state: StateForm::Steps, ..Forms::default() }
    }

    // `FunctionResultSubcontent` of the SDK has texts, images, audio, documents and videos.
    fn shows(&self, _: &ContentPart, _: &Provider) -> Shown {
        Shown::InResult
    }

    delegate!(encode, place, decoder, models, server);

    fn decode_error(&self, provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
        error::decode(provider, status, headers, body)
    }

    fn decode_error_in_response(&self, provider: &str, body: &[u8]) -> Error {
        error::in_body(provider, body)
    }
}
