//! Decides whether a value is what was asked for: a type or a JSON Schema.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

#[cfg(feature = "validate")]
use super::matcher::Matcher;
use crate::error::Result;
#[cfg(all(feature = "agent", not(feature = "validate")))]
use crate::error::{Error, ErrorKind};
use crate::schema;

/// The most characters of one reason.
const MAX_REASON_CHARS: usize = 300;

/// Nothing, or what the value does not match.
type Checked = std::result::Result<(), String>;

/// Reads a value as a type.
type Read = fn(&Value) -> Checked;

/// Decides whether a value is what was asked for: serde for a type, and with the feature `validate` a validator for a schema.
#[derive(Clone)]
pub(crate) struct Judge {
    /// Reads the value as the type, if there is one, and returns why it does not fit.
    read: Option<Read>,
    #[cfg(feature = "validate")]
    schema: Option<std::sync::Arc<Matcher>>,
}

impl Judge {
    /// Returns the judge of a type with this schema. `whose` names the schema in the error if it is not valid.
    #[cfg(feature = "validate")]
    pub(crate) fn of_type<T: DeserializeOwned>(whose: &str, schema: &Value) -> Result<Self> {
        let Self { schema: matcher, .. } = Self::of_schema(whose, schema)?;
        Ok(Self { schema: matcher, ..Self::of_serde::<T>(schema) })
    }

    /// Returns the judge of a type with this schema.
    #[cfg(not(feature = "validate"))]
    #[expect(clippy::unnecessary_wraps, reason = "a validator may refuse the schema")]
    pub(crate) fn of_type<T: DeserializeOwned>(_: &str, schema: &Value) -> Result<Self> {
        Ok(Self::of_serde::<T>(schema))
    }

    /// Returns the judge of a type for which serde alone decides.
    fn of_serde<T: DeserializeOwned>(schema: &Value) -> Self {
        Self {
            // serde also reads a struct from a list.
            read: Some(if schema::is_object(schema) {
                read_object::<T> as Read
            } else {
                read::<T>
            }),
            #[cfg(feature = "validate")]
            schema: None,
        }
    }

    /// Returns the judge of a schema. `whose` names it in the error if it is not valid.
    #[cfg(feature = "validate")]
    pub(crate) fn of_schema(whose: &str, schema: &Value) -> Result<Self> {
        let matcher = Matcher::new(whose, schema)?;
        Ok(Self { read: None, schema: Some(std::sync::Arc::new(matcher)) })
    }

    /// Without the validator a value would pass unchecked, so this is an error.
    #[cfg(all(feature = "agent", not(feature = "validate")))]
    pub(crate) fn of_schema(whose: &str, _: &Value) -> Result<Self> {
        let message = format!(
            "{whose} cannot be checked without the feature `validate` of the crate agentloop"
        );
        Err(Error::new(ErrorKind::InvalidRequest, message)
            .with_hint("enable the feature, or name the type: `RunRequest::output::<T>()`"))
    }

    /// Returns whether the value fits.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        #[cfg(feature = "validate")]
        if self.schema.as_ref().is_some_and(|schema| !schema.matches(value)) {
            return false;
        }
        self.read.is_none_or(|read| read(value).is_ok())
    }

    /// Checks the value.
    ///
    /// # Errors
    ///
    /// Returns what the value does not match, with the reasons and their places, for the model.
    pub(crate) fn check(&self, value: &Value) -> Checked {
        #[cfg(feature = "validate")]
        if let Some(schema) = self.schema.as_ref().filter(|schema| !schema.matches(value)) {
            return Err(format!("the schema ({})", schema.reasons(value)));
        }
        match self.read {
            Some(read) => read(value).map_err(|why| format!("the type ({why})")),
            None => Ok(()),
        }
    }
}

shown! { Judge: self { } }

fn read_object<T: DeserializeOwned>(value: &Value) -> Checked {
    if value.is_object() { read::<T>(value) } else { Err(describe("", &"it must be an object")) }
}

fn read<T: DeserializeOwned>(value: &Value) -> Checked {
    match serde_path_to_error::deserialize::<_, T>(value) {
        Ok(_) => Ok(()),
        Err(error) => Err(describe(&pointer(error.path()), error.inner())),
    }
}

/// Returns a place in a value as a JSON pointer.
fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } => {
            format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
        }
        Segment::Enum { variant } => format!("{pointer}/{variant}"),
        Segment::Unknown => pointer,
    })
}

/// Returns a reason with its place, shortened.
pub(super) fn describe(pointer: &str, why: &impl fmt::Display) -> String {
    let place = if pointer.is_empty() { "/" } else { pointer };
    let mut text = format!("{place}: {why}");
    if let Some((at, _)) = text.char_indices().nth(MAX_REASON_CHARS) {
        text.truncate(at);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct City {
        name: String,
        districts: Vec<District>,
        counts: BTreeMap<String, u32>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct District {
        inhabitants: u32,
    }

    #[test]
    fn a_reason_names_the_place() {
        let judge = Judge::of_serde::<City>(&json!({ "type": "object" }));
        let city = |districts: Value, counts: Value| json!({ "name": "a", "districts": districts, "counts": counts });
        assert_eq!(judge.check(&city(json!([{ "inhabitants": 1 }]), json!({}))), Ok(()));
        for (value, place) in [
            (city(json!([{ "inhabitants": "many" }]), json!({})), "(/districts/0/inhabitants: "),
            (city(json!([{}]), json!({})), "(/districts/0: missing field"),
            (city(json!([]), json!({ "a/b~": -1 })), "(/counts/a~1b~0: "),
            (json!({}), "(/: missing field"),
            (json!(["a", [], {}]), "(/: it must be an object)"),
            (json!(null), "(/: it must be an object)"),
        ] {
            let why = judge.check(&value).unwrap_err();
            assert!(why.contains(place) && !judge.accepts(&value), "{why}");
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let judge = Judge::of_serde::<u32>(&json!({ "type": "integer" }));
        let why = judge.check(&json!("ä".repeat(10_000))).unwrap_err();
        assert!(why.len() < 3 * MAX_REASON_CHARS, "{}", why.len());
        assert!(why.ends_with("…)"), "{why}");
    }
}
