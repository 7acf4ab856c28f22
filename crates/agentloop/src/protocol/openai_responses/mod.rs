//! OpenAI's Responses API, and the providers that implement it.

mod decode;
mod encode;
mod growing;
mod message;
mod params;
mod parts;
mod repeat;
mod replay;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tool_results;
mod tools;
mod usage;
mod wire;
mod wire_item;

use super::Forms;
use super::codec::{Codec, delegate};
use super::openai::encode::forms;
use super::openai::{embed, models};
use super::params::Place;
use crate::chat::Param;
use crate::provider::Provider;

/// OpenAI's responses.
pub(super) struct OpenAiResponses;

impl Codec for OpenAiResponses {
    fn forms(&self, provider: &Provider, _: &str) -> Forms {
        forms(provider, true)
    }

    fn place(&self, provider: &Provider, param: Param) -> Place {
        params::place(&provider.quirks, param)
    }

    delegate!(shows, encode, decoder, encode_embed, models, server);

    fn describes_schemas(&self) -> bool {
        true
    }

    fn has_thinking_switch(&self, _: &Provider) -> bool {
        false
    }
}
