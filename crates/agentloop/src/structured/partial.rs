//! JSON while it comes: what is certain of a value whose text has not ended.
//!
//! A value only grows: objects gain properties, lists gain items, texts gain letters. Numbers, `true`, `false` and `null`
//! appear when their last letter is certain.

use serde_json::{Map, Value};

/// As deep as the strict parser goes.
const MAX_DEPTH: usize = 127;

/// Reads a text piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    state: State,
    stack: Vec<Frame>,
    /// The root, when it is a single value or has ended.
    root: Option<Value>,
    /// How often the value has grown.
    version: u64,
    /// Whether a fence stands before the value.
    fenced: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing but white space so far, or a fence of so many ticks.
    #[default]
    Start,
    Ticks(u8),
    /// The rest of the line of a fence.
    FenceLine,
    /// A value may begin; in a list that is still empty, it may also end.
    Value,
    /// A key may begin; in an object that is still empty, it may also end.
    Key,
    Colon,
    /// A comma or an end may follow.
    After,
    Text {
        text: String,
        key: bool,
        escape: Escape,
    },
    /// A number or a word.
    Word(String),
    Done,
    /// It is no JSON, or not at once.
    Off,
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
    /// The first half of a pair is there, and so much of `\u`.
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
    List(Vec<Value>),
}

impl Partial {
    /// Takes the next piece.
    pub(crate) fn feed(&mut self, text: &str) {
        for letter in text.chars() {
            if matches!(self.state, State::Done | State::Off) {
                return;
            }
            if self.step(letter).is_none() {
                self.state = State::Off;
            }
        }
    }

    /// How often the value has grown; 0 while there is none.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether a value has begun.
    pub(crate) fn began(&self) -> bool {
        self.version > 0
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// The value so far; `None` where there is none, or none any more.
    pub(crate) fn value(&self) -> Option<Value> {
        let mut inner = match &self.state {
            State::Off => return None,
            State::Text { text, key: false, .. } => Some(Value::String(text.clone())),
            _ => self.root.clone(),
        };
        for frame in self.stack.iter().rev() {
            inner = Some(match frame {
                Frame::List(items) => items.iter().cloned().chain(inner).collect(),
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

    fn step(&mut self, letter: char) -> Option<()> {
        let blank = matches!(letter, ' ' | '\t' | '\n' | '\r');
        match &mut self.state {
            State::Start if blank => {}
            State::Start if letter == '`' => self.state = State::Ticks(1),
            State::Start => return self.begin(letter),
            State::Ticks(ticks) if letter == '`' => {
                *ticks += 1;
                if *ticks == 3 {
                    self.fenced = true;
                    self.state = State::FenceLine;
                }
            }
            State::Ticks(_) => return None,
            State::FenceLine if letter == '\n' => self.state = State::Value,
            State::FenceLine => {}
            State::Value if blank => {}
            State::Value => return self.begin(letter),
            State::Key if blank => {}
            State::Key if letter == '"' => self.state = text(true),
            State::Key if letter == '}' => return self.end(letter),
            State::Key => return None,
            State::Colon if blank => {}
            State::Colon if letter == ':' => self.state = State::Value,
            State::Colon => return None,
            State::After if blank => {}
            State::After if letter == ',' => {
                self.state = match self.stack.last()? {
                    Frame::Object { .. } => State::Key,
                    Frame::List(_) => State::Value,
                }
            }
            State::After => return self.end(letter),
            State::Text { .. } => return self.letter(letter),
            State::Word(word) => {
                if letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.') {
                    word.push(letter);
                    return Some(());
                }
                let value = serde_json::from_str(word).ok()?;
                self.version += 1;
                self.put(value)?;
                return self.step(letter);
            }
            State::Done | State::Off => {}
        }
        Some(())
    }

    /// A value begins.
    fn begin(&mut self, letter: char) -> Option<()> {
        match letter {
            '{' | '[' if self.stack.len() == MAX_DEPTH => return None,
            '{' => {
                self.stack.push(Frame::Object { fields: Map::new(), key: None });
                self.state = State::Key;
                self.version += 1;
            }
            '[' => {
                self.stack.push(Frame::List(Vec::new()));
                self.state = State::Value;
                self.version += 1;
            }
            '"' => {
                self.state = text(false);
                self.version += 1;
            }
            ']' => return self.end(letter),
            '-' | 't' | 'f' | 'n' | '0'..='9' => self.state = State::Word(letter.to_string()),
            _ => return None,
        }
        Some(())
    }

    /// An object or a list ends.
    fn end(&mut self, letter: char) -> Option<()> {
        let value = match (self.stack.pop()?, letter) {
            (Frame::Object { fields, key: None }, '}') => Value::Object(fields),
            (Frame::List(items), ']') => Value::Array(items),
            _ => return None,
        };
        self.put(value)
    }

    /// A value is whole.
    fn put(&mut self, value: Value) -> Option<()> {
        self.state = State::After;
        match self.stack.last_mut() {
            None => {
                self.root = Some(value);
                self.state = State::Done;
            }
            Some(Frame::List(items)) => items.push(value),
            Some(Frame::Object { fields, key }) => {
                fields.insert(key.take()?, value);
            }
        }
        Some(())
    }

    /// A letter of a text.
    fn letter(&mut self, letter: char) -> Option<()> {
        let State::Text { text, key, escape } = &mut self.state else { return None };
        let plain = match escape {
            Escape::None => match letter {
                '"' => return self.text_ends(),
                '\\' => {
                    *escape = Escape::Slash;
                    return Some(());
                }
                '\0'..='\x1f' => return None,
                other => other,
            },
            Escape::Slash => match letter {
                '"' | '\\' | '/' => letter,
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
                *code = *code * 16 + letter.to_digit(16)?;
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
                match (*seen, letter) {
                    (0, '\\') => *seen = 1,
                    (1, 'u') => *escape = Escape::PairHex { high: *high, digits: 0, code: 0 },
                    _ => return None,
                }
                return Some(());
            }
            Escape::PairHex { high, digits, code } => {
                *code = *code * 16 + letter.to_digit(16)?;
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

    fn text_ends(&mut self) -> Option<()> {
        let State::Text { text, key, .. } = std::mem::take(&mut self.state) else { return None };
        if !key {
            return self.put(Value::String(text));
        }
        match self.stack.last_mut() {
            // Which of the two was meant, nobody could say.
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

fn text(key: bool) -> State {
    State::Text { text: String::new(), key, escape: Escape::None }
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
