//! The error as JSON: `{"kind","message","provider","model","status","code","param","retryable",…,"raw","partial"}`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Error, ErrorKind};
use crate::response::ChatResponse;

/// Every field is always written, absent ones as null, so that readers need not guess.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    kind: ErrorKind,
    message: &'a str,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    status: Option<u16>,
    code: Option<&'a str>,
    param: Option<&'a str>,
    retryable: bool,
    retry_after_ms: Option<u64>,
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    causes: &'a [Error],
    raw: Option<&'a str>,
    partial: Option<&'a ChatResponse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    kind: ErrorKind,
    message: String,
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    retryable: bool,
    retry_after_ms: Option<u64>,
    request_id: Option<String>,
    hint: Option<String>,
    #[serde(default)]
    causes: Vec<Error>,
    raw: Option<String>,
    partial: Option<Box<ChatResponse>>,
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            kind: self.kind(),
            message: self.message(),
            provider: self.provider(),
            model: self.model(),
            status: self.status(),
            code: self.code(),
            param: self.param(),
            retryable: self.is_retryable(),
            retry_after_ms: self
                .retry_after()
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            request_id: self.request_id(),
            hint: self.hint(),
            causes: self.causes(),
            raw: self.raw(),
            partial: self.partial(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let mut error = Error::new(read.kind, read.message)
            .with_retryable(read.retryable)
            .with_retry_after(read.retry_after_ms.map(Duration::from_millis))
            .with_request_id(read.request_id)
            .with_causes(read.causes);
        if let Some(raw) = read.raw {
            error = error.with_raw(raw.as_bytes());
        }
        let inner = &mut *error.0;
        inner.provider = read.provider;
        inner.model = read.model;
        inner.status = read.status;
        inner.code = read.code;
        inner.param = read.param;
        inner.hint = read.hint;
        inner.partial = read.partial;
        Ok(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
