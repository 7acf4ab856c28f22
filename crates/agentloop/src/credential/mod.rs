//! Credentials: what authorizes the requests of a provider that have no key.
//!
//! A key is one text that is valid until it is revoked. A [`Credential`] is what large cloud providers have instead: a token
//! that expires after an hour, or a signature over each request. A provider has one in [`Provider::credential`](crate::Provider),
//! and it is used for calls that have no key.
//!
//! - [`TokenCredential`] sends a token that a function obtains, and keeps it until shortly before it expires.
//! - `AwsCredential` signs requests for Amazon Web Services (feature `bedrock`).
//!
//! Whatever is obtained is kept in memory only. It is replaced before it expires; while that fails, the old one is used
//! as long as it is valid. Calls that need it at the same time obtain it once.

#[cfg(feature = "bedrock")]
mod aws;
mod refresh;
mod token;

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "bedrock")]
pub use aws::AwsCredential;
pub use token::{Token, TokenCredential};

pub use crate::provider::credential::{
    AwsSettings, Credential, CredentialSource, Environment, Refused,
};

use crate::provider::Provider;

/// Creates the credentials of providers, by their names. Nothing is read before a call needs it.
pub(crate) fn of(providers: &[Provider]) -> BTreeMap<String, Arc<dyn Credential>> {
    let found = providers.iter().filter_map(|provider| {
        let credential: Arc<dyn Credential> = match &provider.credential {
            CredentialSource::None => return None,
            #[cfg(feature = "bedrock")]
            CredentialSource::Aws(settings) => Arc::new(AwsCredential::new(settings.clone())),
            #[cfg(not(feature = "bedrock"))]
            CredentialSource::Aws(_) => Arc::new(missing::Missing),
            CredentialSource::Custom(credential) => Arc::clone(credential),
        };
        Some((provider.name.to_string(), credential))
    });
    found.collect()
}

#[cfg(not(feature = "bedrock"))]
mod missing {
    use bytes::Bytes;
    use http::Request;

    use super::{Credential, Environment};
    use crate::error::{Error, ErrorKind, Result};
    use crate::provider::transport::BoxFuture;

    /// The credentials of Amazon Web Services, which are not compiled in.
    #[derive(Debug)]
    pub(super) struct Missing;

    fn missing() -> Error {
        let message = "the credentials of Amazon Web Services are not compiled in";
        Error::new(ErrorKind::Unsupported, message)
            .with_hint("enable the feature `bedrock` of agentloop")
    }

    impl Credential for Missing {
        fn authorize<'a>(
            &'a self,
            _: &'a mut Request<Bytes>,
            _: Environment<'a>,
        ) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Err(missing()) })
        }

        fn check(&self, _: Environment<'_>) -> Result<()> {
            Err(missing())
        }
    }
}
