//! Takes the object off that a value was wrapped in, as its text comes.

use crate::schema::WRAPPER;

/// The text of `{"value": …}` while it arrives. Any other text is emitted unchanged.
#[derive(Debug)]
pub(super) struct Unwrap {
    state: State,
    /// The text that has not been emitted yet.
    held: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Inside,
    /// It is not such an object.
    Off,
}

impl Unwrap {
    pub(super) fn new() -> Self {
        Self { state: State::Before, held: String::new() }
    }

    /// Returns what can be emitted after `text` has come.
    pub(super) fn feed(&mut self, text: String) -> String {
        match self.state {
            State::Off => text,
            State::Before => {
                self.held.push_str(&text);
                match opening(&self.held) {
                    Opening::Unfinished if self.held.len() <= MAX_OPENING_BYTES => String::new(),
                    Opening::Unfinished | Opening::Other => {
                        self.state = State::Off;
                        std::mem::take(&mut self.held)
                    }
                    Opening::At(at) => {
                        self.state = State::Inside;
                        let rest = self.held.split_off(at);
                        self.held.clear();
                        self.inside(&rest)
                    }
                }
            }
            State::Inside => self.inside(&text),
        }
    }

    /// Holds back a brace at the end, which may be the wrapper's own.
    fn inside(&mut self, text: &str) -> String {
        // All that is held is of that kind already, and is not looked at again.
        let certain = text.trim_end_matches(|c: char| c == '}' || c.is_ascii_whitespace());
        let rest = &text[certain.len()..];
        if certain.is_empty() {
            self.held.push_str(rest);
            return String::new();
        }
        let mut out = std::mem::replace(&mut self.held, rest.to_owned());
        out.push_str(certain);
        out
    }

    /// Returns the rest at the end of the text.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => match held.trim_end().strip_suffix('}') {
                Some(inner) => inner.trim_end().to_owned(),
                // It was cut off.
                None => held,
            },
            State::Before | State::Off => held,
        }
    }
}

enum Opening {
    Unfinished,
    Other,
    /// The value starts here.
    At(usize),
}

/// Looks for `{ "value" :` at the beginning, with any white space.
fn opening(text: &str) -> Opening {
    let mut rest = text;
    for token in ["{", WRAPPER_KEY, ":"] {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        match rest.strip_prefix(token) {
            Some(more) => rest = more,
            None if token.starts_with(rest) => return Opening::Unfinished,
            None => return Opening::Other,
        }
    }
    let value = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
    if value.is_empty() { Opening::Unfinished } else { Opening::At(text.len() - value.len()) }
}

/// The longest opening, including white space. It is parsed again with each piece until it is complete.
const MAX_OPENING_BYTES: usize = 256;

const WRAPPER_KEY: &str = "\"value\"";

const _: () = assert!(WRAPPER_KEY.len() == WRAPPER.len() + 2);

#[cfg(test)]
mod tests {
    use super::*;

    fn through(pieces: &[&str]) -> String {
        let mut unwrap = Unwrap::new();
        let mut out: String = pieces.iter().map(|piece| unwrap.feed((*piece).to_owned())).collect();
        out.push_str(&unwrap.finish());
        out
    }

    #[test]
    fn the_wrapper_is_removed_however_the_text_is_cut() {
        for (text, value) in [
            (r#"{"value":[1,{"a":{}}]}"#, r#"[1,{"a":{}}]"#),
            (" {\n \"value\" : \"a}\" \n} \n", "\"a}\""),
            (r#"{"value":{"value":{}}}"#, r#"{"value":{}}"#),
            (r#"{"value":3}"#, "3"),
            // Not the wrapper, or not all of it.
            ("[1, 2]", "[1, 2]"),
            (r#"{"values":1}"#, r#"{"values":1}"#),
            ("```json\n{\"value\":1}\n```", "```json\n{\"value\":1}\n```"),
            (r#"{"val"#, r#"{"val"#),
            (r#"{"value":[1, "#, "[1, "),
            ("", ""),
        ] {
            assert_eq!(through(&[text]), value, "{text}");
            for size in 1..4 {
                let letters: Vec<char> = text.chars().collect();
                let pieces: Vec<String> =
                    letters.chunks(size).map(|piece| piece.iter().collect()).collect();
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                assert_eq!(through(&pieces), value, "{text} in pieces of {size}");
            }
        }
    }
}
