//! Requests to the services that return keys and tokens.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use serde::de::DeserializeOwned;
#[cfg(feature = "bedrock")]
use serde::de::value::MapAccessDeserializer;
#[cfg(feature = "bedrock")]
use serde::de::{MapAccess, Visitor};
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CREDENTIAL_BODY_BYTES;
use crate::percent::encode_query_value;
use crate::provider::urls::is_this_machine;
use crate::secret::Secret;
use crate::transport::{HttpTransport, SendOptions, Transport};

/// Reaches the services of containers and virtual machines, which no proxy can reach.
pub(super) static METADATA: LazyLock<Arc<dyn Transport>> = LazyLock::new(|| {
    let built = HttpTransport::builder().without_proxy().build();
    Arc::new(built.unwrap_or_else(|_| HttpTransport::new()))
});

/// Reaches the services of the public network.
pub(super) static WEB: LazyLock<Arc<dyn Transport>> =
    LazyLock::new(|| Arc::new(HttpTransport::new()));

/// Reads a JSON object. `None` for everything else, also for an array: serde would take its elements for the fields in their order, so a
/// key could be read as the reason of a failure, which errors show.
pub(super) fn read_object<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let body = body.trim_ascii_start();
    if !body.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(body).ok()
}

/// Reads the object of a field, for `deserialize_with`. Everything else is an error, also an array: see [`read_object`].
#[cfg(feature = "bedrock")]
pub(super) fn nested_object<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    struct OfObject<T>(std::marker::PhantomData<T>);

    impl<'de, T: serde::Deserialize<'de>> Visitor<'de> for OfObject<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(OfObject(std::marker::PhantomData))
}

/// A request to a service that returns keys or tokens. Redirects are not followed.
pub(super) struct Ask<'a> {
    /// The service, for errors.
    pub(super) service: &'a str,
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, Secret)>,
    /// How long it may take.
    pub(super) wait: Duration,
}

/// The response of a service.
pub(super) struct Responded {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Ask<'_> {
    /// Sends the request, with `content`, and returns the response of any status.
    ///
    /// # Errors
    ///
    /// When there is no response in time, or it is too large. The error is temporary.
    pub(super) async fn respond(
        self,
        transport: &dyn Transport,
        content: Bytes,
    ) -> Result<Responded> {
        self.respond_to_signed(transport, content, |_| Ok(())).await
    }

    /// Sends the request, with `content`, after `sign` has signed it, and returns the response of any status.
    ///
    /// # Errors
    ///
    /// As [`respond`](Self::respond), and when `sign` fails.
    pub(super) async fn respond_to_signed(
        self,
        transport: &dyn Transport,
        content: Bytes,
        sign: impl FnOnce(&mut Request<Bytes>) -> Result<()>,
    ) -> Result<Responded> {
        let Self { service, method, url, headers, wait } = self;
        let failed = |error: Error| {
            let message = format!("{service}: {}", error.message());
            Error::new(error.kind(), message).with_retryable(error.is_retryable())
        };
        let mut request =
            Request::builder().method(method).uri(url).body(content).map_err(|_| {
                failed(Error::new(ErrorKind::Config, "the URL of the service is not valid"))
            })?;
        for (name, secret) in headers {
            let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| {
                failed(Error::new(ErrorKind::Auth, "the token cannot be sent in a header"))
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        sign(&mut request)?;
        let options = SendOptions::default().with_connect_timeout(wait).without_redirects();
        let exchange = async {
            let (head, body) = transport.send(request, options).await?.into_parts();
            let body = body.collect(MAX_CREDENTIAL_BODY_BYTES).await?;
            Ok(Responded { status: head.status.as_u16(), headers: head.headers, body })
        };
        match timeout(wait, exchange).await {
            Ok(done) => done.map_err(failed),
            Err(_) => {
                let message = format!("no response within {wait:?}");
                Err(failed(Error::new(ErrorKind::Timeout, message)))
            }
        }
    }

    /// Sends the request and returns the status and the body.
    ///
    /// # Errors
    ///
    /// As [`respond`](Self::respond).
    #[cfg(feature = "bedrock")]
    pub(super) async fn send(self, transport: &dyn Transport) -> Result<(u16, Bytes)> {
        let Responded { status, body, .. } = self.respond(transport, Bytes::new()).await?;
        Ok((status, body))
    }

    /// Sends the request and returns the body of a response of status 200.
    #[cfg(feature = "bedrock")]
    pub(super) async fn send_ok(self, transport: &dyn Transport) -> Result<Bytes> {
        let service = self.service.to_owned();
        match self.send(transport).await? {
            (200, body) => Ok(body),
            (status, _) => Err(status_error(&service, status)),
        }
    }
}

/// The type of a [`form`].
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Writes the fields of a form.
pub(super) fn form(fields: &[(&str, &str)]) -> Bytes {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encode_query_value(value)));
    pairs.collect::<Vec<_>>().join("&").into()
}

/// The longest code of an error that is shown.
const MAX_CODE: usize = 64;

/// Returns whether a text is the code of an error. Other texts of a service are not shown, because they could repeat what was sent.
pub(super) fn is_code(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !text.is_empty() && text.len() <= MAX_CODE && text.bytes().all(is_letter)
}

/// Fails if a URL that a secret is sent to is neither encrypted nor of this machine.
pub(super) fn check_url(url: &str, name: &str) -> Result<()> {
    let uri: Option<Uri> = url.parse().ok();
    let authority = uri.as_ref().and_then(Uri::authority);
    let is_safe = authority.is_some_and(|authority| {
        let host = authority.host();
        let has_user = authority.as_str().contains('@');
        let is_encrypted = match uri.as_ref().and_then(Uri::scheme_str) {
            Some("https") => true,
            Some("http") => is_this_machine(host),
            _ => false,
        };
        is_encrypted && !has_user && !host.is_empty()
    });
    if is_safe {
        return Ok(());
    }
    let message = format!("{name} is neither an https URL nor a URL of this machine");
    Err(Error::new(ErrorKind::Config, message).with_hint("a secret is sent there: use https"))
}

/// Returns the error of a status. The body is not shown, because nothing is known about it.
pub(super) fn status_error(service: &str, status: u16) -> Error {
    let message = format!("{service} responded with status {status}");
    let is_temporary = status == 429 || status >= 500;
    let kind = if is_temporary { ErrorKind::Server } else { ErrorKind::Auth };
    Error::new(kind, message).with_retryable(is_temporary)
}

/// Returns whether an error means that there is no such service on this network.
pub(super) fn is_unreachable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout)
}
