//! Where the content of files and of results is read from: calls to the provider, and URLs that it signed.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, Response, Uri};

use super::Inner;
use super::authorize::Outgoing;
use super::files::status;
use super::limit::Limit;
use super::secrets::RequestSecrets;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Encoded, datasets, files};
use crate::provider::quirks::FileApi;
use crate::provider::{Provider, Target};
use crate::secret::mask;
use crate::transport::{Body, SendOptions};

/// The value of `User-Agent` of a request to a signed URL.
const USER_AGENT_VALUE: &str = concat!("agentloop/", env!("CARGO_PKG_VERSION"));

/// One place that content is read from.
#[derive(Debug)]
enum Source {
    /// A call to the provider.
    Call(Encoded),
    /// All files of a dataset.
    Dataset(String),
    /// One file of a dataset. Its URL is requested when it is read, because signed URLs expire within minutes.
    DatasetFile { dataset: String, name: String },
}

/// The places that content is read from, in order.
#[derive(Debug, Default)]
pub(super) struct Sources(VecDeque<Source>);

impl Sources {
    /// Adds a call.
    pub(super) fn push_call(&mut self, encoded: Encoded) {
        self.0.push_back(Source::Call(encoded));
    }

    /// Adds the content of a file.
    pub(super) fn push_file(&mut self, provider: &Provider, id: &str) -> Result<()> {
        match provider.quirks.storage.files {
            FileApi::Dataset => {
                datasets::path(datasets::DATASETS, id)?;
                self.0.push_back(Source::Dataset(id.to_owned()));
            }
            _ => self.push_call(files::encode_content(provider, id)?),
        }
        Ok(())
    }

    /// Opens the next source. Returns its body and what errors must not show, or `None` at the end.
    pub(super) async fn open_next(
        &mut self,
        inner: &Inner,
        provider: &Arc<Provider>,
        limit: Limit,
    ) -> Result<Option<(Body, RequestSecrets)>> {
        loop {
            let Some(source) = self.0.pop_front() else { return Ok(None) };
            let opened = match source {
                Source::Call(encoded) => {
                    let target = Target::new(Arc::clone(provider), "");
                    let opened = inner.open(&target, encoded, None, limit).await?;
                    (opened.0.into_body(), opened.1)
                }
                Source::Dataset(dataset) => {
                    let urls = inner.signed_urls(provider, &dataset).await?;
                    for name in urls.into_keys().rev() {
                        let dataset = dataset.clone();
                        self.0.push_front(Source::DatasetFile { dataset, name });
                    }
                    continue;
                }
                Source::DatasetFile { dataset, name } => {
                    let mut urls = inner.signed_urls(provider, &dataset).await?;
                    let url = urls.remove(&name).ok_or_else(|| {
                        Error::new(ErrorKind::NotFound, "a file of the dataset disappeared")
                    })?;
                    inner.open_signed(provider, &url, limit).await?
                }
            };
            return Ok(Some(opened));
        }
    }
}

impl Inner {
    async fn signed_urls(
        &self,
        provider: &Arc<Provider>,
        dataset: &str,
    ) -> Result<std::collections::BTreeMap<String, String>> {
        let encoded = datasets::encode_urls(provider, dataset)?;
        let exchanged = self.exchange(provider, encoded, status("the files of a dataset")).await?;
        exchanged.read(|body| datasets::decode_urls(provider, body))
    }

    /// Returns the account that files and batches of a provider belong to, or an empty text if their URLs name none.
    pub(super) async fn account(&self, provider: &Arc<Provider>) -> Result<String> {
        let storage = &provider.quirks.storage;
        let variable = match storage.account.as_deref() {
            None if storage.files != FileApi::Dataset => return Ok(String::new()),
            None => None,
            Some(template) => match self.registry.expand(template) {
                Ok(account) => return Ok(account.trim().to_owned()),
                Err(variable) => Some(variable.to_owned()),
            },
        };
        let encoded = datasets::encode_accounts(provider)?;
        let exchanged = self.exchange(provider, encoded, status("the account")).await?;
        let found = exchanged.read(|body| datasets::decode_accounts(provider, body));
        found.map_err(|error| {
            let setting = "`quirks.storage.account` of the provider".to_owned();
            let names =
                variable.map_or_else(|| setting.clone(), |name| format!("{name}, or {setting}"));
            match error.kind() {
                ErrorKind::Config => error.with_hint(format!("set {names}")),
                _ => error,
            }
        })
    }

    /// Opens a URL that the provider signed for one file. It gets neither a key nor any header of the provider.
    ///
    /// A URL of the provider's own origin is opened as the provider's calls are. Any other must be encrypted, and is opened as media are: only at
    /// addresses of the public internet, unless the media options allow private ones.
    async fn open_signed(
        &self,
        provider: &Arc<Provider>,
        url: &str,
        limit: Limit,
    ) -> Result<(Body, RequestSecrets)> {
        let refuse = |why: &str| {
            let place: String = mask::media_url(url).chars().take(200).collect();
            let message = format!("the provider returned a URL that is not used, {why}: {place}");
            Error::new(ErrorKind::Protocol, message)
        };
        let uri: Uri = url.parse().map_err(|_| refuse("because it is not valid"))?;
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(refuse("because it has no host or has a password"));
        }
        let own: Option<Uri> = self.registry.base_url(provider)?.parse().ok();
        let is_own = own.is_some_and(|own| is_same_origin(&own, &uri));
        if !is_own && uri.scheme_str() != Some("https") {
            return Err(refuse("because it is not encrypted"));
        }
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = uri;
        request.headers_mut().insert(ACCEPT, http::HeaderValue::from_static("*/*"));
        let agent = http::HeaderValue::from_static(USER_AGENT_VALUE);
        request.headers_mut().insert(USER_AGENT, agent);
        let secrets = RequestSecrets::of(&request);
        let options =
            SendOptions { connect_timeout: self.timeouts.connect, ..SendOptions::default() };
        let sending = match is_own {
            true => self.transmit(provider, Outgoing::new(request, None), options),
            false => self.fetcher.own_transport().send(request, options),
        };
        let response = limit.within(sending).await.map_err(|error| secrets.hide(error))?;
        Ok((check(response)?.into_body(), secrets))
    }
}

/// Returns the response if its status is a success. What the storage reports in its body is not read: it is not the provider's.
fn check(response: Response<Body>) -> Result<Response<Body>> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let kind = match status.as_u16() {
        404 | 410 => ErrorKind::NotFound,
        408 | 429 | 500.. => ErrorKind::Server,
        _ => ErrorKind::Protocol,
    };
    let message = format!("the signed URL of a file returned status {status}");
    Err(Error::new(kind, message).with_status(status.as_u16()))
}

/// Returns whether two URLs have the same scheme, host and port.
fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().or(match uri.scheme_str() {
            Some("https") => Some(443),
            Some("http") => Some(80),
            _ => None,
        })
    };
    let is_host = match (one.host(), other.host()) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => false,
    };
    is_host && one.scheme() == other.scheme() && port(one) == port(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let own: Uri = "https://api.example/inference/v1".parse().unwrap();
        for (url, expected) in [
            ("https://api.example/signed?x=1", true),
            ("https://API.example:443/", true),
            ("http://api.example/", false),
            ("https://api.example:444/", false),
            ("https://api.example.evil/", false),
            ("https://evil/?api.example", false),
            ("/only/a/path", false),
        ] {
            assert_eq!(is_same_origin(&own, &url.parse().unwrap()), expected, "{url}");
        }
    }
}
