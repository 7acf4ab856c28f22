//! Stands for the protocols whose feature is not enabled: every call is an error that names the feature.

#[cfg(feature = "serve")]
mod serve;

use super::output::Shaped;
use super::params::Place;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{
    Call, Codec, Decode, DecodeContext, Emitter, Encoded, Flow, Frame, ModelPage, Prepared,
    Protocol, Shown,
};
use crate::chat::{ContentPart, EmbedRequest, Param};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;

/// A protocol that is not compiled in.
#[derive(Debug)]
pub(super) struct Missing(Protocol);

impl Missing {
    pub(super) fn of(protocol: Protocol) -> &'static Self {
        match protocol {
            Protocol::OpenAiChat => &Self(Protocol::OpenAiChat),
            Protocol::OpenAiResponses => &Self(Protocol::OpenAiResponses),
            Protocol::Anthropic => &Self(Protocol::Anthropic),
            Protocol::Gemini => &Self(Protocol::Gemini),
            Protocol::Ollama => &Self(Protocol::Ollama),
            Protocol::Cohere => &Self(Protocol::Cohere),
            Protocol::Bedrock => &Self(Protocol::Bedrock),
            Protocol::GeminiInteractions => &Self(Protocol::GeminiInteractions),
        }
    }

    fn fail<T>(&self) -> Result<T> {
        let name = self.0.name();
        let message = format!("the protocol {name} is not compiled in");
        let feature = name.replace('_', "-");
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint(format!("enable the feature `{feature}` of agentloop")))
    }
}

impl Codec for Missing {
    fn check_compiled(&self) -> Result<()> {
        self.fail()
    }

    fn shows(&self, _: &ContentPart, _: &Provider) -> Shown {
        Shown::InResult
    }

    fn encode(
        &self,
        _: Call,
        _: &Provider,
        _: &str,
        _: &Shaped<'_>,
        _: Prepared<'_>,
    ) -> Result<Encoded> {
        self.fail()
    }

    fn place(&self, _: &Provider, _: Param) -> Place {
        Place::Nowhere
    }

    fn decoder(&self, _: DecodeContext) -> Box<dyn Decode> {
        Box::new(Self(self.0))
    }

    fn decode_count(&self, _: &Provider, _: &[u8]) -> Result<u64> {
        self.fail()
    }

    fn encode_embed(
        &self,
        _: &Provider,
        _: &str,
        _: &EmbedRequest,
        _: &[String],
    ) -> Result<Encoded> {
        self.fail()
    }

    fn encode_models(&self, _: &Provider, _: Option<&str>) -> Result<Encoded> {
        self.fail()
    }

    fn decode_models(&self, _: &Provider, _: &[u8]) -> Result<ModelPage> {
        self.fail()
    }

    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve {
        Self::of(self.0)
    }
}

impl Decode for Missing {
    fn frame(&mut self, _: &Frame<'_>, _: &mut Emitter) -> Result<Flow> {
        self.fail()
    }

    fn finish(&mut self, _: &mut Emitter) -> Result<()> {
        self.fail()
    }

    fn body(&mut self, _: &[u8], _: &mut Emitter) -> Result<()> {
        self.fail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_that_is_not_compiled_in_names_its_feature() {
        let error = Missing::of(Protocol::OpenAiResponses).check_compiled().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.message(), "the protocol openai_responses is not compiled in");
        assert_eq!(error.hint(), Some("enable the feature `openai-responses` of agentloop"));
    }

    #[test]
    fn every_protocol_has_a_feature_of_its_name_that_is_usually_on_by_default() {
        let manifest = include_str!("../../../Cargo.toml");
        let default = manifest.lines().find(|line| line.starts_with("default = [")).unwrap();
        for protocol in Protocol::ALL {
            let feature = protocol.name().replace('_', "-");
            let line = format!("{feature} = [");
            assert!(manifest.lines().any(|known| known.starts_with(&line)), "{feature}");
            // Bedrock needs signatures and the credentials of Amazon, and the Interactions API is asked for by name.
            let is_default = default.contains(&format!("\"{feature}\""));
            let is_extra = matches!(protocol, Protocol::Bedrock | Protocol::GeminiInteractions);
            assert_eq!(is_default, !is_extra, "{feature}");
        }
    }
}
