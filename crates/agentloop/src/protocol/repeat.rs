//! Recognizes a frame that differs from the one before it in its text alone.
//!
//! Most frames of a stream add some characters to a text, and repeat everything else byte for byte: the id, the model, the place of the
//! text. Such a frame need not be parsed. Its text is taken from where the last frame had it, and goes through the same state machine.
//!
//! This is exact, not a guess:
//!
//! - The decoder reports where the text of a frame is only if the frame added that text and did nothing else that a second frame like it
//!   would not do again ([`Decode::added_text`](super::Decode::added_text)).
//! - All bytes around the text are equal, and the text has neither quotes nor escapes nor control characters. So both frames are the same
//!   JSON with another string in one place.
//! - Between the two frames there is no other one: every frame that is parsed replaces what is known, or clears it.
//! - Fields that have no effect, such as numbers of events, may differ ([`Decode::ignored_fields`](super::Decode::ignored_fields)).

use std::ops::Range;

use memchr::memchr2;

use super::Frame;

/// The largest frame that is kept to compare the next ones with.
const MAX_KEPT_BYTES: usize = 4 << 10;

/// After how many frames in a row that differ from the ones before them no further one is kept: those of some providers differ in
/// more than the text, for example in token counts.
const MAX_MISSES: u8 = 8;

/// The last frame, if it only added text.
#[derive(Debug, Default)]
pub(super) struct Repeat {
    event: String,
    frame: Vec<u8>,
    /// What may differ, in the order of the frame; empty if there is no frame to compare with.
    holes: Vec<Hole>,
    misses: u8,
}

/// A place of a frame where the next one may have another value.
#[derive(Clone, Debug, PartialEq)]
struct Hole {
    place: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The text, without its quotes.
    Text,
    /// A string that has no effect, without its quotes.
    IgnoredString,
    /// A number that has no effect.
    IgnoredNumber,
}

impl Repeat {
    /// Returns the text of a frame that differs from the last one in nothing else; `None` if the frame has to be parsed.
    #[inline]
    pub(super) fn text<'a>(&self, frame: &Frame<'a>) -> Option<&'a str> {
        if self.holes.is_empty() || frame.event != self.event {
            return None;
        }
        let (mut kept, mut rest, mut text) = (0, frame.data, None);
        for Hole { place, kind } in &self.holes {
            rest = rest.strip_prefix(&self.frame[kept..place.start])?;
            let end = match kind {
                Kind::IgnoredNumber => number_end(rest)?,
                Kind::Text | Kind::IgnoredString => {
                    let plain = plain_string(rest)?;
                    if *kind == Kind::Text {
                        text = Some(plain);
                    }
                    plain.len()
                }
            };
            (kept, rest) = (place.end, &rest[end..]);
        }
        // An empty text is not a text to a decoder.
        text.filter(|text| !text.is_empty() && *rest == self.frame[kept..])
    }

    /// Notes that a frame was recognized.
    pub(super) fn hit(&mut self) {
        self.misses = 0;
    }

    /// Forgets the last frame, because another one is parsed.
    pub(super) fn clear(&mut self) {
        if !self.holes.is_empty() {
            self.holes.clear();
            self.misses = self.misses.saturating_add(1);
        }
    }

    /// Keeps a frame that was parsed and did nothing but add the text at `place`. The values of the fields in `ignored`, which belong to the
    /// object that is the frame, have no effect.
    pub(super) fn keep(&mut self, frame: &Frame<'_>, place: Range<usize>, ignored: &[&str]) {
        // Escapes are undone by the parser, and then the text is not at a place of the frame. Here the quotes are checked.
        let is_quoted = place.start > 0
            && frame.data.get(place.start - 1) == Some(&b'"')
            && frame.data.get(place.end) == Some(&b'"');
        if !is_quoted || frame.data.len() > MAX_KEPT_BYTES || self.misses >= MAX_MISSES {
            return;
        }
        frame.event.clone_into(&mut self.event);
        self.frame.clear();
        self.frame.extend_from_slice(frame.data);
        self.holes.push(Hole { place, kind: Kind::Text });
        if !ignored.is_empty() {
            find_ignored(&self.frame, ignored, &mut self.holes);
            self.holes.sort_by_key(|hole| hole.place.start);
        }
    }
}

/// Returns where `text` is in `data`, if it is a part of it and not a copy.
pub(super) fn place_of(text: &str, data: &[u8]) -> Option<Range<usize>> {
    let start = text.as_ptr().addr().checked_sub(data.as_ptr().addr())?;
    let end = start.checked_add(text.len())?;
    (!text.is_empty() && end <= data.len()).then_some(start..end)
}

/// Returns the string at the beginning of `bytes`, after its first quote, if it needs no parser.
fn plain_string(bytes: &[u8]) -> Option<&str> {
    let end = memchr2(b'"', b'\\', bytes)?;
    let string = &bytes[..end];
    let is_plain = bytes[end] == b'"' && !string.iter().any(|byte| *byte < b' ');
    std::str::from_utf8(string).ok().filter(|_| is_plain)
}

/// Returns where the whole number at the beginning of `bytes` ends. What follows it is compared with what followed the last one.
fn number_end(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A number that the parser takes: it has at most 18 digits, and the first is 0 only if it is the only one.
    (matches!(digits, 1..=18) && (bytes[0] != b'0' || digits == 1)).then_some(digits)
}

/// Adds the values of the `ignored` fields of an object.
fn find_ignored(object: &[u8], ignored: &[&str], holes: &mut Vec<Hole>) {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = object.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                while let Some(byte) = object.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                let name = object.get(start..at).unwrap_or_default();
                at += 1;
                let Some(b':') = object.get(at) else { continue };
                if depth != 1 || !ignored.iter().any(|ignored| ignored.as_bytes() == name) {
                    continue;
                }
                let value = at + 1 + usize::from(object.get(at + 1) == Some(&b' '));
                let value_of = |start: usize| object.get(start..).unwrap_or_default();
                let (start, length, kind) = match object.get(value) {
                    Some(b'"') => {
                        let string = plain_string(value_of(value + 1));
                        (value + 1, string.map(str::len), Kind::IgnoredString)
                    }
                    _ => (value, number_end(value_of(value)), Kind::IgnoredNumber),
                };
                let is_number = kind == Kind::IgnoredNumber;
                let Some(length) = length else { continue };
                let end = start + length;
                // A fraction or an exponent may follow a number.
                let next = object.get(end);
                if !is_number || matches!(next, Some(b',' | b'}' | b' ')) {
                    holes.push(Hole { place: start..end, kind });
                }
                at = end + usize::from(!is_number);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "repeat_tests.rs"]
mod tests;
