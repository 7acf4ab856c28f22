//! Files with credentials of Google Cloud.

use std::path::Path;

use serde::Deserialize;

use super::TOKEN_URL;
use crate::credential::files;
use crate::credential::service;
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;

/// A file with credentials.
pub(super) struct File {
    /// Where it is, for errors.
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) project: Option<String>,
    pub(super) quota_project: Option<String>,
}

/// Whose credentials a file has.
pub(super) enum Kind {
    ServiceAccount(ServiceAccount),
    User(User),
}

/// The key of a service account.
pub(super) struct ServiceAccount {
    pub(super) email: String,
    pub(super) key: Secret,
    pub(super) key_id: Option<String>,
    pub(super) token_url: String,
}

/// The sign-in of a user.
pub(super) struct User {
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) refresh_token: Secret,
}

/// The JSON of a file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    r#type: Option<String>,
    client_email: Option<String>,
    private_key: Option<Secret>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    refresh_token: Option<Secret>,
    project_id: Option<String>,
    quota_project_id: Option<String>,
    universe_domain: Option<String>,
}

/// The longest type that is shown in an error.
const MAX_TYPE: usize = 64;

impl File {
    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// When it has no credentials, or those of a type that is not supported. Nothing else is used in its place.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        match files::read(path)? {
            Some(text) => Self::parse(&text, &path.display().to_string()).map(Some),
            None => Ok(None),
        }
    }

    fn parse(text: &str, path: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::new(ErrorKind::MissingKey, format!("the file {path} {what}"))
                .with_hint("create it again, with `gcloud auth application-default login` or in Google's console")
        };
        // The message of the parser could show a part of the key.
        let written: Written = service::read_object(text.as_bytes())
            .ok_or_else(|| wrong("has no credentials of Google Cloud".to_owned()))?;
        if let Some(domain) = written.universe_domain.filter(|domain| domain != "googleapis.com") {
            let domain: String = domain.chars().take(MAX_TYPE).collect();
            let message = format!("the file {path} is of the domain `{}`", domain.escape_debug());
            return Err(unsupported(&message));
        }
        let kind = match written.r#type.as_deref() {
            Some("service_account") => {
                let token_url = written.token_uri.unwrap_or_else(|| TOKEN_URL.to_owned());
                service::check_url(&token_url, &format!("`token_uri` in the file {path}"))?;
                Kind::ServiceAccount(ServiceAccount {
                    email: filled(written.client_email)
                        .ok_or_else(|| wrong("has no `client_email`".to_owned()))?,
                    key: written
                        .private_key
                        .ok_or_else(|| wrong("has no `private_key`".to_owned()))?,
                    key_id: filled(written.private_key_id),
                    token_url,
                })
            }
            Some("authorized_user") => Kind::User(User {
                client_id: filled(written.client_id)
                    .ok_or_else(|| wrong("has no `client_id`".to_owned()))?,
                client_secret: written
                    .client_secret
                    .ok_or_else(|| wrong("has no `client_secret`".to_owned()))?,
                refresh_token: written
                    .refresh_token
                    .ok_or_else(|| wrong("has no `refresh_token`".to_owned()))?,
            }),
            Some(other) => {
                let other: String = other.chars().take(MAX_TYPE).collect();
                let other = other.escape_debug();
                let message = format!("the file {path} has credentials of the type `{other}`");
                return Err(unsupported(&message));
            }
            None => return Err(wrong("has no credentials of Google Cloud".to_owned())),
        };
        let (project, quota_project) =
            (filled(written.project_id), filled(written.quota_project_id));
        Ok(Self { path: path.to_owned(), kind, project, quota_project })
    }
}

impl Kind {
    /// Returns what to do if Google refuses the credentials of a file.
    pub(super) fn advice(&self, path: &str) -> String {
        match self {
            Self::User(_) => "run `gcloud auth application-default login` again".to_owned(),
            Self::ServiceAccount(account) => format!(
                "check that the key in {path} still exists for {}, and that the clock of this machine is right",
                account.email.escape_debug()
            ),
        }
    }
}

fn filled(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn unsupported(message: &str) -> Error {
    Error::new(ErrorKind::MissingKey, format!("{message}, which is not supported")).with_hint(
        "let Google's program obtain a token, and set it as the key: `gcloud auth application-default print-access-token`",
    )
}
