//! Where a key comes from, and the header that carries it.

use std::borrow::Cow;
use std::path::PathBuf;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CREDENTIAL_FILE_BYTES;
use crate::provider::Provider;
use crate::regular_file::read_regular_text;
use crate::secret::Secret;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// The header that carries the key.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::provider::Auth;
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").auth(Auth::XApiKey);
/// assert_eq!(lab.auth.header(), Some("x-api-key"));
/// let lab = lab.auth(Auth::Header(http::HeaderName::from_static("x-lab-key")));
/// assert_eq!(lab.auth.header(), Some("x-lab-key"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
    /// `x-goog-api-key: KEY`.
    XGoogApiKey,
    /// `api-key: KEY`.
    ApiKey,
    /// The key in a header of another name. In JSON and in `agentloop.toml`: `{ header = "x-lab-key" }`.
    Header(#[serde(with = "name_of_header")] HeaderName),
    /// No header: the key is not sent.
    None,
}

/// A header name as text.
mod name_of_header {
    use super::HeaderName;
    use serde::de::{Deserialize as _, Error as _};

    /// Headers that describe the request itself.
    const TAKEN: [&str; 7] = [
        "accept",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
    ];

    pub(super) fn serialize<S: serde::Serializer>(
        name: &HeaderName,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(name.as_str())
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HeaderName, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        match HeaderName::from_bytes(text.as_bytes()) {
            Ok(name) if TAKEN.contains(&name.as_str()) => {
                Err(D::Error::custom(format!("the header `{text}` cannot carry a key")))
            }
            Ok(name) => Ok(name),
            Err(_) => Err(D::Error::custom(format!("`{text}` is not the name of a header"))),
        }
    }
}

impl Auth {
    /// Returns the name of the header; `None` if the key is not sent.
    pub fn header(&self) -> Option<&str> {
        match self {
            Self::Bearer => Some("authorization"),
            Self::XApiKey => Some("x-api-key"),
            Self::XGoogApiKey => Some("x-goog-api-key"),
            Self::ApiKey => Some("api-key"),
            Self::Header(name) => Some(name.as_str()),
            Self::None => None,
        }
    }

    /// Returns the name of the header as a `HeaderName`.
    pub(crate) fn header_name(&self) -> Option<HeaderName> {
        match self {
            Self::Bearer => Some(AUTHORIZATION),
            Self::XApiKey => Some(X_API_KEY),
            Self::XGoogApiKey => Some(X_GOOG_API_KEY),
            Self::ApiKey => Some(API_KEY),
            Self::Header(name) => Some(name.clone()),
            Self::None => None,
        }
    }

    /// Returns the header of a key. It is marked as a secret.
    ///
    /// # Errors
    ///
    /// When the key cannot be sent in a header.
    pub(crate) fn header_value(&self, key: &Secret) -> Result<HeaderValue> {
        let mut value = HeaderValue::try_from(self.value(key.expose())).map_err(|_| {
            Error::new(
                ErrorKind::MissingKey,
                "the key contains characters that are not allowed in an HTTP header",
            )
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Returns the text of the header.
    pub(crate) fn value(&self, key: &str) -> String {
        match self {
            Self::Bearer => ["Bearer ", key].concat(),
            _ => key.to_owned(),
        }
    }
}

/// The headers that carry keys. A request's own headers never replace them.
pub(crate) const AUTH_HEADERS: [&str; 5] =
    ["authorization", "x-api-key", "x-goog-api-key", "api-key", "proxy-authorization"];

/// Where a key comes from. It is read when it is needed, not before.
///
/// ```
/// use agentloop::provider::KeySource;
///
/// assert_eq!(KeySource::env("GROQ_API_KEY").variables(), ["GROQ_API_KEY"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// No key is needed.
    #[default]
    None,
    /// The first of these environment variables that is set.
    Env(Vec<Cow<'static, str>>),
    /// The first of these environment variables that is set; without one, no key is sent.
    EnvIfSet(Vec<Cow<'static, str>>),
    /// The content of a file, without white space around it.
    File(PathBuf),
    /// The key itself.
    Value(Secret),
}

impl KeySource {
    /// Reads the key from that environment variable.
    pub fn env(variable: impl Into<Cow<'static, str>>) -> Self {
        Self::Env(vec![variable.into()])
    }

    /// Returns the environment variables that may contain the key.
    pub fn variables(&self) -> &[Cow<'static, str>] {
        match self {
            Self::Env(variables) | Self::EnvIfSet(variables) => variables,
            _ => &[],
        }
    }

    /// Reads the key; `None` when none is needed.
    ///
    /// # Errors
    ///
    /// When the key is missing, its file cannot be read, or it has characters that are not allowed in a header.
    pub(crate) fn read(
        &self,
        provider: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Cow<'_, Secret>>> {
        let from_environment = |variables: &[Cow<'static, str>]| {
            variables
                .iter()
                .filter_map(|variable| environment(variable))
                .map(|value| value.trim().to_owned())
                .find(|value| !value.is_empty())
        };
        let owned = |key: String| Cow::Owned(Secret::new(key));
        let key = match self {
            Self::None => None,
            Self::EnvIfSet(variables) => from_environment(variables).map(owned),
            Self::Env(variables) => match from_environment(variables) {
                Some(key) => Some(owned(key)),
                None => return Err(missing(provider, variables)),
            },
            Self::File(path) => match read_regular_text(path, MAX_CREDENTIAL_FILE_BYTES) {
                Ok(text) if text.trim().is_empty() => {
                    return Err(Error::new(
                        ErrorKind::MissingKey,
                        format!("the key file {} is empty", path.display()),
                    )
                    .with_provider(provider)
                    .with_hint(
                        "put the key into the file, or correct `key_file` in agentloop.toml",
                    ));
                }
                Ok(text) => Some(owned(text.trim().to_owned())),
                Err(error) => {
                    return Err(Error::new(
                        ErrorKind::MissingKey,
                        format!("the key file {} cannot be read: {error}", path.display()),
                    )
                    .with_provider(provider)
                    .with_hint("correct `key_file` in agentloop.toml, or the file's permissions"));
                }
            },
            Self::Value(secret) => return Self::read_value(provider, secret),
        };
        match key {
            Some(key) => checked(provider, key).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a key that is given.
    ///
    /// # Errors
    ///
    /// When it is empty or has characters that are not allowed in a header.
    pub(crate) fn read_value<'k>(
        provider: &str,
        key: &'k Secret,
    ) -> Result<Option<Cow<'k, Secret>>> {
        if key.expose().trim().is_empty() {
            return Err(Error::new(ErrorKind::MissingKey, "the key is empty")
                .with_provider(provider)
                .with_hint("set the key, or no key at all if the provider needs none"));
        }
        checked(provider, Cow::Borrowed(key)).map(Some)
    }
}

fn checked<'k>(provider: &str, key: Cow<'k, Secret>) -> Result<Cow<'k, Secret>> {
    if key.expose().bytes().all(|c| c.is_ascii_graphic()) {
        return Ok(key);
    }
    Err(Error::new(
        ErrorKind::MissingKey,
        "the key has characters that no key has (white space inside, or not ASCII)",
    )
    .with_provider(provider)
    .with_hint("copy the key again, without quotes and line breaks"))
}

impl Provider {
    /// Reads the key, as [`KeySource::read`] does. The error of a missing key names the page on which one can be created.
    ///
    /// # Errors
    ///
    /// When the key is missing, its file cannot be read, or it has characters that are not allowed in a header.
    pub(crate) fn read_key(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Cow<'_, Secret>>> {
        self.key.read(&self.name, environment).map_err(|error| match (&self.key, &self.key_url) {
            (KeySource::Env(_), Some(url)) if error.kind() == ErrorKind::MissingKey => {
                let hint = error.hint().unwrap_or_default();
                let hint = format!("{hint}; get a key at {url}");
                error.with_hint(hint)
            }
            _ => error,
        })
    }
}

fn missing(provider: &str, variables: &[Cow<'static, str>]) -> Error {
    let variables = variables.join(" or ");
    Error::new(ErrorKind::MissingKey, "no key is set").with_provider(provider).with_hint(format!(
        "set {variables}, or `key_env` or `key_file` under [providers.{provider}] in agentloop.toml"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_missing_key_names_the_variable_to_set() {
        let error = KeySource::env("GROQ_API_KEY").read("groq", |_| None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey);
        assert!(error.hint().unwrap().contains("GROQ_API_KEY"));
    }

    #[test]
    fn the_error_of_a_missing_key_names_the_page_of_keys_of_the_server() {
        let hint = |provider: Provider| {
            let error = provider.read_key(|_| None).unwrap_err();
            error.hint().unwrap_or_default().to_owned()
        };
        let page = "get a key at https://console.groq.com/keys";
        assert!(hint(Provider::groq()).ends_with(page));
        // Another server has other keys.
        assert!(!hint(Provider::groq().base_url("https://proxy.example")).contains("get a key"));
        let file = KeySource::File("/nonexistent/key".into());
        let groq = Provider { key: file, ..Provider::groq() };
        assert!(!hint(groq).contains("get a key"));
        for provider in Provider::all() {
            let url = provider.key_url.as_deref();
            assert!(url.is_none_or(|url| url.starts_with("https://")), "{}", provider.name);
        }
    }

    #[test]
    fn an_empty_key_counts_as_missing_from_every_source() {
        let file = std::env::temp_dir().join(format!("agentloop-empty-{}", std::process::id()));
        std::fs::write(&file, " \n").unwrap();
        for source in [
            KeySource::File(file.clone()),
            KeySource::Value(Secret::new(" ")),
            KeySource::env("EMPTY_KEY"),
        ] {
            let error = source.read("groq", |_| Some(" ".to_owned())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::MissingKey, "{source:?}");
        }
        std::fs::remove_file(file).unwrap();
        // Here a key is optional, and an empty variable is as good as none.
        let optional = KeySource::EnvIfSet(vec!["EMPTY_KEY".into()]);
        assert_eq!(optional.read("groq", |_| Some(String::new())).unwrap(), None);
    }

    #[test]
    fn a_key_that_would_break_a_header_is_refused_and_not_shown() {
        let error =
            KeySource::Value(Secret::new("sk-se\ncret")).read("groq", |_| None).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("cret"));
    }

    #[test]
    fn the_name_of_the_header_is_the_same_in_both_forms() {
        for auth in [Auth::Bearer, Auth::XApiKey, Auth::XGoogApiKey, Auth::ApiKey, Auth::None] {
            assert_eq!(auth.header_name().as_ref().map(HeaderName::as_str), auth.header());
        }
    }

    #[test]
    fn white_space_around_a_key_of_the_environment_is_not_part_of_it() {
        let source = KeySource::env("K");
        let key = source.read("p", |_| Some(" sk-1\n".into())).unwrap().unwrap();
        assert_eq!(key.expose(), "sk-1");
    }
}
