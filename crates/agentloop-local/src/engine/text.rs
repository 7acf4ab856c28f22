//! Joins the bytes of tokens to text. A character may consist of several tokens.

/// Bytes that are not yet a whole character.
#[derive(Clone, Debug, Default)]
pub(super) struct Characters {
    rest: Vec<u8>,
}

impl Characters {
    /// Adds bytes, and returns the whole characters. Bytes that are not UTF-8 become `U+FFFD`.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::new();
        let mut from = 0;
        while from < self.rest.len() {
            match std::str::from_utf8(&self.rest[from..]) {
                Ok(valid) => {
                    text.push_str(valid);
                    from = self.rest.len();
                }
                Err(error) => {
                    let valid = &self.rest[from..from + error.valid_up_to()];
                    text.push_str(&String::from_utf8_lossy(valid));
                    from += error.valid_up_to();
                    // Without a length, the bytes are the beginning of a character.
                    let Some(wrong) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    from += wrong;
                }
            }
        }
        self.rest.drain(..from);
        text
    }

    /// Returns what is left at the end of a response.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_joined_however_their_bytes_arrive() {
        let bytes = "a\u{e9}\u{1f600}b".as_bytes();
        for cut in 0..=bytes.len() {
            let mut characters = Characters::default();
            let mut text = characters.push(&bytes[..cut]);
            text.push_str(&characters.push(&bytes[cut..]));
            text.push_str(&characters.finish());
            assert_eq!(text.as_bytes(), bytes, "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_and_do_not_accumulate() {
        let mut characters = Characters::default();
        assert_eq!(characters.push(&[0xff, b'a', 0xc3]), "\u{fffd}a");
        assert_eq!(characters.push(b"b"), "\u{fffd}b");
        assert_eq!(characters.finish(), "");
        characters.push(&[0xf0, 0x9f]);
        assert_eq!(characters.finish(), "\u{fffd}");
    }
}
