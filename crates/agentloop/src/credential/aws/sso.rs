//! Keys of the single sign-on (IAM Identity Center), with the token that `aws sso login` stored.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Method;
use ring::digest;
use serde::Deserialize;

use super::keys::{Keys, read_signed_on};
use super::profile::Profile;
use super::region::{check_region, domain};
use super::sign::hex;
use crate::calendar::read_rfc3339;
use crate::credential::Environment;
use crate::credential::files::{home, read_file};
use crate::credential::refresh::Fetched;
use crate::credential::service::{Ask, check_url, read_object, status_error};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::CREDENTIAL_REQUEST_WAIT;
use crate::percent::encode_query_value;
use crate::secret::Secret;
use crate::transport::Transport;

const SERVICE: &str = "the single sign-on of AWS";

/// The file of a token.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Stored {
    access_token: Option<Secret>,
    expires_at: Option<String>,
}

/// Returns whether a profile uses the single sign-on.
pub(super) fn is_used(profile: &Profile) -> bool {
    profile.get("sso_account_id").is_some() && profile.get("sso_role_name").is_some()
}

/// Obtains the keys of a profile.
pub(super) async fn of_profile(
    profile: &Profile,
    environment: Environment<'_>,
    transport: &dyn Transport,
) -> Result<Fetched<Keys>> {
    let setting = |name: &str| {
        profile.get(name).ok_or_else(|| {
            let message = format!("the AWS profile `{}` has no `{name}`", profile.name);
            Error::new(ErrorKind::MissingKey, message).with_hint("run `aws configure sso`")
        })
    };
    let (account, role) = (setting("sso_account_id")?, setting("sso_role_name")?);
    let region = setting("sso_region")?;
    check_region(region)?;
    let token = token(profile, environment)?;
    const VARIABLE: &str = "AWS_ENDPOINT_URL_SSO";
    let base = match environment.variable(VARIABLE) {
        Some(url) => {
            check_url(&url, VARIABLE)?;
            url
        }
        None => format!("https://portal.sso.{region}.{}", domain(region)),
    };
    let ask = Ask {
        service: SERVICE,
        method: Method::GET,
        url: format!(
            "{}/federation/credentials?role_name={}&account_id={}",
            base.trim_end_matches('/'),
            encode_query_value(role),
            encode_query_value(account)
        ),
        headers: vec![("x-amz-sso_bearer_token", token)],
        wait: CREDENTIAL_REQUEST_WAIT,
    };
    match ask.send(transport).await? {
        (200, body) => read_signed_on(&body, SERVICE),
        (401, _) => Err(expired(profile)),
        (status, _) => Err(status_error(SERVICE, status)),
    }
}

/// Reads the token. Its file is named after the session, or after the URL of the sign-on.
fn token(profile: &Profile, environment: Environment<'_>) -> Result<Secret> {
    let name = profile.get("sso_session").or_else(|| profile.get("sso_start_url"));
    let Some((name, home)) = name.zip(home(environment)) else {
        return Err(expired(profile));
    };
    let sum = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes());
    let folder = home.join(".aws").join("sso").join("cache");
    let text = read_file(Some(&folder.join(format!("{}.json", hex(sum.as_ref())))))?;
    let stored: Stored = read_object(text.as_bytes()).unwrap_or_default();
    let end = stored.expires_at.as_deref().and_then(read_rfc3339);
    let end = end.and_then(|seconds| {
        UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
    });
    match (stored.access_token, end) {
        (Some(token), Some(end)) if end > SystemTime::now() => Ok(token),
        _ => Err(expired(profile)),
    }
}

fn expired(profile: &Profile) -> Error {
    let name = &profile.name;
    let message =
        format!("the single sign-on of the AWS profile `{name}` is missing or has expired");
    Error::new(ErrorKind::MissingKey, message)
        .with_hint(format!("run `aws sso login --profile {name}`"))
}
