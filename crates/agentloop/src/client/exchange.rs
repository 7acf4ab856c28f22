//! Calls that are not chats: about files and batches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Uri};

use super::Inner;
use super::limit::{Limit, shorter};
use super::secrets::RequestSecrets;
use crate::chat::ExtraHeaders;
use crate::error::{Error, ErrorKind, Result};
use crate::long_work::LongWork;
use crate::protocol::Encoded;
use crate::provider::{Provider, Target};
use crate::transport::Body;

/// The limits of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// What the call waits for, as an error names it.
    pub(super) stage: &'static str,
    /// The longest time that it may take; `None` is the client's limit for a response.
    pub(super) time: Option<Duration>,
    /// The most bytes of the response.
    pub(super) bytes: usize,
}

/// A whole response.
pub(super) struct Exchanged {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) secrets: RequestSecrets,
    long_work: LongWork,
}

impl Exchanged {
    /// Reads the body. The secrets of the request are removed from an error, because a provider may repeat them.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let read = self.long_work.for_bytes(self.body.len()).run(|| read(&self.body));
        read.map_err(|error| self.secrets.hide(error))
    }
}

impl Inner {
    /// Sends a call and reads its whole response.
    pub(super) async fn exchange(
        &self,
        provider: &Arc<Provider>,
        encoded: Encoded,
        bounds: Bounds,
    ) -> Result<Exchanged> {
        self.exchange_at(provider, encoded, None, bounds).await
    }

    /// Sends a call to another path of the provider's origin: that of a URL which the provider returned.
    ///
    /// Nothing is sent to another origin, whatever the URL is. It must not receive the key.
    pub(super) async fn exchange_at(
        &self,
        provider: &Arc<Provider>,
        encoded: Encoded,
        place: Option<&Uri>,
        bounds: Bounds,
    ) -> Result<Exchanged> {
        let target = Target::new(Arc::clone(provider), "");
        let time = bounds.time.or(self.timeouts.first_content);
        let limit = Limit::new(bounds.stage, shorter(self.timeouts.total, time));
        let named = |error: Error| error.with_provider(provider.name.as_ref());
        let call = async {
            let (response, secrets) = self.open(&target, encoded, place, limit).await?;
            let (head, body) = response.into_parts();
            let body = body.collect(bounds.bytes).await.map_err(|error| secrets.hide(error))?;
            Ok(Exchanged { headers: head.headers, body, secrets, long_work: self.long_work })
        };
        limit.within(call).await.map_err(named)
    }

    /// Sends a call and returns its response before the body has arrived.
    pub(super) async fn open(
        &self,
        target: &Target,
        encoded: Encoded,
        place: Option<&Uri>,
        limit: Limit,
    ) -> Result<(http::Response<Body>, RequestSecrets)> {
        let (mut outgoing, _) =
            self.http_request(target, encoded, None, &ExtraHeaders::default())?;
        if let Some(place) = place {
            *outgoing.http.uri_mut() = at_own_origin(outgoing.http.uri(), place)?;
        }
        let secrets = outgoing.take_secrets();
        let response = self.send(&target.provider, outgoing, &self.timeouts, limit.deadline());
        let response = response.await.map_err(|error| secrets.hide(error))?;
        Ok((response, secrets))
    }
}

/// Returns the path and the query of `place` at the origin of `own`.
fn at_own_origin(own: &Uri, place: &Uri) -> Result<Uri> {
    let mut parts = own.clone().into_parts();
    parts.path_and_query = place.path_and_query().cloned();
    Uri::from_parts(parts).map_err(|error| {
        Error::new(ErrorKind::Protocol, "the provider returned a URL that cannot be used")
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_the_provider_keeps_the_own_origin() {
        let own: Uri = "https://own.example/upload/v1/files".parse().unwrap();
        for (url, expected) in [
            ("https://own.example/upload?id=1", "https://own.example/upload?id=1"),
            ("http://evil.example:81/a?b", "https://own.example/a?b"),
            ("/only/a/path", "https://own.example/only/a/path"),
        ] {
            assert_eq!(at_own_origin(&own, &url.parse().unwrap()).unwrap(), expected);
        }
    }
}
