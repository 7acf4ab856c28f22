//! Errors of Amazon's services: exceptions with a name, in a header of the response or of a frame, whatever the protocol is.

use http::HeaderMap;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::protocol::json::read_value;
use crate::protocol::{Frame, error_body};

/// An exception: its name, its status, and its kind if the status does not determine it.
struct Exception {
    name: &'static str,
    status: u16,
    kind: Option<ErrorKind>,
}

const fn exception(name: &'static str, status: u16, kind: Option<ErrorKind>) -> Exception {
    Exception { name, status, kind }
}

/// The exceptions (botocore 1.44.3: those of `Converse` and of its stream, with the statuses of their shapes).
const EXCEPTIONS: [Exception; 11] = [
    exception("AccessDeniedException", 403, None),
    exception("InternalServerException", 500, None),
    exception("ModelErrorException", 424, Some(ErrorKind::Server)),
    // "The AWS SDK will automatically retry the operation up to 5 times."
    exception("ModelNotReadyException", 429, Some(ErrorKind::Overloaded)),
    // "An error occurred while streaming the response. Retry your request."
    exception("ModelStreamErrorException", 424, Some(ErrorKind::Server)),
    exception("ModelTimeoutException", 408, None),
    exception("ResourceNotFoundException", 404, None),
    exception("ServiceQuotaExceededException", 400, Some(ErrorKind::Quota)),
    exception("ServiceUnavailableException", 503, None),
    exception("ThrottlingException", 429, None),
    exception("ValidationException", 400, None),
];

/// Returns the exception of a name. The names in streams begin with a small letter.
fn known(name: &str) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Returns the error of a response with that status. One without an exception is that of any other service.
pub(crate) fn decode(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    let error = error_body::of_status(provider, status, headers, body);
    let header = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
    match header.map(bare).filter(|name| !name.is_empty()) {
        Some(name) => refined(error, name),
        None => refined_by_body(error, body),
    }
}

/// Returns the error that is inside a response of status 200.
pub(crate) fn in_body(provider: &str, body: &[u8]) -> Error {
    refined_by_body(error_body::in_body(provider, body), body)
}

/// Returns the error of a frame, if it is an exception.
#[inline]
pub(super) fn in_frame(provider: &str, frame: &Frame<'_>) -> Option<Error> {
    let event = frame.event;
    let name = event.strip_prefix("exception:").or_else(|| event.strip_prefix("error:"))?;
    Some(of_frame(provider, name, frame.data))
}

/// Returns the error of an exception: `name` is its type, `data` its content.
fn of_frame(provider: &str, name: &str, data: &[u8]) -> Error {
    let value = read_value(data).unwrap_or_default();
    let text = String::from_utf8_lossy(data);
    let message = value.get("message").or_else(|| value.get("Message")).and_then(Value::as_str);
    // A frame that is an error has its message alone, and no JSON.
    let message = message.or(Some(text.trim()).filter(|_| !value.is_object()));
    let message = message.filter(|message| !message.is_empty()).unwrap_or(name);
    let mut found = json!({ "message": message });
    // The status of the model's own server counts before that of the exception, if it is an error.
    let original = value.get("originalStatusCode").and_then(Value::as_u64);
    let original = original.filter(|status| (400..600).contains(status));
    let status = original.or_else(|| known(name).map(|known| u64::from(known.status)));
    if let Some(status) = status {
        found["status"] = status.into();
    }
    let error = error_body::in_part(provider, &found.to_string(), data);
    match original {
        Some(_) => error.with_code(name),
        None => refined(error, name),
    }
}

fn refined_by_body(error: Error, body: &[u8]) -> Error {
    let value = read_value(body).unwrap_or_default();
    let name = value.get("__type").and_then(Value::as_str).map(bare);
    match name.filter(|name| !name.is_empty()) {
        Some(name) => refined(error, name),
        None => hinted(error),
    }
}

/// Returns the name without what is around it: `com.amazon.coral#Name:http://…`.
fn bare(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or_default();
    name.rsplit('#').next().unwrap_or_default().trim()
}

/// Adds the name of the exception. Its kind counts where only the status decided.
fn refined(error: Error, name: &str) -> Error {
    let kind = known(name).and_then(|known| known.kind);
    let is_general = matches!(
        error.kind(),
        ErrorKind::InvalidRequest | ErrorKind::RateLimit | ErrorKind::Server
    );
    let error = match kind {
        Some(kind) if is_general => error.with_kind(kind),
        _ => error,
    };
    // A code beside the name is that of a server behind the API.
    hinted(if error.code().is_some() { error } else { error.with_code(name) })
}

/// Adds what to do where the message does not make it clear: most newer models have no id of their own in a region.
fn hinted(error: Error) -> Error {
    if error.message().contains("on-demand throughput isn") {
        return error.with_hint(
            "use the id of an inference profile, which is that of the model after `us.`, `eu.`, `apac.` or `global.`",
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            http::HeaderName::from_static("x-amzn-errortype"),
            http::HeaderValue::from_str(name).unwrap(),
        )])
    }

    #[test]
    fn the_name_of_an_exception_decides_where_the_status_does_not() {
        let url = "http://internal.amazon.com/coral/com.amazon.bedrock/";
        for (status, name, kind, is_retryable) in [
            (424, "ModelErrorException", ErrorKind::Server, true),
            (429, "ModelNotReadyException", ErrorKind::Overloaded, true),
            (429, "ThrottlingException", ErrorKind::RateLimit, true),
            (400, "ValidationException", ErrorKind::InvalidRequest, false),
            (400, "ServiceQuotaExceededException", ErrorKind::Quota, false),
            (403, "AccessDeniedException", ErrorKind::Auth, false),
            (404, "ResourceNotFoundException", ErrorKind::NotFound, false),
            (408, "ModelTimeoutException", ErrorKind::Timeout, true),
            (500, "InternalServerException", ErrorKind::Server, true),
            (503, "ServiceUnavailableException", ErrorKind::Overloaded, true),
        ] {
            let whole = format!("{name}:{url}");
            let error = decode("p", status, &headers(&whole), br#"{"message":"no"}"#);
            assert_eq!((error.kind(), error.is_retryable()), (kind, is_retryable), "{name}");
            assert_eq!((error.code(), error.message()), (Some(name), "no"));
            let mut small = name.to_owned();
            small[..1].make_ascii_lowercase();
            let error = of_frame("p", &small, br#"{"message":"no"}"#);
            assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{small}");
            assert_eq!(error.code(), Some(small.as_str()));
        }
    }

    #[test]
    fn messages_decide_before_names() {
        for message in [
            "Input is too long for requested model.",
            "The model returned the following errors: prompt is too long: 208310 tokens > 200000 maximum",
            "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
        ] {
            let body = json!({ "message": message }).to_string();
            let error = decode("p", 400, &headers("ValidationException"), body.as_bytes());
            assert_eq!(error.kind(), ErrorKind::ContextLength, "{message}");
            let error = of_frame("p", "validationException", body.as_bytes());
            assert_eq!(error.kind(), ErrorKind::ContextLength, "{message}");
        }
    }

    #[test]
    fn frames_of_any_content_have_a_message() {
        let error = of_frame("p", "InternalError", b"An internal server error occurred");
        assert_eq!(error.message(), "An internal server error occurred");
        assert_eq!((error.code(), error.kind()), (Some("InternalError"), ErrorKind::Server));
        for data in [&b""[..], b"{}", b"\xff\xfe", b"{", b"[1]", br#"{"message":7}"#] {
            let error = of_frame("p", "modelStreamErrorException", data);
            assert!(!error.message().is_empty());
            assert_eq!(error.status(), Some(424));
        }
        let original = br#"{"message":"busy","originalStatusCode":503,"originalMessage":"x"}"#;
        let error = of_frame("p", "modelStreamErrorException", original);
        assert_eq!((error.status(), error.kind()), (Some(503), ErrorKind::Overloaded));
    }

    #[test]
    fn a_name_in_the_body_counts_and_profiles_are_suggested() {
        let error =
            decode("p", 404, &HeaderMap::new(), br##"{"__type":"com.amazon.coral#Unknown"}"##);
        assert_eq!(error.code(), Some("Unknown"));
        let message = "Invocation of model ID m with on-demand throughput isn\u{2019}t supported.";
        let body = json!({ "message": message }).to_string();
        let error = decode("p", 400, &HeaderMap::new(), body.as_bytes());
        assert!(error.hint().is_some_and(|hint| hint.contains("inference profile")));
    }
}
