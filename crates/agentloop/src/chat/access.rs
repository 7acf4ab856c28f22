//! Keys and base URLs of one request.

use std::collections::BTreeMap;

use super::{
    ChatRequest, EmbedRequest, ImageRequest, ModerateRequest, RerankRequest, SpeechRequest,
    TranscribeRequest,
};
use crate::secret::Secret;

/// The keys and base URLs that a request sets, by the name of the provider. They are not part of the JSON and never printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    keys: BTreeMap<String, Secret>,
    base_urls: BTreeMap<String, Secret>,
}

impl Access {
    /// Returns the key for a provider.
    pub(crate) fn key(&self, provider: &str) -> Option<&Secret> {
        self.keys.get(provider)
    }

    /// Returns the base URL for a provider.
    pub(crate) fn base_url(&self, provider: &str) -> Option<&str> {
        self.base_urls.get(provider).map(Secret::expose)
    }

    /// Returns the names of the providers.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().chain(self.base_urls.keys()).map(String::as_str)
    }
}

/// Implements the setters of a request that has a field `access`.
macro_rules! access_setters {
    ($($request:ident),*) => {$(
        impl $request {
            /// Sets the key of a provider for this request, in place of the client's.
            ///
            /// The key is sent to that provider only, also if the request falls back to a model of another one. It is not part
            /// of the JSON, is printed as `***`, and responses in a [cache](crate::middleware::Cache) are not shared between
            /// keys. A provider that the client does not know is an error.
            ///
            /// ```
            #[doc = concat!("use agentloop::", stringify!($request), ";")]
            ///
            #[doc = concat!("let request = ", stringify!($request), "::default().key(\"openai\", \"sk-of-a-customer\");")]
            /// assert!(!format!("{request:?}").contains("sk-of-a-customer"));
            /// assert!(!serde_json::to_string(&request)?.contains("sk-of-a-customer"));
            /// # Ok::<(), serde_json::Error>(())
            /// ```
            #[must_use]
            pub fn key(mut self, provider: impl Into<String>, key: impl Into<Secret>) -> Self {
                self.access.get_or_insert_default().keys.insert(provider.into(), key.into());
                self
            }

            /// Sets the base URL of a provider for this request.
            ///
            /// If it has another origin (scheme, host or port) than the provider, keys and secret headers of the client are not
            /// sent there: [`key`](Self::key) must set one as well, unless the provider needs none. Variables (`${NAME}`) are not
            /// replaced. It is not part of the JSON and is printed as `***`, because it can contain a password.
            #[must_use]
            pub fn base_url(mut self, provider: impl Into<String>, url: impl Into<Secret>) -> Self {
                self.access.get_or_insert_default().base_urls.insert(provider.into(), url.into());
                self
            }
        }
    )*};
}

access_setters!(
    ChatRequest,
    EmbedRequest,
    ImageRequest,
    SpeechRequest,
    TranscribeRequest,
    RerankRequest,
    ModerateRequest
);
