//! Describes the errors of a server to models and users.

use rmcp::service::{ClientInitializeError, ServiceError};

/// Describes why a request to a server failed.
///
/// The messages of the SDK contain Rust types (`Transport [rmcp::transport::async_rw::…] error`), which do not help a model.
pub(super) fn describe_request_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => transport_message(error.error.as_ref()),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "the server sent a response of another kind".to_owned(),
        ServiceError::Cancelled { reason: Some(reason) } => {
            format!("the request was cancelled: {reason}")
        }
        ServiceError::Cancelled { reason: None } => "the request was cancelled".to_owned(),
        ServiceError::Timeout { timeout } => format!("no response within {timeout:?}"),
        ServiceError::SubscriptionLagged { .. } => {
            "the server sent messages faster than they were read".to_owned()
        }
        ServiceError::InputRequiredRoundsExceeded { .. } => {
            "the server requested more input too many times".to_owned()
        }
        _ => "the request failed".to_owned(),
    }
}

/// Describes why a connection to a server could not be opened.
pub(super) fn describe_open_error(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            transport_message(error.error.as_ref())
        }
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::ConnectionClosed(_) => "the connection is closed".to_owned(),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "the response to the first request does not follow the protocol".to_owned()
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> =
                server_supported.iter().map(|version| version.as_str()).collect();
            format!("the server supports only these protocol versions: {}", versions.join(", "))
        }
        _ => "the connection could not be opened".to_owned(),
    }
}

/// Returns the message of a transport error, unless it contains a Rust type.
fn transport_message(error: &(dyn std::error::Error + Send + Sync)) -> String {
    let text = error.to_string();
    if contains_rust_path(&text) { "the connection failed".to_owned() } else { text }
}

/// Returns whether the text contains a path such as `a::b`. An IPv6 address is not one.
fn contains_rust_path(text: &str) -> bool {
    text.match_indices("::").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + 2..].chars().next();
        before.is_some_and(|c| c.is_ascii_alphabetic() || c == '>' || c == '_')
            && after.is_some_and(|c| c.is_ascii_alphabetic() || c == '<' || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::io;

    use rmcp::transport::DynamicTransportError;

    use super::*;

    fn broken_pipe() -> DynamicTransportError {
        let error = io::Error::new(io::ErrorKind::BrokenPipe, "broken pipe");
        let name = "rmcp::transport::async_rw::AsyncRwTransport<rmcp::service::RoleClient>";
        DynamicTransportError::from_parts(name, TypeId::of::<io::Error>(), Box::new(error))
    }

    #[test]
    fn no_description_of_an_error_contains_a_rust_path() {
        let requests = [
            ServiceError::TransportSend(broken_pipe()),
            ServiceError::TransportClosed,
            ServiceError::UnexpectedResponse,
            ServiceError::Cancelled { reason: None },
            ServiceError::Timeout { timeout: std::time::Duration::from_secs(3) },
        ];
        let openings = [
            ClientInitializeError::TransportError {
                error: broken_pipe(),
                context: "send initialized notification".into(),
            },
            ClientInitializeError::ExpectedInitResult(None),
            ClientInitializeError::ConnectionClosed("initialize response".to_owned()),
        ];
        let all = requests
            .iter()
            .map(describe_request_error)
            .chain(openings.iter().map(describe_open_error));
        for text in all {
            assert!(!text.contains("::") && !text.contains("rmcp"), "{text}");
            assert!(!text.contains("None") && !text.contains("Some("), "{text}");
        }
        let sending = ServiceError::TransportSend(broken_pipe());
        assert_eq!(describe_request_error(&sending), "broken pipe");
    }

    #[test]
    fn a_rust_path_is_distinguished_from_an_ip_address() {
        for (text, expected) in [
            ("task 3 of rmcp::transport::Worker panicked", true),
            ("Vec<u8>::from", true),
            ("connection to [::1]:8080 refused", false),
            ("https://example.com refused", false),
        ] {
            assert_eq!(contains_rust_path(text), expected, "{text}");
        }
    }
}
