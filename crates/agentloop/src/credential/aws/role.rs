//! Keys of a role, from the service that issues them (STS).

use std::path::PathBuf;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;

use super::keys::{Keys, read_assumed};
use super::profile::Profile;
use super::region::{check_region, domain};
use crate::calendar::seconds_since_1970;
use crate::credential::Environment;
use crate::credential::files::read_file;
use crate::credential::refresh::Fetched;
use crate::credential::service::{Ask, FORM, Responded, check_url, form, is_code, status_error};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, MAX_TOKEN_BYTES};
use crate::secret::Secret;
use crate::transport::Transport;

const SERVICE: &str = "the service for roles of AWS (STS)";

/// The longest name of a role (IAM's own limit).
const MAX_ARN: usize = 2048;

/// A role that is assumed with the keys of another one.
pub(super) struct Role {
    arn: String,
    session: Option<String>,
    external_id: Option<String>,
    /// In seconds.
    duration: Option<String>,
}

impl Role {
    /// Reads the role of a profile.
    ///
    /// # Errors
    ///
    /// When a setting cannot be used, or a person would have to type a code.
    pub(super) fn of(profile: &Profile) -> Result<Self> {
        if profile.get("mfa_serial").is_some() {
            return Err(profile.unsupported("asks for a code", "mfa_serial"));
        }
        let setting = |name: &str| profile.get(name).map(str::to_owned);
        let duration = setting("duration_seconds");
        if let Some(text) = &duration
            && !text.bytes().all(|byte| byte.is_ascii_digit())
        {
            let message =
                format!("`duration_seconds` of the AWS profile `{}` is not a number", profile.name);
            return Err(Error::new(ErrorKind::Config, message).with_hint("correct ~/.aws/config"));
        }
        Ok(Self {
            arn: checked(profile.get("role_arn").unwrap_or_default())?,
            session: setting("role_session_name"),
            external_id: setting("external_id"),
            duration,
        })
    }

    /// Returns the request for the keys of the role.
    pub(super) fn request(&self, now: SystemTime) -> Assume<'_> {
        let mut fields =
            vec![("Action", "AssumeRole"), ("Version", VERSION), ("RoleArn", self.arn.as_str())];
        let others = [("ExternalId", &self.external_id), ("DurationSeconds", &self.duration)];
        fields.extend(others.iter().filter_map(|(name, it)| Some((*name, it.as_deref()?))));
        Assume::new(&self.arn, fields, self.session.as_deref(), now)
    }
}

/// A role that is assumed with a token of another service, such as that of a pod in Kubernetes.
pub(super) struct WebIdentity {
    arn: String,
    session: Option<String>,
    file: PathBuf,
}

impl WebIdentity {
    /// Creates a web identity. Its token is read when it is sent, because it is replaced often.
    ///
    /// # Errors
    ///
    /// When there is no role.
    pub(super) fn new(file: PathBuf, arn: Option<String>, session: Option<String>) -> Result<Self> {
        let arn = arn.ok_or_else(|| {
            let message = "there is a web identity of AWS, and its role is not known";
            Error::new(ErrorKind::MissingKey, message)
                .with_hint("set AWS_ROLE_ARN, or `role_arn` in the profile")
        })?;
        Ok(Self { arn: checked(&arn)?, session, file })
    }

    /// Returns the token.
    ///
    /// # Errors
    ///
    /// When there is none in the file.
    pub(super) fn token(&self) -> Result<Secret> {
        let text = read_file(Some(&self.file))?;
        let text = text.trim();
        let is_token = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > MAX_TOKEN_BYTES || !is_token {
            let file = self.file.display();
            let message = format!("the file {file} has no web identity token");
            return Err(Error::new(ErrorKind::MissingKey, message)
                .with_hint("check AWS_WEB_IDENTITY_TOKEN_FILE, or `web_identity_token_file`"));
        }
        Ok(Secret::new(text))
    }

    /// Returns the request for the keys of the role.
    pub(super) fn request<'a>(&'a self, token: &'a Secret, now: SystemTime) -> Assume<'a> {
        let fields = vec![
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", VERSION),
            ("RoleArn", self.arn.as_str()),
            ("WebIdentityToken", token.expose()),
        ];
        Assume::new(&self.arn, fields, self.session.as_deref(), now)
    }
}

const JSON: &str = "application/json";

const VERSION: &str = "2011-06-15";

/// A request for the keys of a role.
pub(super) struct Assume<'a> {
    arn: &'a str,
    content: Bytes,
}

impl<'a> Assume<'a> {
    fn new(
        arn: &'a str,
        fields: Vec<(&str, &str)>,
        session: Option<&str>,
        now: SystemTime,
    ) -> Self {
        // The name is shown in the records of the account (CloudTrail).
        let usual = format!("agentloop-{}", seconds_since_1970(now));
        let session = ("RoleSessionName", session.unwrap_or(&usual));
        let fields: Vec<_> = fields.into_iter().chain([session]).collect();
        Self { arn, content: form(&fields) }
    }

    /// Sends the request to the service at `url`, after `sign` has signed it.
    pub(super) async fn send(
        &self,
        url: &str,
        transport: &dyn Transport,
        sign: impl FnOnce(&mut Request<Bytes>) -> Result<()>,
    ) -> Result<Responded> {
        let ask = Ask {
            service: SERVICE,
            method: Method::POST,
            url: url.to_owned(),
            // Without `accept` the response is XML. That it is JSON then is not in Amazon's documentation, but clients rely on it for
            // years: MongoDB's driver for C 1.30 (`mongoc-cluster-aws.c`), Salt 3007 (`salt/utils/aws.py`).
            headers: vec![("content-type", Secret::new(FORM)), ("accept", Secret::new(JSON))],
            wait: CREDENTIAL_REQUEST_WAIT,
        };
        ask.respond_to_signed(transport, self.content.clone(), sign).await
    }

    /// Reads the keys, or why there are none.
    pub(super) fn read(&self, response: &Responded) -> Result<Fetched<Keys>> {
        match response.status {
            200 => read_assumed(&response.body, SERVICE),
            _ => Err(self.refusal(response)),
        }
    }

    /// Only codes are shown, because a text could repeat what was sent.
    fn refusal(&self, response: &Responded) -> Error {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let code = body.pointer("/Error/Code").and_then(Value::as_str);
        let Some(code) = code.filter(|code| is_code(code)) else {
            return status_error(SERVICE, response.status);
        };
        let is_temporary = response.status == 429
            || response.status >= 500
            || matches!(code, "Throttling" | "ThrottlingException" | "IDPCommunicationError");
        let kind = if is_temporary { ErrorKind::Server } else { ErrorKind::Auth };
        let message = format!("the AWS role `{}` cannot be assumed: {code}", self.arn);
        let error = Error::new(kind, message).with_retryable(is_temporary);
        match code {
            "AccessDenied" => error.with_hint(
                "check that the role trusts these credentials, and that they may call sts:AssumeRole",
            ),
            "ExpiredToken" | "ExpiredTokenException" | "InvalidIdentityToken" => {
                error.with_hint("obtain new credentials: the token that was sent is not valid (any more)")
            }
            "InvalidClientTokenId" | "SignatureDoesNotMatch" => {
                error.with_hint("check the keys of the profile that is the source of the role")
            }
            "RegionDisabledException" => {
                error.with_hint("use another region, or enable STS for this one in the account")
            }
            _ => error,
        }
    }
}

/// Returns the URL of the service in `region`.
///
/// # Errors
///
/// When the region is not one, or `AWS_ENDPOINT_URL_STS` would send secrets without encryption.
pub(super) fn url(region: &str, environment: Environment<'_>) -> Result<String> {
    const VARIABLE: &str = "AWS_ENDPOINT_URL_STS";
    if let Some(url) = environment.variable(VARIABLE) {
        check_url(&url, VARIABLE)?;
        return Ok(format!("{}/", url.trim_end_matches('/')));
    }
    check_region(region)?;
    Ok(format!("https://sts.{region}.{}/", domain(region)))
}

/// Returns the name of a role, if it can be one.
fn checked(arn: &str) -> Result<String> {
    let is_name = arn.starts_with("arn:") && arn.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name && arn.len() <= MAX_ARN {
        return Ok(arn.to_owned());
    }
    let arn: String = arn.chars().take(64).flat_map(char::escape_debug).collect();
    let message = format!("`{arn}` is not the ARN of a role");
    Err(Error::new(ErrorKind::Config, message).with_hint("correct AWS_ROLE_ARN, or `role_arn`"))
}
