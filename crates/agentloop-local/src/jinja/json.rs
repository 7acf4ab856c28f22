//! The filter `tojson`, as `transformers` defines it: Python's `json.dumps` without escapes for HTML.

use std::io::{Result as IoResult, Write};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde::Serialize as _;
use serde_json::Value as Json;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The largest indentation.
const MAX_INDENT: usize = 16;

/// Writes a value as JSON, with the keyword arguments `indent`, `separators`, `sort_keys` and `ensure_ascii`.
#[expect(clippy::needless_pass_by_value, reason = "the signature of a filter")]
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let fail = |error: serde_json::Error| {
        Error::new(ErrorKind::BadSerialization, "a value cannot be written as JSON")
            .with_source(error)
    };
    let mut json = serde_json::to_value(value).map_err(fail)?;
    if options.get::<Option<bool>>("sort_keys")?.unwrap_or_default() {
        json.sort_all_objects();
    }
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let indent = options.get::<Option<usize>>("indent")?;
    let is_ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or_default();
    options.assert_all_used()?;
    let text = match indent {
        Some(width) => {
            let indent = " ".repeat(width.min(MAX_INDENT));
            write(&json, PrettyFormatter::with_indent(indent.as_bytes()))
        }
        None => write(&json, Python::new(separators.as_deref())),
    };
    let text = text.map_err(fail)?;
    Ok(if is_ascii { escape(&text) } else { text })
}

fn write(json: &Json, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    json.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    // JSON is UTF-8.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The separators of Python: `, ` and `: ` unless named.
struct Python<'a> {
    item: &'a str,
    key: &'a str,
}

impl<'a> Python<'a> {
    fn new(separators: Option<&'a [String]>) -> Self {
        match separators {
            Some([item, key]) => Self { item, key },
            _ => Self { item: ", ", key: ": " },
        }
    }

    fn separate<W: ?Sized + Write>(&self, writer: &mut W, is_first: bool) -> IoResult<()> {
        if is_first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }
}

impl Formatter for Python<'_> {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> IoResult<()> {
        self.separate(writer, first)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> IoResult<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        writer.write_all(self.key.as_bytes())
    }
}

/// Writes characters outside of ASCII as `\uXXXX`. They occur only inside the texts of JSON.
fn escape(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii() {
            true => written.push(character),
            false => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    written.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    written
}
