//! The rules of a provider about parameters.

use std::borrow::Cow;

use serde_json::Value;

use super::Provider;
use crate::chat::{ChatRequest, Param};
use crate::error::{Error, ErrorKind, Result};
use crate::models::restriction::{MAX_PATH_NAMES, check_range, is_path};

/// What a provider does with a parameter that it does not just accept.
///
/// Rules are applied in their order. The last rule about a parameter decides whether the parameter is sent: `Strip` leaves it
/// out, every other rule sends it. Of several renames, of several ranges and of several defaults the last one counts. A rule
/// about a parameter counts before [`Provider::allow`](super::Provider::allow).
///
/// ```
/// use agentloop::Provider;
/// use agentloop::provider::{Param, Rule};
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").strip([Param::LogitBias]);
/// assert_eq!(lab.rules, [Rule::Strip(Param::LogitBias)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Leaves the parameter out, with a warning.
    Strip(Param),
    /// Sends the parameter under another name, with a warning. A name with dots is a path: `a.b` is the field `b` of the
    /// object `a`. A parameter that the protocol does not have is sent under this name as it is in the request.
    Rename(Param, Cow<'static, str>),
    /// Sends the nearest value of this range, with a warning.
    Clamp(Param, f64, f64),
    /// Sends the parameter, with the warning that the provider ignores it.
    Ignored(Param),
    /// Sets the parameter of this name when the request does not set it. A name that is not a parameter's is the name, or the
    /// path, of a field of the body.
    Default(Cow<'static, str>, Value),
}

/// Fields that only the request itself sets.
const FIXED: [&str; 5] = ["model", "messages", "input", "contents", "stream"];

/// What the rules of a provider say about one parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ruling<'p> {
    /// Whether it is sent; `None` when no rule is about it.
    pub(crate) is_sent: Option<bool>,
    /// The name, or the path, under which it is sent.
    pub(crate) name: Option<&'p str>,
    /// The least and the greatest value.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether the provider is known to ignore it.
    pub(crate) is_ignored: bool,
}

impl<'p> Ruling<'p> {
    pub(crate) fn new(rules: &'p [Rule], param: Param) -> Self {
        let mut ruling = Self::default();
        for rule in rules {
            match rule {
                Rule::Strip(of) if *of == param => {
                    ruling.is_sent = Some(false);
                    continue;
                }
                Rule::Rename(of, name) if *of == param => ruling.name = Some(name),
                Rule::Clamp(of, min, max) if *of == param => ruling.range = Some((*min, *max)),
                Rule::Ignored(of) if *of == param => ruling.is_ignored = true,
                Rule::Default(name, _) if name == param.name() => {}
                _ => continue,
            }
            ruling.is_sent = Some(true);
        }
        ruling
    }
}

impl Rule {
    /// Checks that the rule can have an effect.
    ///
    /// # Errors
    ///
    /// When the rule makes no sense for its parameter: a range for a parameter that is not a number, a name that is not a
    /// field's, a default that the parameter cannot have.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Strip(_) | Self::Ignored(_) => Ok(()),
            Self::Rename(param, to) => {
                check_field(to).map_err(|error| prefixed(&format!("rename.{param}"), &error))
            }
            Self::Clamp(param, min, max) => check_range(*param, *min, *max)
                .map_err(|error| prefixed(&format!("clamp.{param}"), &error)),
            Self::Default(name, value) => match Param::from_name(name) {
                Some(param) => ChatRequest::default()
                    .set_json(param, value)
                    .map_err(|error| wrong(format!("defaults.{name}: {error}"))),
                None => check_field(name).map_err(|error| prefixed("defaults", &error)),
            },
        }
    }
}

impl Provider {
    /// Returns the service tier that a request is sent with: its own, else the provider's default.
    pub(crate) fn service_tier<'a>(&'a self, request: &'a ChatRequest) -> Option<&'a str> {
        let own = request.service_tier.as_deref();
        own.or_else(|| self.default_of(Param::ServiceTier)?.as_str())
    }

    /// Returns the format of audio that a request is sent with: its own, else the provider's default.
    pub(crate) fn audio_format<'a>(&'a self, request: &'a ChatRequest) -> Option<&'a str> {
        match &request.audio {
            Some(audio) => Some(&audio.format),
            None => self.default_of(Param::Audio)?.get("format")?.as_str(),
        }
    }

    /// Returns the value of a parameter that a request does not set. The last default counts.
    fn default_of(&self, param: Param) -> Option<&Value> {
        self.rules.iter().rev().find_map(|rule| match rule {
            Rule::Default(name, value) if name == param.name() => Some(value),
            _ => None,
        })
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

fn prefixed(place: &str, error: &Error) -> Error {
    let hint = error.hint().unwrap_or_default().to_owned();
    wrong(format!("{place}: {}", error.message())).with_hint(hint)
}

fn check_field(path: &str) -> Result<()> {
    if !is_path(path) {
        let shown: String = path.chars().take(80).collect();
        return Err(wrong(format!("`{shown}` is not the name of a field"))
            .with_hint(format!("use at most {MAX_PATH_NAMES} names with dots between them")));
    }
    match FIXED.iter().find(|name| path.split('.').next() == Some(name)) {
        Some(name) => Err(wrong(format!("`{name}` is set by the request only"))),
        None => Ok(()),
    }
}
