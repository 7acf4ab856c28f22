//! What providers and models do not take, and what is sent instead: one table, as data.
//!
//! A [`Restriction`] names the models it is about, the requests it applies to and what is done with them. The rows of the
//! built-in providers are in [`table`], those of model families that several providers serve in [`families`]. One
//! interpreter (`protocol/restrict`) applies them before a request is encoded, whatever the protocol. A user adds, replaces
//! and removes rows for one model under `[models."provider/model"]` in `agentloop.toml`.
//!
//! A row changes a request only when the request would be refused otherwise. Each change is a warning on the response. When
//! the request is [strict](crate::ChatRequest::strict), a change that loses something is an error instead.

mod action;
mod check;
mod condition;
mod families;
mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use action::Action;
pub use condition::Condition;
pub(super) use table::with_restrictions;

use super::Provider;
use super::model::matches;
use crate::chat::Protocol;
use crate::error::Result;

/// Something that a provider refuses for some models, and what is sent instead.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Restriction {
    /// The name by which configuration replaces or removes the row.
    #[serde(default)]
    pub id: Cow<'static, str>,
    /// The models it is about: `*` stands for any text, letter case does not matter. Empty means every model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Cow<'static, str>>,
    /// The models that it is not about although `models` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Cow<'static, str>>,
    /// The protocol in which it applies; absent means every protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The conditions, all of which must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// What is done.
    pub then: Action,
    /// What the provider refuses, for the warning.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub reason: Cow<'static, str>,
    /// Where this is known from.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub source: Cow<'static, str>,
}

/// Bounds are never NaN: rows from a configuration file are checked, and those of the table are tested.
impl Eq for Restriction {}

impl Restriction {
    /// Creates a row that applies to every request for every model.
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

    /// Sets the models that the row is about.
    #[must_use]
    pub fn models<T: Into<Cow<'static, str>>>(self, patterns: impl IntoIterator<Item = T>) -> Self {
        Self { models: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the models that the row is not about.
    #[must_use]
    pub fn except<T: Into<Cow<'static, str>>>(self, patterns: impl IntoIterator<Item = T>) -> Self {
        Self { except: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the protocol in which the row applies.
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

    /// Returns the rows for families of models that several providers serve under one protocol. They apply to every
    /// provider that speaks it.
    pub fn families() -> &'static [Self] {
        families::rows()
    }

    /// Returns whether the row is about `model`.
    pub fn is_about(&self, model: &str) -> bool {
        let named = |pattern: &Cow<'static, str>| matches(pattern.as_bytes(), model.as_bytes());
        (self.models.is_empty() || self.models.iter().any(named)) && !self.except.iter().any(named)
    }
}

/// What a user says about the restrictions of one model: the key `restrictions` under `[models."provider/model"]`.
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
    /// The ids of rows that do not apply; `*` is all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Rows that apply to this model. One with the id of a built-in row replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Restriction>,
}

impl ModelRestrictions {
    /// Checks what was read from a configuration file.
    ///
    /// # Errors
    ///
    /// When a row has a value that cannot be meant, or an id to be removed is not known.
    pub(crate) fn check(&self) -> Result<()> {
        check::model(self)
    }

    fn replaces(&self, id: &str) -> bool {
        self.remove.iter().any(|removed| removed == "*" || removed == id)
            || (!id.is_empty() && self.add.iter().any(|row| row.id == id))
    }
}

impl Provider {
    /// Adds a restriction.
    #[must_use]
    pub fn restriction(mut self, row: Restriction) -> Self {
        self.restrictions.push(row);
        self
    }

    /// Calls `visit` with every row that may apply to `model` in the provider's protocol, in the order of the table. Whether
    /// a row [is about](Restriction::is_about) the model is left to the visitor, which asks it last: a pattern costs more
    /// than most conditions.
    ///
    /// # Errors
    ///
    /// The first that `visit` returns.
    pub(crate) fn each_restriction(
        &self,
        model: &str,
        mut visit: impl FnMut(&Restriction) -> Result<()>,
    ) -> Result<()> {
        let own = self.catalog.restrictions(&self.name, model);
        let applies = |row: &&Restriction| {
            row.protocol.is_none_or(|protocol| protocol == self.protocol)
                && own.as_ref().is_none_or(|own| !own.replaces(&row.id))
        };
        let table = families::rows().iter().chain(&self.restrictions);
        table.filter(applies).try_for_each(&mut visit)?;
        let spoken =
            |row: &&Restriction| row.protocol.is_none_or(|protocol| protocol == self.protocol);
        own.iter().flat_map(|own| &own.add).filter(spoken).try_for_each(visit)
    }
}

#[cfg(test)]
mod tests;
