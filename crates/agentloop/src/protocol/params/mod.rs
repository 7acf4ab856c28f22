//! The only interpreter of a provider's rules about parameters.
//!
//! A protocol supplies a [`Place`] for each parameter: the name or the path under which it is sent, or that the
//! protocol does not support this parameter. The rules of the provider are applied in two steps:
//!
//! 1. [`set_defaults`] and [`apply`] change the request, before it is encoded. A default is set like a value of the
//!    caller, a stripped parameter is cleared, a number is clamped. All warnings are written here, so a rule that counts is never silent.
//! 2. [`ParamWriter`] writes each parameter at its place, or under the name that a rule gives it.

#[cfg(feature = "serve")]
mod json;
mod writer;

use std::borrow::Cow;

#[cfg(feature = "serve")]
pub(crate) use json::{apply_to_body, has_rules};
pub(in crate::protocol) use writer::{Extra, ParamWriter};

use super::codec;
use super::output::Shaped;
use crate::chat::{ChatRequest, Draft, ToolChoice, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{Param, Provider, Rule, Ruling};

/// Where a protocol has a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// Under this name, or at this path (`reasoning.effort`).
    At(&'static str),
    /// Under this name, as a number of this range.
    Between(&'static str, f64, f64),
    /// The protocol does not support this parameter.
    Nowhere,
}

impl Place {
    fn path(self) -> Option<&'static str> {
        match self {
            Self::At(path) | Self::Between(path, ..) => Some(path),
            Self::Nowhere => None,
        }
    }

    fn range(self) -> Option<(f64, f64)> {
        match self {
            Self::Between(_, min, max) => Some((min, max)),
            Self::At(_) | Self::Nowhere => None,
        }
    }
}

fn place(provider: &Provider, param: Param) -> Place {
    codec(provider.protocol).place(provider, param)
}

/// Returns the name, or the path, under which a parameter is sent to a provider; `None` when it is not sent.
pub(in crate::protocol) fn path(provider: &Provider, param: Param) -> Option<&str> {
    let ruling = provider.ruling(param);
    let path = ruling.name.or_else(|| place(provider, param).path())?;
    let is_sent = ruling.is_sent.unwrap_or_else(|| is_allowed(provider, path));
    is_sent.then_some(path)
}

/// Returns whether the allow-list of a provider has a path, or the object that it is in.
fn is_allowed(provider: &Provider, path: &str) -> bool {
    let covers = |name: &Cow<'static, str>| {
        path.strip_prefix(name.as_ref())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    provider.allow.as_ref().is_none_or(|names| names.iter().any(covers))
}

impl Provider {
    /// Returns whether a parameter is sent to the provider and has an effect there.
    pub(crate) fn takes(&self, param: Param) -> bool {
        path(self, param).is_some() && !self.ruling(param).is_ignored
    }

    fn ruling(&self, param: Param) -> Ruling<'_> {
        Ruling::new(&self.rules, param)
    }

    /// Checks the rules of the provider, in every protocol that it supports.
    ///
    /// # Errors
    ///
    /// When a rule cannot have an effect, or two parameters would be sent under one name.
    pub(crate) fn check_rules(&self) -> Result<()> {
        for protocol in self.protocols() {
            let other = self.endpoints.iter().find(|endpoint| endpoint.protocol == protocol);
            let bends = other.and_then(|endpoint| endpoint.bends.as_deref());
            let rules = bends.map_or(&self.rules, |bends| &bends.rules);
            rules.iter().try_for_each(Rule::check)?;
            // Most providers rename nothing, and a client checks all of them.
            if !rules.iter().any(|rule| matches!(rule, Rule::Rename(..))) {
                continue;
            }
            let row = self.speaking(protocol);
            for param in Param::ALL.iter().filter(|param| row.ruling(**param).name.is_some()) {
                let Some(sent) = path(&row, *param) else { continue };
                let same = |other: &&Param| *other != param && path(&row, **other) == Some(sent);
                if let Some(other) = Param::ALL.iter().find(same) {
                    let message = format!("`{param}` and `{other}` would both be sent as `{sent}`");
                    return Err(Error::new(ErrorKind::Config, message)
                        .with_hint("rename one of them to another field"));
                }
            }
        }
        Ok(())
    }
}

/// Sets the parameters that the request leaves unset and the provider has a default for.
///
/// # Errors
///
/// When a parameter cannot have its default. Providers of a client are checked when it is built.
pub(crate) fn set_defaults(provider: &Provider, request: &mut Draft<'_>) -> Result<()> {
    // The last default counts.
    for rule in provider.rules.iter().rev() {
        if let Rule::Default(name, value) = rule
            && let Some(param) = Param::from_name(name)
            && !request.has(param)
        {
            request.to_mut().set_json(param, value).map_err(|error| {
                Error::new(ErrorKind::Config, format!("defaults.{name}: {error}"))
                    .with_provider(provider.name.as_ref())
            })?;
        }
    }
    Ok(())
}

/// Applies the rules of a provider to a request, sets the parameters that are left, and returns a warning for each parameter that is not sent as it was
/// set.
///
/// # Errors
///
/// When a number of the request is infinite or not a number.
pub(crate) fn apply(provider: &Provider, shaped: &mut Shaped<'_>) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    let request = &mut shaped.request;
    shaped.params = request.params();
    for param in shaped.params.iter() {
        if param == Param::Stop && !request.is_set(param) {
            continue;
        }
        if request.number(param).is_some_and(|value| !value.is_finite()) {
            let message = format!("{param} is not a number");
            return Err(Error::new(ErrorKind::InvalidRequest, message)
                .with_provider(provider.name.as_ref()));
        }
        let mut warn = |kind, why: &str| {
            warnings.push(Warning::new(kind, param.name(), format!("{param}: {why}")));
        };
        let (ruling, place) = (provider.ruling(param), place(provider, param));
        let who = &provider.name;
        if path(provider, param).is_none() {
            if place == Place::Nowhere && ruling.is_sent != Some(false) {
                if is_wish(request, param) {
                    warn(WarningKind::Dropped, &format!("{who} does not support this parameter"));
                }
            } else {
                warn(WarningKind::Dropped, &format!("{who} does not accept it"));
                request.to_mut().clear(param);
                shaped.params.remove(param);
            }
            continue;
        }
        if let Some((min, max)) = ruling.range.or(place.range())
            && let Some((asked, sent)) = request.outside(param, min, max)
        {
            warn(WarningKind::Clamped, &format!("{asked} is sent as {sent}"));
            request.to_mut().set_number(param, sent);
        }
        if let Some(name) = ruling.name.filter(|name| place.path() != Some(name)) {
            warn(WarningKind::Renamed, &format!("{who} calls it `{name}`"));
        }
        if ruling.is_ignored {
            warn(WarningKind::Ignored, &format!("{who} ignores it"));
        }
    }
    Ok(warnings)
}

/// Returns whether a request sets a parameter to something else than what every provider does anyway.
fn is_wish(request: &ChatRequest, param: Param) -> bool {
    match param {
        Param::N => request.n.is_some_and(|n| n != 1),
        Param::Modalities => request.modalities.iter().any(|kind| kind != "text"),
        // A model decides by itself whether to call a tool, and without tools it calls none.
        Param::ToolChoice => {
            !matches!(request.tool_choice, None | Some(ToolChoice::Auto | ToolChoice::None))
        }
        _ => request.is_set(param),
    }
}

/// Returns the number to send for a parameter that the request does not set, within the provider's range.
pub(in crate::protocol) fn within(provider: &Provider, param: Param, value: u64) -> u64 {
    let bounds = provider.ruling(param).range.and_then(|(min, max)| param.bounds(min, max));
    let Some((min, max)) = bounds else { return value };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the bounds are whole numbers of the type, and casts saturate"
    )]
    let sent = (value as f64).clamp(min, max) as u64;
    sent
}
