//! Requests whose path names the model and the call. Google's Vertex AI and Amazon's Bedrock serve this protocol in this way, so no other
//! folder has such a file.
//!
//! Sources: anthropic SDK 2.9 for Python (`lib/vertex/_client.py`, `lib/bedrock/_client.py`) and ai-sdk google-vertex 5.0.

#[cfg(feature = "serve")]
use std::borrow::Cow;

#[cfg(feature = "serve")]
use bytes::Bytes;
#[cfg(feature = "serve")]
use serde_json::{Map, Value};

use crate::percent;
use crate::protocol::Call;

/// What takes the place of the model in the path of a count.
const COUNT: &str = "count-tokens";

const WHOLE: &str = "rawPredict";
const STREAMED: &str = "streamRawPredict";

const INVOKED: &str = "/invoke";
const INVOKED_STREAMED: &str = "/invoke-with-response-stream";

/// Returns the path of a call to Vertex AI. The base URL ends in the publisher `google`, beside which `anthropic` is.
pub(super) fn raw_predict(call: Call, model: &str) -> String {
    let method = if call == Call::Stream { STREAMED } else { WHOLE };
    let model = match call {
        Call::Count => COUNT.to_owned(),
        // `claude-sonnet-4-5@20250929` keeps its sign.
        _ => percent::encode_query_value(model).replace("%40", "@"),
    };
    format!("/../anthropic/models/{model}:{method}")
}

/// Returns the path of a call to Bedrock's InvokeModel. Names of models contain colons, and ARNs also slashes: both are encoded.
pub(super) fn invoke(call: Call, model: &str) -> String {
    let end = if call == Call::Stream { INVOKED_STREAMED } else { INVOKED };
    ["/model/", &percent::encode_query_value(model), end].concat()
}

/// Changes a body that was written for Anthropic itself: takes the model out, which a count keeps.
#[cfg(feature = "serve")]
pub(super) fn adapt(call: Call, body: Bytes) -> Bytes {
    if call == Call::Count {
        return body;
    }
    // The provider reports what is wrong with another body.
    let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(&body) else { return body };
    match fields.remove("model") {
        Some(_) => Bytes::from(Value::Object(fields).to_string()),
        None => body,
    }
}

/// What a path says.
#[cfg(feature = "serve")]
#[derive(Debug, PartialEq)]
pub(super) struct Named<'a> {
    /// The model, which the body does not name; `None` if tokens are counted.
    pub(super) model: Option<Cow<'a, str>>,
    /// Whether the events of the stream are in the frames of InvokeModel; `None` if the body says whether there is a stream.
    pub(super) invoked: Option<bool>,
}

/// Reads the end of a path. Returns `None` for those of Anthropic itself.
#[cfg(feature = "serve")]
pub(super) fn read(path: &str) -> Option<Named<'_>> {
    let path = path.split('?').next().unwrap_or_default();
    let text = |model| match percent::decode(model) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    };
    for (end, streams) in [(INVOKED, false), (INVOKED_STREAMED, true)] {
        let place = path.strip_suffix(end).and_then(|place| place.rsplit_once("/model/"));
        if let Some((_, model)) = place {
            return Some(Named { model: Some(text(model)), invoked: Some(streams) });
        }
    }
    let (place, method) = path.rsplit_once(':')?;
    if method != WHOLE && method != STREAMED {
        return None;
    }
    let (_, model) = place.rsplit_once("/models/")?;
    let model = Some(text(model)).filter(|model| model != COUNT);
    Some(Named { model, invoked: None })
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_model_and_the_call() {
        for (call, model, expected) in [
            (Call::Chat, "claude-opus-4-8", "/../anthropic/models/claude-opus-4-8:rawPredict"),
            (
                Call::Stream,
                "claude-sonnet-4-5@20250929",
                "/../anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
            ),
            (Call::Count, "claude-opus-4-8", "/../anthropic/models/count-tokens:rawPredict"),
            // Nothing of a name leaves its segment.
            (Call::Chat, "../x:y;z?a#b", "/../anthropic/models/..%2Fx%3Ay%3Bz%3Fa%23b:rawPredict"),
        ] {
            let path = raw_predict(call, model);
            assert_eq!(path, expected);
            let model = (call != Call::Count).then_some(Cow::Borrowed(model));
            assert_eq!(read(&path), Some(Named { model, invoked: None }));
        }
        let name = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
        for (call, model, expected) in [
            (Call::Chat, name, "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke"),
            (
                Call::Stream,
                name,
                "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream",
            ),
            (Call::Chat, "../a/model/b", "/model/..%2Fa%2Fmodel%2Fb/invoke"),
        ] {
            let path = invoke(call, model);
            assert_eq!(path, expected);
            let invoked = Some(call == Call::Stream);
            assert_eq!(read(&path), Some(Named { model: Some(model.into()), invoked }));
        }
        for other in [
            "/v1/messages",
            "/v1/models/m:generateContent",
            "/v1/models/m",
            ":rawPredict",
            "",
            "/invoke",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_relayed_body_has_no_model() {
        let adapt = |call, body: &str| adapt(call, Bytes::copy_from_slice(body.as_bytes()));
        let body = r#"{"max_tokens":9,"model":"m","messages":[]}"#;
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let expected = serde_json::json!({ "max_tokens": 9, "messages": [] });
        assert_eq!(read(&adapt(Call::Stream, body)), expected);
        assert_eq!(adapt(Call::Count, body), body);
        for other in ["", "[]", "{", "7", r#"{"messages":[]}"#] {
            assert_eq!(adapt(Call::Chat, other), other);
        }
    }
}
