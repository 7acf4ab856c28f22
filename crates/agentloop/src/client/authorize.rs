//! Sends a request that a credential authorizes.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request as HttpRequest, Response as HttpResponse};
use tokio::time::Instant;

use super::Inner;
use super::secrets::RequestSecrets;
use crate::credential::{Credential, Environment, Refused};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;
use crate::transport::{Body, BoxFuture, SendOptions, Transport};

/// A request with everything but what a credential adds.
pub(crate) struct Outgoing<'a> {
    pub(crate) http: HttpRequest<Bytes>,
    /// What authorizes it, if it has no key.
    credential: Option<&'a Arc<dyn Credential>>,
    pub(crate) secrets: RequestSecrets,
}

impl<'a> Outgoing<'a> {
    pub(super) fn new(
        http: HttpRequest<Bytes>,
        credential: Option<&'a Arc<dyn Credential>>,
    ) -> Self {
        let secrets = RequestSecrets::of(&http);
        let secrets = if credential.is_some() { secrets.with_credential() } else { secrets };
        Self { http, credential, secrets }
    }

    /// Takes the secrets, to hide them in errors. They will include what the credential adds.
    pub(super) fn take_secrets(&mut self) -> RequestSecrets {
        let added = self.secrets.added_only();
        std::mem::replace(&mut self.secrets, added)
    }
}

impl Inner {
    /// Passes a request to the transport, which every call does here. A request without a credential is passed on at once,
    /// so the future that waits for the response does not hold it.
    pub(super) fn transmit<'a>(
        &'a self,
        provider: &'a Provider,
        outgoing: Outgoing<'a>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<HttpResponse<Body>>> {
        let transport = provider.transport.as_ref().unwrap_or(&self.transport).as_ref();
        let Outgoing { http, credential, secrets } = outgoing;
        match credential {
            None => transport.send(http, options),
            Some(credential) => {
                let sending =
                    self.transmit_authorized(transport, http, credential, secrets, options);
                Box::pin(async { sending.await.map_err(|error| or_a_key(provider, error)) })
            }
        }
    }

    /// Authorizes a request and sends it. If the provider refuses the credential, and the credential can be renewed, the request is
    /// sent once more.
    async fn transmit_authorized<'a>(
        &'a self,
        transport: &'a dyn Transport,
        http: HttpRequest<Bytes>,
        credential: &'a Arc<dyn Credential>,
        secrets: RequestSecrets,
        options: SendOptions,
    ) -> Result<HttpResponse<Body>> {
        let look_up = |name: &str| self.registry.variable(name);
        let mut is_first = true;
        loop {
            let mut authorized = http.clone();
            credential.authorize(&mut authorized, Environment::new(&look_up)).await?;
            let since = Instant::now().into_std();
            secrets.add(&authorized);
            let response = transport.send(authorized, options).await?;
            let status = response.status().as_u16();
            let is_refused = matches!(status, 401 | 403);
            let refused = || Refused { status, headers: response.headers(), authorized: since };
            if is_first && is_refused && credential.refused(refused()) {
                is_first = false;
                continue;
            }
            return Ok(response);
        }
    }
}

/// Adds to the error of a missing credential that a key can be set instead.
pub(super) fn or_a_key(provider: &Provider, error: Error) -> Error {
    let variables = provider.key.variables();
    let names = |hint: &str| variables.iter().any(|name| hint.contains(name.as_ref()));
    if error.kind() != ErrorKind::MissingKey
        || variables.is_empty()
        || error.hint().is_some_and(names)
    {
        return error;
    }
    let hint = error.hint().map(|hint| format!("{hint}; ")).unwrap_or_default();
    error.with_hint(format!("{hint}or set a key in {}", variables.join(" or ")))
}
