//! The credentials of Amazon Web Services.

mod keys;
mod metadata;
mod profile;
mod sign;
mod sso;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::DATE;
use http::{Request, Uri};

use self::keys::Keys;
use self::profile::Profile;
use super::refresh::{Fetched, Refreshing};
use super::service::{METADATA, WEB};
use super::{AwsSettings, Credential, Environment, Refused, machine};
use crate::calendar::{read_http_date, seconds_since_1970};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_RETRY, MAX_CLOCK_SKEW, MIN_CLOCK_SKEW};
use crate::provider::transport::BoxFuture;
use crate::transport::Transport;

/// The name of the service in signatures, unless the settings have another one.
const SERVICE: &str = "bedrock";

/// Signs requests for Amazon Web Services (SigV4).
///
/// The keys are found as Amazon's own programs find them. The first of these that has keys is used:
///
/// 1. the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` (not if the settings name a profile);
/// 2. the profile, in `~/.aws/credentials` and `~/.aws/config`: keys, or the single sign-on with the token that `aws sso login` stored;
/// 3. the service of a container: `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI`;
/// 4. the metadata service of a virtual machine, unless `AWS_EC2_METADATA_DISABLED` is `true`.
///
/// A profile that assumes a role or runs a program is an error, and so is a web identity in the environment.
///
/// If the host belongs to Amazon, its name contains the region. For other hosts, the first of these is used: the region of
/// the settings, `AWS_REGION`, `AWS_DEFAULT_REGION`, the region of the profile.
///
/// If Amazon refuses a signature because the clock of this machine is wrong, the difference is remembered and the
/// request is sent once more.
///
/// ```
/// use agentloop::credential::{AwsCredential, AwsSettings};
/// use agentloop::Provider;
///
/// let credential = AwsCredential::new(AwsSettings::default().profile("work").region("us-east-1"));
/// let lab = Provider::openai_compatible("lab", "https://lab.example/v1").credential(credential);
/// ```
#[derive(Debug)]
pub struct AwsCredential {
    settings: AwsSettings,
    keys: Refreshing<Keys>,
    /// How many seconds the provider's clock is ahead of this machine's.
    skew: AtomicI64,
    /// Set in tests.
    transport: Option<Arc<dyn Transport>>,
    clock: fn() -> SystemTime,
    /// Returns whether this machine is one of Amazon's.
    is_amazon: fn() -> bool,
}

impl AwsCredential {
    /// Creates a credential. Nothing is read before a call needs it.
    pub fn new(settings: AwsSettings) -> Self {
        let (keys, skew) = (Refreshing::default(), AtomicI64::new(0));
        let is_amazon = || machine::has_mark("sys_vendor", "Amazon EC2");
        Self { settings, keys, skew, transport: None, clock: SystemTime::now, is_amazon }
    }

    /// Reaches the services that return keys through this transport. By default they are reached over HTTP, those of this machine
    /// without a proxy.
    ///
    /// ```
    /// use agentloop::credential::{AwsCredential, AwsSettings};
    /// use agentloop::transport::HttpTransport;
    ///
    /// let credential = AwsCredential::new(AwsSettings::default()).transport(HttpTransport::new());
    /// ```
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    async fn find(&self, environment: Environment<'_>) -> Result<Fetched<Keys>> {
        let metadata = || self.transport.as_ref().unwrap_or_else(|| &*METADATA).as_ref();
        let found = match self.look(environment)? {
            Found::Keys(value) => return Ok(Fetched { value, expires: None }),
            Found::SignOn(profile) => {
                let web = self.transport.as_ref().unwrap_or_else(|| &*WEB).as_ref();
                return sso::of_profile(&profile, environment, web).await;
            }
            Found::Container(url) => {
                return metadata::of_container(url, environment, metadata()).await;
            }
            Found::Nothing if metadata::may_ask_machine(environment) => {
                metadata::of_machine(environment, metadata()).await?
            }
            Found::Nothing => None,
        };
        found.ok_or_else(|| nothing(&self.settings))
    }

    /// Looks for keys in the environment and in files.
    fn look(&self, environment: Environment<'_>) -> Result<Found> {
        let chosen = self.settings.profile.as_deref();
        let variable = |name: &str| environment.variable(name);
        if chosen.is_none() {
            let id = variable("AWS_ACCESS_KEY_ID");
            let secret = variable("AWS_SECRET_ACCESS_KEY");
            let token = variable("AWS_SESSION_TOKEN");
            match (id, secret) {
                (Some(id), Some(secret)) => {
                    let keys = Keys::new(&id, &secret, token.as_deref());
                    return keys.map(Found::Keys).ok_or_else(|| nothing(&self.settings));
                }
                (None, None) => {}
                (id, _) => {
                    let missing =
                        if id.is_some() { "AWS_SECRET_ACCESS_KEY" } else { "AWS_ACCESS_KEY_ID" };
                    let message = format!("half of the AWS keys is missing: {missing} is not set");
                    return Err(Error::new(ErrorKind::MissingKey, message)
                        .with_hint(format!("set {missing}, or remove the other variable")));
                }
            }
            if variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() {
                let message =
                    "AWS_WEB_IDENTITY_TOKEN_FILE is set, and web identities are not supported";
                return Err(Error::new(ErrorKind::MissingKey, message).with_hint(
                    "use EKS Pod Identity, or the keys of `aws configure export-credentials --format env`",
                ));
            }
        }
        let profile = Profile::read(chosen, environment)?;
        if !profile.exists && (chosen.is_some() || variable("AWS_PROFILE").is_some()) {
            let message = format!("there is no AWS profile `{}`", profile.name);
            return Err(Error::new(ErrorKind::MissingKey, message)
                .with_hint("`aws configure list-profiles` shows the profiles"));
        }
        let id = profile.get("aws_access_key_id");
        if let Some((id, secret)) = id.zip(profile.get("aws_secret_access_key"))
            && profile.get("role_arn").is_none()
            && let Some(keys) = Keys::new(id, secret, profile.get("aws_session_token"))
        {
            return Ok(Found::Keys(keys));
        }
        profile.refuse_unsupported()?;
        if sso::is_used(&profile) {
            return Ok(Found::SignOn(profile));
        }
        Ok(metadata::container_url(environment)?.map_or(Found::Nothing, Found::Container))
    }

    /// Returns the region of requests to `uri`.
    fn region(&self, uri: &Uri, environment: Environment<'_>) -> Result<String> {
        let region = region_of_host(uri.host().unwrap_or_default());
        match region.map(str::to_owned).or_else(|| self.set_region(environment)) {
            Some(region) => Ok(region),
            None => Err(Error::new(ErrorKind::Config, "the AWS region is not known")
                .with_hint("set AWS_REGION, or `region` in the profile in ~/.aws/config")),
        }
    }

    /// Returns the region that the settings, the environment or the profile set.
    fn set_region(&self, environment: Environment<'_>) -> Option<String> {
        let of_profile = || {
            let profile = Profile::read(self.settings.profile.as_deref(), environment).ok()?;
            profile.get("region").map(str::to_owned)
        };
        let region = self.settings.region.clone();
        region
            .or_else(|| environment.variable("AWS_REGION"))
            .or_else(|| environment.variable("AWS_DEFAULT_REGION"))
            .or_else(of_profile)
    }

    /// Returns the time as the provider's clock has it, as far as that is known.
    fn now(&self) -> SystemTime {
        let (now, skew) = ((self.clock)(), self.skew.load(Ordering::Relaxed));
        let seconds = Duration::from_secs(skew.unsigned_abs());
        let moved = if skew < 0 { now.checked_sub(seconds) } else { now.checked_add(seconds) };
        moved.unwrap_or(now)
    }
}

/// Where keys are.
enum Found {
    Keys(Keys),
    SignOn(Profile),
    Container(String),
    /// Only the metadata service is left.
    Nothing,
}

impl Credential for AwsCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let region = self.region(request.uri(), environment)?;
            let keys = self.keys.get(|| self.find(environment)).await?;
            let service = self.settings.service.as_deref().unwrap_or(SERVICE);
            let scope = sign::Scope { region: &region, service, time: self.now() };
            sign::sign(request, &keys, scope)
        })
    }

    fn refused(&self, response: Refused<'_>) -> bool {
        let header = |name: &str| response.headers.get(name)?.to_str().ok();
        let theirs = header(DATE.as_str()).and_then(read_http_date);
        if let Some(theirs) = theirs.and_then(|seconds| i64::try_from(seconds).ok()) {
            let ours = |time| i64::try_from(seconds_since_1970(time)).unwrap_or_default();
            let off = theirs.saturating_sub(ours(self.now())).unsigned_abs();
            if off >= MIN_CLOCK_SKEW.as_secs() {
                let skew = theirs.saturating_sub(ours((self.clock)()));
                if skew.unsigned_abs() > MAX_CLOCK_SKEW.as_secs() {
                    return false;
                }
                self.skew.store(skew, Ordering::Relaxed);
                return true;
            }
        }
        let kind = header("x-amzn-errortype").unwrap_or_default();
        let is_expired =
            ["ExpiredToken", "UnrecognizedClient"].iter().any(|name| kind.starts_with(name));
        is_expired && self.keys.forget(CREDENTIAL_RETRY)
    }

    fn variable(&self, name: &str, environment: Environment<'_>) -> Option<String> {
        (name == "AWS_REGION").then(|| self.set_region(environment)).flatten()
    }

    fn check(&self, environment: Environment<'_>) -> Result<()> {
        match self.look(environment)? {
            // Whether it has a role is known only to its metadata service.
            Found::Nothing if metadata::may_ask_machine(environment) && (self.is_amazon)() => {
                Ok(())
            }
            Found::Nothing => Err(nothing(&self.settings)),
            _ => Ok(()),
        }
    }
}

/// Returns the region in the name of one of Amazon's hosts: `bedrock-runtime.eu-west-1.amazonaws.com`.
fn region_of_host(host: &str) -> Option<&str> {
    let ends = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
    let name = ends.iter().find_map(|end| host.strip_suffix(end))?;
    let region = name.rsplit('.').next()?;
    // `us-east-1`, `us-gov-west-1`: words, and a number at the end.
    let (words, number) = region.rsplit_once('-')?;
    let is_region = words.contains('-') && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_region && name.contains('.') && !number.is_empty()).then_some(region)
}

fn nothing(settings: &AwsSettings) -> Error {
    let profile = settings.profile.as_deref().unwrap_or("default");
    Error::new(ErrorKind::MissingKey, "there are no AWS credentials").with_hint(format!(
        "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure` (profile `{profile}`)"
    ))
}
