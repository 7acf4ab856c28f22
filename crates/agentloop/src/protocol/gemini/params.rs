//! Takes parameters as the provider's row says, and warns of every change.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{Param, Provider, Rule};

/// `generationConfig` while it is filled.
pub(super) struct Config<'a> {
    provider: &'a Provider,
    pub(super) fields: Map<String, Value>,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Config<'a> {
    pub(super) fn new(provider: &'a Provider) -> Self {
        Self { provider, fields: Map::new(), warnings: Vec::new() }
    }

    /// Writes a field that no rule is about.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// Writes a parameter if it is set and the host takes it.
    pub(super) fn put<T: Serialize>(
        &mut self,
        param: Param,
        name: &'static str,
        value: Option<T>,
    ) -> Result<()> {
        let Some(value) = value else {
            return Ok(());
        };
        let Some(name) = self.name_of(param, name) else {
            return Ok(());
        };
        let value = serde_json::to_value(value).map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, format!("{param} cannot be written as JSON"))
                .with_source(error)
        })?;
        self.fields.insert(name.into_owned(), value);
        Ok(())
    }

    /// Writes a number, within the range that the host takes.
    pub(super) fn number(
        &mut self,
        param: Param,
        name: &'static str,
        value: Option<f64>,
    ) -> Result<()> {
        let Some(mut value) = value else {
            return Ok(());
        };
        if !value.is_finite() {
            return Err(Error::new(ErrorKind::InvalidRequest, format!("{param} is not a number"))
                .with_provider(self.provider.name.as_ref()));
        }
        if let Some((min, max)) = self.provider.range(param)
            && !(min..=max).contains(&value)
        {
            let kept = value.clamp(min, max);
            self.warn(WarningKind::Clamped, param, &format!("{value} is sent as {kept}"));
            value = kept;
        }
        self.put(param, name, Some(value))
    }

    /// The name under which the parameter is sent; `None`, with a warning, when it is not.
    pub(super) fn name_of(
        &mut self,
        param: Param,
        name: &'static str,
    ) -> Option<Cow<'static, str>> {
        let provider = self.provider;
        let mut sent = Cow::Borrowed(name);
        for rule in &provider.rules {
            match rule {
                Rule::Strip(of) if *of == param => {
                    self.refuse(param);
                    return None;
                }
                Rule::Rename(of, to) if *of == param => {
                    sent = to.clone();
                    let why = format!("{} calls it `{to}`", provider.name);
                    self.warn(WarningKind::Renamed, param, &why);
                }
                Rule::Ignored(of) if *of == param => {
                    let why = format!("{} does nothing with it", provider.name);
                    self.warn(WarningKind::Ignored, param, &why);
                }
                _ => {}
            }
        }
        Some(sent)
    }

    /// Warns of a parameter that the protocol has no place for.
    pub(super) fn refuse(&mut self, param: Param) {
        let why = format!("{} does not take it", self.provider.name);
        self.warn(WarningKind::Dropped, param, &why);
    }

    pub(super) fn warn(&mut self, kind: WarningKind, param: Param, why: &str) {
        self.warnings.push(Warning::new(kind, param.name(), format!("{param}: {why}")));
    }

    /// Warns of something that is no parameter of its own.
    pub(super) fn warn_of(&mut self, kind: WarningKind, what: &str, why: &str) {
        self.warnings.push(Warning::new(kind, what, format!("{what}: {why}")));
    }
}

/// Adds `more` to `fields`: objects are joined, anything else is replaced.
pub(super) fn merge(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (fields.get_mut(name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge(ours, theirs),
            _ => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}
