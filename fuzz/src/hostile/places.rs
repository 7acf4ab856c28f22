//! Where the values of a JSON document are in its text.

use std::ops::Range;

/// What a place holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    List,
    Object,
    Text,
    Number,
    /// `true`, `false`, `null`.
    Word,
    /// The name of a field.
    Name,
}

/// A value or the name of a field.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// The list or object that holds it.
    pub(super) parent: Option<usize>,
    /// The way to it: names of fields, and `[]` for an element of any list.
    pub(super) path: String,
}

impl Place {
    /// The range without the brackets or quotes.
    pub(super) fn inside(&self) -> Range<usize> {
        match self.kind {
            Kind::Number | Kind::Word => self.range.clone(),
            _ => self.range.start + 1..self.range.end - 1,
        }
    }

    /// The name of the field that the value has, or nothing.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default().trim_end_matches("[]")
    }
}

/// Returns the places of the document that `range` of the text holds, outer ones first. Text that is cut has none.
pub(super) fn places(text: &[u8], range: Range<usize>) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    // The lists and objects that are open, and the field of each that waits for its value.
    let mut open: Vec<(usize, Option<String>)> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let start = at;
        at += 1;
        let kind = match text[start] {
            b' ' | b'\n' | b'\r' | b'\t' | b',' | b':' => continue,
            b']' | b'}' => {
                let Some((place, _)) = open.pop() else { return Vec::new() };
                found[place].range.end = at;
                continue;
            }
            b'[' => Kind::List,
            b'{' => Kind::Object,
            b'"' => {
                while at < range.end && text[at] != b'"' {
                    at += 1 + usize::from(text[at] == b'\\');
                }
                if at >= range.end {
                    return Vec::new();
                }
                at += 1;
                Kind::Text
            }
            first => {
                let is_end = |byte: &u8| b",:]} \n\r\t".contains(byte);
                at += text[at..range.end].iter().position(is_end).unwrap_or(range.end - at);
                if first.is_ascii_digit() || first == b'-' { Kind::Number } else { Kind::Word }
            }
        };
        let parent = open.last().map(|(place, _)| *place);
        let parent_path = parent.map_or("", |place| found[place].path.as_str());
        let in_object = parent.is_some_and(|place| found[place].kind == Kind::Object);
        let waiting = open.last_mut().and_then(|(_, name)| name.take());
        let (kind, path) = match waiting {
            Some(name) => (kind, format!("{parent_path}.{name}")),
            None if in_object => {
                let name = String::from_utf8_lossy(&text[start + 1..at - 1]).into_owned();
                let path = format!("{parent_path}.{name}");
                if let Some((_, waiting)) = open.last_mut() {
                    *waiting = Some(name);
                }
                (Kind::Name, path)
            }
            None if parent.is_some() => (kind, format!("{parent_path}[]")),
            None => (kind, String::new()),
        };
        if matches!(kind, Kind::List | Kind::Object) {
            open.push((found.len(), None));
        }
        found.push(Place { kind, range: start..at, parent, path });
    }
    // What was not closed has no end that could be repeated.
    let unclosed: Vec<usize> = open.into_iter().map(|(place, _)| place).collect();
    if unclosed.is_empty() { found } else { Vec::new() }
}

#[test]
fn places_are_found_with_their_ways() {
    let text = br#"{"a": [1, "x\"]"], "b": {"c": null}}"#;
    let found: Vec<(Kind, &str, &str)> = places(text, 0..text.len())
        .iter()
        .map(|place| (place.kind, place.path.clone().leak() as &str, place.range.clone()))
        .map(|(kind, path, range)| (kind, path, std::str::from_utf8(&text[range]).unwrap()))
        .collect();
    assert_eq!(
        found[1..],
        [
            (Kind::Name, ".a", r#""a""#),
            (Kind::List, ".a", r#"[1, "x\"]"]"#),
            (Kind::Number, ".a[]", "1"),
            (Kind::Text, ".a[]", r#""x\"]""#),
            (Kind::Name, ".b", r#""b""#),
            (Kind::Object, ".b", r#"{"c": null}"#),
            (Kind::Name, ".b.c", r#""c""#),
            (Kind::Word, ".b.c", "null"),
        ]
    );
}
