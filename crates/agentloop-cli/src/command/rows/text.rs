//! Selects the text of a row.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::input::{INPUT, Row};
use crate::failure::Failure;
use crate::template::fill;

/// How the text of a row is made: a template with values of the row, or one of its values.
#[derive(Clone, Debug)]
pub(in crate::command) struct TextOf {
    /// The text, with the names of values in double braces.
    pub(in crate::command) template: Option<String>,
    /// What the text is, for errors: `prompt` or `text`.
    pub(in crate::command) what: &'static str,
    /// What to do if it is not clear which value is the text. The names of the values follow.
    pub(in crate::command) hint: &'static str,
}

impl TextOf {
    /// The names of values that are the text if there is no template.
    const NAMES: [&str; 4] = ["prompt", INPUT, "text", "question"];

    /// Returns the text of a row: the template with its values; without a template, its value with a usual name, or its only one.
    pub(in crate::command) fn build(&self, row: &Row) -> Result<String, Failure> {
        let fail = |why: &str, hint: &str| {
            Failure::input_with_hint(format!("row {}: {why}", row.index + 1), hint)
        };
        let Some(template) = &self.template else {
            let value = match row.values.values().next() {
                Some(only) if row.values.len() == 1 => Some(only),
                _ => Self::NAMES.iter().find_map(|name| row.values.get(*name)),
            };
            return value.map(|value| to_text(value).into_owned()).ok_or_else(|| {
                fail(
                    &format!("it is not clear which value is the {}", self.what),
                    &format!("{}; the values are: {}", self.hint, names(&row.values)),
                )
            });
        };
        let mut missing = None;
        let filled = fill(template, &mut |name| {
            let found = row.values.get(name);
            if found.is_none() {
                missing.get_or_insert_with(|| name.to_owned());
            }
            found.map(to_text)
        });
        let filled = filled.map_err(|why| fail(&why.to_string(), "use each value once"))?;
        match missing {
            None => Ok(filled),
            Some(name) => Err(fail(
                &format!("there is no value `{name}` for the {}", self.what),
                &format!("the values are: {}", names(&row.values)),
            )),
        }
    }
}

/// Returns a value as text.
fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn names(values: &Map<String, Value>) -> String {
    values.keys().take(30).cloned().collect::<Vec<_>>().join(", ")
}
