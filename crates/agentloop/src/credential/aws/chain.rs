//! Where keys come from: the default chain of Amazon's own programs.
//!
//! The order and the names are those of botocore 1.43 (`credentials.py`).

use std::path::PathBuf;

use super::keys::Keys;
use super::process::Process;
use super::profile::{Files, Profile};
use super::role::{Role, WebIdentity};
use super::{metadata, sso};
use crate::credential::{AwsSettings, Environment};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_PROFILE_CHAIN;

/// How keys are obtained: from a source, and then by assuming roles one after the other.
pub(super) struct Plan {
    pub(super) source: Source,
    pub(super) roles: Vec<Role>,
}

/// Where the first keys come from.
pub(super) enum Source {
    Keys(Keys),
    SignOn(Profile),
    WebIdentity(WebIdentity),
    Process(Process),
    Container(String),
    /// The metadata service of the machine, which may not exist.
    Machine,
}

impl From<Source> for Plan {
    fn from(source: Source) -> Self {
        Self { source, roles: Vec::new() }
    }
}

impl Plan {
    /// Reads the environment and the files, without a network.
    ///
    /// # Errors
    ///
    /// When there are no credentials, or those that are found cannot be used. Others are not used in their place.
    pub(super) fn read(settings: &AwsSettings, environment: Environment<'_>) -> Result<Self> {
        let chosen = settings.profile.as_deref();
        if chosen.is_none()
            && let Some(keys) = of_environment(environment)?
        {
            return Ok(Source::Keys(keys).into());
        }
        let files = Files::read(environment)?;
        let profile = files.chosen(chosen, environment);
        let is_wanted = chosen.is_some() || environment.variable("AWS_PROFILE").is_some();
        if !profile.exists && is_wanted {
            let message = format!("there is no AWS profile `{}`", profile.name);
            return Err(Error::new(ErrorKind::MissingKey, message)
                .with_hint("`aws configure list-profiles` shows the profiles"));
        }
        if assumes_role(&profile) {
            return Self::of_roles(&files, profile, environment);
        }
        // The web identity of the environment belongs to no profile.
        let source = of_profile(&profile, chosen.is_none(), environment)?;
        if let Some(source) = source {
            return Ok(source.into());
        }
        if let Some(url) = metadata::container_url(environment)? {
            return Ok(Source::Container(url).into());
        }
        if metadata::may_ask_machine(environment) {
            return Ok(Source::Machine.into());
        }
        Err(nothing(settings))
    }

    /// Follows the profiles that are the source of one another, from the one that assumes a role.
    fn of_roles(files: &Files, first: Profile, environment: Environment<'_>) -> Result<Self> {
        let mut roles = vec![Role::of(&first)?];
        let mut seen = vec![first.name.clone()];
        let mut profile = first;
        let source = loop {
            let name = &profile.name;
            let failed = |why: String| {
                let message = format!("the AWS profile `{name}` assumes a role, {why}");
                Error::new(ErrorKind::MissingKey, message).with_hint(
                    "set one of `source_profile` and `credential_source` in ~/.aws/config",
                )
            };
            let next = match (profile.get("source_profile"), profile.get("credential_source")) {
                (Some(next), None) => next,
                (None, Some(source)) => break of_name(source, name, environment)?,
                (None, None) => return Err(failed("and has no source of keys".to_owned())),
                (Some(_), Some(_)) => return Err(failed("and has two sources of keys".to_owned())),
            };
            // A profile may be its own source, with its own keys.
            let is_own = next == name && profile.has_keys();
            if !is_own && seen.iter().any(|seen| seen == next) {
                return Err(failed(format!("and its sources lead back to `{next}`")));
            }
            let source = files.profile(next);
            if !source.exists {
                return Err(failed(format!(
                    "and there is no profile `{next}`, which is its source"
                )));
            }
            if is_own || source.has_keys() || !assumes_role(&source) {
                let keys = of_profile(&source, false, environment)?;
                break keys
                    .ok_or_else(|| failed(format!("and its source `{next}` has no keys")))?;
            }
            if seen.len() >= MAX_PROFILE_CHAIN {
                return Err(failed(format!("and is behind {MAX_PROFILE_CHAIN} other profiles")));
            }
            roles.push(Role::of(&source)?);
            seen.push(next.to_owned());
            profile = source;
        };
        roles.reverse();
        Ok(Self { source, roles })
    }
}

/// Returns whether a profile assumes a role with the keys of another one.
fn assumes_role(profile: &Profile) -> bool {
    profile.get("role_arn").is_some() && profile.get("web_identity_token_file").is_none()
}

/// Returns the keys of the environment.
fn of_environment(environment: Environment<'_>) -> Result<Option<Keys>> {
    let variable = |name: &str| environment.variable(name);
    let (id, secret) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
    let missing = match (id, secret) {
        (Some(id), Some(secret)) => {
            return Ok(Keys::new(&id, &secret, variable("AWS_SESSION_TOKEN").as_deref()));
        }
        (None, None) => return Ok(None),
        (None, _) => "AWS_ACCESS_KEY_ID",
        (_, None) => "AWS_SECRET_ACCESS_KEY",
    };
    let message = format!("half of the AWS keys is missing: {missing} is not set");
    Err(Error::new(ErrorKind::MissingKey, message)
        .with_hint(format!("set {missing}, or remove the other variable")))
}

/// Returns what a profile has, other than a role that needs the keys of another profile. The web identity of the environment
/// comes before that of the profile, if it is wanted.
fn of_profile(
    profile: &Profile,
    with_variables: bool,
    environment: Environment<'_>,
) -> Result<Option<Source>> {
    let setting = |variable: &str, name: &str| {
        let set = with_variables.then(|| environment.variable(variable)).flatten();
        set.or_else(|| profile.get(name).map(str::to_owned))
    };
    if let Some(file) = setting("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file") {
        let session = setting("AWS_ROLE_SESSION_NAME", "role_session_name");
        let role = setting("AWS_ROLE_ARN", "role_arn");
        return WebIdentity::new(PathBuf::from(file), role, session)
            .map(|identity| Some(Source::WebIdentity(identity)));
    }
    if sso::is_used(profile) {
        return Ok(Some(Source::SignOn(profile.clone())));
    }
    if profile.has_own_keys {
        return Ok(profile.keys()?.map(Source::Keys));
    }
    if profile.get("login_session").is_some() {
        return Err(profile.unsupported("uses `aws login`", "login_session"));
    }
    if let Some(line) = profile.get("credential_process") {
        if !profile.may_start_programs {
            let message = format!(
                "the AWS profile `{}` starts a program, and its file depends on the current folder",
                profile.name
            );
            return Err(Error::new(ErrorKind::MissingKey, message).with_hint(
                "write AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE as absolute paths",
            ));
        }
        return Process::new(line, &profile.name, environment)
            .map(|process| Some(Source::Process(process)));
    }
    if let Some(keys) = profile.keys()? {
        return Ok(Some(Source::Keys(keys)));
    }
    match profile.get("credential_source") {
        Some(_) => Err(profile.unsupported("has a source and no role", "credential_source")),
        None => Ok(None),
    }
}

/// Returns the source that `credential_source` names.
fn of_name(name: &str, profile: &str, environment: Environment<'_>) -> Result<Source> {
    let found = match name.to_ascii_lowercase().as_str() {
        "environment" => of_environment(environment)?.map(Source::Keys),
        "ecscontainer" => metadata::container_url(environment)?.map(Source::Container),
        "ec2instancemetadata" => metadata::may_ask_machine(environment).then_some(Source::Machine),
        _ => {
            let message =
                format!("the AWS profile `{profile}` has an unknown `credential_source`: `{name}`");
            return Err(Error::new(ErrorKind::MissingKey, message)
                .with_hint("use `Environment`, `Ec2InstanceMetadata` or `EcsContainer`"));
        }
    };
    found.ok_or_else(|| {
        let message = format!("the source `{name}` of the AWS profile `{profile}` has no keys");
        Error::new(ErrorKind::MissingKey, message).with_hint("correct `credential_source`")
    })
}

pub(super) fn nothing(settings: &AwsSettings) -> Error {
    let profile = settings.profile.as_deref().unwrap_or("default");
    Error::new(ErrorKind::MissingKey, "there are no AWS credentials").with_hint(format!(
        "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure` (profile `{profile}`)"
    ))
}
