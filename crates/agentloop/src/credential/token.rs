//! A token that expires, from a function.

use std::future::Future;
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;

use super::refresh::{Fetched, Refreshing};
use super::{Credential, Environment, Refused};
use crate::error::Result;
use crate::limits::CREDENTIAL_RETRY;
use crate::provider::Auth;
use crate::provider::transport::BoxFuture;
use crate::secret::Secret;

/// A token, and when it expires.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use agentloop::credential::Token;
///
/// let token = Token::new("ya29.example").expires(SystemTime::now() + Duration::from_secs(3600));
/// assert!(!format!("{token:?}").contains("ya29"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Token {
    /// The token.
    pub value: Secret,
    /// When it expires; absent if it does not.
    pub expires: Option<SystemTime>,
}

impl Token {
    /// Creates a token that does not expire.
    pub fn new(value: impl Into<Secret>) -> Self {
        Self { value: value.into(), expires: None }
    }

    setters! {
        /// Sets when it expires.
        expires(self, at: SystemTime) => self.expires = Some(at);
    }
}

type Obtain = dyn Fn() -> BoxFuture<'static, Result<Token>> + Send + Sync;

/// Sends a token that a function obtains.
///
/// The token is kept until shortly before it expires. A call whose token the provider refuses with status 401 obtains a new
/// one, unless it was just obtained, and is sent once more.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use agentloop::Provider;
/// use agentloop::credential::{Token, TokenCredential};
///
/// let credential = TokenCredential::new(|| async {
///     // A request to the service that issues tokens.
///     Ok(Token::new("example").expires(SystemTime::now() + Duration::from_secs(3600)))
/// });
/// let lab = Provider::openai_compatible("lab", "https://lab.example/v1").credential(credential);
/// ```
pub struct TokenCredential {
    auth: Auth,
    kept: Refreshing<Secret>,
    obtain: Box<Obtain>,
}

impl TokenCredential {
    /// Creates a credential whose tokens `obtain` returns. They are sent as `authorization: Bearer TOKEN`.
    pub fn new<F>(obtain: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Token>> + Send + 'static,
    {
        let obtain = Box::new(move || -> BoxFuture<'static, Result<Token>> { Box::pin(obtain()) });
        Self { auth: Auth::Bearer, kept: Refreshing::default(), obtain }
    }

    setters! {
        /// Sends the token in another header.
        ///
        /// ```
        /// use agentloop::credential::{Token, TokenCredential};
        /// use agentloop::provider::Auth;
        ///
        /// let credential = TokenCredential::new(|| async { Ok(Token::new("example")) }).auth(Auth::ApiKey);
        /// ```
        auth(self, auth: Auth) => self.auth = auth;
    }
}

impl Credential for TokenCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let fetch = || async {
                let Token { value, expires } = (self.obtain)().await?;
                Ok(Fetched { value, expires })
            };
            let token = self.kept.get(fetch).await?;
            if let Some(name) = self.auth.header_name() {
                request.headers_mut().insert(name, self.auth.header_value(&token)?);
            }
            Ok(())
        })
    }

    fn refused(&self, response: Refused<'_>) -> bool {
        response.status == 401 && self.kept.forget(response.authorized, CREDENTIAL_RETRY)
    }
}

shown! { TokenCredential: self { auth: self.auth } }
