use super::*;

#[test]
fn a_field_of_any_shape_never_fails() {
    for shape in ["null", "true", "3", "-3.5", "\"\"", "[1,{\"a\":[]}]", "{\"a\":{\"b\":1}}"] {
        serde_json::from_str::<Text>(shape).unwrap();
        serde_json::from_str::<Int>(shape).unwrap();
        serde_json::from_str::<JsonText>(shape).unwrap();
        serde_json::from_str::<Object<std::collections::HashMap<String, IgnoredAny>>>(shape)
            .unwrap();
    }
}

#[test]
fn numbers_are_read_in_every_spelling() {
    for (text, number) in
        [("3", Some(3)), ("\"3\"", Some(3)), ("3.0", Some(3)), ("3.5", None), ("\"x\"", None)]
    {
        assert_eq!(serde_json::from_str::<Int>(text).unwrap().0, number, "{text}");
    }
}

#[test]
fn text_without_escapes_is_borrowed() {
    let Text(text) = serde_json::from_str("\"plain\"").unwrap();
    assert!(matches!(text, Some(Cow::Borrowed("plain"))));
}

#[test]
fn arguments_may_be_text_or_an_object() {
    let text: JsonText = serde_json::from_str(r#""{\"a\":1}""#).unwrap();
    let object: JsonText = serde_json::from_str(r#"{"a":1}"#).unwrap();
    assert_eq!(text, object);
}
