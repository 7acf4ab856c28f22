//! OpenAI's Chat Completions API, and the providers that implement it.

mod citations;
mod decode;
mod encode;
mod growing;
mod image_output;
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

use super::Forms;
use super::codec::{Codec, delegate};
use super::openai::encode::forms;
use super::openai::{embed, models};
use super::params::Place;
use crate::chat::Param;
use crate::provider::Provider;
use crate::provider::quirks::ThinkingForm;

/// OpenAI's chat completions.
pub(super) struct OpenAiChat;

impl Codec for OpenAiChat {
    fn forms(&self, provider: &Provider, _: &str) -> Forms {
        forms(provider, false)
    }

    fn place(&self, provider: &Provider, param: Param) -> Place {
        params::place(&provider.quirks, param)
    }

    delegate!(shows, encode, decoder, encode_embed, models, server);

    fn describes_schemas(&self) -> bool {
        true
    }

    fn has_thinking_switch(&self, provider: &Provider) -> bool {
        !matches!(
            provider.quirks.thinking,
            ThinkingForm::EffortOnly | ThinkingForm::ReasoningFormat
        )
    }
}
