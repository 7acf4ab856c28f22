//! The fields of a request, with the rules of its row.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::ObjectWriter;
use crate::provider::{Param, Provider, Rule};

/// Writes the fields of one request. The caller's own fields replace ours.
pub(super) struct Params<'a> {
    pub(super) provider: &'a Provider,
    extra: &'a Map<String, Value>,
    out: ObjectWriter,
    written: Vec<&'static str>,
    pub(super) warnings: Vec<Warning>,
}

/// What the caller's own fields never replace.
const FIXED: [&str; 2] = ["model", "messages"];

impl<'a> Params<'a> {
    pub(super) fn new(provider: &'a Provider, extra: &'a Map<String, Value>) -> Self {
        Self {
            provider,
            extra,
            out: ObjectWriter::new(),
            written: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        if self.extra.contains_key(name) && !FIXED.contains(&name) {
            return Ok(());
        }
        self.written.push(name);
        self.out.field(name, value)
    }

    /// Whether the row takes a parameter; if not, that is a warning.
    pub(super) fn takes(&mut self, param: Param) -> bool {
        let name = self.provider.name.clone();
        if self.provider.rules.contains(&Rule::Strip(param)) {
            self.dropped(param.name(), &format!("{name} does not take it"));
            return false;
        }
        if self.provider.rules.contains(&Rule::Ignored(param)) {
            self.warn(WarningKind::Ignored, param.name(), &format!("{name} does nothing with it"));
        }
        true
    }

    /// Writes a number, within `range` and the one of the row.
    pub(super) fn number(&mut self, param: Param, value: f64, range: (f64, f64)) -> Result<()> {
        if !value.is_finite() {
            return Err(Error::new(ErrorKind::InvalidRequest, format!("{param} is not a number")));
        }
        if !self.takes(param) {
            return Ok(());
        }
        let (min, max) = self.provider.range(param).unwrap_or(range);
        let kept = value.max(min).min(max);
        if (min..=max).contains(&value) {
            return self.field(param.name(), &value);
        }
        self.warn(WarningKind::Clamped, param.name(), &format!("{value} is sent as {kept}"));
        self.field(param.name(), &kept)
    }

    pub(super) fn warn(&mut self, kind: WarningKind, subject: &str, why: &str) {
        self.warnings.push(Warning::new(kind, subject, format!("{subject}: {why}")));
    }

    pub(super) fn dropped(&mut self, subject: &str, why: &str) {
        self.warn(WarningKind::Dropped, subject, why);
    }

    /// Warns of a wish for which the protocol has no form.
    pub(super) fn lost_if(&mut self, set: bool, subject: &str) {
        if set {
            let why = format!("{} has no such setting", self.provider.name);
            self.dropped(subject, &why);
        }
    }

    /// Writes what the row sends when the caller says nothing else.
    pub(super) fn defaults(&mut self) -> Result<()> {
        for rule in &self.provider.rules {
            if let Rule::Default(name, value) = rule
                && !self.written.contains(&name.as_ref())
                && !self.extra.contains_key(name.as_ref())
            {
                self.out.field(name, value)?;
            }
        }
        Ok(())
    }

    /// Writes the caller's own fields that `wanted` names, untouched.
    pub(super) fn extras(&mut self, wanted: impl Fn(&str) -> bool) -> Result<()> {
        for (name, value) in self.extra {
            if FIXED.contains(&name.as_str()) {
                self.lost_if(true, &format!("extra_body.{name}"));
            } else if wanted(name) {
                self.out.field(name, value)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Bytes {
        self.out.finish()
    }
}
