//! Hostile shapes made of JSON: of each value of a seed, something deep, wide, long, or repeated.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::places::{Kind, Place, places};
use super::shape::{NUMBER, Piece, Shape};

/// How many levels around a value are repeated around it.
const MAX_RING: usize = 4;

/// The longest text that is repeated around a value, in bytes. Longer ones become deep only in inputs that are too long.
const MAX_RING_BYTES: usize = 1_500;

/// How many texts are stretched for each list that is repeated.
const MAX_PAIRS: usize = 12;

/// Makes the shapes of seeds. A place that several seeds have is used once.
#[derive(Debug, Default)]
pub(super) struct Maker {
    known: HashSet<String>,
    pub(super) shapes: Vec<Shape>,
}

/// A list, an object or a stream that is repeated.
struct Repeater {
    name: String,
    range: Range<usize>,
    piece: Piece,
}

impl Maker {
    /// Adds the shapes of a seed. `end` separates the events of a stream.
    pub(super) fn add(&mut self, seed: &[u8], end: Option<&str>) {
        let documents = match end {
            None => vec![(String::new(), 0..seed.len(), 0..seed.len())],
            Some(end) => events(seed, end),
        };
        let mut texts = Vec::new();
        let mut repeaters = Vec::new();
        for (sign, event, document) in documents {
            let found = places(seed, document);
            if found.is_empty() {
                continue;
            }
            for at in 0..found.len() {
                self.at(seed, &sign, &found, at);
            }
            let is_text = |place: &&Place| matches!(place.kind, Kind::Text | Kind::Name);
            texts.extend(found.iter().filter(is_text).map(|place| {
                (format!("{sign}{}", place.path), place.kind == Kind::Name, place.inside())
            }));
            if end.is_some() {
                for (numbered, open) in variants(seed, &event, &found) {
                    let piece = Piece::Repeated { open, middle: Vec::new(), close: Vec::new() };
                    let name = format!("{numbered}events {sign}");
                    repeaters.push(Repeater { name, range: event.end..event.end, piece });
                }
            }
            repeaters.extend(found.iter().flat_map(|place| wide(seed, &sign, &found, place)));
        }
        for repeater in &repeaters {
            self.shape(&repeater.name, false, || {
                around(seed, repeater.range.clone(), repeater.piece.clone())
            });
            let others = texts.iter().filter(|(_, _, range)| {
                range.end <= repeater.range.start || range.start >= repeater.range.end
            });
            let mut pairs = 0;
            for (path, is_name, range) in others {
                let kind = if *is_name { "name" } else { "text" };
                let name = format!("{} beside a long {kind} at {path}", repeater.name);
                if pairs == MAX_PAIRS || self.known.contains(&name) {
                    continue;
                }
                pairs += 1;
                self.shape(&name, false, || {
                    let long = (range.clone(), repeated("a"));
                    let mut both = [long, (repeater.range.clone(), repeater.piece.clone())];
                    both.sort_by_key(|(range, _)| range.start);
                    let [(one, first), (two, second)] = both;
                    vec![
                        Piece::Fixed(seed[..one.start].to_vec()),
                        first,
                        Piece::Fixed(seed[one.end..two.start].to_vec()),
                        second,
                        Piece::Fixed(seed[two.end..].to_vec()),
                    ]
                });
            }
        }
    }

    /// Adds what is made of one value.
    fn at(&mut self, seed: &[u8], sign: &str, found: &[Place], at: usize) {
        let place = &found[at];
        let way = format!("{sign}{}", place.path);
        let range = || place.range.clone();
        match place.kind {
            Kind::Name => {
                self.shape(&format!("long name at {way}"), false, || {
                    around(seed, place.inside(), repeated("a"))
                });
                return;
            }
            Kind::Text => {
                for text in ["a", "\\u0041", "\\\"", "[", "{\\\"a\\\":", "é", "a ", "<a>"] {
                    self.shape(&format!("long text of {text} at {way}"), false, || {
                        around(seed, place.inside(), repeated(text))
                    });
                }
            }
            Kind::Number => {
                for digits in ["1", "0", "0.1"] {
                    let middle = if digits == "0" { "1e0" } else { "0." };
                    let pieces = || {
                        let mut pieces =
                            around(seed, range(), repeated(&digits[digits.len() - 1..]));
                        if digits != "1" {
                            pieces.insert(1, Piece::Fixed(middle.into()));
                        }
                        pieces
                    };
                    self.shape(&format!("long number {digits} at {way}"), false, pieces);
                }
            }
            _ => {}
        }
        let name = place.name();
        let name = if name.is_empty() { "a" } else { name };
        for (open, close) in
            [("[", "]"), (&*format!("{{\"{name}\":"), "}"), (&*format!("[{{\"{name}\":"), "}]")]
        {
            for (middle, shown) in [("1", ""), ("", ", cut")] {
                let close = if middle.is_empty() { "" } else { close };
                self.shape(&format!("deep {open}{shown} at {way}"), true, || {
                    let piece = Piece::Repeated {
                        open: open.into(),
                        middle: middle.into(),
                        close: close.into(),
                    };
                    let mut pieces = around(seed, range(), piece);
                    if middle.is_empty() {
                        drop(pieces.pop());
                    }
                    pieces
                });
            }
        }
        let mut ring = place.parent;
        for _ in 0..MAX_RING {
            let Some(outer) = ring.map(|ring| &found[ring]) else { break };
            let (open, close) =
                (outer.range.start..place.range.start, place.range.end..outer.range.end);
            if open.len() + close.len() > MAX_RING_BYTES {
                break;
            }
            self.shape(&format!("{way} inside {sign}{} again", outer.path), true, || {
                let piece = Piece::Repeated {
                    open: seed[open].to_vec(),
                    middle: seed[range()].to_vec(),
                    close: seed[close].to_vec(),
                };
                around(seed, outer.range.clone(), piece)
            });
            ring = outer.parent;
        }
    }

    fn shape(&mut self, name: &str, is_deep: bool, pieces: impl FnOnce() -> Vec<Piece>) {
        if self.known.insert(name.to_owned()) {
            let shape = if is_deep { Shape::nested } else { Shape::new };
            self.shapes.push(shape(name.to_owned(), pieces()));
        }
    }
}

fn repeated(text: &str) -> Piece {
    Piece::Repeated { open: text.into(), middle: Vec::new(), close: Vec::new() }
}

/// The seed with a piece in place of a range.
fn around(seed: &[u8], range: Range<usize>, piece: Piece) -> Vec<Piece> {
    vec![
        Piece::Fixed(seed[..range.start].to_vec()),
        piece,
        Piece::Fixed(seed[range.end..].to_vec()),
    ]
}

/// A list of which the first element is repeated, or an object of which the first field is: as it is, and with other numbers.
fn wide(seed: &[u8], sign: &str, found: &[Place], place: &Place) -> Vec<Repeater> {
    let inside =
        |other: &&Place| place.range.start < other.range.start && other.range.end < place.range.end;
    let inner: Vec<Place> = found.iter().filter(inside).cloned().collect();
    let Some(first) = inner.first() else { return Vec::new() };
    let item = match (place.kind, inner.get(1)) {
        (Kind::List, _) => first.range.clone(),
        (Kind::Object, Some(value)) => first.range.start..value.range.end,
        _ => return Vec::new(),
    };
    let is_object = place.kind == Kind::Object;
    let repeat = |(numbered, mut open): (&str, Vec<u8>)| {
        if is_object && !numbered.is_empty() {
            open.insert(1, NUMBER);
        }
        open.push(b',');
        let kind = if is_object { "field" } else { "element" };
        Repeater {
            name: format!("{numbered}{kind} at {sign}{}", place.path),
            range: item.clone(),
            piece: Piece::Repeated { open, middle: seed[item.clone()].to_vec(), close: Vec::new() },
        }
    };
    let mut variants = variants(seed, &item, &inner);
    if is_object && variants.len() == 1 {
        variants.push(("numbered ", seed[item.clone()].to_vec()));
    }
    variants.into_iter().map(repeat).collect()
}

/// What is repeated: as it is, and with the number of the repetition in place of its numbers and in its ids.
fn variants(seed: &[u8], range: &Range<usize>, found: &[Place]) -> Vec<(&'static str, Vec<u8>)> {
    let mut numbered = Vec::new();
    let mut from = range.start;
    for place in found {
        if place.range.start < from || place.range.end > range.end {
            continue;
        }
        let (keep, to) = match place.kind {
            Kind::Number => (place.range.start, place.range.end),
            Kind::Text if is_id(place.name()) => (place.range.end - 1, place.range.end - 1),
            _ => continue,
        };
        numbered.extend_from_slice(&seed[from..keep]);
        numbered.push(NUMBER);
        from = to;
    }
    let mut variants = vec![("", seed[range.clone()].to_vec())];
    if !numbered.is_empty() {
        numbered.extend_from_slice(&seed[from..range.end]);
        variants.push(("numbered ", numbered));
    }
    variants
}

fn is_id(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["id", "name", "key", "title", "uri", "url"].iter().any(|end| name.ends_with(end))
}

/// The events of a stream. Of each: what distinguishes its kind, its range, and that of its document.
fn events(seed: &[u8], end: &str) -> Vec<(String, Range<usize>, Range<usize>)> {
    let Ok(text) = std::str::from_utf8(seed) else { return Vec::new() };
    let mut found = Vec::new();
    let mut known = HashMap::new();
    let mut start = 0;
    for event in text.split_inclusive(end) {
        let range = start..start + event.len();
        start = range.end;
        let Some(open) = event.find(['{', '[']) else { continue };
        let document = range.start + open..range.start + event.trim_end().len();
        let sign = sign(seed, document.clone());
        let count = known.entry(sign.clone()).or_insert(0usize);
        *count += 1;
        // The second of a kind differs from the first; the hundredth does not.
        if *count <= 2 {
            found.push((sign, range, document));
        }
    }
    found
}

/// The type of an event, or the names of its fields.
fn sign(seed: &[u8], document: Range<usize>) -> String {
    let found = places(seed, document);
    let shown = |range: Range<usize>| String::from_utf8_lossy(&seed[range]).into_owned();
    let types = found.iter().filter(|place| place.kind == Kind::Text && place.name() == "type");
    let types: Vec<String> = types.map(|place| shown(place.inside())).take(2).collect();
    if !types.is_empty() {
        return types.join("/");
    }
    let names = found.iter().filter(|place| place.kind == Kind::Name);
    let names: Vec<String> = names.map(|place| shown(place.inside())).take(12).collect();
    names.join("/")
}
