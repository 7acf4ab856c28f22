//! Tokens as OAuth 2.0 issues them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use super::refresh::Fetched;
use super::service::{Ask, FORM, Responded, form, is_code, read_object, status_error};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{DEFAULT_TOKEN_LIFETIME, MAX_TOKEN_BYTES, MAX_TOKEN_LIFETIME};
use crate::secret::Secret;
use crate::transport::Transport;

/// Sends a form to the service that issues tokens.
///
/// # Errors
///
/// When there is no response in time, or it is too large.
pub(super) async fn send_form(
    mut ask: Ask<'_>,
    transport: &dyn Transport,
    fields: &[(&str, &str)],
) -> Result<Responded> {
    ask.headers.push(("content-type", Secret::new(FORM)));
    ask.headers.push(("accept", Secret::new("application/json")));
    ask.respond(transport, form(fields)).await
}

/// A token as services write it. The Azure CLI has other names.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Issued {
    #[serde(alias = "accessToken")]
    access_token: Option<Secret>,
    #[serde(alias = "tokenType")]
    token_type: Option<String>,
    /// In seconds, as a number or as a text.
    expires_in: Option<Value>,
    /// In seconds since 1970.
    expires_on: Option<Value>,
}

/// Reads a token that `service` issued.
///
/// # Errors
///
/// When there is none that can be sent. Nothing of the body is shown.
pub(super) fn read_token(body: &[u8], service: &str) -> Result<Fetched<Secret>> {
    let unreadable = || {
        Error::new(
            ErrorKind::Auth,
            format!("the response of {service} has no token that can be read"),
        )
    };
    let issued: Issued = read_object(body).ok_or_else(unreadable)?;
    let is_bearer = |kind: &str| kind.eq_ignore_ascii_case("bearer");
    if !issued.token_type.as_deref().is_none_or(is_bearer) {
        return Err(unreadable());
    }
    let value = issued.access_token.ok_or_else(unreadable)?;
    let text = value.expose();
    let is_token = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.is_empty() || text.len() > MAX_TOKEN_BYTES || !is_token {
        return Err(unreadable());
    }
    let now = SystemTime::now();
    let lifetime = match (issued.expires_in, issued.expires_on) {
        (Some(value), _) => seconds(&value).ok_or_else(unreadable)?,
        (None, Some(value)) => {
            let end = UNIX_EPOCH.checked_add(seconds(&value).ok_or_else(unreadable)?);
            end.map_or(MAX_TOKEN_LIFETIME, |end| end.duration_since(now).unwrap_or_default())
        }
        (None, None) => DEFAULT_TOKEN_LIFETIME,
    };
    if lifetime.is_zero() {
        let message = format!("the token that {service} issued has already expired");
        return Err(Error::new(ErrorKind::Auth, message)
            .with_hint("check that the clock of this machine is right"));
    }
    Ok(Fetched { value, expires: now.checked_add(lifetime.min(MAX_TOKEN_LIFETIME)) })
}

/// Reads a number of seconds that is not negative.
fn seconds(value: &Value) -> Option<Duration> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Larger numbers than a clock has are all the same.
    (number >= 0.0).then(|| Duration::try_from_secs_f64(number.min(1e15)).ok()).flatten()
}

/// Returns whether a body is an error of a service that issues tokens.
#[cfg(feature = "entra")]
pub(super) fn has_code(body: &[u8]) -> bool {
    let written: Value = serde_json::from_slice(body).unwrap_or_default();
    written.get("error").is_some_and(Value::is_string)
}

/// Reads why a service refused to issue a token. Only codes are shown, because a text could repeat what was sent.
pub(super) fn refusal(service: &str, response: &Responded) -> Error {
    let written: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |name: &str| written.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(code) = Some(text("error")).filter(|code| is_code(code)) else {
        return status_error(service, response.status);
    };
    // Microsoft begins its descriptions with a number: `AADSTS7000215: Invalid client secret …`.
    let number = text("error_description").split(':').next().unwrap_or_default();
    let number = Some(number).filter(|number| is_code(number) && number.starts_with("AADSTS"));
    let number = number.map(|number| format!(" ({number})")).unwrap_or_default();
    let is_temporary = matches!(code, "temporarily_unavailable" | "server_error")
        || response.status == 429
        || response.status >= 500;
    let kind = if is_temporary { ErrorKind::Server } else { ErrorKind::Auth };
    Error::new(kind, format!("{service} issued no token: {code}{number}"))
        .with_retryable(is_temporary)
}

#[cfg(test)]
#[path = "oauth_tests.rs"]
mod tests;
