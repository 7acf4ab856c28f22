//! Tokens of Microsoft Entra ID.

mod chain;
mod cli;
mod identity;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Method, Request};

use self::chain::{Chain, Found};
use super::files;
use super::refresh::{Fetched, Refreshing};
use super::service::{Ask, METADATA, WEB};
use super::{Credential, EntraSettings, Environment, Refused, machine, oauth};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, CREDENTIAL_RETRY};
use crate::provider::Auth;
use crate::provider::transport::BoxFuture;
use crate::secret::Secret;
use crate::transport::Transport;

/// What tokens are for, unless the settings name something else.
const SCOPE: &str = "https://cognitiveservices.azure.com/.default";

const SERVICE: &str = "Microsoft Entra ID";

/// The mark of Azure's virtual machines, the same in all of them. Microsoft wrote it into cloud-init (commit 3f333f9 of canonical/cloud-init,
/// `cloudinit/sources/azure/identity.py`: `ChassisAssetTag.AZURE_CLOUD`, read on 2026-11-18). azure-identity 1.27.0 knows no
/// such mark.
const AZURE: (&str, &str) = ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77");

/// Sends tokens of Microsoft Entra ID.
///
/// The identity is found in the order of Microsoft's own libraries. The first of these that is there is used:
///
/// 1. an application with a secret: `AZURE_TENANT_ID`, `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET`;
/// 2. a workload identity of Kubernetes: `AZURE_FEDERATED_TOKEN_FILE`, with the same tenant and client id;
/// 3. the managed identity of an app (`IDENTITY_ENDPOINT` and `IDENTITY_HEADER`) or of a virtual machine;
/// 4. the Azure CLI, with the account of `az login`.
///
/// `AZURE_TOKEN_CREDENTIALS` limits the choice: `dev`, `prod`, or the name of one of them as in Microsoft's libraries. Certificates,
/// passwords of users and other identities are an error, and nothing else is used in their place.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::credential::{EntraCredential, EntraSettings};
///
/// let credential = EntraCredential::new(EntraSettings::default().without_cli());
/// let azure = Provider::azure().credential(credential);
/// ```
#[derive(Debug)]
pub struct EntraCredential {
    settings: EntraSettings,
    token: Refreshing<Secret>,
    /// Set in tests.
    transport: Option<Arc<dyn Transport>>,
    /// Returns whether this machine is one of Azure's.
    is_azure: fn() -> bool,
}

impl EntraCredential {
    /// Creates a credential. Nothing is read before a call needs it.
    pub fn new(settings: EntraSettings) -> Self {
        let is_azure = || machine::has_mark(AZURE.0, AZURE.1);
        Self { settings, token: Refreshing::default(), transport: None, is_azure }
    }

    setters! {
        /// Reaches the services that issue tokens through this transport. By default they are reached over HTTP, those of this machine
        /// without a proxy.
        ///
        /// ```
        /// use agentloop::credential::{EntraCredential, EntraSettings};
        /// use agentloop::transport::HttpTransport;
        ///
        /// let credential = EntraCredential::new(EntraSettings::default()).transport(HttpTransport::new());
        /// ```
        transport(self, transport: impl Transport + 'static) =>
            self.transport = Some(Arc::new(transport));
    }

    /// Returns what tokens are for.
    fn scope(&self) -> Result<&str> {
        let scope = self.settings.scope.as_deref().unwrap_or(SCOPE);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
        if !scope.is_empty() && scope.bytes().all(is_letter) && !scope.starts_with('-') {
            return Ok(scope);
        }
        let message = format!("`{}` is not a scope", scope.escape_debug());
        Err(Error::new(ErrorKind::Config, message).with_hint("correct `scope` of the credential"))
    }

    async fn find(&self, environment: Environment<'_>) -> Result<Fetched<Secret>> {
        let scope = self.scope()?;
        // Services of a machine have another name for it.
        let resource = scope.strip_suffix("/.default").unwrap_or(scope);
        let chain = Chain::read(&self.settings, environment)?;
        let web = || self.transport.as_ref().unwrap_or_else(|| &*WEB).as_ref();
        let metadata = || self.transport.as_ref().unwrap_or_else(|| &*METADATA).as_ref();
        match chain.find(environment)? {
            Found::Secret { url, client_id, secret } => {
                let fields = [("client_secret", secret.expose())];
                request_token(url, &client_id, scope, &fields, web()).await
            }
            Found::Federated { url, client_id, file } => {
                let assertion = read_assertion(&file)?;
                let fields = [
                    (
                        "client_assertion_type",
                        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                    ),
                    ("client_assertion", assertion.expose()),
                ];
                request_token(url, &client_id, scope, &fields, web()).await
            }
            Found::App(app) => app.token(resource, chain.identity(), metadata()).await,
            Found::Nothing => {
                let is_azure = (self.is_azure)();
                if chain.takes_machine() {
                    let machine = identity::of_machine(environment, is_azure, resource);
                    if let Some(token) = machine.token(chain.identity(), metadata()).await? {
                        return Ok(token);
                    }
                }
                match chain.program(environment) {
                    Some(program) => cli::token(program, resource, chain.tenant()).await,
                    None => Err(nothing()),
                }
            }
        }
    }
}

/// Requests a token for an application.
async fn request_token(
    url: String,
    client_id: &str,
    scope: &str,
    proof: &[(&str, &str)],
    transport: &dyn Transport,
) -> Result<Fetched<Secret>> {
    let fields = [("grant_type", "client_credentials"), ("client_id", client_id), ("scope", scope)];
    let fields = [&fields[..], proof].concat();
    let ask = Ask {
        service: SERVICE,
        method: Method::POST,
        url,
        headers: Vec::new(),
        wait: CREDENTIAL_REQUEST_WAIT,
    };
    let response = oauth::send_form(ask, transport, &fields).await?;
    match response.status {
        200 => oauth::read_token(&response.body, SERVICE),
        _ => Err(oauth::refusal(SERVICE, &response)
            .with_hint("check the tenant, the client id and the secret of the application")),
    }
}

/// Reads the token of a workload. Kubernetes writes a new one from time to time.
fn read_assertion(file: &Path) -> Result<Secret> {
    let text = files::read(file)?.unwrap_or_default();
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Secret::new(text));
    }
    let message = format!("the file {} has no token", file.display());
    Err(Error::new(ErrorKind::MissingKey, message).with_hint("correct AZURE_FEDERATED_TOKEN_FILE"))
}

impl Credential for EntraCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let token = self.token.get(|| self.find(environment)).await?;
            request.headers_mut().insert(AUTHORIZATION, Auth::Bearer.header_value(&token)?);
            Ok(())
        })
    }

    fn refused(&self, response: Refused<'_>) -> bool {
        response.status == 401 && self.token.forget(response.authorized, CREDENTIAL_RETRY)
    }

    fn check(&self, environment: Environment<'_>) -> Result<()> {
        let chain = Chain::read(&self.settings, environment)?;
        match chain.find(environment)? {
            // Whether it has an identity is known only to its metadata service.
            Found::Nothing if chain.takes_machine() && (self.is_azure)() => Ok(()),
            Found::Nothing if !cli::has_signed_in(environment) => Err(nothing()),
            Found::Nothing => chain.program(environment).map(drop).ok_or_else(nothing),
            _ => Ok(()),
        }
    }
}

fn nothing() -> Error {
    Error::new(ErrorKind::MissingKey, "there is no identity of Microsoft Entra ID").with_hint(
        "run `az login`, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
    )
}
