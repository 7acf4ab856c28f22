use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns whether `later` contains `earlier`.
pub(super) fn grew(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, value)| b.get(key).is_some_and(|more| grew(value, more)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| grew(a, b))
        }
        (Value::String(a), Value::String(b)) => b.starts_with(a.as_str()),
        (a, b) => a == b,
    }
}

/// Returns every value on the way through a text, character by character.
fn all_values(text: &str) -> Vec<Value> {
    let mut partial = Partial::default();
    let mut values = Vec::new();
    let mut version = 0;
    for character in text.chars() {
        partial.feed(character.encode_utf8(&mut [0; 4]));
        if partial.version() != version {
            version = partial.version();
            values.extend(partial.value());
        }
    }
    values
}

#[test]
fn a_value_grows_character_by_character() {
    let values = all_values(r#"{"a":"xy","b":[12,true],"c":{}}"#);
    let expected = [
        json!({}),
        json!({ "a": "" }),
        json!({ "a": "x" }),
        json!({ "a": "xy" }),
        json!({ "a": "xy", "b": [] }),
        json!({ "a": "xy", "b": [12] }),
        json!({ "a": "xy", "b": [12, true] }),
        json!({ "a": "xy", "b": [12, true], "c": {} }),
    ];
    assert_eq!(values, expected);
}

#[test]
fn a_fence_before_the_value_is_skipped_and_prose_is_not() {
    assert_eq!(all_values("```json\n[1]\n```").last(), Some(&json!([1])));
    assert!(all_values("Sure: [1]").is_empty());
    assert!(all_values("``[1]").is_empty());
}

#[test]
fn a_malformed_value_stops_growing() {
    for (text, last) in [
        (r#"{"a":1,"a":2}"#, json!({ "a": 1 })),
        ("[1,2}", json!([1])),
        (r#"["a\x"]"#, json!(["a"])),
        ("[1 2]", json!([1])),
        (r#"["\ud800x"]"#, json!([""])),
        (r#"{"a":[1],"b":]"#, json!({ "a": [1] })),
    ] {
        assert_eq!(all_values(text).last(), Some(&last), "{text}");
    }
}

/// A text that is not JSON is found out by the strict parser, whatever the scanner takes it for.
#[test]
fn hostile_texts_have_no_value_and_take_no_stack() {
    let deep = "[".repeat(200_000);
    for text in [
        deep.as_str(),
        "{\"a\" \"b\":1}",
        "[\"a\"\"b\"]",
        "[1,]",
        "[,1]",
        "{,}",
        "[tru]",
        "[1.]",
        "[\"\u{1}\"]",
        "[\"\\u00\"]",
        "[\"\\u00\u{e9}\u{e9}\"]",
        "[\"\\udc00\"]",
        "[\"\\ud800\\u0041\"]",
        "{\"a\":1 \"b\":2}",
        "{1:2}",
        "}",
        ":1",
    ] {
        let mut partial = Partial::default();
        partial.feed(text);
        assert_eq!(partial.value(), None, "{}", &text[..text.len().min(40)]);
        for piece in [text, "\"", "}", "]", " "] {
            partial.feed(piece);
            assert_eq!(partial.value(), None, "{}", &text[..text.len().min(40)]);
        }
    }
}

#[test]
fn nesting_up_to_the_limit_of_the_parser_has_a_value() {
    let mut partial = Partial::default();
    partial.feed(&"[".repeat(MAX_DEPTH));
    assert!(partial.value().is_some());
    partial.feed("[");
    assert_eq!(partial.value(), None);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        "[\\\\\"/\u{8}\u{c}\n😀é]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..5)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Returns the JSON with every character beyond ASCII escaped.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, character| {
        if character.is_ascii() {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        out
    })
}

proptest! {
    #[test]
    fn values_only_grow_and_end_as_the_strict_parser_returns_them(value in json_value(), pretty: bool) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        for text in [escaped(&text), text] {
            let whole: Value = serde_json::from_str(&text).unwrap();
            let values = all_values(&format!("{text}\n"));
            prop_assert!(values.windows(2).all(|pair| grew(&pair[0], &pair[1])));
            prop_assert_eq!(values.last(), Some(&whole));
        }
    }

    #[test]
    fn it_does_not_matter_how_a_text_is_split(value in json_value(), at in 0_usize..80) {
        let text = escaped(&value.to_string());
        let at = text.floor_char_boundary(at);
        let (mut whole, mut single) = (Partial::default(), Partial::default());
        whole.feed(&text[..at]);
        text[..at].chars().for_each(|one| single.feed(one.encode_utf8(&mut [0; 4])));
        prop_assert_eq!(whole.value(), single.value());
        whole.feed(&text[at..]);
        text[at..].chars().for_each(|one| single.feed(one.encode_utf8(&mut [0; 4])));
        prop_assert_eq!(whole.value(), single.value());
    }

    #[test]
    fn any_text_gives_values_that_only_grow(text in "[\\[\\]{}\",:0-9a-f\\\\u`\n ]{0,40}") {
        let values = all_values(&text);
        prop_assert!(values.windows(2).all(|pair| grew(&pair[0], &pair[1])));
        if let (Ok(whole), Some(last)) = (strict::parse(&text), values.last()) {
            prop_assert!(grew(last, &whole));
        }
    }
}
