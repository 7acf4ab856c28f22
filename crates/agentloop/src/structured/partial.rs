//! Incremental JSON parsing: the part of a value that is certain before its text is complete.
//!
//! A value only grows: objects gain properties, arrays gain items, strings gain characters. Numbers, `true`, `false` and
//! `null` appear when their last character is certain.

use serde_json::{Map, Value};

/// The nesting depth that the strict parser accepts.
const MAX_DEPTH: usize = 127;

/// Parses a text piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    state: State,
    stack: Vec<Frame>,
    /// The root value, if it is complete.
    root: Option<Value>,
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
    /// A value may begin; an empty array may also end.
    Value,
    /// A key may begin; an empty object may also end.
    Key,
    Colon,
    /// A comma or an end may follow.
    After,
    Text {
        text: String,
        key: bool,
        escape: Escape,
    },
    /// A number, `true`, `false` or `null`.
    Word(String),
    Done,
    /// The text is not JSON, or does not begin with it.
    Failed,
}

#[derive(Debug, Default)]
enum Escape {
    #[default]
    None,
    Slash,
    /// The digits of `\u`.
    Hex {
        digits: u8,
        code: u32,
    },
    /// The first half of a surrogate pair was read, and this much of the second `\u`.
    Pair {
        high: u32,
        seen: u8,
    },
    PairHex {
        high: u32,
        digits: u8,
        code: u32,
    },
}

#[derive(Debug)]
enum Frame {
    Object { fields: Map<String, Value>, key: Option<String> },
    Array(Vec<Value>),
}

impl Partial {
    /// Parses the next piece.
    pub(crate) fn feed(&mut self, text: &str) {
        for character in text.chars() {
            if matches!(self.state, State::Done | State::Failed) {
                return;
            }
            if self.step(character).is_none() {
                self.state = State::Failed;
            }
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

    /// Returns the value so far; `None` if there is none yet or the text turned out not to be JSON.
    pub(crate) fn value(&self) -> Option<Value> {
        let mut inner = match &self.state {
            State::Failed => return None,
            State::Text { text, key: false, .. } => Some(Value::String(text.clone())),
            _ => self.root.clone(),
        };
        for frame in self.stack.iter().rev() {
            inner = Some(match frame {
                Frame::Array(items) => items.iter().cloned().chain(inner).collect(),
                Frame::Object { fields, key } => {
                    let mut fields = fields.clone();
                    if let (Some(key), Some(value)) = (key, inner) {
                        fields.insert(key.clone(), value);
                    }
                    Value::Object(fields)
                }
            });
        }
        inner
    }

    fn step(&mut self, character: char) -> Option<()> {
        let blank = matches!(character, ' ' | '\t' | '\n' | '\r');
        match &mut self.state {
            State::Start if blank => {}
            State::Start if character == '`' => self.state = State::Ticks(1),
            State::Start => return self.begin_value(character),
            State::Ticks(ticks) if character == '`' => {
                *ticks += 1;
                if *ticks == 3 {
                    self.fenced = true;
                    self.state = State::FenceLine;
                }
            }
            State::Ticks(_) => return None,
            State::FenceLine if character == '\n' => self.state = State::Value,
            State::FenceLine => {}
            State::Value if blank => {}
            State::Value => return self.begin_value(character),
            State::Key if blank => {}
            State::Key if character == '"' => self.state = begin_string(true),
            State::Key if character == '}' => return self.end_container(character),
            State::Key => return None,
            State::Colon if blank => {}
            State::Colon if character == ':' => self.state = State::Value,
            State::Colon => return None,
            State::After if blank => {}
            State::After if character == ',' => {
                self.state = match self.stack.last()? {
                    Frame::Object { .. } => State::Key,
                    Frame::Array(_) => State::Value,
                }
            }
            State::After => return self.end_container(character),
            State::Text { .. } => return self.push_char(character),
            State::Word(word) => {
                if character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.') {
                    word.push(character);
                    return Some(());
                }
                let value = serde_json::from_str(word).ok()?;
                self.version += 1;
                self.put_value(value)?;
                return self.step(character);
            }
            State::Done | State::Failed => {}
        }
        Some(())
    }

    /// Begins a value.
    fn begin_value(&mut self, character: char) -> Option<()> {
        match character {
            '{' | '[' if self.stack.len() == MAX_DEPTH => return None,
            '{' => {
                self.stack.push(Frame::Object { fields: Map::new(), key: None });
                self.state = State::Key;
                self.version += 1;
            }
            '[' => {
                self.stack.push(Frame::Array(Vec::new()));
                self.state = State::Value;
                self.version += 1;
            }
            '"' => {
                self.state = begin_string(false);
                self.version += 1;
            }
            ']' => return self.end_container(character),
            '-' | 't' | 'f' | 'n' | '0'..='9' => self.state = State::Word(character.to_string()),
            _ => return None,
        }
        Some(())
    }

    /// Ends an object or an array.
    fn end_container(&mut self, character: char) -> Option<()> {
        let value = match (self.stack.pop()?, character) {
            (Frame::Object { fields, key: None }, '}') => Value::Object(fields),
            (Frame::Array(items), ']') => Value::Array(items),
            _ => return None,
        };
        self.put_value(value)
    }

    /// Adds a complete value to its container.
    fn put_value(&mut self, value: Value) -> Option<()> {
        self.state = State::After;
        match self.stack.last_mut() {
            None => {
                self.root = Some(value);
                self.state = State::Done;
            }
            Some(Frame::Array(items)) => items.push(value),
            Some(Frame::Object { fields, key }) => {
                fields.insert(key.take()?, value);
            }
        }
        Some(())
    }

    /// Adds a character to a string.
    fn push_char(&mut self, character: char) -> Option<()> {
        let State::Text { text, key, escape } = &mut self.state else { return None };
        let plain = match escape {
            Escape::None => match character {
                '"' => return self.end_string(),
                '\\' => {
                    *escape = Escape::Slash;
                    return Some(());
                }
                '\0'..='\x1f' => return None,
                other => other,
            },
            Escape::Slash => match character {
                '"' | '\\' | '/' => character,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    *escape = Escape::Hex { digits: 0, code: 0 };
                    return Some(());
                }
                _ => return None,
            },
            Escape::Hex { digits, code } => {
                *code = *code * 16 + character.to_digit(16)?;
                *digits += 1;
                if *digits < 4 {
                    return Some(());
                }
                if (0xd800..0xdc00).contains(code) {
                    *escape = Escape::Pair { high: *code, seen: 0 };
                    return Some(());
                }
                char::from_u32(*code)?
            }
            Escape::Pair { high, seen } => {
                match (*seen, character) {
                    (0, '\\') => *seen = 1,
                    (1, 'u') => *escape = Escape::PairHex { high: *high, digits: 0, code: 0 },
                    _ => return None,
                }
                return Some(());
            }
            Escape::PairHex { high, digits, code } => {
                *code = *code * 16 + character.to_digit(16)?;
                *digits += 1;
                if *digits < 4 {
                    return Some(());
                }
                let low = code.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x1_0000 + ((*high - 0xd800) << 10) + low)?
            }
        };
        *escape = Escape::None;
        text.push(plain);
        if !*key {
            self.version += 1;
        }
        Some(())
    }

    fn end_string(&mut self) -> Option<()> {
        let State::Text { text, key, .. } = std::mem::take(&mut self.state) else { return None };
        if !key {
            return self.put_value(Value::String(text));
        }
        match self.stack.last_mut() {
            // With a duplicate key it is ambiguous which value is meant.
            Some(Frame::Object { fields, .. }) if fields.contains_key(&text) => None,
            Some(Frame::Object { key, .. }) => {
                *key = Some(text);
                self.state = State::Colon;
                Some(())
            }
            _ => None,
        }
    }
}

fn begin_string(key: bool) -> State {
    State::Text { text: String::new(), key, escape: Escape::None }
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
