//! The list of models, which only the first version of the API has.

use serde_json::Value;

use crate::error::Result;
use crate::models::ModelInfo;
use crate::percent;
use crate::protocol::codec::no_models;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body};
use crate::provider::Provider;

/// Writes the call for the first page or for the one whose query is `next`.
pub(super) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    let place = provider.base_url.split('?').next().unwrap_or_default().trim_end_matches('/');
    let path = if place.ends_with("/v2") { "/../v1/models" } else { "/models" };
    Encoded::get(provider, format!("{path}{}", next.unwrap_or("?page_size=1000")))
}

/// Reads a page of the list.
pub(super) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    // Servers that imitate the provider often list models as OpenAI does.
    let list = match value.get("models").or_else(|| value.get("data")) {
        Some(Value::Array(list)) => list.as_slice(),
        Some(Value::Null) => &[],
        _ => return Err(no_models(provider, &value, body, error_body::in_body)),
    };
    let read = |model: &Value| {
        let name = model.get("name").or_else(|| model.get("id")).and_then(Value::as_str)?;
        let mut info = ModelInfo::new(provider.name.as_ref(), name);
        let length = model.get("context_length").and_then(Value::as_f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casts saturate, and the number is not negative"
        )]
        let length = length.filter(|length| *length > 0.0).map(|length| length as u64);
        info.context_window = length;
        Some(info)
    };
    let token = value.get("next_page_token").and_then(Value::as_str).filter(|it| !it.is_empty());
    Ok(ModelPage {
        models: list.iter().filter_map(read).collect(),
        next: token.map(|token| {
            format!("?page_size=1000&page_token={}", percent::encode_query_value(token))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::join;

    #[test]
    fn pages_name_the_next_one() {
        let base = "https://api.cohere.com/v2";
        let provider = Provider::cohere_compatible("p", base);
        let first = encode(&provider, None).unwrap();
        let url = join(base, &first.path);
        assert_eq!(url, "https://api.cohere.com/v1/models?page_size=1000");
        let body = br#"{"models":[{"name":"command-a","context_length":256000.0},{"x":1}],
            "next_page_token":"a/b"}"#;
        let page = decode(&provider, body).unwrap();
        assert_eq!(page.models.len(), 1);
        assert_eq!(page.models[0].context_window, Some(256_000));
        assert_eq!(page.next.as_deref(), Some("?page_size=1000&page_token=a%2Fb"));
        let error = decode(&provider, br#"{"message":"invalid api token"}"#).unwrap_err();
        assert_eq!(error.message(), "invalid api token");
    }
}
