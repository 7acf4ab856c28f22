//! Lists the models: calls of Amazon's service for managing Bedrock, which has a host of its own (`bedrock.REGION.amazonaws.com`).
//!
//! The list has two kinds of entries: the models (botocore 1.44.3: `ListFoundationModels`, one page), and the inference profiles
//! (`ListInferenceProfiles`), whose ids take the place of a model's and which many models require.

use http::Uri;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;
use crate::percent;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body, exceptions};
use crate::provider::Provider;

/// The beginning of the hosts of Amazon that call models, and of those that manage them.
const RUNTIME: &str = "bedrock-runtime.";
const CONTROL: &str = "bedrock.";

/// The query for the first page of inference profiles, with the largest pages that there are.
const FIRST_PROFILES: &str = "maxResults=1000";

/// Encodes a call for a page: the models first, then the inference profiles.
pub(super) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    match next {
        None => Encoded::get(provider, "/foundation-models"),
        Some(query) => Encoded::get(provider, format!("/inference-profiles?{query}")),
    }
}

/// Returns the URL at the host that has the list. Hosts that are not Amazon's have it themselves.
pub(super) fn uri(uri: &Uri) -> Option<Uri> {
    let rest = uri.authority()?.as_str().strip_prefix(RUNTIME)?;
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(format!("{CONTROL}{rest}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Reads a page.
pub(super) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    let list = |name: &str| value.get(name).and_then(Value::as_array);
    let (models, profiles) = (list("modelSummaries"), list("inferenceProfileSummaries"));
    let next = match (models, profiles) {
        (None, None) => {
            if error_body::is_bare_error(body) || value.get("__type").is_some() {
                return Err(exceptions::in_body(&provider.name, body));
            }
            return Err(Error::new(ErrorKind::Protocol, "the response is not a list of models")
                .with_provider(provider.name.as_ref())
                .with_raw(body));
        }
        // Other services that speak the protocol may have no inference profiles.
        (_, None) => provider.base_url.contains(RUNTIME).then(|| FIRST_PROFILES.to_owned()),
        (_, Some(_)) => {
            let token = value.get("nextToken").and_then(Value::as_str).filter(|it| !it.is_empty());
            token
                .map(|it| format!("{FIRST_PROFILES}&nextToken={}", percent::encode_query_value(it)))
        }
    };
    let read = |model: &Value, id: &str, name: &str| {
        let text = |name: &str| model.get(name).and_then(Value::as_str);
        let mut info = ModelInfo::new(provider.name.as_ref(), text(id)?);
        info.name = text(name).map(str::to_owned);
        Some(info)
    };
    let models = models.into_iter().flatten().map(|it| read(it, "modelId", "modelName"));
    let profiles = profiles.into_iter().flatten();
    let profiles = profiles.map(|it| read(it, "inferenceProfileId", "inferenceProfileName"));
    Ok(ModelPage { models: models.chain(profiles).flatten().collect(), next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_models_and_then_the_inference_profiles() {
        let provider = Provider::bedrock();
        let path = |next: Option<&str>| encode(&provider, next).unwrap().path;
        assert_eq!(path(None), "/foundation-models");
        let body = br#"{"modelSummaries":[{"modelId":"amazon.nova-lite-v1:0","modelName":"Nova Lite"},{"x":1}]}"#;
        let page = decode(&provider, body).unwrap();
        let [model] = &page.models[..] else { panic!("{page:?}") };
        assert_eq!(
            (model.id.as_str(), model.name.as_deref()),
            ("amazon.nova-lite-v1:0", Some("Nova Lite"))
        );
        assert_eq!(path(page.next.as_deref()), "/inference-profiles?maxResults=1000");
        let body = br#"{"inferenceProfileSummaries":[{"inferenceProfileId":"us.amazon.nova-lite-v1:0","inferenceProfileName":"US Nova Lite"}],"nextToken":"a/b="}"#;
        let page = decode(&provider, body).unwrap();
        assert_eq!(page.models[0].id, "us.amazon.nova-lite-v1:0");
        let next = path(page.next.as_deref());
        assert_eq!(next, "/inference-profiles?maxResults=1000&nextToken=a%2Fb%3D");
        let last = decode(&provider, br#"{"inferenceProfileSummaries":[]}"#).unwrap();
        assert!(last.models.is_empty() && last.next.is_none());
        let other = Provider::bedrock_compatible("p", "https://bedrock.example.com");
        assert!(decode(&other, br#"{"modelSummaries":[]}"#).unwrap().next.is_none());
        let error = decode(&provider, br#"{"message":"no access"}"#).unwrap_err();
        assert_eq!(error.message(), "no access");
        assert_eq!(decode(&provider, b"[]").unwrap_err().kind(), ErrorKind::Protocol);
    }

    #[test]
    fn the_list_is_at_the_host_that_manages_models() {
        for (runtime, control) in [
            (
                "https://bedrock-runtime.us-east-1.amazonaws.com/foundation-models",
                Some("https://bedrock.us-east-1.amazonaws.com/foundation-models"),
            ),
            (
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn:443/inference-profiles?a=b",
                Some("https://bedrock.cn-north-1.amazonaws.com.cn:443/inference-profiles?a=b"),
            ),
            ("http://127.0.0.1:9/foundation-models", None),
            ("https://proxy.test/bedrock-runtime.us-east-1/foundation-models", None),
        ] {
            let moved = uri(&runtime.parse().unwrap()).map(|uri| uri.to_string());
            assert_eq!(moved.as_deref(), control);
        }
    }
}
