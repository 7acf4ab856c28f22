//! One secret, in the forms in which it can occur.

use agentloop::internal::Echo;

/// A secret.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Secret {
    forms: Echo,
    length: usize,
}

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self { forms: Echo::of(text), length: text.len() }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns a text without the secret.
    pub(super) fn hide(&self, text: String) -> String {
        self.forms.hide(&text, false, true).unwrap_or(text)
    }

    /// Replaces the secret by as many other bytes. Returns whether it was there.
    pub(super) fn overwrite(&self, bytes: &mut [u8]) -> bool {
        let places = self.forms.places(bytes, false);
        for (start, end, filler) in &places {
            bytes.get_mut(*start..*end).unwrap_or_default().fill(filler.unwrap_or(b'*'));
        }
        !places.is_empty()
    }

    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        !self.forms.places(bytes, false).is_empty()
    }
}

/// Decodes `%20` and the like.
pub(super) fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
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
            KEY.chars().rev().collect(),
        ] {
            let text = format!("é {form} ü");
            let hidden = secret.hide(text.clone());
            assert!(!hidden.contains("aB3") && hidden != text, "{hidden}");
            assert!(hidden.starts_with("é ") && hidden.ends_with(" ü"), "{hidden}");
            let mut bytes = text.clone().into_bytes();
            assert!(secret.overwrite(&mut bytes) && bytes.len() == text.len());
            assert!(!secret.is_in(&bytes));
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
        assert_eq!(decoded("a%2Fb%zz%%+1"), "a/b%zz%%+1");
    }
}
