//! The secrets of a request. Some providers repeat a wrong key in the error that refuses it.

use std::sync::{Arc, Mutex};

#[cfg(feature = "serve")]
use bytes::Bytes;
#[cfg(feature = "serve")]
use http::HeaderMap;
use http::uri::Authority;
use http::{HeaderValue, Request};

use crate::error::Error;
use crate::lock::lock;
use crate::secret::echo::Echo;
use crate::secret::mask;

/// The secrets of one request.
#[derive(Clone, Default)]
pub(crate) struct RequestSecrets {
    // Nearly always there is exactly one, which does not need a list.
    header: Option<HeaderValue>,
    more: Vec<String>,
    /// What a credential adds while the request is sent.
    added: Option<Arc<Mutex<Vec<String>>>>,
}

impl RequestSecrets {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let mut secrets = Self::default();
        for value in request.headers().values().filter(|value| value.is_sensitive()) {
            match &secrets.header {
                None => secrets.header = Some(value.clone()),
                Some(_) => secrets.more.extend(value.to_str().ok().map(str::to_owned)),
            }
        }
        let uri = request.uri();
        // A loop, because for a text as short as a host the setup of a search costs more.
        let has_name = |host: &Authority| host.as_str().bytes().any(|byte| byte == b'@');
        if uri.query().is_some() || uri.authority().is_some_and(has_name) {
            secrets.more.extend(mask::secrets(&uri.to_string()));
        }
        secrets
    }

    /// Returns only those that a credential adds, also later.
    pub(crate) fn added_only(&self) -> Self {
        Self { added: self.added.clone(), ..Self::default() }
    }

    /// Makes room for the secrets that a credential adds. All copies see them.
    pub(crate) fn with_credential(mut self) -> Self {
        self.added = Some(Arc::default());
        self
    }

    /// Adds the secrets of a request that a credential has authorized. Those of an earlier attempt are replaced.
    pub(crate) fn add<B>(&self, request: &Request<B>) {
        if let Some(added) = &self.added {
            let values = request.headers().values().filter(|value| value.is_sensitive());
            let texts = values.filter_map(|value| value.to_str().ok().map(str::to_owned));
            *lock(added) = texts.collect();
        }
    }

    /// Removes the secrets from an error.
    pub(crate) fn hide(&self, mut error: Error) -> Error {
        self.echoes().for_each(|secret| error.hide(&secret));
        error
    }

    /// Removes the secrets from a response that reports an error.
    #[cfg(feature = "serve")]
    pub(crate) fn hide_in_response(&self, headers: &mut HeaderMap, body: &mut Bytes) {
        let echoes: Vec<Echo> = self.echoes().collect();
        let clean = |shown: &str| {
            let mut text = shown.to_owned();
            echoes.iter().for_each(|secret| secret.remove(&mut text));
            (text != shown).then_some(text)
        };
        for value in headers.values_mut() {
            if let Some(text) = value.to_str().ok().and_then(clean) {
                *value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("***"));
            }
        }
        if let Some(text) = clean(&String::from_utf8_lossy(body)) {
            *body = text.into();
        }
    }

    /// Returns the secrets in the form that finds them in text from the provider.
    pub(crate) fn echoes(&self) -> impl Iterator<Item = Echo> {
        let header = self.header.as_ref().and_then(|value| value.to_str().ok());
        let secrets = header.into_iter().chain(self.more.iter().map(String::as_str));
        // The scheme before a key (`Bearer`) is not a secret, and the provider may repeat the key without it.
        let echo = |secret: &str| Echo::of(secret.rsplit(' ').next().unwrap_or(secret));
        let added = self.added.as_ref().map(|added| lock(added).clone()).unwrap_or_default();
        secrets.map(echo).chain(added.into_iter().map(move |secret| echo(&secret)))
    }
}
