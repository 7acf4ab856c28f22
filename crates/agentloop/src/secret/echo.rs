//! Removes a secret from text that a provider sent back.
//!
//! Some providers repeat the key that they refuse. It is recognised as it is, with escapes of URLs and of JSON (also escaped again) for any
//! of its characters, in hexadecimal, in base64 (also inside a longer text), reversed, and with other characters between its own. Other
//! transformations cannot be recognised.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem;

use super::MASK;
use crate::percent;

/// A shorter secret may occur in any text by chance.
const SHORTEST: usize = 6;

/// A secret of this length is found even if other characters are between its letters and digits.
const SHORTEST_SPLIT: usize = 12;

/// A secret in all forms that are recognised.
#[derive(Clone, PartialEq)]
pub struct Echo(Vec<Form>);

/// A form of a secret, in lower case.
#[derive(Clone, PartialEq)]
struct Form {
    bytes: Vec<u8>,
    /// Whether these are only the letters and digits.
    is_split: bool,
    /// What replaces each of its characters so that the text can still be decoded, if it is in hexadecimal or in base64.
    filler: Option<u8>,
}

/// Where a form begins and ends, and its filler.
type Place = (usize, usize, Option<u8>);

/// Any two are a letter.
const HEXADECIMAL: Option<u8> = Some(b'7');

/// Every second bit is set: whatever the bits before and after it are, all bytes are ASCII, and those between are letters.
const BASE64: Option<u8> = Some(b'V');

/// A secret is not shown.
impl std::fmt::Debug for Echo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

impl Echo {
    /// Finds the forms of a secret. One that is too short has none.
    pub fn of(secret: &str) -> Self {
        let mut echo = Self(Vec::new());
        if secret.len() >= SHORTEST {
            echo.add(secret.as_bytes());
            if let Cow::Owned(decoded) = percent::decode(secret) {
                echo.add(&decoded);
            }
        }
        echo
    }

    fn add(&mut self, secret: &[u8]) {
        self.push(secret, None);
        self.push(&secret.iter().rev().copied().collect::<Vec<u8>>(), None);
        let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        self.push(digits.as_bytes(), HEXADECIMAL);
        // In a longer text its first byte may be the first, second or third of a base64 group.
        for before in 0..3 {
            let text = [&vec![0; before][..], secret].concat();
            let encoded = STANDARD_NO_PAD.encode(&text).into_bytes();
            // The characters at the edges also depend on the bytes around it.
            let first = (before * 4).div_ceil(3);
            let last = text.len() * 4 / 3;
            self.push(encoded.get(first..last).unwrap_or_default(), BASE64);
        }
    }

    fn push(&mut self, form: &[u8], filler: Option<u8>) {
        let form = form.to_ascii_lowercase();
        let letters: Vec<u8> = form.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        if letters.len() >= SHORTEST_SPLIT {
            self.0.push(Form { bytes: letters, is_split: true, filler });
        } else if form.len() >= SHORTEST {
            self.0.push(Form { bytes: form, is_split: false, filler });
        }
    }

    /// Replaces the secret in `text`, also if the text ends in the middle of it.
    pub(crate) fn remove(&self, text: &mut String) {
        if let Some(hidden) = self.hide(text, true, false) {
            *text = hidden;
        }
    }

    /// Returns the text without the secret; `None` if it does not contain it. With `may_be_cut` it may end in the middle of it. With
    /// `is_decodable` forms in hexadecimal or in base64 are filled, so that they can still be decoded.
    pub fn hide(&self, text: &str, may_be_cut: bool, is_decodable: bool) -> Option<String> {
        let places = self.places(text.as_bytes(), may_be_cut);
        if places.is_empty() {
            return None;
        }
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end, filler) in places {
            // Several forms may match the same place.
            if start >= at {
                shown.push_str(text.get(at..start).unwrap_or_default());
                match filler.filter(|_| is_decodable) {
                    Some(filler) => {
                        shown.extend(std::iter::repeat_n(char::from(filler), end - start));
                    }
                    None => shown.push_str(MASK),
                }
            }
            at = at.max(end);
        }
        shown.push_str(text.get(at..).unwrap_or_default());
        Some(shown)
    }

    /// Returns the places of the secret in their order. They may overlap.
    pub fn places(&self, text: &[u8], may_be_cut: bool) -> Vec<Place> {
        let mut found = Vec::new();
        if self.0.is_empty() {
            return found;
        }
        let lower = text.to_ascii_lowercase();
        self.find(&lower, may_be_cut, |at| (at, at + 1), &mut found);
        if memchr::memchr2(b'%', b'\\', text).is_some() {
            let (bytes, spans) = unescape(&lower);
            self.find(&bytes, may_be_cut, |at| spans[at], &mut found);
        }
        found.sort_unstable();
        found
    }

    /// Adds the places of the secret in lower-case bytes, of which each has a `span` in the text.
    fn find(
        &self,
        lower: &[u8],
        may_be_cut: bool,
        span: impl Fn(usize) -> (usize, usize),
        places: &mut Vec<Place>,
    ) {
        let letters: Vec<u8> = lower.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        // Where each letter is. Only now and then, because nearly every text is without the secret, and the list is larger than the text.
        let mut index = Vec::new();
        for form in &self.0 {
            let text = if form.is_split { &letters } else { lower };
            for (start, end) in found(text, &form.bytes, may_be_cut) {
                if form.is_split && index.is_empty() {
                    let each = lower.iter().enumerate();
                    index = each.filter(|it| it.1.is_ascii_alphanumeric()).map(|it| it.0).collect();
                }
                let at = |place: usize| span(if form.is_split { index[place] } else { place });
                places.push((at(start).0, at(end - 1).1, form.filler));
            }
        }
    }
}

/// Returns where `form` occurs in `text`, and where the text ends with its beginning.
fn found(text: &[u8], form: &[u8], may_be_cut: bool) -> impl Iterator<Item = (usize, usize)> {
    let ends_with = |length: &usize| may_be_cut && text.ends_with(&form[..*length]);
    let cut = (SHORTEST..form.len()).rev().find(ends_with);
    let cut = cut.map(|length| (text.len() - length, text.len()));
    let length = form.len();
    let whole: Vec<usize> = memmem::find_iter(text, form).collect();
    whole.into_iter().map(move |start| (start, start + length)).chain(cut)
}

/// Replaces escapes by what they stand for. Returns the bytes, and where each was.
fn unescape(text: &[u8]) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut bytes, mut spans, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(first) = text.get(at) {
        let rest = &text[at..];
        let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        let hexadecimal = |from: usize, count: usize| {
            let digits = rest.get(from..from + count)?;
            let digits = std::str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?;
            let byte = u8::try_from(u32::from_str_radix(digits, 16).ok()?).ok()?;
            Some((byte.to_ascii_lowercase(), from + count))
        };
        let escape = match (first, rest.get(slashes)) {
            (b'%', _) => hexadecimal(1, 2),
            (b'\\', Some(b'u')) => hexadecimal(slashes + 1, 4),
            (b'\\', Some(other)) => Some((*other, slashes + 1)),
            _ => None,
        };
        let (byte, length) = escape.unwrap_or((*first, slashes.max(1)));
        bytes.push(byte);
        spans.push((at, at + length));
        at += length;
    }
    (bytes, spans)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-proj-aB3/dE5+fG7_hI9\"jK";

    fn removed(text: &str) -> String {
        let mut text = text.to_owned();
        Echo::of(KEY).remove(&mut text);
        text
    }

    #[test]
    fn a_key_is_recognised_in_every_form() {
        let reversed: String = KEY.chars().rev().collect();
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
        let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        let json = serde_json::to_string(KEY).unwrap();
        let split = KEY.replace("dE5", "dE5\" + \"").replace("hI9", "h\n  I9");
        let spaced: String = KEY.chars().flat_map(|letter| [letter, ' ']).collect();
        let mixed = KEY.replacen('s', "\\u0073", 1).replace('"', "\\\\u0022").replace('/', "\\/");
        let url = KEY.replace('/', "%2F").replace('+', "%2b").replace('"', "%22");
        for form in [
            KEY.to_owned(),
            KEY.to_uppercase(),
            reversed,
            hex,
            percent,
            escaped,
            json.clone(),
            split,
            spaced,
            url,
            mixed,
            serde_json::to_string(&json).unwrap(),
            STANDARD.encode(KEY),
            URL_SAFE_NO_PAD.encode(KEY),
            STANDARD.encode(format!("Bearer {KEY}")),
            STANDARD.encode(format!("user:{KEY}\n")),
            STANDARD.encode(format!("x{KEY}yz")),
        ] {
            let shown = removed(&format!("you sent {form} there"));
            assert!(shown.contains(MASK), "{form}: {shown}");
            assert!(shown.starts_with("you sent ") && shown.ends_with(" there"), "{shown}");
            assert!(shown.len() < 40, "{form}: {shown}");
        }
    }

    #[test]
    fn a_text_that_ends_in_the_middle_of_a_key_does_not_show_its_beginning() {
        assert_eq!(removed(&format!("you sent {}", &KEY[..14])), "you sent ***");
        assert_eq!(removed("nothing was sent"), "nothing was sent");
    }

    #[test]
    fn a_short_secret_is_only_recognised_as_it_is() {
        let mut text = "pw1234x and p-w-1-2-3-4-x and é".to_owned();
        Echo::of("pw1234x").remove(&mut text);
        assert_eq!(text, "*** and p-w-1-2-3-4-x and é");
    }

    #[test]
    fn many_backslashes_take_no_time() {
        for end in ["", "u", "uzz", "%"] {
            let mut text = "\\".repeat(2_000_000) + end;
            let before = text.clone();
            Echo::of(KEY).remove(&mut text);
            assert_eq!(text, before);
        }
    }

    proptest! {
        #[test]
        fn removing_never_panics_and_leaves_no_key(
            text in ".{0,60}", secret in "[!-~]{0,40}", after in ".{0,20}",
        ) {
            let mut whole = format!("{text}{secret}{after}");
            Echo::of(&secret).remove(&mut whole);
            let letters = secret.bytes().filter(u8::is_ascii_alphanumeric).count();
            if letters >= SHORTEST_SPLIT {
                prop_assert!(!whole.contains(&secret));
            }
        }
    }
}
