//! Managed identities: of apps, and of virtual machines.

use std::net::Ipv4Addr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Uri};

use crate::credential::refresh::Fetched;
use crate::credential::service::{Ask, Responded, is_unreachable};
use crate::credential::{Environment, oauth, service};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, METADATA_REQUEST_WAIT};
use crate::percent::encode_query_value;
use crate::secret::Secret;
use crate::transport::Transport;

const APP: &str = "the identity service of the app";
const MACHINE: &str = "the metadata service of the machine";

/// The identity of an app of App Service, Functions or Container Apps.
pub(super) struct App {
    url: String,
    header: Secret,
}

impl App {
    /// Uses the service at a URL, which gets a secret.
    ///
    /// # Errors
    ///
    /// When the secret would be sent to another machine without encryption.
    pub(super) fn new(url: String, header: Secret) -> Result<Self> {
        let uri: Option<Uri> = url.parse().ok();
        let host = uri.as_ref().and_then(Uri::host).and_then(|host| host.parse::<Ipv4Addr>().ok());
        let is_http = uri.as_ref().and_then(Uri::scheme_str) == Some("http");
        // App Service on Linux has it at an address of the host that only this machine reaches.
        if !(is_http && host.is_some_and(|host: Ipv4Addr| host.is_link_local())) {
            service::check_url(&url, "IDENTITY_ENDPOINT")?;
        }
        Ok(Self { url, header })
    }

    /// Obtains a token.
    pub(super) async fn token(
        self,
        resource: &str,
        client_id: Option<&str>,
        transport: &dyn Transport,
    ) -> Result<Fetched<Secret>> {
        let url = with_query(&self.url, "2019-08-01", resource, client_id);
        let headers = vec![("x-identity-header", self.header)];
        let ask =
            Ask { service: APP, method: Method::GET, url, headers, wait: CREDENTIAL_REQUEST_WAIT };
        let response = ask.respond(transport, Bytes::new()).await?;
        match response.status {
            200 => oauth::read_token(&response.body, APP),
            _ => Err(refused(APP, &response)),
        }
    }
}

/// The identity of a virtual machine.
pub(super) struct Machine<'a> {
    base: String,
    resource: &'a str,
    wait: Duration,
    is_azure: bool,
}

/// Returns the identity of this machine, if it is a virtual machine with one.
pub(super) fn of_machine<'a>(
    environment: Environment<'_>,
    is_azure: bool,
    resource: &'a str,
) -> Machine<'a> {
    let set = environment.variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    let is_azure = is_azure || set.is_some();
    let wait = if is_azure { CREDENTIAL_REQUEST_WAIT } else { METADATA_REQUEST_WAIT };
    let base = set.unwrap_or_else(|| "http://169.254.169.254".to_owned());
    Machine { base, resource, wait, is_azure }
}

impl Machine<'_> {
    /// Obtains a token. Returns `None` if there is no metadata service, or the machine has no identity and none is asked for.
    pub(super) async fn token(
        self,
        client_id: Option<&str>,
        transport: &dyn Transport,
    ) -> Result<Option<Fetched<Secret>>> {
        let url = format!("{}/metadata/identity/oauth2/token", self.base.trim_end_matches('/'));
        let ask = Ask {
            service: MACHINE,
            method: Method::GET,
            url: with_query(&url, "2018-02-01", self.resource, client_id),
            headers: vec![("metadata", Secret::new("true"))],
            wait: self.wait,
        };
        let response = match ask.respond(transport, Bytes::new()).await {
            Ok(response) => response,
            Err(error) if is_unreachable(&error) && !self.is_azure => return Ok(None),
            Err(error) => return Err(error),
        };
        // Elsewhere another service may be at this address, which responds with something else.
        let is_azure = self.is_azure || oauth::has_code(&response.body);
        match response.status {
            200 if is_azure => oauth::read_token(&response.body, MACHINE).map(Some),
            200 => Ok(oauth::read_token(&response.body, MACHINE).ok()),
            // There is no identity. If one is asked for by its id, another one does not replace it.
            400 if client_id.is_none() => Ok(None),
            300..=499 if !is_azure => Ok(None),
            _ => Err(refused(MACHINE, &response)),
        }
    }
}

fn with_query(url: &str, version: &str, resource: &str, client_id: Option<&str>) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    let resource = encode_query_value(resource);
    let identity = client_id.map(|id| format!("&client_id={}", encode_query_value(id)));
    let identity = identity.unwrap_or_default();
    format!("{url}{mark}api-version={version}&resource={resource}{identity}")
}

fn refused(service: &str, response: &Responded) -> Error {
    let error = oauth::refusal(service, response);
    match error.kind() {
        ErrorKind::Auth => error.with_hint(
            "check the managed identity, and AZURE_CLIENT_ID if it is assigned by a user",
        ),
        _ => error,
    }
}
