//! The files `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keys::Keys;
use crate::credential::Environment;
use crate::credential::files::{home, read_file};
use crate::error::{Error, ErrorKind, Result};

/// The texts of both files.
pub(super) struct Files {
    config: String,
    keys: String,
    /// Whether the places of the files do not depend on where this program was started.
    are_fixed: bool,
}

impl Files {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// When a file is too large or cannot be read. A file that does not exist is empty.
    pub(super) fn read(environment: Environment<'_>) -> Result<Self> {
        let home = home(environment);
        let file = |variable: &str, usual: &str| match environment.variable(variable) {
            Some(path) => Some(PathBuf::from(path)),
            None => home.as_ref().map(|home| home.join(".aws").join(usual)),
        };
        let config = file("AWS_CONFIG_FILE", "config");
        let keys = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let are_fixed = [&config, &keys].into_iter().flatten().all(|path| path.is_absolute());
        let (config, keys) = (read_file(config.as_deref())?, read_file(keys.as_deref())?);
        Ok(Self { config, keys, are_fixed })
    }

    /// Returns the profile that `chosen`, else the environment, names.
    pub(super) fn chosen(&self, chosen: Option<&str>, environment: Environment<'_>) -> Profile {
        let name = chosen.map(str::to_owned).or_else(|| environment.variable("AWS_PROFILE"));
        self.profile(name.as_deref().unwrap_or("default"))
    }

    /// Returns a profile by its name.
    pub(super) fn profile(&self, name: &str) -> Profile {
        let in_config = section(&self.config, |section| {
            let profile =
                section.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t']));
            profile.map(unquoted) == Some(name) || (name == "default" && section == "default")
        });
        let in_keys = section(&self.keys, |section| section == name);
        let exists = in_config.is_some() || in_keys.is_some();
        let has_own_keys = in_keys.as_ref().is_some_and(|keys| keys.contains_key(KEY_ID));
        let mut settings = in_config.unwrap_or_default();
        settings.extend(in_keys.unwrap_or_default());
        let session = settings.get("sso_session").and_then(|wanted| {
            section(&self.config, |section| {
                let session = section.strip_prefix("sso-session");
                session.is_some_and(|session| unquoted(session) == wanted)
            })
        });
        Profile {
            name: name.to_owned(),
            settings,
            exists,
            session: session.unwrap_or_default(),
            has_own_keys,
            may_start_programs: self.are_fixed,
        }
    }
}

const KEY_ID: &str = "aws_access_key_id";
const SECRET_KEY: &str = "aws_secret_access_key";

/// The settings of one profile, of both files. Those of `credentials` come before those of `config`.
#[derive(Clone)]
pub(super) struct Profile {
    pub(super) name: String,
    settings: BTreeMap<String, String>,
    /// Whether one of the files has the profile.
    pub(super) exists: bool,
    /// The section `[sso-session NAME]` that it names.
    session: BTreeMap<String, String>,
    /// Whether the file `credentials` has its keys.
    pub(super) has_own_keys: bool,
    /// Whether a program that it names may be started.
    pub(super) may_start_programs: bool,
}

impl Profile {
    /// Returns a setting that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.settings.get(name).or_else(|| self.session.get(name))?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns whether the profile has keys, or one half of them.
    pub(super) fn has_keys(&self) -> bool {
        self.get(KEY_ID).is_some() || self.get(SECRET_KEY).is_some()
    }

    /// Returns the keys of the profile; `None` if it has none.
    ///
    /// # Errors
    ///
    /// When one half of them is missing.
    pub(super) fn keys(&self) -> Result<Option<Keys>> {
        let (id, secret) = (self.get(KEY_ID), self.get(SECRET_KEY));
        let missing = match (id, secret) {
            (Some(id), Some(secret)) => {
                return Ok(Keys::new(id, secret, self.get("aws_session_token")));
            }
            (None, None) => return Ok(None),
            (None, _) => KEY_ID,
            (_, None) => SECRET_KEY,
        };
        let message = format!("the AWS profile `{}` has no `{missing}`", self.name);
        Err(Error::new(ErrorKind::MissingKey, message).with_hint("run `aws configure`"))
    }

    /// Returns the error of a profile that obtains its keys in a way that is not supported.
    pub(super) fn unsupported(&self, what: &str, setting: &str) -> Error {
        let name = &self.name;
        let message =
            format!("the AWS profile `{name}` {what} (`{setting}`), which is not supported");
        Error::new(ErrorKind::MissingKey, message).with_hint(format!(
            "let Amazon's program obtain the keys: eval \"$(aws configure export-credentials --profile {name} --format env)\""
        ))
    }
}

/// Returns the name in the head of a section, which can be written in quotation marks: `[profile "work"]`.
fn unquoted(name: &str) -> &str {
    let name = name.trim();
    let inner = |mark: char| name.strip_prefix(mark)?.strip_suffix(mark);
    inner('"').or_else(|| inner('\'')).unwrap_or(name)
}

/// Returns the settings of the sections that `is_wanted`; `None` if there is no such section.
///
/// Comments are lines that begin with `#` or `;`, or what follows ` #` or ` ;` in a line. Lines that begin with white space belong to a
/// nested setting, of which none is needed.
fn section(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut inside = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split(']').next().unwrap_or_default().trim();
            inside = is_wanted(name);
            if inside {
                found.get_or_insert_default();
            }
            continue;
        }
        if let (true, false, Some((name, value))) = (inside, is_nested, line.split_once('=')) {
            let end = value.find(" #").into_iter().chain(value.find(" ;")).min();
            let value = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
            let settings = found.get_or_insert_default();
            settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "# mine\n[default]\nregion = us-east-1 ; usual\n\n[profile work]\nregion=eu-west-1\ns3 =\n  max_queue_size = 1000\n  region = hidden\nsso_session = office\nSSO_Role_Name = dev\n[ profile  spaced ]\nregion = ap-south-1\n[profilework]\nregion = wrong\n[sso-session office]\nsso_region = eu-central-1\nsso_start_url = https://x/#start\n";

    #[test]
    fn sections_are_read_as_amazons_programs_read_them() {
        let get = |wanted: &str| section(CONFIG, |name| name == wanted);
        assert_eq!(get("default").unwrap()["region"], "us-east-1");
        let work = get("profile work").unwrap();
        assert_eq!(work["region"], "eu-west-1", "nested settings are not of the profile");
        assert_eq!(work["sso_role_name"], "dev");
        assert_eq!(get("sso-session office").unwrap()["sso_start_url"], "https://x/#start");
        assert!(get("profile missing").is_none());
    }

    #[test]
    fn hostile_text_is_read_without_a_panic() {
        for text in [
            "[",
            "]",
            "[]",
            "=",
            "[a\n=b",
            "[a]\n= \n=#",
            "\u{feff}[a]",
            "[a]\nx = \u{1F600} #",
            "\0\0",
        ] {
            let _ = section(text, |_| true);
        }
    }
}
