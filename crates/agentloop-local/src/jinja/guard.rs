//! Keeps the texts of special tokens in messages from being read as special tokens.
//!
//! A user could otherwise end their message and write one of the system or the assistant. The texts are replaced by marks before the
//! template is applied, and read as plain text afterwards. Only they are replaced, because templates look at the contents of messages.

use serde_json::{Map, Value};

/// The characters around a mark. They are for private use, and replaced themselves where a message has them.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// How often a text is searched. A special token may appear where another one was replaced.
const MAX_ROUNDS: usize = 4;

/// The texts that were replaced.
pub(crate) struct Guard<'a> {
    /// Returns the texts of the special tokens in a text.
    find: &'a dyn Fn(&str) -> Vec<String>,
    replaced: Vec<String>,
}

impl<'a> Guard<'a> {
    pub(crate) fn new(find: &'a dyn Fn(&str) -> Vec<String>) -> Self {
        Self { find, replaced: Vec::new() }
    }

    /// Replaces the special tokens in all texts of a value, also in the keys of objects.
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (self.text(key), self.value(value)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains([OPEN, CLOSE]) {
            text = text.split_inclusive([OPEN, CLOSE]).fold(String::new(), |mut all, piece| {
                let plain = piece.trim_end_matches([OPEN, CLOSE]);
                all.push_str(plain);
                if plain.len() < piece.len() {
                    all.push_str(&self.mark(&piece[plain.len()..]));
                }
                all
            });
        }
        for _ in 0..MAX_ROUNDS {
            let found = (self.find)(&text);
            if found.is_empty() {
                return text;
            }
            for special in found {
                if !special.is_empty() && text.contains(&special) {
                    let mark = self.mark(&special);
                    text = text.replace(&special, &mark);
                }
            }
        }
        match (self.find)(&text).is_empty() {
            true => text,
            // The texts of the tokens are not those in the message.
            false => {
                let whole = self.restore(&text);
                self.mark(&whole)
            }
        }
    }

    /// Returns the mark of a text.
    fn mark(&mut self, text: &str) -> String {
        let known = self.replaced.iter().position(|it| it == text);
        let index = known.unwrap_or_else(|| {
            self.replaced.push(text.to_owned());
            self.replaced.len() - 1
        });
        format!("{OPEN}{index}{CLOSE}")
    }

    fn restore(&self, text: &str) -> String {
        self.split(text).into_iter().map(|(piece, _)| piece).collect()
    }

    /// Splits what a template wrote. The texts with `true` are those that were replaced, which are plain.
    pub(crate) fn split<'b>(&'b self, text: &'b str) -> Vec<(&'b str, bool)> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let mark = after.split_once(CLOSE).and_then(|(index, after)| {
                Some((self.replaced.get(index.parse::<usize>().ok()?)?, after))
            });
            pieces.push((before, false));
            match mark {
                Some((text, after)) => {
                    pieces.push((text.as_str(), true));
                    rest = after;
                }
                // The template has this character itself.
                None => rest = after,
            }
        }
        pieces.push((rest, false));
        pieces.retain(|(piece, _)| !piece.is_empty());
        pieces
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(text: &str) -> Vec<String> {
        let known = ["<|end|>", "<|start|>", "[X]"];
        known.into_iter().filter(|it| text.contains(it)).map(str::to_owned).collect()
    }

    #[test]
    fn special_tokens_are_plain_wherever_they_are() {
        let mut guard = Guard::new(&find);
        let value = json!({"a <|end|>": ["x[X]y", {"b": "<|<|end|>end|>"}], "c": 1});
        let guarded = guard.value(&value).to_string();
        assert!(find(&guarded).is_empty(), "{guarded}");
        let text = guarded.replace("x", "<|start|>");
        let pieces = guard.split(&text);
        let plain: Vec<&str> = pieces.iter().filter(|piece| piece.1).map(|piece| piece.0).collect();
        assert_eq!(plain, ["<|end|>", "[X]", "<|end|>"]);
        // What the template writes is special.
        assert!(pieces.iter().any(|piece| piece.0.contains("<|start|>") && !piece.1));
        assert_eq!(guard.restore(&guarded), value.to_string());
    }

    #[test]
    fn the_characters_of_marks_in_a_message_are_kept() {
        let mut guard = Guard::new(&find);
        for text in
            ["\u{e000}0\u{e001}", "\u{e000}", "a\u{e001}\u{e000}", "\u{e000}9\u{e001}<|end|>"]
        {
            let guarded = guard.text(text);
            assert_eq!(guard.restore(&guarded), text);
        }
        let mut one = Guard::new(&find);
        one.text("<|end|>");
        // A template that writes the character itself does not refer to a text of a message.
        assert_eq!(one.restore("\u{e000}7\u{e001}"), "7\u{e001}");
    }

    #[test]
    fn a_token_whose_text_is_not_found_makes_the_whole_text_plain() {
        let wrong = |text: &str| match text.contains('<') {
            true => vec!["?".to_owned()],
            false => Vec::new(),
        };
        let mut guard = Guard::new(&wrong);
        let guarded = guard.text("a <b>");
        assert_eq!(guard.split(&guarded), [("a <b>", true)]);
    }
}
