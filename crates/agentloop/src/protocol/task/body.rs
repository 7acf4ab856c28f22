//! Writes the body of a call: JSON or a form.

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::{ExtraHeaders, MediaFile, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::media::{DataUrl, MediaKind, extension_of, mime_of_name, settle};
use crate::protocol::json::ObjectWriter;
use crate::protocol::multipart::Form;
use crate::protocol::{Encoded, ToolNames, headers};
use crate::provider::Provider;

/// The body while it is written.
pub(in crate::protocol) struct TaskBody<'a> {
    provider: &'a Provider,
    extra: &'a Map<String, Value>,
    out: Out,
    /// The fields that `extra` cannot replace.
    fixed: Vec<&'static str>,
    warnings: Vec<Warning>,
}

enum Out {
    Json(ObjectWriter),
    Form(Vec<(String, FormValue)>),
}

/// A field of a form.
enum FormValue {
    Text(String),
    File { filename: String, mime_type: String, data: Bytes },
}

impl<'a> TaskBody<'a> {
    pub(in crate::protocol) fn json(provider: &'a Provider, extra: &'a Map<String, Value>) -> Self {
        Self::new(provider, extra, Out::Json(ObjectWriter::new()))
    }

    pub(in crate::protocol) fn form(provider: &'a Provider, extra: &'a Map<String, Value>) -> Self {
        Self::new(provider, extra, Out::Form(Vec::new()))
    }

    fn new(provider: &'a Provider, extra: &'a Map<String, Value>, out: Out) -> Self {
        Self { provider, extra, out, fixed: Vec::new(), warnings: Vec::new() }
    }

    /// Writes a field that the request has, so that the caller's own field of that name is dropped.
    pub(in crate::protocol) fn fixed<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.fixed.push(name);
        self.write(name, value)
    }

    /// Writes a field if there is a value, unless the caller has one of that name, which wins.
    pub(in crate::protocol) fn option<T: Serialize>(
        &mut self,
        name: &str,
        value: Option<&T>,
    ) -> Result<()> {
        match value {
            Some(value) if !self.extra.contains_key(name) => self.write(name, value),
            _ => Ok(()),
        }
    }

    /// Warns that a setting is left out, if it is set.
    pub(in crate::protocol) fn drop_if(&mut self, name: &str, is_set: bool) {
        if is_set {
            let why = format!("{name}: {} does not accept it", self.provider.name);
            self.warn(WarningKind::Dropped, name, why);
        }
    }

    pub(in crate::protocol) fn warn(
        &mut self,
        kind: WarningKind,
        what: &str,
        message: impl Into<String>,
    ) {
        self.warnings.push(Warning::new(kind, what, message));
    }

    /// Writes a file of a form.
    pub(in crate::protocol) fn file(
        &mut self,
        name: &'static str,
        file: &MediaFile,
        kind: MediaKind,
    ) -> Result<()> {
        if file.data.is_empty() {
            return Err(no_bytes(self.provider, file, kind));
        }
        let mime_type = mime_type(file, kind)?;
        // Providers derive the format from the extension, so a name without a known one gets that of the content.
        let extension = extension_of(&mime_type);
        let filename = match (file.filename.as_deref().filter(|name| !name.is_empty()), extension) {
            (None, extension) => Cow::Owned(format!("{kind}.{}", extension.unwrap_or("bin"))),
            (Some(name), Some(end)) if mime_of_name(name).is_none() => {
                Cow::Owned(format!("{name}.{end}"))
            }
            (Some(name), _) => Cow::Borrowed(name),
        };
        self.fixed.push(name.trim_end_matches("[]"));
        if let Out::Form(form) = &mut self.out {
            let (filename, data) = (filename.into_owned(), file.data.clone());
            form.push((name.to_owned(), FormValue::File { filename, mime_type, data }));
        }
        Ok(())
    }

    fn write<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        match &mut self.out {
            Out::Json(object) => object.field(name, value),
            Out::Form(form) => {
                let value = serde_json::to_value(value).map_err(|error| {
                    Error::new(ErrorKind::InvalidRequest, format!("{name} cannot be written"))
                        .with_source(error)
                })?;
                write_form(form, name, value);
                Ok(())
            }
        }
    }

    /// Returns the call. `accept` is the media type of the expected response.
    pub(in crate::protocol) fn finish(
        mut self,
        path: impl Into<Cow<'static, str>>,
        accept: &'static str,
        extra_headers: &ExtraHeaders,
    ) -> Result<Encoded> {
        let extra = self.extra;
        for (name, value) in extra {
            if self.fixed.contains(&name.as_str()) {
                let what = format!("extra_body.{name}");
                let why = format!("{what}: the request has a field for it");
                self.warn(WarningKind::Dropped, &what, why);
            } else {
                self.write(name, value)?;
            }
        }
        let mut warnings = self.warnings;
        let mut headers = headers::build(self.provider, extra_headers, &mut warnings)?;
        if !extra_headers.keys().any(|name| name.eq_ignore_ascii_case("accept")) {
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        let body: Bytes = match self.out {
            Out::Json(object) => object.finish(),
            Out::Form(form) => {
                let mut written = Form::new();
                for (name, value) in &form {
                    written = match value {
                        FormValue::Text(text) => written.text(name, text),
                        FormValue::File { filename, mime_type, data } => {
                            written.file(name, filename, mime_type, data)?
                        }
                    };
                }
                let (content_type, body) = written.finish()?;
                headers.insert(CONTENT_TYPE, content_type);
                body
            }
        };
        let names = ToolNames::default();
        Ok(Encoded::post(path, headers, body, warnings, names))
    }
}

/// Writes a value as form fields: a list as several fields, an object as JSON.
fn write_form(form: &mut Vec<(String, FormValue)>, name: &str, value: Value) {
    match value {
        Value::Null => {}
        Value::String(text) => form.push((name.to_owned(), FormValue::Text(text))),
        Value::Array(values) => {
            values.into_iter().for_each(|value| write_form(form, name, value));
        }
        other => form.push((name.to_owned(), FormValue::Text(other.to_string()))),
    }
}

/// Returns the media type of a file: as its bytes show, else as it states, else as its name suggests.
pub(in crate::protocol) fn mime_type(file: &MediaFile, kind: MediaKind) -> Result<String> {
    let (stated, name) = (file.mime_type.as_deref(), file.filename.as_deref());
    match settle(kind, &file.data, stated, name) {
        Ok(Some(mime_type)) => Ok(mime_type),
        // The provider may know what the library does not.
        Ok(None) => Ok(stated.unwrap_or("application/octet-stream").to_owned()),
        Err(other) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("the file is {other}, not {}", kind.named()),
        )),
    }
}

/// Returns the URL of a file, or a data URL of its bytes.
pub(in crate::protocol) fn as_url(file: &MediaFile, kind: MediaKind) -> Result<Cow<'_, str>> {
    match (&file.url, file.data.is_empty()) {
        (Some(url), true) => Ok(Cow::Borrowed(url)),
        (None, true) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("the file ({}) has neither bytes nor a URL", kind.named()),
        )),
        (_, false) => {
            Ok(Cow::Owned(DataUrl::of_bytes(mime_type(file, kind)?, &file.data).to_string()))
        }
    }
}

fn no_bytes(provider: &Provider, file: &MediaFile, kind: MediaKind) -> Error {
    if file.url.is_some() {
        let message = format!("{} takes {} as bytes, not by a URL", provider.name, kind.named());
        return Error::new(ErrorKind::Unsupported, message).with_hint("download the file first");
    }
    Error::new(ErrorKind::InvalidRequest, format!("the file ({}) is empty", kind.named()))
}
