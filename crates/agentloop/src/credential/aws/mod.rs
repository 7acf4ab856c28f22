//! The credentials of Amazon Web Services.

mod chain;
mod keys;
mod metadata;
mod process;
mod profile;
mod region;
mod role;
mod sign;
mod sso;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::DATE;
use http::{HeaderMap, Request, Uri};
use tokio::time::Instant;

use self::chain::{Plan, Source};
use self::keys::Keys;
use self::profile::Files;
use self::role::Assume;
use super::refresh::{Fetched, Refreshing};
use super::service::{METADATA, WEB};
use super::{AwsSettings, Credential, Environment, Refused, machine};
use crate::calendar::{read_http_date, seconds_since_1970};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_RETRY, MAX_CLOCK_SKEW, MIN_CLOCK_SKEW};
use crate::lock::lock;
use crate::provider::region::region_of_host;
use crate::provider::transport::BoxFuture;
use crate::transport::Transport;

/// The name of the service in signatures, unless the settings have another one.
const SERVICE: &str = "bedrock";

/// Signs requests for Amazon Web Services (SigV4).
///
/// The keys are found as Amazon's own programs find them. The first of these that has keys is used:
///
/// 1. the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` (not if the settings name a profile);
/// 2. a role that the profile assumes (`role_arn`), with the keys of another profile or of one of the other sources;
/// 3. a web identity, which assumes a role with a token: `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` (not if the settings name a
///    profile), or the same of the profile;
/// 4. the profile, in `~/.aws/credentials` and `~/.aws/config`: the single sign-on with the token that `aws sso login` stored, keys,
///    or a program that prints keys (`credential_process`);
/// 5. the service of a container: `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI`;
/// 6. the metadata service of a virtual machine, unless `AWS_EC2_METADATA_DISABLED` is `true`.
///
/// A profile that asks a person for a code (`mfa_serial`) or uses `aws login` is an error.
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
    /// When that was last corrected.
    corrected: Mutex<Option<Instant>>,
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
        let corrected = Mutex::new(None);
        Self { settings, keys, skew, corrected, transport: None, clock: SystemTime::now, is_amazon }
    }

    setters! {
        /// Reaches the services that return keys through this transport. By default they are reached over HTTP, those of this machine
        /// without a proxy.
        ///
        /// ```
        /// use agentloop::credential::{AwsCredential, AwsSettings};
        /// use agentloop::transport::HttpTransport;
        ///
        /// let credential = AwsCredential::new(AwsSettings::default()).transport(HttpTransport::new());
        /// ```
        transport(self, transport: impl Transport + 'static) =>
            self.transport = Some(Arc::new(transport));
    }

    /// Obtains keys. `region` is that of the request that needs them.
    async fn find(&self, region: &str, environment: Environment<'_>) -> Result<Fetched<Keys>> {
        let Plan { source, roles } = Plan::read(&self.settings, environment)?;
        let metadata = || self.transport.as_ref().unwrap_or_else(|| &*METADATA).as_ref();
        let web = || self.transport.as_ref().unwrap_or_else(|| &*WEB).as_ref();
        let mut fetched = match source {
            Source::Keys(value) => Fetched { value, expires: None },
            Source::SignOn(profile) => sso::of_profile(&profile, environment, web()).await?,
            Source::WebIdentity(identity) => {
                let token = identity.token()?;
                let request = identity.request(&token, self.now());
                self.assume(&request, None, region, environment, web()).await?
            }
            Source::Process(process) => process.run().await?,
            Source::Container(url) => metadata::of_container(url, environment, metadata()).await?,
            Source::Machine => metadata::of_machine(environment, metadata())
                .await?
                .ok_or_else(|| chain::nothing(&self.settings))?,
        };
        for role in roles {
            let (request, keys) = (role.request(self.now()), Some(&fetched.value));
            fetched = self.assume(&request, keys, region, environment, web()).await?;
        }
        Ok(fetched)
    }

    /// Assumes a role. The request is signed with `keys`; one with a web identity has none.
    async fn assume(
        &self,
        request: &Assume<'_>,
        keys: Option<&Keys>,
        region: &str,
        environment: Environment<'_>,
        web: &dyn Transport,
    ) -> Result<Fetched<Keys>> {
        let url = role::url(region, environment)?;
        let send = || {
            let scope = sign::Scope { region, service: "sts", time: self.now() };
            request.send(&url, web, move |request| match keys {
                Some(keys) => sign::sign(request, keys, scope),
                None => Ok(()),
            })
        };
        let mut response = send().await?;
        let is_corrected = self.correct_clock(&response.headers);
        if is_corrected && keys.is_some() && matches!(response.status, 400 | 401 | 403) {
            response = send().await?;
        }
        let Fetched { value, expires } = request.read(&response)?;
        Ok(Fetched { value, expires: expires.map(|time| self.as_of_this_machine(time)) })
    }

    /// Returns the region of requests to `uri`.
    fn region(&self, uri: &Uri, environment: Environment<'_>) -> Result<String> {
        let region = region_of_host(uri.host().unwrap_or_default());
        match region.map(str::to_owned).or_else(|| self.set_region(environment)) {
            // It is a part of the host, so one with other characters would name another host.
            Some(region) => region::check_region(&region).map(|()| region),
            None => Err(Error::new(ErrorKind::Config, "the AWS region is not known")
                .with_hint("set AWS_REGION, or `region` in the profile in ~/.aws/config")),
        }
    }

    /// Returns the region that the settings, the environment or the profile set.
    fn set_region(&self, environment: Environment<'_>) -> Option<String> {
        let of_profile = || {
            let files = Files::read(environment).ok()?;
            let profile = files.chosen(self.settings.profile.as_deref(), environment);
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
        shifted((self.clock)(), self.skew.load(Ordering::Relaxed))
    }

    /// Returns a time of the provider's clock as the clock of this machine will show it.
    fn as_of_this_machine(&self, time: SystemTime) -> SystemTime {
        shifted(time, self.skew.load(Ordering::Relaxed).saturating_neg())
    }

    /// Compares the clock of this machine with the date of a response. Returns whether it was wrong and is corrected now.
    fn correct_clock(&self, headers: &HeaderMap) -> bool {
        let theirs = headers.get(DATE).and_then(|date| read_http_date(date.to_str().ok()?));
        let Some(theirs) = theirs.and_then(|seconds| i64::try_from(seconds).ok()) else {
            return false;
        };
        let ours = |time| i64::try_from(seconds_since_1970(time)).unwrap_or_default();
        let is_right = theirs.abs_diff(ours(self.now())) < MIN_CLOCK_SKEW.as_secs();
        let skew = theirs.saturating_sub(ours((self.clock)()));
        if is_right || skew.unsigned_abs() > MAX_CLOCK_SKEW.as_secs() {
            return false;
        }
        self.skew.store(skew, Ordering::Relaxed);
        *lock(&self.corrected) = Some(Instant::now());
        true
    }

    /// Returns whether the clock was corrected after a request was signed.
    fn was_corrected_since(&self, signed: std::time::Instant) -> bool {
        lock(&self.corrected).is_some_and(|corrected| corrected.into_std() > signed)
    }
}

/// Returns a time that is `seconds` later.
fn shifted(time: SystemTime, seconds: i64) -> SystemTime {
    let by = Duration::from_secs(seconds.unsigned_abs());
    let moved = if seconds < 0 { time.checked_sub(by) } else { time.checked_add(by) };
    moved.unwrap_or(time)
}

impl Credential for AwsCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let region = self.region(request.uri(), environment)?;
            let keys = self.keys.get(|| self.find(&region, environment)).await?;
            let service = self.settings.service.as_deref().unwrap_or(SERVICE);
            let scope = sign::Scope { region: &region, service, time: self.now() };
            sign::sign(request, &keys, scope)
        })
    }

    fn refused(&self, response: Refused<'_>) -> bool {
        // Of several calls that are refused at once, the first one corrects the clock for all of them.
        if self.correct_clock(response.headers) || self.was_corrected_since(response.authorized) {
            return true;
        }
        let kind = response.headers.get("x-amzn-errortype").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default();
        let is_expired =
            ["ExpiredToken", "UnrecognizedClient"].iter().any(|name| kind.starts_with(name));
        is_expired && self.keys.forget(response.authorized, CREDENTIAL_RETRY)
    }

    fn variable(&self, name: &str, environment: Environment<'_>) -> Option<String> {
        (name == "AWS_REGION").then(|| self.set_region(environment)).flatten()
    }

    fn check(&self, environment: Environment<'_>) -> Result<()> {
        let plan = Plan::read(&self.settings, environment)?;
        // Whether a machine has a role is known only to its metadata service.
        match plan.source {
            Source::Machine if !(self.is_amazon)() => Err(chain::nothing(&self.settings)),
            _ => Ok(()),
        }
    }
}
