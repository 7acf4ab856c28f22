//! Finds comments, strings, numbers and keywords in a line.

use super::languages::Language;
use super::{COMMENT, KEYWORD, NUMBER, STRING};
use crate::screen::style::{Line, Style};

/// Reads the lines of one block of code.
#[derive(Debug)]
pub(super) struct Lexer {
    language: &'static Language,
    /// The end of a comment or string that started on an earlier line, and its style.
    open: Option<(&'static str, Style)>,
}

impl Lexer {
    pub(super) fn new(language: &'static Language) -> Self {
        Self { language, open: None }
    }

    pub(super) fn read_line(&mut self, text: &str) -> Line {
        let mut line = Line::default();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let (length, style) = self.read_token(rest, text[..at].chars().last());
            line.push(&rest[..length], style);
            at += length;
        }
        line
    }

    /// Returns the length and the style of the token at the start of a text that is not empty.
    fn read_token(&mut self, text: &str, before: Option<char>) -> (usize, Style) {
        if let Some((end, style)) = self.open {
            return self.read_to_end(text, 0, end, style);
        }
        let language = self.language;
        let is_comment = |start: &&&str| {
            // In a shell, a # within a word is not a comment.
            text.starts_with(**start) && (**start != "#" || before.is_none_or(char::is_whitespace))
        };
        if language.line_comments.iter().any(|start| is_comment(&start)) {
            return (text.len(), COMMENT);
        }
        for (start, end, is_string) in language.blocks {
            if text.starts_with(start) {
                let style = if *is_string { STRING } else { COMMENT };
                return self.read_to_end(text, start.len(), end, style);
            }
        }
        let first = text.chars().next().unwrap_or(' ');
        if language.quotes.contains(first) {
            return (read_string(text, first), STRING);
        }
        if first.is_ascii_digit() {
            let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
            let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
            // A range such as 1..5 has two numbers.
            return (text.find("..").map_or(length, |dots| length.min(dots)), NUMBER);
        }
        if first.is_alphabetic() || first == '_' {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
            let style = if language.is_keyword(&text[..length]) { KEYWORD } else { Style::PLAIN };
            return (length, style);
        }
        (first.len_utf8(), Style::PLAIN)
    }

    /// Reads up to the end of a comment or string, which may be on a later line.
    fn read_to_end(
        &mut self,
        text: &str,
        from: usize,
        end: &'static str,
        style: Style,
    ) -> (usize, Style) {
        match text[from..].find(end) {
            Some(at) => {
                self.open = None;
                (from + at + end.len(), style)
            }
            None => {
                self.open = Some((end, style));
                (text.len(), style)
            }
        }
    }
}

/// Returns the length of a string that ends on this line. A quote without an end is not a string: it may be an apostrophe.
fn read_string(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    quote.len_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(language: &str, lines: &[&str]) -> String {
        let mut lexer = Lexer::new(Language::find(language).unwrap());
        let mut out = String::new();
        for text in lines {
            for (style, text) in lexer.read_line(text).spans() {
                match style {
                    COMMENT => out.push_str(&format!("⟨c:{text}⟩")),
                    KEYWORD => out.push_str(&format!("⟨k:{text}⟩")),
                    STRING => out.push_str(&format!("⟨s:{text}⟩")),
                    NUMBER => out.push_str(&format!("⟨n:{text}⟩")),
                    _ => out.push_str(text),
                }
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn tokens_are_found() {
        assert_eq!(
            shown("rust", &["fn main() { // go", "let x = \"a\\\"b\"; /* 1", "2 */ 3.5 0..9 'a"]),
            "⟨k:fn⟩ main() { ⟨c:// go⟩\n⟨k:let⟩ x = ⟨s:\"a\\\"b\"⟩; ⟨c:/* 1⟩\n⟨c:2 */⟩ ⟨n:3.5⟩ ⟨n:0⟩..⟨n:9⟩ 'a\n"
        );
        assert_eq!(
            shown("py", &["def f(): # x", "  '''doc", "more''' ; return 1"]),
            "⟨k:def⟩ f(): ⟨c:# x⟩\n  ⟨s:'''doc⟩\n⟨s:more'''⟩ ; ⟨k:return⟩ ⟨n:1⟩\n"
        );
        assert_eq!(shown("sql", &["SELECT a -- b"]), "⟨k:SELECT⟩ a ⟨c:-- b⟩\n");
        assert_eq!(shown("sh", &["echo a#b $x # c"]), "⟨k:echo⟩ a#b $x ⟨c:# c⟩\n");
    }

    #[test]
    fn no_character_is_lost() {
        let text = "fn \"ä' /* 日本 */ `x` 'y' # -- 1_000.5e-3 \\ \"open";
        for language in ["rust", "python", "js", "sh", "sql", "html", "css", "json", "yaml", "lua"]
        {
            let mut lexer = Lexer::new(Language::find(language).unwrap());
            assert_eq!(lexer.read_line(text).text(), text, "{language}");
        }
    }
}
