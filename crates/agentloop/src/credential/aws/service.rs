//! Requests to the services that return keys.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CREDENTIAL_BODY_BYTES;
use crate::secret::Secret;
use crate::transport::{SendOptions, Transport};

/// A request to a service that returns keys.
pub(super) struct Ask<'a> {
    /// The service, for errors.
    pub(super) service: &'a str,
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, Secret)>,
    /// How long it may take.
    pub(super) wait: Duration,
}

impl Ask<'_> {
    /// Sends the request and returns the status and the body.
    ///
    /// # Errors
    ///
    /// When there is no response in time, or it is too large. The error is temporary.
    pub(super) async fn send(self, transport: &dyn Transport) -> Result<(u16, Bytes)> {
        let Self { service, method, url, headers, wait } = self;
        let failed = |error: Error| {
            let message = format!("{service}: {}", error.message());
            Error::new(error.kind(), message).with_retryable(error.is_retryable())
        };
        let mut request =
            Request::builder().method(method).uri(url).body(Bytes::new()).map_err(|_| {
                failed(Error::new(ErrorKind::Config, "the URL of the service is not valid"))
            })?;
        for (name, secret) in headers {
            let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| {
                failed(Error::new(ErrorKind::Auth, "the token cannot be sent in a header"))
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        let options = SendOptions::default().with_connect_timeout(wait);
        let exchange = async {
            let response = transport.send(request, options).await?;
            let status = response.status().as_u16();
            Ok((status, response.into_body().collect(MAX_CREDENTIAL_BODY_BYTES).await?))
        };
        match timeout(wait, exchange).await {
            Ok(done) => done.map_err(failed),
            Err(_) => {
                let message = format!("no response within {wait:?}");
                Err(failed(Error::new(ErrorKind::Timeout, message)))
            }
        }
    }

    /// Sends the request and returns the body of a response of status 200.
    pub(super) async fn send_ok(self, transport: &dyn Transport) -> Result<Bytes> {
        let service = self.service.to_owned();
        match self.send(transport).await? {
            (200, body) => Ok(body),
            (status, _) => Err(status_error(&service, status)),
        }
    }
}

/// Returns the error of a status. The body is not shown, because nothing is known about it.
pub(super) fn status_error(service: &str, status: u16) -> Error {
    let message = format!("{service} responded with status {status}");
    let is_temporary = status == 429 || status >= 500;
    let kind = if is_temporary { ErrorKind::Server } else { ErrorKind::Auth };
    Error::new(kind, message).with_retryable(is_temporary)
}
