//! Cohere's own API, version 2, and the services that implement it.
//!
//! Sources, read on 2026-11-16: cohere SDK 7.3.1 for Python (`v2`), and the recordings of the wires `cohere-v2` and
//! `cohere-embed`.

mod citations;
mod decode;
mod documents;
mod embed;
mod encode;
mod growing;
mod message;
mod models;
mod params;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

use super::codec::{Codec, delegate};
use super::{Forms, Shown};
use crate::chat::ContentPart;
use crate::provider::Provider;

/// Cohere's API.
pub(super) struct Cohere;

impl Codec for Cohere {
    fn forms(&self, _: &Provider, _: &str) -> Forms {
        Forms { thinking_as_text: true, ..Forms::default() }
    }

    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown {
        message::shown(part, provider)
    }

    delegate!(encode, place, decoder, encode_embed, models, server);
}
