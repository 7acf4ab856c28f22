//! Joins pieces of data that were encoded in base64 one by one.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Turns pieces of base64 into pieces whose concatenation is valid base64.
///
/// A piece that ends in padding cannot be followed by another one; its last bytes are held back for the next piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base64Joiner {
    held: Vec<u8>,
}

impl Base64Joiner {
    /// Returns the next piece in a form that can be appended to the earlier ones.
    pub(crate) fn push(&mut self, piece: Cow<'_, str>) -> String {
        if self.held.is_empty() && !piece.ends_with('=') {
            return piece.into_owned();
        }
        match STANDARD.decode(piece.as_bytes()) {
            Ok(bytes) => {
                self.held.extend_from_slice(&bytes);
                let whole = self.held.len() - self.held.len() % 3;
                let rest = self.held.split_off(whole);
                STANDARD.encode(std::mem::replace(&mut self.held, rest))
            }
            // Not base64 at all: not ours to mend.
            Err(_) => piece.into_owned(),
        }
    }

    /// Returns the bytes that were held back, at the end.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| STANDARD.encode(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_join_to_what_they_were() {
        let bytes: Vec<u8> = (0..=255).collect();
        for size in 1..20 {
            let mut joiner = Base64Joiner::default();
            let mut joined = String::new();
            for piece in bytes.chunks(size) {
                joined.push_str(&joiner.push(Cow::Owned(STANDARD.encode(piece))));
            }
            joined.extend(joiner.finish());
            assert_eq!(STANDARD.decode(joined).unwrap(), bytes, "by {size}");
        }
    }
}
