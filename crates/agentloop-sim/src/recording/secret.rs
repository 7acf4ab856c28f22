//! One secret, in the forms in which it can occur.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

use super::mask::MASK;

/// A shorter secret is not searched for in base64: too little of it is independent of the bytes around it.
const MIN_ENCODED: usize = 12;

/// The byte that replaces a secret inside base64. Whatever the bits around it are, it is a letter.
const FILLER: u8 = b'x';

/// A secret. It is found as it is, with escapes of JSON (`\\u0073`, also escaped again) and of URLs (`%73`) for any of its characters, in
/// hexadecimal digits, and in base64 with anything before and after it.
#[derive(Debug)]
pub(super) struct Secret {
    plain: Vec<u8>,
    /// Other forms, and what replaces them: as many bytes.
    encoded: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        let plain = text.as_bytes().to_vec();
        let digits = |upper: bool| -> Vec<u8> {
            let digits = plain.iter().map(|byte| match upper {
                true => format!("{byte:02X}"),
                false => format!("{byte:02x}"),
            });
            digits.collect::<String>().into_bytes()
        };
        let mut encoded = Vec::new();
        for digits in [digits(false), digits(true)] {
            let filler = vec![b'7'; digits.len()];
            encoded.push((digits, filler));
        }
        if plain.len() >= MIN_ENCODED {
            // In a longer text its first byte may be the first, second or third of a group.
            for before in 0..3 {
                for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
                    let part = |bytes: &[u8]| {
                        let all = [&vec![FILLER; before][..], bytes].concat();
                        let text = engine.encode(&all).into_bytes();
                        // The characters at the edges also depend on the bytes around it.
                        let (first, last) = ((before * 4).div_ceil(3), all.len() * 4 / 3);
                        text.get(first..last).map(<[u8]>::to_vec).unwrap_or_default()
                    };
                    encoded.push((part(&plain), part(&vec![FILLER; plain.len()])));
                }
            }
        }
        encoded.retain(|(form, _)| !form.is_empty());
        Self { plain, encoded }
    }

    /// Returns a text without the secret.
    pub(super) fn hide(&self, text: String) -> String {
        if self.find(text.as_bytes(), 0).is_none() {
            return text;
        }
        let mut hidden = String::with_capacity(text.len());
        let mut at = 0;
        while let Some((start, end, filler)) = self.find(text.as_bytes(), at) {
            hidden.push_str(text.get(at..start).unwrap_or_default());
            // Base64 stays decodable.
            let filler = filler.and_then(|filler| std::str::from_utf8(filler).ok());
            hidden.push_str(filler.unwrap_or(MASK));
            at = end;
        }
        hidden.push_str(text.get(at..).unwrap_or_default());
        hidden
    }

    /// Replaces the secret by as many other bytes. Returns whether it was there.
    pub(super) fn overwrite(&self, bytes: &mut [u8]) -> bool {
        let mut at = 0;
        let mut has_found = false;
        while let Some((start, end, filler)) = self.find(bytes, at) {
            let filler = filler.map_or_else(|| vec![b'*'; end - start], <[u8]>::to_vec);
            if let Some(place) = bytes.get_mut(start..end) {
                place.copy_from_slice(&filler);
            }
            at = end;
            has_found = true;
        }
        has_found
    }

    /// Returns the next place of the secret: its start, its end, and what replaces it if it is not a mask.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, usize, Option<&[u8]>)> {
        let first = self.plain.first().copied()?;
        let plain = (from..bytes.len())
            .filter(|at| matches!(bytes[*at], b'\\' | b'%') || bytes[*at] == first)
            .find_map(|at| Some((at, self.end(bytes, at)?, None)));
        let encoded = self.encoded.iter().filter_map(|(form, filler)| {
            let first = *form.first()?;
            let at = (from..bytes.len())
                .find(|at| bytes[*at] == first && bytes[*at..].starts_with(form))?;
            Some((at, at + form.len(), Some(&**filler)))
        });
        encoded.chain(plain).min_by_key(|place| place.0)
    }

    /// Returns where the secret that begins here ends.
    fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let mut rest = bytes.get(at..)?;
        for byte in &self.plain {
            rest = without(rest, *byte)?;
        }
        Some(bytes.len() - rest.len())
    }
}

/// Returns what follows a character, which is written as it is or with an escape.
fn without(rest: &[u8], byte: u8) -> Option<&[u8]> {
    let (first, after) = rest.split_first()?;
    if *first == byte {
        return Some(after);
    }
    let is_hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        (u32::from_str_radix(digits, 16).ok()? == u32::from(byte)).then_some(())
    };
    match first {
        b'%' => is_hex(after.get(..2)?).and(after.get(2..)),
        b'\\' => {
            let slashes = rest.iter().take_while(|it| **it == b'\\').count();
            let (first, after) = rest.get(slashes..)?.split_first()?;
            match first {
                first if *first == byte => Some(after),
                b'u' => is_hex(after.get(..4)?).and(after.get(4..)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Decodes `%20` and the like.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

    use super::*;

    const KEY: &str = "sk-proj-aB3/dE5+fG7_hI9\"jK";

    #[test]
    fn a_secret_is_found_in_all_its_forms() {
        let secret = Secret::new(KEY);
        let each = |write: fn(u8) -> String| KEY.bytes().map(write).collect::<String>();
        let json = serde_json::to_string(KEY).unwrap();
        for form in [
            KEY.to_owned(),
            each(|byte| format!("%{byte:02x}")),
            each(|byte| format!("%{byte:02X}")),
            each(|byte| format!("\\u{byte:04x}")),
            each(|byte| format!("\\\\u{byte:04X}")),
            each(|byte| format!("{byte:02X}")),
            json.trim_matches('"').to_owned(),
            serde_json::to_string(&json).unwrap(),
            KEY.replacen("s", "\\u0073", 1).replace('/', "\\/"),
            KEY.replace('+', "%2B"),
        ] {
            let text = format!("é {form} ü");
            let hidden = secret.hide(text.clone());
            assert!(!hidden.contains("aB3") && hidden != text, "{hidden}");
            assert!(hidden.starts_with("é ") && hidden.ends_with(" ü"), "{hidden}");
            let mut bytes = text.clone().into_bytes();
            assert!(secret.overwrite(&mut bytes) && bytes.len() == text.len());
            assert!(secret.find(&bytes, 0).is_none());
        }
    }

    #[test]
    fn base64_around_a_secret_stays_decodable_json() {
        let secret = Secret::new(KEY);
        for before in 0..6 {
            for after in 0..4 {
                let whole = format!("{}{KEY}{}", "b".repeat(before), "a".repeat(after));
                for encoded in [BASE64_STANDARD.encode(&whole), BASE64_URL_SAFE.encode(&whole)] {
                    let hidden = secret.hide(format!("x {encoded}"));
                    let text = hidden.strip_prefix("x ").unwrap();
                    let engine =
                        BASE64_STANDARD.decode(text).or_else(|_| BASE64_URL_SAFE.decode(text));
                    let text = String::from_utf8(engine.unwrap()).unwrap();
                    assert_eq!(text.len(), whole.len());
                    assert!(!text.contains("proj-aB3"), "{text}");
                    assert!(text.starts_with(&"b".repeat(before)), "{text}");
                }
            }
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let secret = Secret::new(KEY);
        for text in [
            "",
            "sk-proj",
            "%",
            "%7",
            "\\",
            "\\u",
            "\\u00",
            "%73k-proj-aB3",
            "sk-proj-aB3/dE5+fG7_hI9",
        ] {
            assert_eq!(secret.hide(text.to_owned()), text);
        }
        assert_eq!(decoded("a%2Fb%zz%"), "a/b%zz%");
    }
}
