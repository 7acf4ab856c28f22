//! What has been emitted of a text that is reported more than once.

use crate::hash::fnv64;

/// How much of a text has been emitted. A text is reported in pieces, then complete, then complete again inside of its
/// item. Only the length and a hash are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    bytes: usize,
    /// FNV-1a of those bytes.
    hash: u64,
}

impl Received {
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    pub(super) fn add(&mut self, piece: &str) {
        self.bytes += piece.len();
        self.hash = fnv64(self.hash, piece.as_bytes());
    }

    /// Returns the missing rest of the complete text, or nothing if it does not start with what was received.
    pub(super) fn rest_of(self, whole: &str) -> Option<&str> {
        let (begin, rest) = whole.split_at_checked(self.bytes)?;
        let mut same = Self::default();
        same.add(begin);
        (same == self && !rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_missing_rest_is_returned() {
        let mut received = Received::default();
        assert_eq!(received.rest_of("whole"), Some("whole"));
        received.add("wh");
        received.add("o");
        assert_eq!(received.rest_of("whole"), Some("le"));
        assert_eq!(received.rest_of("who"), None);
        assert_eq!(received.rest_of("wh"), None);
        assert_eq!(received.rest_of(" whole"), None, "another text is not mixed in");
        assert_eq!(received.rest_of("whéé"), None, "nor is a letter cut");
    }
}
