//! The metadata server of a machine of Google's: Compute Engine, Kubernetes Engine, Cloud Run.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use super::is_project;
use crate::credential::refresh::Fetched;
use crate::credential::service::{Ask, Responded, is_unreachable, status_error};
use crate::credential::{Environment, oauth};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, METADATA_REQUEST_WAIT};
use crate::percent::encode_query_value;
use crate::secret::Secret;
use crate::transport::Transport;

const SERVICE: &str = "the metadata server of the machine";

/// The server, by its address: elsewhere its name may belong to another host.
const HOST: &str = "169.254.169.254";

/// A metadata server that may be asked.
pub(super) struct Server {
    host: String,
    /// Whether it is known that there is one.
    is_expected: bool,
}

impl Server {
    /// Returns the server that may be asked; `None` if the environment turns it off.
    pub(super) fn new(environment: Environment<'_>, is_google: bool) -> Option<Self> {
        if environment.variable("NO_GCE_CHECK").is_some_and(|value| value == "true") {
            return None;
        }
        let host = environment.variable("GCE_METADATA_HOST");
        let host = host.or_else(|| environment.variable("GCE_METADATA_ROOT"));
        let is_expected = is_google || host.is_some();
        Some(Self { host: host.unwrap_or_else(|| HOST.to_owned()), is_expected })
    }

    /// Returns whether it is known without asking that there is a server.
    pub(super) fn is_expected(&self) -> bool {
        self.is_expected
    }

    /// Obtains a token of the machine's service account. Returns `None` if there is no metadata server.
    pub(super) async fn token(
        &self,
        scope: &str,
        transport: &dyn Transport,
    ) -> Result<Option<Fetched<Secret>>> {
        let scopes = encode_query_value(scope);
        let path = format!("instance/service-accounts/default/token?scopes={scopes}");
        let response = match self.get(&path, transport).await {
            Ok(response) => response,
            Err(error) if is_unreachable(&error) && !self.is_expected => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_of_google(&response) {
            // Another provider's metadata service, or a proxy.
            return Ok(None);
        }
        match response.status {
            200 => oauth::read_token(&response.body, SERVICE).map(Some),
            404 => {
                let message = "this machine has no service account";
                Err(Error::new(ErrorKind::MissingKey, message)
                    .with_hint("attach one to it, or set GOOGLE_APPLICATION_CREDENTIALS"))
            }
            status => Err(status_error(SERVICE, status)),
        }
    }

    /// Returns the project of the machine.
    pub(super) async fn project(&self, transport: &dyn Transport) -> Result<String> {
        let response = self.get("project/project-id", transport).await?;
        let text = std::str::from_utf8(&response.body).map(str::trim).unwrap_or_default();
        if response.status == 200 && is_of_google(&response) && is_project(text) {
            return Ok(text.to_owned());
        }
        Err(Error::new(ErrorKind::Config, format!("{SERVICE} does not name its project"))
            .with_hint("set GOOGLE_CLOUD_PROJECT"))
    }

    async fn get(&self, path: &str, transport: &dyn Transport) -> Result<Responded> {
        let ask = Ask {
            service: SERVICE,
            method: Method::GET,
            url: format!("http://{}/computeMetadata/v1/{path}", self.host),
            headers: vec![("metadata-flavor", Secret::new("Google"))],
            wait: self.wait(),
        };
        ask.respond(transport, Bytes::new()).await
    }

    fn wait(&self) -> Duration {
        if self.is_expected { CREDENTIAL_REQUEST_WAIT } else { METADATA_REQUEST_WAIT }
    }
}

/// Returns whether a response is one of Google's metadata server.
fn is_of_google(response: &Responded) -> bool {
    response.headers.get("metadata-flavor").is_some_and(|flavor| flavor == "Google")
}
