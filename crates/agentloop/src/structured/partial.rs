//! Incremental JSON parsing: the part of a value that is certain before its text is complete.
//!
//! A scanner finds how much of the text is certain, and which brackets are open there. The strict parser reads the text that is
//! closed at that place, so there is one reader of JSON, and what it refuses is never shown.
//!
//! A value only grows: objects gain properties, arrays gain items, strings gain characters. Numbers, `true`, `false` and
//! `null` appear when their last character is certain.

use serde_json::Value;

use super::strict;

/// The nesting depth that the strict parser accepts.
const MAX_DEPTH: usize = 127;

/// Finds the value in a text that arrives piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    state: State,
    /// The text of the value so far.
    text: String,
    /// How many bytes of the text are certain.
    certain: usize,
    /// The brackets that close what is open, the innermost last.
    closing: Vec<char>,
    /// Whether a string is a name of an object.
    expects_name: bool,
    /// How many times the value has grown.
    version: u64,
    /// Whether a fence precedes the value.
    fenced: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Only white space so far.
    #[default]
    Start,
    /// This many backticks of a fence.
    Ticks(u8),
    /// The rest of the line that opens a fence.
    FenceLine,
    /// Outside of strings and words.
    Between,
    Text {
        is_name: bool,
        /// Where an escape begins that is not complete.
        escape: Option<usize>,
    },
    /// A number, `true`, `false` or `null`.
    Word,
    Done,
    /// The text is not JSON, or does not begin with it.
    Failed,
}

impl Partial {
    /// Scans the next piece.
    pub(crate) fn feed(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some(character) = rest.chars().next() {
            if matches!(self.state, State::Done | State::Failed) {
                return;
            }
            let plain = match self.state {
                State::Text { escape: None, .. } => {
                    memchr::memchr2(b'"', b'\\', rest.as_bytes()).unwrap_or(rest.len())
                }
                _ => 0,
            };
            if plain > 0 {
                self.text.push_str(&rest[..plain]);
                self.grow_text();
                rest = &rest[plain..];
                continue;
            }
            if self.step(character).is_none() {
                self.state = State::Failed;
            }
            rest = &rest[character.len_utf8()..];
        }
    }

    /// Returns how many times the value has grown; 0 if there is no value yet.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns whether a value has begun.
    pub(crate) fn has_value(&self) -> bool {
        self.version > 0
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// Returns the value so far; `None` if there is none yet or the text turned out not to be JSON. It reads the whole text again.
    pub(crate) fn value(&self) -> Option<Value> {
        if matches!(self.state, State::Failed) {
            return None;
        }
        let quote = matches!(self.state, State::Text { is_name: false, .. }).then_some('"');
        let mut closed = String::with_capacity(self.certain + 1 + self.closing.len());
        closed.push_str(&self.text[..self.certain]);
        closed.extend(quote.into_iter().chain(self.closing.iter().rev().copied()));
        strict::parse(&closed).ok()
    }

    fn step(&mut self, character: char) -> Option<()> {
        match &mut self.state {
            State::Start if is_blank(character) => {}
            State::Start if character == '`' => self.state = State::Ticks(1),
            State::Ticks(ticks) if character == '`' => {
                *ticks += 1;
                if *ticks == 3 {
                    self.fenced = true;
                    self.state = State::FenceLine;
                }
            }
            State::Ticks(_) => return None,
            State::FenceLine if character == '\n' => self.state = State::Between,
            State::FenceLine => {}
            State::Start | State::Between => return self.begin(character),
            State::Text { .. } => self.continue_text(character),
            State::Word if is_word(character) => self.text.push(character),
            State::Word => {
                self.version += 1;
                self.end_value();
                if matches!(self.state, State::Between) {
                    return self.begin(character);
                }
            }
            State::Done | State::Failed => {}
        }
        Some(())
    }

    /// Adds a character that is in no string and no word.
    fn begin(&mut self, character: char) -> Option<()> {
        self.state = State::Between;
        self.text.push(character);
        match character {
            '{' | '[' if self.closing.len() == MAX_DEPTH => return None,
            '{' | '[' => {
                self.closing.push(if character == '{' { '}' } else { ']' });
                self.expects_name = character == '{';
                self.version += 1;
                self.certain = self.text.len();
            }
            '}' | ']' if self.closing.pop() != Some(character) => return None,
            '}' | ']' => self.end_value(),
            '"' => {
                let is_name = self.expects_name;
                self.state = State::Text { is_name, escape: None };
                self.grow_text();
            }
            ',' | ':' => {
                let is_object = *self.closing.last()? == '}';
                self.expects_name = is_object && character == ',';
            }
            '-' | 't' | 'f' | 'n' | '0'..='9' => self.state = State::Word,
            _ if is_blank(character) => {}
            _ => return None,
        }
        Some(())
    }

    /// Ends a value that is not inside of a string.
    fn end_value(&mut self) {
        self.certain = self.text.len();
        self.expects_name = false;
        self.state = if self.closing.is_empty() { State::Done } else { State::Between };
    }

    /// Adds the end of a string, or a part of an escape.
    fn continue_text(&mut self, character: char) {
        let State::Text { is_name, escape } = &mut self.state else { return };
        self.text.push(character);
        match (*escape, character) {
            (None, '"') if *is_name => self.state = State::Between,
            (None, '"') => self.end_value(),
            (None, '\\') => *escape = Some(self.text.len() - 1),
            (Some(begin), _) if !is_escape(&self.text.as_bytes()[begin..]) => {}
            _ => {
                *escape = None;
                self.grow_text();
            }
        }
    }

    /// Makes the text of a string certain, unless it is a name: its value has not begun.
    fn grow_text(&mut self) {
        if matches!(self.state, State::Text { is_name: false, .. }) {
            self.certain = self.text.len();
            self.version += 1;
        }
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')
}

/// Returns whether an escape is complete. The first half of a surrogate pair is not, without the second one.
fn is_escape(escape: &[u8]) -> bool {
    match escape {
        [b'\\'] => false,
        [b'\\', b'u', digits @ ..] => {
            let is_half =
                matches!(digits, [b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', ..]);
            digits.len() >= if is_half { 10 } else { 4 }
        }
        _ => true,
    }
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
