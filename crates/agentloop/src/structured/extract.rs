//! Finds the JSON in a response: models put fences and prose around it.

use serde_json::Value;

use super::strict::{self, Strict};

/// The most candidates that are examined in one text.
const MAX_CANDIDATES: usize = 64;

/// Returns the JSON value in these texts: the first one that `fits`, otherwise the first one.
pub(super) fn extract(texts: &[&str], fits: impl Fn(&Value) -> bool) -> Result<Value, String> {
    let joined = texts.concat();
    let joined = strip_thinking(&joined);
    let mut second = None;
    let mut reason = None;
    let mut take = |found: Result<Value, String>| match found {
        Ok(value) if fits(&value) => Some(value),
        Ok(value) => {
            second.get_or_insert(value);
            None
        }
        Err(why) => {
            reason.get_or_insert(why);
            None
        }
    };
    if joined.is_empty() {
        return Err("it is empty".to_owned());
    }
    // First all texts joined, then each text by itself, then fenced blocks, then values within prose.
    let whole = std::iter::once(joined).chain(texts.iter().copied().filter(|_| texts.len() > 1));
    for text in whole {
        if let Some(value) = take(strict::parse(text.trim())) {
            return Ok(value);
        }
    }
    for text in find_fenced(joined) {
        if let Some(value) = take(strict::parse(text.trim())) {
            return Ok(value);
        }
    }
    if let Some(value) = find_in_prose(joined).into_iter().find_map(|value| take(Ok(value))) {
        return Ok(value);
    }
    match second {
        Some(value) => Ok(value),
        None => Err(format!("it is not JSON: {}", reason.unwrap_or_default())),
    }
}

/// Returns the text after a leading `<think>` block.
fn strip_thinking(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
        Some((_, rest)) => rest.trim(),
        None => text,
    }
}

/// Returns the contents of all fenced blocks.
fn find_fenced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("```") {
        let inside = &rest[at + 3..];
        // The first line names the language.
        let body = inside.find('\n').map_or(inside, |end| &inside[end + 1..]);
        let (body, after) = match body.find("```") {
            Some(end) => (&body[..end], &body[end + 3..]),
            None => (body, ""),
        };
        found.push(body);
        rest = after;
        if found.len() == MAX_CANDIDATES {
            break;
        }
    }
    found
}

/// Returns the objects and arrays within prose. A malformed one ends the search, because a value inside it is not the
/// response.
fn find_in_prose(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '[']) {
        at += next;
        let rest = &text[at..];
        let inner = rest[1..].trim_start();
        let begins = match rest.as_bytes()[0] {
            b'{' => inner.starts_with(['"', '}']),
            _ => inner.starts_with(|c: char| "\"[{]-tfn".contains(c) || c.is_ascii_digit()),
        };
        if !begins {
            at += 1;
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Strict>();
        match values.next() {
            Some(Ok(Strict(value))) => {
                found.push(value);
                at += values.byte_offset();
            }
            _ => break,
        }
        if found.len() == MAX_CANDIDATES {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fences_and_prose_around_the_json_are_removed() {
        for text in [
            r#"{"a":1}"#,
            " \n{\"a\": 1}\n",
            "```json\n{\"a\": 1}\n```",
            "```\n{\"a\": 1}\n```\nThat is all.",
            "```json\n{\"a\": 1}",
            "Here it is:\n```json\n{\"a\": 1}\n```",
            "Sure! {\"a\": 1} I hope it helps.",
            "For {x} use this: {\"a\": 1}",
            "<think>{\"a\": 2}?</think>{\"a\": 1}",
            "As in [1]: {\"a\": 1}",
        ] {
            let value = extract(&[text], Value::is_object).unwrap();
            assert_eq!(value, json!({ "a": 1 }), "{text}");
        }
    }

    #[test]
    fn several_texts_are_parsed_joined_and_one_by_one() {
        assert_eq!(extract(&["{\"a\":", "1}"], |_| true).unwrap(), json!({ "a": 1 }));
        assert_eq!(extract(&["Let me see.", "[1]"], |_| true).unwrap(), json!([1]));
    }

    #[test]
    fn a_malformed_value_is_not_searched_for_smaller_ones() {
        for text in ["{\"a\": {\"b\": 1}, oops}", "no", "", "{\"a\":1,\"a\":2}"] {
            assert!(extract(&[text], |_| true).is_err(), "{text}");
        }
    }
}
