//! Credentials: what authorizes the requests of a provider that have no key.
//!
//! A key is one text that is valid until it is revoked. A [`Credential`] is what large cloud providers have instead: a token
//! that expires after an hour, or a signature over each request. A provider has one in [`Provider::credential`](crate::Provider),
//! and it is used for calls that have no key.
//!
//! - [`TokenCredential`] sends a token that a function obtains, and keeps it until shortly before it expires.
//! - `AwsCredential` signs requests for Amazon Web Services (feature `bedrock`).
//! - `GoogleCredential` sends tokens of Google Cloud (feature `google-cloud`).
//! - `EntraCredential` sends tokens of Microsoft Entra ID (feature `entra`).
//!
//! Whatever is obtained is kept in memory only. It is replaced before it expires; while that fails, the old one is used
//! as long as it is valid. Calls that need it at the same time obtain it once.

#[cfg(feature = "bedrock")]
mod aws;
#[cfg(feature = "entra")]
mod entra;
#[cfg(all(test, any(feature = "bedrock", feature = "google-cloud", feature = "entra")))]
mod fake;
#[cfg(any(feature = "bedrock", feature = "google-cloud", feature = "entra"))]
mod files;
#[cfg(feature = "google-cloud")]
mod google;
#[cfg(any(feature = "bedrock", feature = "google-cloud", feature = "entra"))]
mod machine;
#[cfg(not(all(feature = "bedrock", feature = "google-cloud", feature = "entra")))]
mod missing;
#[cfg(any(feature = "google-cloud", feature = "entra"))]
mod oauth;
#[cfg(any(feature = "bedrock", feature = "entra"))]
mod program;
mod refresh;
#[cfg(any(feature = "bedrock", feature = "google-cloud", feature = "entra"))]
mod service;
mod token;

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "bedrock")]
pub use aws::AwsCredential;
#[cfg(feature = "entra")]
pub use entra::EntraCredential;
#[cfg(feature = "google-cloud")]
pub use google::GoogleCredential;
pub use token::{Token, TokenCredential};

pub use crate::provider::cloud::{EntraSettings, GoogleSettings};
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
            CredentialSource::Aws(_) => Arc::new(missing::AWS),
            #[cfg(feature = "google-cloud")]
            CredentialSource::Google(settings) => Arc::new(GoogleCredential::new(settings.clone())),
            #[cfg(not(feature = "google-cloud"))]
            CredentialSource::Google(_) => Arc::new(missing::GOOGLE),
            #[cfg(feature = "entra")]
            CredentialSource::Entra(settings) => Arc::new(EntraCredential::new(settings.clone())),
            #[cfg(not(feature = "entra"))]
            CredentialSource::Entra(_) => Arc::new(missing::ENTRA),
            CredentialSource::Custom(credential) => Arc::clone(credential),
        };
        Some((provider.name.to_string(), credential))
    });
    found.collect()
}
