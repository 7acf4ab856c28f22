//! The credentials of Google Cloud.

mod clock;
mod file;
mod jwt;
mod metadata;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request, Uri};

use self::clock::Clock;
use self::file::{File, Kind, ServiceAccount, User};
use super::files::home;
use super::refresh::{Fetched, Refreshing};
use super::service::{Ask, METADATA, WEB};
use super::{Credential, Environment, GoogleSettings, Refused, machine, oauth};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, CREDENTIAL_RETRY};
use crate::provider::Auth;
use crate::provider::transport::BoxFuture;
use crate::secret::Secret;
use crate::transport::Transport;

/// The service that issues tokens. The file of a service account can name another one.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const TOKEN_SERVICE: &str = "Google's token service";

/// What the tokens are for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The project in the URL of a request until the metadata server has been asked for it. No project has such a name.
const PROJECT_OF_MACHINE: &str = "_project_of_this_machine_";

/// The project that pays for a call.
const QUOTA_PROJECT: HeaderName = HeaderName::from_static("x-goog-user-project");

/// Sends tokens of Google Cloud: its application default credentials.
///
/// They are found as Google's own libraries find them. The first of these that exists is used:
///
/// 1. the file of the settings, or the one that `GOOGLE_APPLICATION_CREDENTIALS` names;
/// 2. the file that `gcloud auth application-default login` writes, in the folder `CLOUDSDK_CONFIG` or `~/.config/gcloud`;
/// 3. the metadata server of the machine, unless `NO_GCE_CHECK` is `true`.
///
/// A file has the key of a service account or the refresh token of a user. Files of other types are an error, and no
/// other credentials are used in their place.
///
/// It also knows the project and the location: `VERTEX_PROJECT` and `VERTEX_LOCATION` in a base URL, if the environment does not set
/// them.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::credential::{GoogleCredential, GoogleSettings};
///
/// let credential = GoogleCredential::new(GoogleSettings::default().project("my-project"));
/// let vertex = Provider::vertex().credential(credential);
/// ```
#[derive(Debug)]
pub struct GoogleCredential {
    settings: GoogleSettings,
    access: Refreshing<Access>,
    /// The project of the machine.
    project: Refreshing<String>,
    clock: Clock,
    /// Set in tests.
    transport: Option<Arc<dyn Transport>>,
    /// Returns whether this machine is one of Google's.
    is_google: fn() -> bool,
}

/// What authorizes a request.
struct Access {
    token: Secret,
    quota_project: Option<String>,
}

/// Where the credentials are.
enum Found {
    File(File),
    /// Only the metadata server is left.
    Nothing,
}

impl GoogleCredential {
    /// Creates a credential. Nothing is read before a call needs it.
    pub fn new(settings: GoogleSettings) -> Self {
        Self {
            settings,
            access: Refreshing::default(),
            project: Refreshing::default(),
            clock: Clock::default(),
            transport: None,
            is_google: || machine::has_mark("product_name", "Google"),
        }
    }

    setters! {
        /// Reaches the services that issue tokens through this transport. By default they are reached over HTTP, the metadata server
        /// without a proxy.
        ///
        /// ```
        /// use agentloop::credential::{GoogleCredential, GoogleSettings};
        /// use agentloop::transport::HttpTransport;
        ///
        /// let credential = GoogleCredential::new(GoogleSettings::default()).transport(HttpTransport::new());
        /// ```
        transport(self, transport: impl Transport + 'static) =>
            self.transport = Some(Arc::new(transport));
    }

    /// Looks for a file with credentials.
    fn look(&self, environment: Environment<'_>) -> Result<Found> {
        let named = match &self.settings.file {
            Some(path) => Some(in_home(path.clone(), environment)),
            None => environment.variable("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
        };
        if let Some(path) = named {
            return match File::read(&path)? {
                Some(file) => Ok(Found::File(file)),
                None => {
                    let message = format!("there is no file {}", path.display());
                    Err(Error::new(ErrorKind::MissingKey, message).with_hint(
                        "correct GOOGLE_APPLICATION_CREDENTIALS, or `file` of the credential",
                    ))
                }
            };
        }
        let usual = usual_folder(environment);
        let usual = usual.map(|folder| folder.join("application_default_credentials.json"));
        let file = usual.map_or(Ok(None), |path| File::read(&path))?;
        Ok(file.map_or(Found::Nothing, Found::File))
    }

    async fn find(&self, environment: Environment<'_>) -> Result<Fetched<Access>> {
        let web = || self.transport.as_ref().unwrap_or_else(|| &*WEB).as_ref();
        let (fetched, of_file) = match self.look(environment)? {
            Found::File(File { kind, quota_project, path, .. }) => {
                let fetched = match &kind {
                    Kind::ServiceAccount(account) => self.exchange(account, web()).await,
                    Kind::User(user) => refresh(user, web()).await,
                };
                let fetched = fetched.map_err(|error| match error.kind() {
                    ErrorKind::Auth => error.with_hint(kind.advice(&path)),
                    _ => error,
                });
                (fetched?, quota_project)
            }
            Found::Nothing => {
                let server = metadata::Server::new(environment, (self.is_google)());
                let found = match server {
                    Some(server) => server.token(SCOPE, self.metadata_transport()).await?,
                    None => None,
                };
                (found.ok_or_else(nothing)?, None)
            }
        };
        let set = self.settings.quota_project.clone();
        let quota_project = set
            .or_else(|| environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT"))
            .or(of_file)
            .filter(|project| is_project(project));
        let value = Access { token: fetched.value, quota_project };
        Ok(Fetched { value, expires: fetched.expires })
    }

    /// Exchanges an assertion that the key of a service account signs for a token.
    async fn exchange(
        &self,
        account: &ServiceAccount,
        transport: &dyn Transport,
    ) -> Result<Fetched<Secret>> {
        let mut is_first = true;
        loop {
            let assertion = jwt::sign(account, SCOPE, self.clock.now())?;
            let fields = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                ("assertion", assertion.expose()),
            ];
            let response = oauth::send_form(ask(&account.token_url), transport, &fields).await?;
            match response.status {
                200 => return oauth::read_token(&response.body, TOKEN_SERVICE),
                // An assertion of another time is refused.
                400 | 401 if is_first && self.clock.correct(&response.headers) => is_first = false,
                _ => return Err(oauth::refusal(TOKEN_SERVICE, &response)),
            }
        }
    }

    fn metadata_transport(&self) -> &dyn Transport {
        self.transport.as_ref().unwrap_or_else(|| &*METADATA).as_ref()
    }

    /// Returns the project as far as it is known without a network.
    fn known_project(&self, environment: Environment<'_>) -> Option<String> {
        const VARIABLES: [&str; 3] =
            ["GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"];
        let set = self.settings.project.clone();
        let set = set.or_else(|| VARIABLES.iter().find_map(|name| environment.variable(name)));
        if let Some(project) = set {
            return Some(project).filter(|project| is_project(project));
        }
        match self.look(environment).ok()? {
            Found::File(file) => {
                file.project.or(file.quota_project).filter(|project| is_project(project))
            }
            Found::Nothing => {
                let server = metadata::Server::new(environment, (self.is_google)());
                server.map(|_| PROJECT_OF_MACHINE.to_owned())
            }
        }
    }

    /// Writes the project of the machine into the URL, if it is needed there.
    async fn complete_url(&self, uri: &mut Uri, environment: Environment<'_>) -> Result<()> {
        if !uri.path().contains(PROJECT_OF_MACHINE) {
            return Ok(());
        }
        let server = metadata::Server::new(environment, (self.is_google)()).ok_or_else(nothing)?;
        let fetch = || async {
            let value = server.project(self.metadata_transport()).await?;
            Ok(Fetched { value, expires: None })
        };
        let project = self.project.get(fetch).await?;
        let mut parts = uri.clone().into_parts();
        let path = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
        let path = path.replacen(PROJECT_OF_MACHINE, &project, 1);
        parts.path_and_query = path.parse().ok();
        if let Ok(complete) = Uri::from_parts(parts) {
            *uri = complete;
        }
        Ok(())
    }
}

/// Exchanges the refresh token of a user for a token. The file cannot name another service: the token would be sent there.
async fn refresh(user: &User, transport: &dyn Transport) -> Result<Fetched<Secret>> {
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", user.client_id.as_str()),
        ("client_secret", user.client_secret.expose()),
        ("refresh_token", user.refresh_token.expose()),
    ];
    let response = oauth::send_form(ask(TOKEN_URL), transport, &fields).await?;
    match response.status {
        200 => oauth::read_token(&response.body, TOKEN_SERVICE),
        _ => Err(oauth::refusal(TOKEN_SERVICE, &response)),
    }
}

fn ask(url: &str) -> Ask<'static> {
    Ask {
        service: TOKEN_SERVICE,
        method: Method::POST,
        url: url.to_owned(),
        headers: Vec::new(),
        wait: CREDENTIAL_REQUEST_WAIT,
    }
}

impl Credential for GoogleCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let access = self.access.get(|| self.find(environment)).await?;
            self.complete_url(request.uri_mut(), environment).await?;
            let token = Auth::Bearer.header_value(&access.token)?;
            request.headers_mut().insert(AUTHORIZATION, token);
            let project = access.quota_project.as_deref();
            if let Some(project) = project.and_then(|project| HeaderValue::try_from(project).ok()) {
                // One that the configuration or the request sets stays.
                request.headers_mut().entry(QUOTA_PROJECT).or_insert(project);
            }
            Ok(())
        })
    }

    fn refused(&self, response: Refused<'_>) -> bool {
        response.status == 401 && self.access.forget(response.authorized, CREDENTIAL_RETRY)
    }

    fn variable(&self, name: &str, environment: Environment<'_>) -> Option<String> {
        let is_location = |location: &String| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !location.is_empty() && location.bytes().all(is_letter)
        };
        match name {
            "VERTEX_PROJECT" => self.known_project(environment),
            "VERTEX_LOCATION" => {
                let set = self.settings.location.clone();
                let set = set
                    .or_else(|| environment.variable("GOOGLE_VERTEX_LOCATION"))
                    .or_else(|| environment.variable("GOOGLE_CLOUD_LOCATION"));
                // google-genai SDK 3.1: the location is `global` unless it is set.
                Some(set.unwrap_or_else(|| "global".to_owned())).filter(is_location)
            }
            _ => None,
        }
    }

    fn check(&self, environment: Environment<'_>) -> Result<()> {
        match self.look(environment)? {
            Found::File(_) => Ok(()),
            // Whether it has a service account is known only to its metadata server.
            Found::Nothing => match metadata::Server::new(environment, (self.is_google)()) {
                Some(server) if server.is_expected() => Ok(()),
                _ => Err(nothing()),
            },
        }
    }
}

/// Returns whether a text can be the id of a project. Old ones have a domain: `example.com:project`.
fn is_project(project: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
    (1..=MAX_PROJECT).contains(&project.len())
        && project.bytes().all(is_letter)
        && project.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// The longest id of a project: 30 characters, and the name of a domain.
const MAX_PROJECT: usize = 128;

/// Returns the folder in which `gcloud` keeps its files.
fn usual_folder(environment: Environment<'_>) -> Option<PathBuf> {
    if let Some(folder) = environment.variable("CLOUDSDK_CONFIG") {
        return Some(PathBuf::from(folder));
    }
    if cfg!(windows) {
        return environment.variable("APPDATA").map(|folder| PathBuf::from(folder).join("gcloud"));
    }
    home(environment).map(|home| home.join(".config").join("gcloud"))
}

/// Replaces `~` at the start of a path by the home folder.
fn in_home(path: PathBuf, environment: Environment<'_>) -> PathBuf {
    match (path.strip_prefix("~"), home(environment)) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

fn nothing() -> Error {
    Error::new(ErrorKind::MissingKey, "there are no credentials of Google Cloud").with_hint(
        "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account",
    )
}
