//! Guesses the form of a response from its first bytes, if its headers do not state it.

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the first bytes of a response look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// Server-sent events.
    Events,
    /// One JSON value that is not a list, or an HTML page.
    Whole,
    /// A JSON object that goes on in its first line: one of several lines, or all there is.
    Line,
    /// A JSON list.
    List,
    /// Binary frames, which begin with a length of less than 16 MiB.
    Frames,
}

/// Looks for the first byte that is not white space, and the one after it. White space is looked at once, however the bytes are
/// split.
#[derive(Debug, Default)]
pub(crate) struct Guesser {
    seen: usize,
}

impl Guesser {
    /// Guesses from all bytes that have arrived so far. Returns `None` while there is only white space, the beginning of a byte order
    /// mark, or a single brace.
    pub(crate) fn guess(&mut self, bytes: &[u8]) -> Option<Guess> {
        if self.seen == 0 {
            match bytes.strip_prefix(BYTE_ORDER_MARK) {
                Some(_) => self.seen = BYTE_ORDER_MARK.len(),
                None if BYTE_ORDER_MARK.starts_with(bytes) => return None,
                None => {}
            }
        }
        let new = bytes.get(self.seen..)?;
        let Some(at) = new.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            self.seen = bytes.len();
            return None;
        };
        Some(match (new[at], new.get(at + 1)) {
            (0, _) if at == 0 && self.seen == 0 => Guess::Frames,
            (b'[', _) => Guess::List,
            // An object that is written for people begins with a line of its own.
            (b'{', Some(b'\n' | b'\r')) => Guess::Whole,
            (b'{', Some(_)) => Guess::Line,
            (b'{', None) => {
                self.seen += at;
                return None;
            }
            (b'<', _) => Guess::Whole,
            _ => Guess::Events,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(bytes: &[u8], size: usize) -> (Option<Guess>, usize) {
        let (mut guesser, mut arrived, mut looked_at) = (Guesser::default(), Vec::new(), 0);
        for piece in bytes.chunks(size) {
            let before = guesser.seen;
            arrived.extend_from_slice(piece);
            let guess = guesser.guess(&arrived);
            looked_at += arrived.len() - before;
            if guess.is_some() {
                return (guess, looked_at);
            }
        }
        (None, looked_at)
    }

    #[test]
    fn the_first_byte_that_is_not_white_space_decides_however_the_bytes_are_split() {
        for (text, expected) in [
            ("data: {}", Some(Guess::Events)),
            (" \n : comment", Some(Guess::Events)),
            ("\u{feff}{}", Some(Guess::Line)),
            (" {\n \"a\": 1}", Some(Guess::Whole)),
            (" {\r\n}", Some(Guess::Whole)),
            ("\n{", None),
            ("\u{feff} \r\n[{}]", Some(Guess::List)),
            ("\n<html>", Some(Guess::Whole)),
            ("\u{feff}\n", None),
            ("\0\0\0\u{10}", Some(Guess::Frames)),
            (" \0", Some(Guess::Events)),
            ("\u{feff}\0", Some(Guess::Events)),
            ("", None),
        ] {
            for size in 1..=text.len().max(1) {
                assert_eq!(guess(text.as_bytes(), size).0, expected, "{text:?} {size}");
            }
        }
    }

    #[test]
    fn white_space_before_a_response_is_read_once() {
        let mut text = vec![b' '; 100_000];
        text.extend(b"{}");
        let (found, looked_at) = guess(&text, 7);
        assert_eq!(found, Some(Guess::Line));
        // The brace may be looked at twice.
        assert!((text.len()..=text.len() + 1).contains(&looked_at));
    }
}
