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

use super::Forms;
use super::codec::{Codec, delegate};
use crate::chat::ChatRequest;
use crate::provider::Provider;
use crate::provider::model::ModelTraits;

/// Ollama's API.
pub(super) struct Ollama;

impl Codec for Ollama {
    fn forms(&self, _: &Provider, _: &str) -> Forms {
        Forms { thinking_as_text: true, ..Forms::default() }
    }

    delegate!(shows, encode, place, decoder, encode_embed, models, server);

    fn takes_any_root(&self) -> bool {
        true
    }

    fn can_force_tools(&self, _: &ChatRequest, _: &ModelTraits) -> bool {
        false
    }
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
