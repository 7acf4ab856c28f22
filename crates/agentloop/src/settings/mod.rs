//! Settings that are written as TOML.
//!
//! The text becomes JSON, and all types are read from that: the generic code of serde is compiled once for them, not a second
//! and third time for TOML.

mod locate;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result};

/// The settings of a text, which keeps their places.
pub(crate) struct Document<'t> {
    text: &'t str,
    table: DeTable<'t>,
    /// The same settings as JSON.
    pub(crate) values: Map<String, Value>,
}

impl<'t> Document<'t> {
    /// Reads the text.
    ///
    /// # Errors
    ///
    /// When it is not TOML, or has a number that JSON does not have. The message names the line.
    pub(crate) fn parse(text: &'t str) -> Result<Self> {
        let table = DeTable::parse(text)
            .map_err(|error| {
                wrong(text, error.span().map_or(0, |span| span.start), error.message())
            })?
            .into_inner();
        let values = Writer { text, path: Vec::new() }.object(&table)?;
        Ok(Self { text, table, values })
    }

    /// Reads the settings into a type.
    ///
    /// # Errors
    ///
    /// When a setting is not known or has a value of the wrong type. The message names the line.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let root = Value::Object(self.values.clone());
        serde_json::from_value(root.clone()).map_err(|error| {
            let error = error.to_string();
            let fails = |values| Some(serde_json::from_value::<T>(values).err()?.to_string());
            let path = locate::culprit(&root, &error, &fails);
            wrong(self.text, place(&self.table, &path), &error)
        })
    }
}

/// Returns where the setting with that path begins.
fn place(table: &DeTable<'_>, path: &[usize]) -> usize {
    let mut place = 0;
    let (mut table, mut list) = (Some(table), None::<&DeArray<'_>>);
    for position in path {
        let entry = table.and_then(|table| table.iter().nth(*position));
        let entry = entry.map(|(name, value)| (name.span(), value.get_ref()));
        let element = || list?.get(*position).map(|value| (value.span(), value.get_ref()));
        let Some((span, value)) = entry.or_else(element) else { return place };
        place = span.start;
        (table, list) = (value.as_table(), value.as_array());
    }
    place
}

/// Turns TOML into JSON.
struct Writer<'t> {
    text: &'t str,
    /// The names of the tables around a value.
    path: Vec<String>,
}

impl Writer<'_> {
    fn object(&mut self, table: &DeTable<'_>) -> Result<Map<String, Value>> {
        let mut fields = Map::new();
        for (name, value) in table {
            self.path.push(name.get_ref().to_string());
            let value = self.value(value)?;
            fields.extend(self.path.pop().map(|name| (name, value)));
        }
        Ok(fields)
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Result<Value> {
        let number = |number: Option<Value>| {
            number.ok_or_else(|| {
                let message = format!("the number of `{}` is out of range", self.path.join("."));
                wrong(self.text, value.span().start, &message)
            })
        };
        Ok(match value.get_ref() {
            DeValue::String(string) => Value::String(string.to_string()),
            DeValue::Boolean(is) => Value::Bool(*is),
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Integer(integer) => {
                let (digits, radix) = (integer.as_str(), integer.radix());
                let signed = i64::from_str_radix(digits, radix).map(Value::from);
                let any = signed.or_else(|_| u64::from_str_radix(digits, radix).map(Value::from));
                number(any.ok())?
            }
            DeValue::Float(float) => {
                let float = float.as_str().parse().ok().and_then(serde_json::Number::from_f64);
                number(float.map(Value::Number))?
            }
            DeValue::Array(list) => {
                let list: Result<_> = list.iter().map(|value| self.value(value)).collect();
                Value::Array(list?)
            }
            DeValue::Table(table) => Value::Object(self.object(table)?),
        })
    }
}

/// Returns an error that names the line of a mistake. The line itself is not shown, because it may hold a key.
fn wrong(text: &str, place: usize, message: &str) -> Error {
    let line = text.get(..place).unwrap_or_default().matches('\n').count();
    let unquoted = text.lines().nth(line).and_then(unquoted_setting);
    let line = line + 1;
    match unquoted {
        None => Error::new(ErrorKind::Config, format!("line {line}: {message}")),
        Some(name) => {
            let message = format!("line {line}: the value of `{name}` is not in quotes");
            Error::new(ErrorKind::Config, message)
                .with_hint(format!("write text in quotes: {name} = \"…\""))
        }
    }
}

/// Returns the name of the setting if its value is text without quotes, which TOML does not allow.
fn unquoted_setting(line: &str) -> Option<&str> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.split('#').next()?.trim());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.\"'/".contains(c);
    let is_text = value.starts_with(|first: char| first.is_alphabetic() || "~/.$".contains(first))
        && !matches!(value, "true" | "false" | "inf" | "nan");
    (!name.is_empty() && name.chars().all(is_name) && is_text).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the tests look at errors")]
    struct Shelf {
        name: String,
        #[serde(default)]
        books: Vec<Book>,
        #[serde(default)]
        rooms: BTreeMap<String, Book>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the tests look at errors")]
    struct Book {
        title: String,
        #[serde(default)]
        pages: u32,
    }

    fn message(text: &str) -> String {
        let read = Document::parse(text).and_then(|document| document.read::<Shelf>());
        read.unwrap_err().message().to_owned()
    }

    #[test]
    fn the_line_of_a_mistake_is_found_at_every_depth() {
        for (text, expected) in [
            ("name = 'a'\nnmae = 'b'\n", "line 2: unknown field `nmae`"),
            ("\nname = 3\n", "line 2: invalid type: integer `3`, expected a string"),
            (
                "name = 'a'\n[[books]]\ntitle = 'x'\n[[books]]\ntitle = 'y'\npages = -1\n",
                "line 6: ",
            ),
            (
                "name = 'a'\nbooks = [\n  { title = 'x' },\n  { title = 'y', pags = 1 },\n]\n",
                "line 4: ",
            ),
            ("name = 'a'\n[rooms.b]\ntitle = 'x'\n[rooms.a]\ntitle = 1\n", "line 5: "),
            ("name = 'a'\n[rooms.b]\npages = 1\n", "line 2: missing field `title`"),
            ("books = []\n", "line 1: missing field `name`"),
            ("name = 'a'\nrooms = 7\n", "line 2: "),
            ("name = 'a'\n[rooms.\"a.b\".title]\nx = 1\n", "line 2: "),
        ] {
            let message = message(text);
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }

    #[test]
    fn the_first_of_two_equal_mistakes_is_named() {
        let text = "name = 'a'\n[rooms.a]\ntitle = 'x'\npgs = 1\n[rooms.b]\ntitle = 'x'\npgs = 1\n";
        let message = message(text);
        assert!(message.starts_with("line 4: "), "{message}");
    }

    #[test]
    fn numbers_that_json_does_not_have_are_errors_with_their_line() {
        for number in ["inf", "-inf", "nan", "1e999", "99999999999999999999"] {
            let text = format!("name = 'a'\n[rooms.a]\npages = {number}\n");
            assert_eq!(message(&text), "line 3: the number of `rooms.a.pages` is out of range");
        }
    }

    #[test]
    fn every_kind_of_value_becomes_json() {
        let text = "a = 'x'\nb = 0x1F\nc = 1_000.5\nd = true\ne = 2026-11-16\nf = [1, -2]\ng.h = 18446744073709551615\n";
        let expected = serde_json::json!({
            "a": "x", "b": 31, "c": 1000.5, "d": true, "e": "2026-11-16", "f": [1, -2],
            "g": { "h": 18446744073709551615_u64 },
        });
        assert_eq!(Value::Object(Document::parse(text).unwrap().values), expected);
    }

    #[test]
    fn a_mistake_among_many_settings_is_found_in_few_steps() {
        let mut text = "name = 'a'\n".to_owned();
        for at in 0..20_000 {
            text.push_str(&format!(
                "[rooms.r{at}]\ntitle = {}\n",
                if at == 13_337 { "1" } else { "'x'" }
            ));
        }
        assert!(message(&text).starts_with(&format!("line {}: ", 2 * 13_337 + 3)));
    }
}
