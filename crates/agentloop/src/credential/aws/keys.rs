//! The keys of an account, and the forms in which services return them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use crate::calendar::read_rfc3339;
use crate::credential::refresh::Fetched;
use crate::credential::service::{nested_object, read_object};
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;
use crate::secret::echo::Echo;

/// The keys that requests are signed with.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) access_key_id: Secret,
    pub(super) secret_access_key: Secret,
    pub(super) session_token: Option<Secret>,
}

impl Keys {
    /// Creates keys; `None` if one of the two that are always needed is empty.
    pub(super) fn new(id: &str, secret: &str, token: Option<&str>) -> Option<Self> {
        let filled = |text: &str| {
            let text = text.trim();
            (!text.is_empty()).then(|| Secret::new(text))
        };
        Some(Self {
            access_key_id: filled(id)?,
            secret_access_key: filled(secret)?,
            session_token: token.and_then(filled),
        })
    }
}

/// Keys as the services of containers and virtual machines return them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Served {
    code: Option<String>,
    message: Option<String>,
    access_key_id: Option<Secret>,
    secret_access_key: Option<Secret>,
    token: Option<Secret>,
    expiration: Option<String>,
}

/// Keys as programs print them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Printed {
    version: u64,
    access_key_id: Option<Secret>,
    secret_access_key: Option<Secret>,
    session_token: Option<Secret>,
    expiration: Option<String>,
}

/// Keys as the single sign-on returns them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SignedOn {
    #[serde(deserialize_with = "nested_object")]
    role_credentials: RoleCredentials,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RoleCredentials {
    access_key_id: Option<Secret>,
    secret_access_key: Option<Secret>,
    session_token: Option<Secret>,
    /// In milliseconds since 1970.
    expiration: Option<u64>,
}

/// Reads keys from the body of a response of `service`.
pub(super) fn read_served(body: &[u8], service: &str) -> Result<Fetched<Keys>> {
    let served: Served = read_object(body).ok_or_else(|| unreadable(service))?;
    if served.code.as_deref().is_some_and(|code| code != "Success") {
        let why = served.message.or(served.code).unwrap_or_default();
        // Control characters would change what a terminal shows.
        let why: String = why.chars().take(MAX_SHOWN).filter(|it| !it.is_control()).collect();
        let message = format!("{service} has no credentials: {why}");
        let mut error = Error::new(ErrorKind::Auth, message)
            .with_hint("check the role that is attached to this machine or task");
        // A text could repeat the keys beside it.
        let keys = [served.access_key_id, served.secret_access_key, served.token];
        keys.iter().flatten().for_each(|key| error.hide(&Echo::of(key.expose())));
        return Err(error);
    }
    let expires = served.expiration.as_deref().map(|text| read_end(text, service)).transpose()?;
    fetched(&served.access_key_id, &served.secret_access_key, &served.token, expires)
        .ok_or_else(|| unreadable(service))
}

/// Reads keys that a program printed (`credential_process`).
pub(super) fn read_printed(output: &[u8], program: &str) -> Result<Fetched<Keys>> {
    let printed: Printed = read_object(output).ok_or_else(|| unreadable(program))?;
    if printed.version != 1 {
        let message = format!("{program} printed keys whose `Version` is not 1");
        return Err(Error::new(ErrorKind::Auth, message));
    }
    let expires = printed.expiration.as_deref().map(|text| read_end(text, program)).transpose()?;
    fetched(&printed.access_key_id, &printed.secret_access_key, &printed.session_token, expires)
        .ok_or_else(|| unreadable(program))
}

/// Keys as the service for roles returns them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Assumed {
    access_key_id: Option<Secret>,
    secret_access_key: Option<Secret>,
    session_token: Option<Secret>,
    expiration: End,
}

/// Amazon writes seconds since 1970, and services that stand in for it also a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum End {
    Seconds(f64),
    Text(String),
}

impl Default for End {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Reads keys from the body of a response of the service for roles:
/// `{"AssumeRoleResponse": {"AssumeRoleResult": {"Credentials": …}}}`, or the same with the name of another call.
pub(super) fn read_assumed(body: &[u8], service: &str) -> Result<Fetched<Keys>> {
    let read = || {
        let mut response: BTreeMap<String, BTreeMap<String, Value>> = read_object(body)?;
        let results = response.pop_first()?.1;
        let mut result = results.into_iter().find(|(name, _)| name.ends_with("Result"))?.1;
        let keys = result.get_mut("Credentials").filter(|keys| keys.is_object())?;
        serde_json::from_value::<Assumed>(keys.take()).ok()
    };
    let assumed: Assumed = read().ok_or_else(|| unreadable(service))?;
    let expires = match assumed.expiration {
        End::Seconds(seconds) => Duration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|since| UNIX_EPOCH.checked_add(since))
            .ok_or_else(|| unreadable(service))?,
        End::Text(ref text) => read_end(text, service)?,
    };
    let Assumed { access_key_id, secret_access_key, session_token, .. } = &assumed;
    fetched(access_key_id, secret_access_key, session_token, Some(expires))
        .ok_or_else(|| unreadable(service))
}

/// Reads when keys expire. Programs may write the time of another zone.
fn read_end(text: &str, service: &str) -> Result<SystemTime> {
    let seconds = read_rfc3339(text).and_then(|seconds| u64::try_from(seconds).ok());
    let end = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    end.ok_or_else(|| unreadable(service))
}

/// Reads keys from the body of a response of the single sign-on.
pub(super) fn read_signed_on(body: &[u8], service: &str) -> Result<Fetched<Keys>> {
    let signed_on: SignedOn = read_object(body).ok_or_else(|| unreadable(service))?;
    let role = signed_on.role_credentials;
    let at = |ms: u64| UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    let expires = role.expiration.filter(|ms| *ms > 0).and_then(at);
    fetched(&role.access_key_id, &role.secret_access_key, &role.session_token, expires)
        .ok_or_else(|| unreadable(service))
}

fn fetched(
    id: &Option<Secret>,
    secret: &Option<Secret>,
    token: &Option<Secret>,
    expires: Option<SystemTime>,
) -> Option<Fetched<Keys>> {
    let token = token.as_ref().map(Secret::expose);
    let value = Keys::new(id.as_ref()?.expose(), secret.as_ref()?.expose(), token)?;
    Some(Fetched { value, expires })
}

/// The most characters of a service's message in an error.
const MAX_SHOWN: usize = 200;

/// The content is not shown, because it may hold keys.
fn unreadable(service: &str) -> Error {
    Error::new(ErrorKind::Auth, format!("the response of {service} cannot be read as credentials"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_the_forms_of_all_services() {
        let body = br#"{"Code":"Success","LastUpdated":"x","Type":"AWS-HMAC","AccessKeyId":"AK","SecretAccessKey":"SK","Token":"T","Expiration":"2026-11-16T10:00:00Z"}"#;
        let Fetched { value, expires } = read_served(body, "imds").unwrap();
        assert_eq!(value.access_key_id.expose(), "AK");
        assert_eq!(value.session_token.unwrap().expose(), "T");
        assert_eq!(expires, Some(UNIX_EPOCH + Duration::from_secs(1_794_823_200)));
        let body = br#"{"roleCredentials":{"accessKeyId":"AK","secretAccessKey":"SK","sessionToken":"T","expiration":1794823200000}}"#;
        let Fetched { value, expires } = read_signed_on(body, "sso").unwrap();
        assert_eq!(value.secret_access_key.expose(), "SK");
        assert_eq!(expires, Some(UNIX_EPOCH + Duration::from_secs(1_794_823_200)));
    }

    #[test]
    fn a_response_that_is_not_keys_is_an_error_that_shows_none_of_it() {
        for body in [
            &b""[..],
            b"<html>",
            b"[]",
            b"{}",
            br#"["SKSKSKSK"]"#,
            br#"{"roleCredentials":["AK","SKSKSKSK","T",1794823200000]}"#,
            br#"{"roleCredentials":[]}"#,
            br#"{"roleCredentials":"SKSKSKSK"}"#,
            br#"{"roleCredentials":null}"#,
            br#"{"roleCredentials":[{"accessKeyId":"AK","secretAccessKey":"SKSKSKSK"}]}"#,
            br#"[{"accessKeyId":"AK","secretAccessKey":"SKSKSKSK"}]"#,
            br#" ["Success","","AK","SKSKSKSK"]"#,
            br#"{"AccessKeyId":"AK","SecretAccessKey":" "}"#,
            br#"{"AccessKeyId":"AK","SecretAccessKey":"SKSK","Expiration":"tomorrow"}"#,
            br#"{"AccessKeyId":"AK","SecretAccessKey":"SKSK","Expiration":7}"#,
            br#"{"AccessKeyId":{"a":1},"SecretAccessKey":"SKSK"}"#,
            br#"{"roleCredentials":{"accessKeyId":"AK","secretAccessKey":"SKSK","expiration":-1}}"#,
            br#"{"Code":"SKSKSKSK","AccessKeyId":"AK","SecretAccessKey":"SKSKSKSK"}"#,
            br#"{"Code":"no","Message":"not SKSKSKSK","SecretAccessKey":"SKSKSKSK"}"#,
        ] {
            for error in [read_served(body, "a").err(), read_signed_on(body, "b").err()] {
                let error = error.unwrap();
                assert_eq!(error.kind(), ErrorKind::Auth);
                assert!(!format!("{error:?}").contains("SKSK"));
            }
        }
        let failed =
            br#"{"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2 cannot assume the role"}"#;
        let error = read_served(failed, "a").err().unwrap();
        assert!(error.message().contains("EC2 cannot assume the role"));
    }

    #[test]
    fn an_end_beyond_the_range_of_the_clock_does_not_panic() {
        let body = br#"{"roleCredentials":{"accessKeyId":"AK","secretAccessKey":"SK","expiration":18446744073709551615}}"#;
        let _ = read_signed_on(body, "sso");
    }
}
