//! What providers and models refuse, and what is sent instead.
//!
//! A [`Restriction`] names the models it is about, the requests it applies to and what is done with them. The restrictions
//! of a built-in provider are part of its row (`provider/rows/`), those of model families that several providers serve are
//! in `provider/rows/families/`. One interpreter (`protocol/restrict`) applies them before a request is encoded, whatever
//! the protocol. A user adds, replaces and removes restrictions for one model under `[models."provider/model"]` in
//! `agentloop.toml`.
//!
//! A restriction changes a request only when the provider would refuse it otherwise. Each change is a warning on the
//! response. When the request is [strict](crate::ChatRequest::strict), a change that loses something is an error instead.

mod action;
mod check;
mod condition;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use action::Action;
#[cfg(test)]
pub(crate) use check::TEXTS;
pub(crate) use check::{MAX_PATH_NAMES, check_range, is_path};
pub use condition::Condition;
pub(crate) use condition::is_thinking_requested;

use super::pattern;
use crate::chat::Protocol;
use crate::error::Result;

/// A request that a provider refuses for some models, and what is sent instead.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::provider::{Action, Condition, Param, Restriction};
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").restriction(
///     Restriction::new("one-sampling-parameter", Action::Drop(vec![Param::TopP]))
///         .models(["big-*"])
///         .when([Condition::Set(Param::Temperature)])
///         .reason("temperature and top_p cannot be set together"),
/// );
/// assert_eq!(lab.restrictions.len(), 1);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Restriction {
    /// The name by which a configuration replaces or removes it.
    #[serde(default)]
    pub id: Cow<'static, str>,
    /// The models it applies to: `*` matches any text, letter case does not matter. Empty means every model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Cow<'static, str>>,
    /// The models of `models` that it does not apply to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Cow<'static, str>>,
    /// The protocol in which it applies; absent means every protocol.
    pub protocol: Option<Protocol>,
    /// The conditions, all of which must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// What is done.
    pub then: Action,
    /// What the provider refuses, for the warning.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub reason: Cow<'static, str>,
    /// Where this is known from: a recording, an SDK, a documentation, a report.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub source: Cow<'static, str>,
}

/// Bounds are never NaN: restrictions from a configuration file are checked, and the built-in ones are tested.
impl Eq for Restriction {}

impl Restriction {
    /// Creates a restriction that applies to every request for every model.
    pub fn new(id: impl Into<Cow<'static, str>>, then: Action) -> Self {
        Self {
            id: id.into(),
            models: Vec::new(),
            except: Vec::new(),
            protocol: None,
            when: Vec::new(),
            then,
            reason: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
        }
    }

    /// Sets the models that it applies to.
    #[must_use]
    pub fn models<T: Into<Cow<'static, str>>>(self, patterns: impl IntoIterator<Item = T>) -> Self {
        Self { models: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the models that it does not apply to.
    #[must_use]
    pub fn except<T: Into<Cow<'static, str>>>(self, patterns: impl IntoIterator<Item = T>) -> Self {
        Self { except: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the protocol in which it applies.
    #[must_use]
    pub fn protocol(self, protocol: Protocol) -> Self {
        Self { protocol: Some(protocol), ..self }
    }

    /// Sets the conditions, all of which must hold.
    #[must_use]
    pub fn when(self, conditions: impl Into<Vec<Condition>>) -> Self {
        Self { when: conditions.into(), ..self }
    }

    /// Sets what the provider refuses, for the warning.
    #[must_use]
    pub fn reason(self, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into(), ..self }
    }

    /// Sets where this is known from.
    #[must_use]
    pub fn source(self, source: impl Into<Cow<'static, str>>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Returns whether it applies to `model`.
    pub fn is_about(&self, model: &str) -> bool {
        let named = |pattern: &Cow<'static, str>| pattern::matches(pattern, model);
        (self.models.is_empty() || self.models.iter().any(named)) && !self.except.iter().any(named)
    }
}

/// Changes to the restrictions of one model: the key `restrictions` under `[models."provider/model"]`.
///
/// ```toml
/// [models."openai/gpt-x".restrictions]
/// remove = ["openai-json-word"]
///
/// [[models."openai/gpt-x".restrictions.add]]
/// id = "no-seed"
/// then = { drop = ["seed"] }
/// reason = "the deployment refuses it"
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelRestrictions {
    /// The ids of restrictions that do not apply; `*` means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Restrictions that apply to this model. One with the id of a built-in restriction replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Restriction>,
}

impl ModelRestrictions {
    /// Checks what was read from a configuration file.
    ///
    /// # Errors
    ///
    /// When a restriction has a value that cannot be meant.
    pub(crate) fn check(&self) -> Result<()> {
        check::model(self)
    }

    /// Returns whether a restriction with that id does not apply any more.
    pub(crate) fn replaces(&self, id: &str) -> bool {
        self.remove.iter().any(|removed| removed == "*" || removed == id)
            || (!id.is_empty() && self.add.iter().any(|row| row.id == id))
    }
}
