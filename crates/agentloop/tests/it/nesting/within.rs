//! Values of a response within values of their own kind, deeper than any stack. A parser that is started again for the raw text of
//! such a value counts its levels from zero.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};

use super::answers::{fixtures, keeps_its_laws, wires};
use crate::support::{Wire, decode};

/// Stands in a document for the value that is put there.
const HERE: &str = "\"a value of its own kind\"";

/// How often a value is in itself. In a debug build less than a hundred levels of a decoder fill the stack.
const LEVELS: usize = 1_000;

/// How far below a value it is put into itself.
const NEAR: usize = 2;

/// The stack of the thread that decodes: a quarter of what a thread of tokio has.
const STACK: usize = 512 << 10;

/// A value of a document that contains itself again and again.
struct Nested {
    /// The document before and after the value.
    around: (String, String),
    /// The value before and after the place in it where it is once more.
    level: (String, String),
}

impl Nested {
    fn text(&self, levels: usize) -> String {
        let (start, end) = &self.around;
        let (open, close) = &self.level;
        format!("{start}{}{}{end}", open.repeat(levels), close.repeat(levels))
    }
}

/// Returns the pointers to all lists and objects below a value, and to all values.
fn places(value: &Value, path: &str, containers: &mut Vec<String>, all: &mut Vec<String>) {
    let mut each: Vec<(String, &Value)> = Vec::new();
    match value {
        Value::Object(fields) => each.extend(fields.iter().map(|(name, field)| {
            (format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), field)
        })),
        Value::Array(items) => {
            each.extend(items.iter().enumerate().map(|(at, it)| (format!("{path}/{at}"), it)));
        }
        _ => {}
    }
    if !each.is_empty() {
        containers.push(path.to_owned());
    }
    all.push(path.to_owned());
    each.into_iter().for_each(|(path, inner)| places(inner, &path, containers, all));
}

/// Returns what is before and after a place of a document.
fn split(document: &Value, place: &str) -> (String, String) {
    let mut document = document.clone();
    *document.pointer_mut(place).unwrap() = serde_json::from_str(HERE).unwrap();
    let text = document.to_string();
    let (before, after) = text.split_once(HERE).unwrap();
    (before.to_owned(), after.to_owned())
}

/// Every value of a document in every place below it, but those of which `known` has one like it.
fn all_nested(document: &Value, known: &mut BTreeSet<String>) -> Vec<Nested> {
    let numberless = |path: &str| path.replace(|letter: char| letter.is_ascii_digit(), "");
    let (mut containers, mut all) = (Vec::new(), Vec::new());
    places(document, "", &mut containers, &mut all);
    let mut nested = Vec::new();
    for outer in &containers {
        let value = document.pointer(outer).unwrap();
        let around = split(document, outer);
        let below = all.iter().filter_map(|path| path.strip_prefix(outer.as_str()));
        let is_near = |path: &&str| path.starts_with('/') && path.matches('/').count() <= NEAR;
        for place in below.filter(is_near) {
            let kind = numberless(&format!("{outer} {place}"));
            if !known.insert(kind) {
                continue;
            }
            nested.push(Nested { around: around.clone(), level: split(value, place) });
        }
    }
    nested
}

/// Decodes on a thread with a small stack. Whether it is an error does not matter.
fn decodes(wire: Wire, text: String) {
    let thread = thread::Builder::new().stack_size(STACK);
    let decoded = thread.spawn(move || {
        if let Ok(response) = decode(&wire, text.as_bytes()).response() {
            keeps_its_laws(&response);
        }
    });
    decoded.unwrap().join().unwrap();
}

#[test]
fn a_value_of_a_response_in_itself_does_not_end_the_process() {
    let mut count = 0;
    for (protocol, wire) in wires() {
        let mut known = BTreeSet::new();
        let bodies = fixtures(protocol, "json");
        let documents = bodies.iter().filter_map(|body| serde_json::from_str(body).ok());
        for document in documents {
            for nested in all_nested(&document, &mut known) {
                decodes(wire.clone(), nested.text(LEVELS));
                count += 1;
            }
        }
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn a_value_of_an_event_in_itself_does_not_end_the_process() {
    let mut count = 0;
    for (protocol, wire) in wires() {
        let wire = Wire { stream: true, ..wire };
        let mut known = BTreeSet::new();
        for stream in fixtures(protocol, "sse").iter().chain(&fixtures(protocol, "ndjson")) {
            let data = |line| str::strip_prefix(line, "data: ").unwrap_or(line);
            for event in stream.lines().map(data) {
                let Ok(document) = serde_json::from_str(event) else { continue };
                for nested in all_nested(&document, &mut known) {
                    decodes(wire.clone(), stream.replacen(event, &nested.text(LEVELS), 1));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn the_shapes_that_once_ended_the_process_are_errors_at_any_depth() {
    let thoughts = json!({"type": "thinking", "thinking": [HERE]}).to_string();
    let (open, close) = thoughts.split_once(&json!(HERE).to_string()).unwrap();
    for levels in [10, 1_000, 1_000_000] {
        let lists = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let content = format!("[{}{}]", open.repeat(levels), close.repeat(levels));
        let message = format!(r#"{{"role":"assistant","content":{content}}}"#);
        let chat =
            format!(r#"{{"id":"a","model":"m","choices":[{{"index":0,"message":{message}}}]}}"#);
        for (wire, text) in [(Wire::of("google"), lists), (Wire::of("mistral"), chat)] {
            decodes(Wire { stream: true, ..wire.clone() }, format!("data: {text}\n\n"));
            decodes(wire, text);
        }
    }
}
