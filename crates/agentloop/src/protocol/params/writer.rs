//! Writes the body of a request, each parameter at its place.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::{Place, path, place};
use crate::chat::{ChatMessage, ChatRequest, ParamSet, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::ObjectWriter;
use crate::protocol::output::Shaped;
use crate::provider::model::ModelTraits;
use crate::provider::{Param, Provider, Rule};

/// What `extra_body` does to a field that the library writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocol) enum Extra {
    /// It takes the place of the field.
    Replaces,
    /// Objects are merged, anything else takes the place of the field.
    Merges,
}

/// A body while it is written.
///
/// Fields of the caller (`extra_body`) win over parameters, parameters over the provider's defaults, and these over
/// what the library adds.
pub(in crate::protocol) struct ParamWriter<'a> {
    provider: &'a Provider,
    /// What is known of the model.
    traits: &'a ModelTraits,
    /// The parameters that the request has a value for.
    params: ParamSet,
    extra: &'a Map<String, Value>,
    mode: Extra,
    /// The fields that no field of the caller replaces.
    fixed: &'static [&'static str],
    out: ObjectWriter,
    /// Objects that several parameters share, written when all of them are known.
    objects: Map<String, Value>,
    /// The names of the fields that were written.
    written: SmallVec<[Cow<'a, str>; 8]>,
    pub(in crate::protocol) warnings: Vec<Warning>,
}

impl<'a> ParamWriter<'a> {
    pub(in crate::protocol) fn new(
        provider: &'a Provider,
        shaped: &Shaped<'a>,
        extra: &'a Map<String, Value>,
        mode: Extra,
        fixed: &'static [&'static str],
    ) -> Self {
        Self {
            provider,
            traits: shaped.traits,
            params: shaped.params,
            extra,
            mode,
            fixed,
            out: ObjectWriter::new(),
            objects: Map::new(),
            written: SmallVec::new(),
            warnings: Vec::new(),
        }
    }

    pub(in crate::protocol) fn provider(&self) -> &'a Provider {
        self.provider
    }

    /// Returns what is known of the model.
    pub(in crate::protocol) fn traits(&self) -> &'a ModelTraits {
        self.traits
    }

    /// Returns whether a rule gives the parameter another name.
    pub(in crate::protocol) fn is_renamed(&self, param: Param) -> bool {
        self.provider.ruling(param).name.is_some()
    }

    /// Returns whether the parameter is sent.
    pub(in crate::protocol) fn is_sent(&self, param: Param) -> bool {
        path(self.provider, param).is_some()
    }

    /// Writes a field that is not a parameter.
    pub(in crate::protocol) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        if self.is_default(name) { Ok(()) } else { self.content(name, value) }
    }

    /// Writes a field that comes from the messages: no default replaces it.
    pub(in crate::protocol) fn content<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        let is_replaced = self.extra.contains_key(name) && !self.fixed.contains(&name);
        if is_replaced { Ok(()) } else { self.write(Cow::Borrowed(name), value) }
    }

    /// Writes a parameter at its place, if it is set and sent. Returns whether it is in the body.
    pub(in crate::protocol) fn put<T: Serialize + ?Sized>(
        &mut self,
        param: Param,
        value: Option<&T>,
    ) -> Result<bool> {
        // Most parameters are not set, and their place is not looked up.
        let Some(value) = value else { return Ok(false) };
        let Some(path) = path(self.provider, param) else { return Ok(false) };
        if path.contains('.') {
            let value = serde_json::to_value(value).map_err(|error| {
                Error::new(ErrorKind::InvalidRequest, format!("{param} cannot be written as JSON"))
                    .with_source(error)
            })?;
            self.insert(path, value);
        } else if self.extra.contains_key(path) {
            // The caller's own field is sent.
        } else {
            self.write(Cow::Borrowed(path), value)?;
        }
        Ok(true)
    }

    /// Writes a parameter as the request has it. It is the request that the writer was created for.
    #[inline]
    pub(in crate::protocol) fn copy(&mut self, request: &ChatRequest, param: Param) -> Result<()> {
        if !self.params.contains(param) {
            return Ok(());
        }
        self.copy_set(request, param)
    }

    fn copy_set(&mut self, request: &ChatRequest, param: Param) -> Result<()> {
        let value = request.json(param).map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, format!("{param} cannot be written as JSON"))
                .with_source(error)
        })?;
        self.put(param, Some(&value)).map(drop)
    }

    /// Writes the first sequences that end the response, `most` of them.
    pub(in crate::protocol) fn put_stops(
        &mut self,
        request: &ChatRequest,
        most: Option<usize>,
    ) -> Result<()> {
        let mut stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
        if let Some(first) = most.and_then(|most| stops.get(..most)).filter(|first| *first != stops)
        {
            let why = format!("only the first {} are sent", first.len());
            self.warn(WarningKind::Clamped, Param::Stop.name(), &why);
            stops = first;
        }
        self.put(Param::Stop, (!stops.is_empty()).then_some(stops)).map(drop)
    }

    /// Adds fields to the object of a parameter, which other parameters may share. Returns whether they are sent.
    pub(in crate::protocol) fn merge(&mut self, param: Param, fields: Map<String, Value>) -> bool {
        let Some(path) = path(self.provider, param) else { return false };
        if !fields.is_empty() {
            self.insert(path, Value::Object(fields));
        }
        true
    }

    /// Adds a value to the objects, at a path.
    pub(in crate::protocol) fn insert(&mut self, path: &str, value: Value) {
        let mut names = path.split('.');
        let Some(mut name) = names.next() else { return };
        let mut fields = &mut self.objects;
        for inner in names {
            let place = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            let Value::Object(object) = place else { return };
            (fields, name) = (object, inner);
        }
        match (fields.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (_, value) => {
                fields.insert(name.to_owned(), value);
            }
        }
    }

    fn is_written(&self, name: &str) -> bool {
        self.written.iter().any(|known| known == name)
    }

    fn write<T: Serialize + ?Sized>(&mut self, name: Cow<'a, str>, value: &T) -> Result<()> {
        // A rule may have sent a parameter under this name, which wins.
        if self.is_written(&name) {
            return Ok(());
        }
        self.out.field(&name, value)?;
        self.written.push(name);
        Ok(())
    }

    /// Writes the remaining fields that `is_wanted` selects: objects, parameters that only a rule has a name for, the
    /// provider's defaults, and the caller's own fields.
    pub(in crate::protocol) fn settings(
        &mut self,
        request: &ChatRequest,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let provider = self.provider;
        // Most providers rename nothing.
        let renames = provider.rules.iter().any(|rule| matches!(rule, Rule::Rename(..)));
        for param in Param::ALL.iter().copied().filter(|_| renames) {
            if place(provider, param) == Place::Nowhere
                && provider.ruling(param).name.is_some_and(|name| is_wanted(outer(name)))
            {
                self.copy(request, param)?;
            }
        }
        self.defaults(&is_wanted);
        self.extras(&is_wanted)?;
        for (name, value) in std::mem::take(&mut self.objects) {
            if self.is_written(&name) {
                self.drop(&name, "the field is sent already, and is not an object");
            } else {
                self.write(Cow::Owned(name), &value)?;
            }
        }
        Ok(())
    }

    /// Adds the defaults that are not parameters.
    fn defaults(&mut self, is_wanted: impl Fn(&str) -> bool) {
        for rule in self.provider.rules.iter().rev() {
            let Rule::Default(name, value) = rule else { continue };
            let outer = outer(name);
            let is_set = self.is_written(outer)
                || (self.mode == Extra::Replaces && self.extra.contains_key(outer))
                || lookup(&self.objects, name);
            if Param::from_name(name).is_none() && !is_set && is_wanted(outer) {
                self.insert(name, value.clone());
            }
        }
    }

    fn is_default(&self, name: &str) -> bool {
        self.provider.rules.iter().any(|rule| matches!(rule, Rule::Default(of, _) if of == name))
    }

    /// Writes the caller's own fields.
    fn extras(&mut self, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
        for (name, value) in self.extra {
            if self.fixed.contains(&name.as_str()) {
                self.drop(&format!("extra_body.{name}"), "the request already sets it");
                continue;
            }
            match (self.mode, self.objects.get_mut(name), value) {
                (Extra::Merges, Some(Value::Object(known)), Value::Object(more)) => {
                    merge(known, more.clone());
                    continue;
                }
                (_, Some(_), _) => drop(self.objects.remove(name)),
                (_, None, _) => {}
            }
            if is_wanted(name) {
                self.write(Cow::Borrowed(name), value)?;
            }
        }
        Ok(())
    }

    pub(in crate::protocol) fn warn(&mut self, kind: WarningKind, subject: &str, why: &str) {
        self.warnings.push(Warning::new(kind, subject, format!("{subject}: {why}")));
    }

    pub(in crate::protocol) fn drop(&mut self, subject: &str, why: &str) {
        self.warn(WarningKind::Dropped, subject, why);
    }

    /// Warns about settings for tools in a request without tools.
    pub(in crate::protocol) fn drop_without_tools(&mut self, request: &ChatRequest) {
        for param in [Param::ToolChoice, Param::ParallelToolCalls] {
            if request.has(param) && place(self.provider, param) != Place::Nowhere {
                self.drop(param.name(), "has no effect without tools");
            }
        }
    }

    /// Warns of something that the provider has no setting for.
    pub(in crate::protocol) fn lose(&mut self, subject: &str) {
        let why = format!("{} does not support this parameter", self.provider.name);
        self.drop(subject, &why);
    }

    /// Makes room for messages that are long.
    pub(in crate::protocol) fn reserve_for(&mut self, messages: &[ChatMessage]) {
        self.out.reserve_for(messages);
    }

    pub(in crate::protocol) fn finish(self) -> Bytes {
        self.out.finish()
    }
}

/// Returns the first name of a path.
fn outer(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// Returns whether there is a value at a path.
fn lookup(fields: &Map<String, Value>, path: &str) -> bool {
    let mut names = path.split('.');
    let first = names.next().and_then(|name| fields.get(name));
    names.fold(first, |value, name| value?.get(name)).is_some()
}

/// Adds `more` to `fields`: objects are merged, anything else is replaced.
fn merge(fields: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (fields.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (_, value) => {
                fields.insert(name, value);
            }
        }
    }
}
