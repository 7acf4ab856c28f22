//! Amazon Bedrock's Converse API.
//!
//! Sources, read on 2026-11-18: botocore 1.44.3 (`bedrock-runtime` of 2023-09-30, `bedrock` of 2023-04-20), ai-sdk amazon-bedrock
//! 4.0.186, and the recordings of the wire `bedrock-converse`.

mod cache_points;
mod citations;
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

use http::Uri;

use super::codec::{Codec, delegate};
use super::{Forms, IdPattern};
use crate::chat::ChatRequest;
use crate::error::Result;
use crate::percent;
use crate::provider::Provider;
use crate::provider::model::ModelTraits;
use crate::provider::quirks::ToolCallIds;

/// Amazon Bedrock's Converse.
pub(super) struct Bedrock;

impl Codec for Bedrock {
    fn forms(&self, provider: &Provider, model: &str) -> Forms {
        let ids = match provider.ruled_traits(model).tool_call_ids {
            ToolCallIds::NineAlphanumeric => IdPattern::NineAlphanumeric,
            _ => IdPattern::Word,
        };
        Forms { ids, ..Forms::default() }
    }

    delegate!(shows, encode, place, decoder, encode_embed, models, server);

    fn decode_count(&self, provider: &Provider, body: &[u8]) -> Result<u64> {
        usage::decode_count(provider, body)
    }

    fn embed_batch(&self, provider: &Provider, model: &str) -> Option<usize> {
        Some(embed::batch(provider, model))
    }

    fn models_uri(&self, uri: &Uri) -> Option<Uri> {
        models::uri(uri)
    }

    fn describes_schemas(&self) -> bool {
        true
    }

    fn has_json_mode(&self) -> bool {
        false
    }

    fn can_force_tools(&self, request: &ChatRequest, traits: &ModelTraits) -> bool {
        tools::may_force(request, traits)
    }
}

/// Returns the path of a call to a model. Names of models contain colons, and ARNs also slashes: both are encoded, so the name is one
/// segment.
fn model_path(model: &str, call: &str) -> String {
    ["/model/", &percent::encode_query_value(model), call].concat()
}
