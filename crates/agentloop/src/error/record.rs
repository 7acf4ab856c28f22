//! The error as data and as JSON.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Error;
use crate::chat::{ChatStreamEvent, ErrorRecord};

impl From<&Error> for ErrorRecord {
    fn from(error: &Error) -> Self {
        let inner = &*error.0;
        let wait =
            inner.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let mut record = Self::new(inner.kind, inner.message.clone());
        record.provider.clone_from(&inner.provider);
        record.model.clone_from(&inner.model);
        record.status = inner.status;
        record.code.clone_from(&inner.code);
        record.param.clone_from(&inner.param);
        record.retryable = inner.retryable;
        record.retry_after_ms = wait;
        record.request_id.clone_from(&inner.request_id);
        record.hint.clone_from(&inner.hint);
        record.causes = inner.causes.iter().map(Self::from).collect();
        record.raw.clone_from(&inner.raw);
        record.partial.clone_from(&inner.partial);
        record
    }
}

impl From<ErrorRecord> for Error {
    fn from(record: ErrorRecord) -> Self {
        let mut error = Error::new(record.kind, record.message)
            .with_retryable(record.retryable)
            .with_retry_after(record.retry_after_ms.map(Duration::from_millis))
            .with_request_id(record.request_id)
            .with_causes(record.causes.into_iter().map(Error::from).collect());
        if let Some(raw) = record.raw {
            error = error.with_raw(raw.as_bytes());
        }
        let inner = &mut *error.0;
        inner.provider = record.provider;
        inner.model = record.model;
        inner.status = record.status;
        inner.code = record.code;
        inner.param = record.param;
        inner.hint = record.hint;
        inner.partial = record.partial;
        error
    }
}

/// The event that ends a failed stream.
impl From<&Error> for ChatStreamEvent {
    fn from(error: &Error) -> Self {
        Self::Error { error: Box::new(error.into()) }
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ErrorRecord::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ErrorRecord::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatResponse;
    use crate::error::ErrorKind;

    /// Found with a stream of 200 MB that was cut off: a gateway held four copies of it.
    #[test]
    fn the_copies_of_an_error_share_the_partial_response() {
        let partial = serde_json::from_str(
            r#"{"id":"r","model":"m","provider":"p","choices":[],"usage":{}}"#,
        );
        let error = Error::new(ErrorKind::Connection, "cut off").with_partial(partial.unwrap());
        let event = ChatStreamEvent::from(&Error::from(ErrorRecord::from(&error)));
        let ChatStreamEvent::Error { error: shown } = &event else { panic!("{event:?}") };
        let of = |partial: Option<&ChatResponse>| partial.map(std::ptr::from_ref);
        assert!(error.partial().is_some());
        assert_eq!(of(shown.partial.as_deref()), of(error.partial()));
    }

    #[test]
    fn a_secret_is_in_no_field_of_the_json() {
        let mut error = Error::new(ErrorKind::Auth, "the key sk-secret is wrong")
            .with_code("sk-secret")
            .with_param("sk-secret")
            .with_hint("replace sk-secret")
            .with_request_id(Some("sk-secret".to_owned()))
            .with_raw(br#"{"error":{"message":"the key sk-secret is wrong"}}"#)
            .with_causes(vec![Error::new(ErrorKind::Auth, "m").with_raw(b"sk-secret")]);
        error.hide(&crate::secret::echo::Echo::of("sk-secret"));
        let json = serde_json::to_string(&error).unwrap();
        assert!(!json.contains("secret"), "{json}");
    }
}
