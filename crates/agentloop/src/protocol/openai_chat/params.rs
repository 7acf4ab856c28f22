//! Writes parameters as the provider's row says, and warns of every change.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::ObjectWriter;
use crate::provider::{Param, Provider, Rule};

/// The body while it is written.
pub(in crate::protocol) struct Params<'a> {
    provider: &'a Provider,
    /// The caller's own fields, which win over ours.
    extra: &'a Map<String, Value>,
    /// The field of the conversation, which no field of the caller's replaces.
    conversation: &'static str,
    out: ObjectWriter,
    written: Vec<Cow<'static, str>>,
    /// Parameters that this model refuses.
    refused: Vec<(Param, String)>,
    pub(in crate::protocol) warnings: Vec<Warning>,
}

impl<'a> Params<'a> {
    pub(in crate::protocol) fn new(
        provider: &'a Provider,
        extra: &'a Map<String, Value>,
        conversation: &'static str,
    ) -> Self {
        Self {
            provider,
            extra,
            conversation,
            out: ObjectWriter::new(),
            written: Vec::new(),
            refused: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(in crate::protocol) fn provider(&self) -> &'a Provider {
        self.provider
    }

    /// Leaves the parameter out, if it comes, because the model refuses it.
    pub(in crate::protocol) fn refuse_if(&mut self, refused: bool, param: Param, model: &str) {
        if refused {
            self.refused.push((param, format!("{model} does not take it")));
        }
    }

    /// Writes a field that no rule is about.
    pub(in crate::protocol) fn always<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        if self.extra.contains_key(name) && !self.is_fixed(name) {
            return Ok(());
        }
        self.note(Cow::Borrowed(name));
        self.out.field(name, value)
    }

    /// Only a row with rules may have defaults, which look at what was written.
    fn note(&mut self, name: Cow<'static, str>) {
        if !self.provider.rules.is_empty() {
            self.written.push(name);
        }
    }

    /// Writes a parameter if it is set and the host takes it; says whether it was written.
    pub(in crate::protocol) fn put<T: Serialize + ?Sized>(
        &mut self,
        param: Param,
        value: Option<&T>,
    ) -> Result<bool> {
        self.put_as(param, param.name(), value)
    }

    /// The same, under the name that the host has for it.
    pub(in crate::protocol) fn put_as<T: Serialize + ?Sized>(
        &mut self,
        param: Param,
        name: &'static str,
        value: Option<&T>,
    ) -> Result<bool> {
        let Some(value) = value else { return Ok(false) };
        match self.name_of(param, name) {
            Some(name) if self.extra.contains_key(name.as_ref()) => Ok(true),
            Some(name) => {
                self.out.field(&name, value)?;
                self.note(name);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Writes a number, within the range that the host takes. Whole numbers are written without a point.
    pub(in crate::protocol) fn number(&mut self, param: Param, value: Option<f64>) -> Result<()> {
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
            if self.is_taken(param) {
                self.warn(WarningKind::Clamped, param, &format!("{value} is sent as {kept}"));
            }
            value = kept;
        }
        let counts = matches!(param, Param::N | Param::TopK);
        if counts {
            #[expect(clippy::cast_possible_truncation, reason = "counts come from a u32")]
            return self.put(param, Some(&(value as i64))).map(drop);
        }
        self.put(param, Some(&value)).map(drop)
    }

    /// Whether the host takes a parameter as a piece of its field `name`; if not, that is a warning.
    pub(in crate::protocol) fn takes(&mut self, param: Param, name: &'static str) -> bool {
        self.name_of(param, name).is_some()
    }

    fn is_fixed(&self, name: &str) -> bool {
        name == self.conversation || name == "model"
    }

    fn is_taken(&self, param: Param) -> bool {
        let stripped = self.provider.rules.contains(&Rule::Strip(param));
        !stripped && !self.refused.iter().any(|(refused, _)| *refused == param)
    }

    /// The name under which the parameter is sent; `None`, with a warning, when it is not.
    fn name_of(&mut self, param: Param, name: &'static str) -> Option<Cow<'static, str>> {
        if let Some((_, why)) = self.refused.iter().find(|(refused, _)| *refused == param) {
            let why = why.clone();
            self.warn(WarningKind::Dropped, param, &why);
            return None;
        }
        let mut sent = Cow::Borrowed(name);
        for rule in &self.provider.rules {
            match rule {
                Rule::Strip(of) if *of == param => {
                    let why = format!("{} does not take it", self.provider.name);
                    self.warn(WarningKind::Dropped, param, &why);
                    return None;
                }
                Rule::Rename(of, to) if *of == param => {
                    sent.clone_from(to);
                    let why = format!("{} calls it `{to}`", self.provider.name);
                    self.warnings.push(warning(WarningKind::Renamed, param, &why));
                }
                Rule::Ignored(of) if *of == param => {
                    let why = format!("{} does nothing with it", self.provider.name);
                    self.warnings.push(warning(WarningKind::Ignored, param, &why));
                }
                _ => {}
            }
        }
        let allowed = |allow: &Cow<'static, [&'static str]>| allow.contains(&sent.as_ref());
        if !self.provider.allow.as_ref().is_none_or(allowed) {
            let why = format!("{} does not take it", self.provider.name);
            self.warn(WarningKind::Dropped, param, &why);
            return None;
        }
        Some(sent)
    }

    pub(in crate::protocol) fn warn(&mut self, kind: WarningKind, param: Param, why: &str) {
        self.warnings.push(warning(kind, param, why));
    }

    /// Warns of a wish for which the host has no form.
    pub(in crate::protocol) fn lost(&mut self, what: &str) {
        self.warnings.push(Warning::new(
            WarningKind::Dropped,
            what,
            format!("{what}: {} has no such setting", self.provider.name),
        ));
    }

    pub(in crate::protocol) fn lost_without_tools(&mut self, what: &str) {
        self.warnings.push(Warning::new(
            WarningKind::Dropped,
            what,
            format!("{what}: means nothing without tools"),
        ));
    }

    /// Warns of parameters that go with one that the host does not take.
    pub(in crate::protocol) fn refuse_rest(&mut self, params: &[(Param, bool)]) {
        for (param, _) in params.iter().filter(|(_, set)| *set) {
            let why = format!("{} does not take it", self.provider.name);
            self.warn(WarningKind::Dropped, *param, &why);
        }
    }

    /// Writes what the row sends when the caller says nothing else.
    pub(in crate::protocol) fn defaults(&mut self) -> Result<()> {
        for rule in &self.provider.rules {
            if let Rule::Default(name, value) = rule
                && !self.written.contains(name)
                && !self.extra.contains_key(name.as_ref())
            {
                self.out.field(name, value)?;
            }
        }
        Ok(())
    }

    /// Writes the caller's own fields, untouched.
    pub(in crate::protocol) fn extras(&mut self) -> Result<()> {
        for (name, value) in self.extra {
            if self.is_fixed(name) {
                self.lost(&format!("extra_body.{name}"));
            } else {
                self.out.field(name, value)?;
            }
        }
        Ok(())
    }

    pub(in crate::protocol) fn finish(self) -> Bytes {
        self.out.finish()
    }
}

fn warning(kind: WarningKind, param: Param, why: &str) -> Warning {
    Warning::new(kind, param.name(), format!("{param}: {why}"))
}
