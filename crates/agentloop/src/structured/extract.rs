//! Finds the JSON in an answer: models put fences and words around it.

use serde_json::Value;

use super::strict::{self, Strict};

/// How many places of one text are tried.
const MAX_TRIES: usize = 64;

/// The value in these texts. One that `fits` is preferred; what else is JSON is the next best.
pub(super) fn extract(texts: &[&str], fits: impl Fn(&Value) -> bool) -> Result<Value, String> {
    let joined = texts.concat();
    let joined = without_thoughts(&joined);
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
    // As it is, each text by itself, and then without what stands around.
    let whole = std::iter::once(joined).chain(texts.iter().copied().filter(|_| texts.len() > 1));
    for text in whole {
        if let Some(value) = take(strict::parse(text.trim())) {
            return Ok(value);
        }
    }
    for text in fenced(joined) {
        if let Some(value) = take(strict::parse(text.trim())) {
            return Ok(value);
        }
    }
    if let Some(value) = in_prose(joined).into_iter().find_map(|value| take(Ok(value))) {
        return Ok(value);
    }
    match second {
        Some(value) => Ok(value),
        None => Err(format!("it is no JSON: {}", reason.unwrap_or_default())),
    }
}

/// The text after thoughts that a model wrote between tags.
fn without_thoughts(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
        Some((_, rest)) => rest.trim(),
        None => text,
    }
}

/// What stands between fences.
fn fenced(text: &str) -> Vec<&str> {
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
        if found.len() == MAX_TRIES {
            break;
        }
    }
    found
}

/// Objects and lists among words. One that is broken ends the search: what stands inside it is not the answer.
fn in_prose(text: &str) -> Vec<Value> {
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
        if found.len() == MAX_TRIES {
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
    fn fences_and_words_are_peeled_off() {
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
    fn several_texts_are_read_together_and_each_by_itself() {
        assert_eq!(extract(&["{\"a\":", "1}"], |_| true).unwrap(), json!({ "a": 1 }));
        assert_eq!(extract(&["Let me see.", "[1]"], |_| true).unwrap(), json!([1]));
    }

    #[test]
    fn a_broken_value_is_not_searched_for_smaller_ones() {
        for text in ["{\"a\": {\"b\": 1}, oops}", "no", "", "{\"a\":1,\"a\":2}"] {
            assert!(extract(&[text], |_| true).is_err(), "{text}");
        }
    }
}
