//! Replaces the variables of a template.

use std::borrow::Cow;
use std::fmt;

/// The most bytes that a filled template may have. No model reads a tenth of it.
const MAX_FILLED_BYTES: usize = 64 << 20;

/// The longest name of a variable, with the spaces around it, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A template that would become too long.
#[derive(Debug)]
pub(crate) struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "with its values, the text is longer than the limit of {MAX_FILLED_BYTES} bytes"
        )
    }
}

/// Replaces every `{{name}}` by its value. A value is inserted as it is: braces in it are not variables.
///
/// A variable without a value stays as it is, and so do braces around anything that is not a name.
pub(crate) fn fill<'a>(
    text: &str,
    value_of: &mut dyn FnMut(&str) -> Option<Cow<'a, str>>,
) -> Result<String, TooLong> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        filled.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        match split_name(inside) {
            Some((name, after)) => {
                match value_of(name) {
                    Some(value) if filled.len() + value.len() > MAX_FILLED_BYTES => {
                        return Err(TooLong);
                    }
                    Some(value) => filled.push_str(&value),
                    None => filled.push_str(&rest[start..rest.len() - after.len()]),
                }
                rest = after;
            }
            // The second brace may begin a variable: `{{{name}}}`.
            None => {
                filled.push('{');
                rest = &rest[start + 1..];
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Returns the name that ends with two braces, and what follows them. How far they are searched does not depend on the text.
fn split_name(inside: &str) -> Option<(&str, &str)> {
    let searched = inside.len().min(MAX_NAME_BYTES + 2);
    let end = inside.as_bytes()[..searched].windows(2).position(|two| two == b"}}")?;
    let name = inside[..end].trim();
    is_name(name).then(|| (name, &inside[end + 2..]))
}

/// Returns whether this can be the name of a variable.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
