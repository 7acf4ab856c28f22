//! Ollama's own API, and the servers that implement it.
//!
//! Sources: ollama/ollama (`api/types.go`, `server/routes.go`, `template/template.go`, snapshot of 2026-08-21), the published
//! description of the API, and the recordings of the wire `ollama-native`.

mod decode;
mod embed;
mod encode;
mod growing;
mod message;
mod models;
mod params;
mod parts;
#[cfg(feature = "serve")]
mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

use decode::Decoder;

use super::output::Shaped;
use super::params::Place;
#[cfg(feature = "serve")]
use super::serve::Serve;
use super::{
    Call, Codec, Decode, DecodeContext, Encoded, IdPattern, ModelPage, NamePattern, Order,
    Prepared, Rules, Shown,
};
use crate::chat::{ChatRequest, ContentPart, EmbedRequest, Param};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;
use crate::provider::model::ModelTraits;

/// Ollama's API.
pub(super) struct Ollama;

impl Codec for Ollama {
    fn conversation_rules<'a>(
        &self,
        provider: &'a Provider,
        model: &'a str,
        order: &'a Order,
    ) -> Rules<'a> {
        Rules {
            provider,
            model,
            ids: IdPattern::Any,
            names: NamePattern::Word64,
            thinking_as_text: true,
            items: false,
            order,
        }
    }

    fn shows(&self, part: &ContentPart, provider: &Provider) -> Shown {
        parts::shown(part, provider)
    }

    fn encode(
        &self,
        call: Call,
        provider: &Provider,
        _: &str,
        shaped: &Shaped<'_>,
        prepared: Prepared<'_>,
    ) -> Result<Encoded> {
        match call {
            Call::Chat => encode::chat(provider, shaped, prepared, false),
            Call::Stream => encode::chat(provider, shaped, prepared, true),
            Call::Count => Err(no_count()),
        }
    }

    fn place(&self, _: &Provider, param: Param) -> Place {
        params::place(param)
    }

    fn decoder(&self, context: DecodeContext) -> Box<dyn Decode> {
        Box::new(Decoder::new(context))
    }

    fn decode_count(&self, _: &Provider, _: &[u8]) -> Result<u64> {
        Err(no_count())
    }

    fn encode_embed(
        &self,
        provider: &Provider,
        model: &str,
        request: &EmbedRequest,
        texts: &[String],
    ) -> Result<Encoded> {
        embed::encode(provider, model, request, texts)
    }

    fn encode_models(&self, provider: &Provider, _: Option<&str>) -> Result<Encoded> {
        models::encode(provider)
    }

    fn decode_models(&self, provider: &Provider, body: &[u8]) -> Result<ModelPage> {
        models::decode(provider, body)
    }

    #[cfg(feature = "serve")]
    fn server(&self) -> &'static dyn Serve {
        &serve::Server
    }

    fn takes_any_root(&self) -> bool {
        true
    }

    fn can_force_tools(&self, _: &ChatRequest, _: &ModelTraits) -> bool {
        false
    }
}

fn no_count() -> Error {
    Error::new(ErrorKind::Unsupported, "this protocol cannot count tokens")
}

/// Returns the path of a call. The base URL is that of the server, with or without `/api`, or that of its OpenAI endpoint,
/// which ends in `/v1`: one setting then serves all protocols of a server.
fn path(provider: &Provider, call: &'static str) -> std::borrow::Cow<'static, str> {
    let place = provider.base_url.split('?').next().unwrap_or_default().trim_end_matches('/');
    if place.ends_with("/api") {
        call.into()
    } else if place.ends_with("/v1") {
        ["/../api", call].concat().into()
    } else {
        ["/api", call].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::join;

    #[test]
    fn every_usual_base_url_leads_to_the_same_call() {
        for base in
            ["http://h:11434", "http://h:11434/", "http://h:11434/api", "http://h:11434/v1/"]
        {
            let provider = Provider::ollama_compatible("p", base);
            assert_eq!(join(base, &path(&provider, "/chat")), "http://h:11434/api/chat", "{base}");
        }
        let behind = "https://proxy.example/ollama/v1?key=x";
        let provider = Provider::ollama_compatible("p", behind);
        let url = join(behind, &path(&provider, "/tags"));
        assert_eq!(url, "https://proxy.example/ollama/api/tags?key=x");
    }
}
