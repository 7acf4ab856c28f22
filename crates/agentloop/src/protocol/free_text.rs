//! The input of a tool that takes free text, as JSON.
//!
//! The arguments of every call are JSON text, so the input of such a tool is a JSON string. It arrives in pieces, and
//! each piece is escaped as it comes.

use std::borrow::Cow;

/// Returns a piece of the input as a piece of the JSON string.
pub(crate) fn piece(text: &str, is_first: bool) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inside = quoted.strip_suffix('"').unwrap_or(&quoted);
    if is_first { inside.to_owned() } else { inside.strip_prefix('"').unwrap_or(inside).to_owned() }
}

/// Returns the end of the JSON string.
pub(crate) fn end(is_empty: bool) -> &'static str {
    if is_empty { "\"\"" } else { "\"" }
}

/// Returns the input that arguments hold. Arguments that are not a JSON string are the input themselves: a caller may
/// have written them.
pub(crate) fn input(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str::<String>(arguments) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_survives_however_it_is_cut() {
        let text = "SELECT 'a\"b'\n\\ é 😀";
        let characters: Vec<char> = text.chars().collect();
        for size in 1..=characters.len() {
            let mut json = String::new();
            for cut in characters.chunks(size) {
                json.push_str(&piece(&cut.iter().collect::<String>(), json.is_empty()));
            }
            json.push_str(end(false));
            assert_eq!(input(&json), text, "by {size}");
        }
        assert_eq!(input(end(true)), "");
        assert_eq!(input("plain words"), "plain words");
    }
}
