//! Removes a secret from text that a provider sent back.
//!
//! Some providers repeat the key that they refuse. It is recognised as it is, URL-encoded, JSON-escaped, in hexadecimal, in base64 (also
//! inside a longer text), reversed, and with other characters between its own. Other transformations cannot be recognised.

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
pub(crate) struct Echo {
    /// The letters and digits in lower case.
    split: Vec<Vec<u8>>,
    /// In lower case.
    exact: Vec<Vec<u8>>,
}

impl Echo {
    pub(crate) fn of(secret: &str) -> Self {
        let mut echo = Self { split: Vec::new(), exact: Vec::new() };
        if secret.len() < SHORTEST {
            return echo;
        }
        echo.add(secret.as_bytes());
        if let Cow::Owned(decoded) = percent::decode(secret) {
            echo.add(&decoded);
        }
        echo
    }

    fn add(&mut self, secret: &[u8]) {
        let reversed: Vec<u8> = secret.iter().rev().copied().collect();
        let each = |write: fn(u8) -> String| -> Vec<u8> {
            secret.iter().flat_map(|byte| write(*byte).into_bytes()).collect()
        };
        let mut forms = vec![
            secret.to_vec(),
            reversed,
            // Percent signs are not letters or digits, so `%73` and `73` are the same here.
            each(|byte| format!("%{byte:02x}")),
            each(|byte| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02x}"),
            }),
            each(|byte| format!("\\u{byte:04x}")),
        ];
        // In a longer text its first byte may be the first, second or third of a base64 group.
        for before in 0..3 {
            let text = [&vec![0; before][..], secret].concat();
            let encoded = STANDARD_NO_PAD.encode(&text).into_bytes();
            // The characters at the edges also depend on the bytes around it.
            let first = (before * 4).div_ceil(3);
            let last = text.len() * 4 / 3;
            forms.extend(encoded.get(first..last).map(<[u8]>::to_vec));
        }
        for form in forms {
            let form = form.to_ascii_lowercase();
            let split: Vec<u8> = form.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
            if split.len() >= SHORTEST_SPLIT {
                self.split.push(split);
            } else if form.len() >= SHORTEST {
                self.exact.push(form);
            }
        }
    }

    /// Replaces the secret in `text`, also if the text ends in the middle of it.
    pub(crate) fn remove(&self, text: &mut String) {
        if self.split.is_empty() && self.exact.is_empty() {
            return;
        }
        let lower = text.to_ascii_lowercase().into_bytes();
        let letters: Vec<u8> = lower.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        let mut hidden: Vec<(usize, usize)> = Vec::new();
        for form in &self.exact {
            hidden.extend(found(&lower, form));
        }
        let mut split: Vec<(usize, usize)> = Vec::new();
        for form in &self.split {
            split.extend(found(&letters, form));
        }
        if !split.is_empty() {
            // Only now, because nearly every text is without the secret, and the list is larger than the text.
            let places = lower.iter().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric());
            let places: Vec<usize> = places.map(|(place, _)| place).collect();
            hidden.extend(split.iter().map(|(start, end)| (places[*start], places[*end - 1] + 1)));
        }
        if hidden.is_empty() {
            return;
        }
        hidden.sort_unstable();
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end) in hidden {
            // Several forms may match the same place.
            if start >= at {
                shown.push_str(text.get(at..start).unwrap_or_default());
                shown.push_str(MASK);
            }
            at = at.max(end);
        }
        shown.push_str(text.get(at..).unwrap_or_default());
        *text = shown;
    }
}

/// Returns where `form` occurs in `text`, and where the text ends with its beginning.
fn found(text: &[u8], form: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let cut = (SHORTEST..form.len()).rev().find(|length| text.ends_with(&form[..*length]));
    let cut = cut.map(|length| (text.len() - length, text.len()));
    let length = form.len();
    let whole: Vec<usize> = memmem::find_iter(text, form).collect();
    whole.into_iter().map(move |start| (start, start + length)).chain(cut)
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
        let url = KEY.replace('/', "%2F").replace('+', "%2b").replace('"', "%22");
        for form in [
            KEY.to_owned(),
            KEY.to_uppercase(),
            reversed,
            hex,
            percent,
            escaped,
            json,
            split,
            spaced,
            url,
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
