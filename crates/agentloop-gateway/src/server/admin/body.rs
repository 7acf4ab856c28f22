//! Bodies of the admin API.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::reply::{Problem, invalid, problem};
use crate::Gateway;

/// The largest body of a request, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Reads a JSON object.
pub(super) async fn read<B>(
    gateway: &Gateway,
    head: &Parts,
    body: B,
) -> Result<Map<String, Value>, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // A form of another site can send text, but not JSON.
    let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") || head.headers.contains_key(CONTENT_ENCODING)
    {
        let message = "send the body as `content-type: application/json`, not compressed";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_type", message));
    }
    let reading = Limited::new(body, MAX_BYTES).collect();
    let time = gateway.state().client_timeout;
    let bytes = match tokio::time::timeout(time, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {MAX_BYTES} bytes");
            return Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message));
        }
        Ok(Err(_)) => return Err(invalid("the body cannot be read")),
        Err(_) => {
            let message = "the body did not arrive in time";
            return Err(problem(StatusCode::REQUEST_TIMEOUT, "request_timeout", message));
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(invalid("the body must be a JSON object")),
        Err(error) => Err(invalid(format!("the body is not JSON: {error}"))),
    }
}
