//! The interface to credentials: what authorizes the requests of a provider that have no key.
//!
//! It is defined here, below the code that does I/O, because a [`Provider`](super::Provider) has a credential. The
//! implementations are in [`credential`](crate::credential).

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use ::http::{HeaderMap, Request};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::cloud::{EntraSettings, GoogleSettings};
use super::transport::BoxFuture;
use crate::error::Result;

/// Authorizes requests: with a header whose value expires, or with a signature over the request.
///
/// A credential is used for calls that have no key. It sees each request as it is sent: with its method, its URL, its
/// headers and its whole body. A retry is authorized again.
///
/// - Mark the headers that it adds as sensitive ([`HeaderValue::set_sensitive`](::http::HeaderValue::set_sensitive)). They are
///   removed from errors.
/// - Do not wait without a limit. The timeouts of the call include the time that a credential takes.
///
/// ```
/// use agentloop::credential::{Credential, Environment};
/// use agentloop::{BoxFuture, Provider, Result};
/// use bytes::Bytes;
/// use http::{HeaderValue, Request};
///
/// /// Sends the length of the body in a header.
/// #[derive(Debug)]
/// struct Length;
///
/// impl Credential for Length {
///     fn authorize<'a>(
///         &'a self,
///         request: &'a mut Request<Bytes>,
///         _: Environment<'a>,
///     ) -> BoxFuture<'a, Result<()>> {
///         Box::pin(async move {
///             let mut length = HeaderValue::from(request.body().len());
///             length.set_sensitive(true);
///             request.headers_mut().insert("x-length", length);
///             Ok(())
///         })
///     }
/// }
///
/// let lab = Provider::openai_compatible("lab", "https://lab.example/v1").credential(Length);
/// ```
pub trait Credential: Send + Sync + fmt::Debug {
    /// Adds to `request` what authorizes it.
    ///
    /// # Errors
    ///
    /// Fails if there is no credential, or if it cannot be obtained. The call fails with this error.
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Receives a response of status 401 or 403. Returns whether it is worth authorizing the request again, for example because the
    /// credential has been replaced. The request is then sent once more.
    fn refused(&self, _response: Refused<'_>) -> bool {
        false
    }

    /// Returns the value of a variable in the base URL of the provider that the environment does not set.
    fn variable(&self, _name: &str, _environment: Environment<'_>) -> Option<String> {
        None
    }

    /// Checks whether there is a credential, as far as that is known without a network.
    ///
    /// # Errors
    ///
    /// Fails if there is none. The error names the places that were looked at.
    fn check(&self, _environment: Environment<'_>) -> Result<()> {
        Ok(())
    }
}

/// The environment variables of a client: those of the process, and above them those that
/// [`AgentLoopBuilder::env`](crate::AgentLoopBuilder::env) sets.
///
/// ```
/// use agentloop::credential::Environment;
///
/// let look_up = |name: &str| (name == "REGION").then(|| "eu-west-1".to_owned());
/// let environment = Environment::new(&look_up);
/// assert_eq!(environment.variable("REGION").as_deref(), Some("eu-west-1"));
/// assert_eq!(environment.variable("ZONE"), None);
/// ```
#[derive(Clone, Copy)]
pub struct Environment<'a>(&'a (dyn Fn(&str) -> Option<String> + Send + Sync));

impl<'a> Environment<'a> {
    /// Creates an environment that looks variables up with this function.
    pub fn new(look_up: &'a (dyn Fn(&str) -> Option<String> + Send + Sync)) -> Self {
        Self(look_up)
    }

    /// Returns a variable without white space around it. An empty one counts as not set.
    pub fn variable(self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

shown! { Environment<'_>: self { } }

/// A response that refuses a request.
///
/// ```
/// use agentloop::credential::Refused;
///
/// fn is_expired(response: Refused<'_>) -> bool {
///     response.status == 401 && response.headers.contains_key("x-token-expired")
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The status: 401 or 403.
    pub status: u16,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// When the request was authorized. If the credential was replaced later, by another call, it is worth authorizing again.
    pub authorized: Instant,
}

/// Where the credential of a provider comes from.
///
/// In `agentloop.toml`: `credential = "aws"`, `"google"` or `"entra"`, or with settings: `credential = { aws = { profile = "work" } }`.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::credential::CredentialSource;
///
/// assert!(matches!(Provider::openai().credential, CredentialSource::None));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum CredentialSource {
    /// There is none: a call has a key, or nothing.
    #[default]
    None,
    /// The credentials of Amazon Web Services, found as Amazon's own programs find them.
    Aws(AwsSettings),
    /// The application default credentials of Google Cloud, found as Google's own libraries find them.
    Google(GoogleSettings),
    /// Tokens of Microsoft Entra ID, found as Microsoft's own libraries find them.
    Entra(EntraSettings),
    /// A credential of the program's own.
    Custom(Arc<dyn Credential>),
}

/// Which credentials of Amazon Web Services are used, and what for.
///
/// ```
/// use agentloop::credential::AwsSettings;
///
/// let settings = AwsSettings::default().profile("work").region("eu-west-1");
/// assert_eq!(settings.profile.as_deref(), Some("work"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AwsSettings {
    /// The profile in `~/.aws/config` and `~/.aws/credentials`. Default: `AWS_PROFILE`, or `default`. If it is set, the keys in the
    /// environment are not used.
    pub profile: Option<String>,
    /// The region. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, or that of the profile.
    pub region: Option<String>,
    /// The name of the service in signatures. Default: `bedrock`.
    pub service: Option<String>,
}

impl AwsSettings {
    setters! {
        /// Uses this profile, and not the keys in the environment.
        profile(profile: impl Into<String>);

        /// Uses this region.
        region(region: impl Into<String>);
    }
}

/// How `agentloop.toml` writes the source of a credential.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"aws\", \"google\", \"entra\", or { aws = { … } } and the like"
)]
pub(crate) enum WrittenSource {
    Name(SourceName),
    Settings(SourceSettings),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceName {
    Aws,
    Google,
    Entra,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceSettings {
    Aws(AwsSettings),
    Google(GoogleSettings),
    Entra(EntraSettings),
}

impl From<WrittenSource> for CredentialSource {
    fn from(written: WrittenSource) -> Self {
        match written {
            WrittenSource::Name(SourceName::Aws) => Self::Aws(AwsSettings::default()),
            WrittenSource::Name(SourceName::Google) => Self::Google(GoogleSettings::default()),
            WrittenSource::Name(SourceName::Entra) => Self::Entra(EntraSettings::default()),
            WrittenSource::Settings(SourceSettings::Aws(settings)) => Self::Aws(settings),
            WrittenSource::Settings(SourceSettings::Google(settings)) => Self::Google(settings),
            WrittenSource::Settings(SourceSettings::Entra(settings)) => Self::Entra(settings),
        }
    }
}
