//! What went wrong with a server, in words that a model and a person can use.

use rmcp::service::{ClientInitializeError, ServiceError};

/// Describes why a request to a server has no result.
///
/// The library's own texts name types of Rust (`Transport [rmcp::transport::async_rw::…] error`), which say nothing to a
/// model.
pub(super) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => in_words(error.error.as_ref()),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "it sent something other than a result".to_owned(),
        ServiceError::Cancelled { reason: Some(reason) } => {
            format!("it was cancelled: {reason}")
        }
        ServiceError::Cancelled { reason: None } => "it was cancelled".to_owned(),
        ServiceError::Timeout { timeout } => format!("no response within {timeout:?}"),
        ServiceError::SubscriptionLagged { .. } => "it sent more than could be read".to_owned(),
        ServiceError::InputRequiredRoundsExceeded { .. } => {
            "it asked for more input again and again".to_owned()
        }
        _ => "the request failed".to_owned(),
    }
}

/// Describes why a connection to a server could not be opened.
pub(super) fn of_opening(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => in_words(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::ConnectionClosed(_) => "the connection is closed".to_owned(),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it did not respond to the first request as the protocol asks".to_owned()
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> =
                server_supported.iter().map(|version| version.as_str()).collect();
            format!("it speaks other versions of the protocol: {}", versions.join(", "))
        }
        _ => "the connection could not be opened".to_owned(),
    }
}

/// Returns the text of an error of a transport, unless it names a type.
fn in_words(error: &(dyn std::error::Error + Send + Sync)) -> String {
    let text = error.to_string();
    if names_a_type(&text) { "the connection failed".to_owned() } else { text }
}

/// Whether the text holds something like `a::b`. An IPv6 address does not count.
fn names_a_type(text: &str) -> bool {
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
    fn no_description_of_a_failure_names_a_type_of_rust() {
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
        let all = requests.iter().map(of_request).chain(openings.iter().map(of_opening));
        for text in all {
            assert!(!text.contains("::") && !text.contains("rmcp"), "{text}");
            assert!(!text.contains("None") && !text.contains("Some("), "{text}");
        }
        assert_eq!(of_request(&ServiceError::TransportSend(broken_pipe())), "broken pipe");
    }

    #[test]
    fn a_path_of_rust_is_told_from_an_address() {
        for (text, expected) in [
            ("task 3 of rmcp::transport::Worker panicked", true),
            ("Vec<u8>::from", true),
            ("connection to [::1]:8080 refused", false),
            ("https://example.com refused", false),
        ] {
            assert_eq!(names_a_type(text), expected, "{text}");
        }
    }
}
