//! The list of models.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::history::ToolNames;
use crate::models::ModelInfo;
use crate::protocol::{Encoded, ModelPage, error_body, headers};
use crate::provider::Provider;

/// The most models of a page.
const PAGE: u32 = 1000;

/// The call.
pub(crate) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    let mut warnings = Vec::new();
    let path = match next {
        Some(next) => format!("/models{next}"),
        None => format!("/models?limit={PAGE}"),
    };
    Ok(Encoded {
        method: Method::GET,
        path,
        headers: headers::build(provider, &BTreeMap::new(), false, &mut warnings)?,
        body: bytes::Bytes::new(),
        warnings,
        names: ToolNames::default(),
    })
}

/// A page of the list.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(list) = value.get("data").and_then(Value::as_array) else {
        if value.get("error").is_some() || error_body::is_bare_error(body) {
            return Err(error_body::in_answer(&provider.name, body));
        }
        return Err(Error::new(ErrorKind::Protocol, "the answer is no list of models")
            .with_provider(provider.name.as_ref())
            .with_raw(body));
    };
    let models: Vec<ModelInfo> = list.iter().filter_map(|model| read(model, provider)).collect();
    let more = value.get("has_more").and_then(Value::as_bool) == Some(true);
    let last = value.get("last_id").and_then(Value::as_str).filter(|_| more && !models.is_empty());
    let next = last.map(|last| format!("?limit={PAGE}&after_id={}", in_query(last)));
    Ok(ModelPage { models, next })
}

fn in_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn read(model: &Value, provider: &Provider) -> Option<ModelInfo> {
    let text = |name: &str| model.get(name)?.as_str().map(str::to_owned);
    let number = |names: &[&str]| names.iter().find_map(|name| model.get(*name)?.as_u64());
    let created = model.get("created").and_then(Value::as_i64).filter(|at| *at > 0);
    Some(ModelInfo {
        id: text("id")?,
        provider: provider.name.clone().into_owned(),
        name: text("display_name"),
        created: created.or_else(|| unix_seconds(model.get("created_at")?.as_str()?)),
        context_window: number(&["max_input_tokens", "context_window", "context_length"]),
        max_output_tokens: number(&["max_tokens", "max_output_tokens"]),
        owned_by: text("owned_by"),
    })
}

/// The Unix seconds of `2025-10-01T00:00:00Z`, which is how the host writes a day.
fn unix_seconds(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let time = |from: usize| number(from, from + 2).unwrap_or(0);
    // Howard Hinnant's days_from_civil: years begin in March, so that the leap day is the last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + time(11) * 3600 + time(14) * 60 + time(17);
    Some(seconds).filter(|at| *at > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_next_one() {
        let provider = Provider::anthropic_compatible("lab", "http://lab.invalid");
        let body = br#"{"data":[{"type":"model","id":"m/1","display_name":"M","created_at":"1970-01-02T00:00:00Z",
            "max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"last_id":"m/1"}"#;
        let page = decode(&provider, body).unwrap();
        let model = &page.models[0];
        assert_eq!((model.id.as_str(), model.name.as_deref()), ("m/1", Some("M")));
        assert_eq!((model.context_window, model.max_output_tokens), (Some(200_000), Some(64_000)));
        assert_eq!(model.created, Some(86_400));
        let next = encode(&provider, page.next.as_deref()).unwrap();
        assert_eq!(next.path, "/models?limit=1000&after_id=m%2F1");
        let last = decode(&provider, br#"{"data":[],"has_more":true,"last_id":"x"}"#).unwrap();
        assert!(last.next.is_none(), "an empty page is the last");
        assert!(decode(&provider, b"{}").is_err());
    }

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        for (text, seconds) in [
            ("1970-01-02T00:00:00Z", Some(86_400)),
            ("2000-03-01T00:00:00Z", Some(951_868_800)),
            ("2025-09-29T12:30:15Z", Some(1_759_149_015)),
            ("yesterday", None),
        ] {
            assert_eq!(unix_seconds(text), seconds, "{text}");
        }
    }
}
