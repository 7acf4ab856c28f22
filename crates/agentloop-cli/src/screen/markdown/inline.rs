//! Markup within a line: emphasis, code, links and escapes.
//!
//! Text is returned as soon as later text cannot change it. Markup that may still be closed is held back, up to [`MAX_SPAN`]
//! bytes; markup that is not closed by then is shown as it was written.

use super::link;
use crate::screen::style::{Color, Style};

/// The most bytes between the start and the end of markup.
const MAX_SPAN: usize = 1_000;

/// The longest run of the same character that can be markup.
const MAX_RUN: usize = 32;

/// How deeply markup can be nested.
const MAX_DEPTH: usize = 6;

/// The style of code within text.
const CODE: Style = Style::colored(Color::Cyan);

/// Receives text with its style.
pub(super) type Sink<'a> = dyn FnMut(&str, Style) + 'a;

/// Reads the text of one line.
#[derive(Debug, Default)]
pub(super) struct Inline {
    style: Style,
    /// What is not decided yet.
    held: String,
    /// The character before `held`.
    before: Option<char>,
    /// Whether only more of certain characters can decide about `held`.
    waits_for_end: bool,
    dead: DeadEnds,
}

/// Up to where there is no end of some markup, as an offset from the end of `held`'s original text.
///
/// Without it, a text of many starts and no end would be searched again for every start.
#[derive(Debug, Default)]
struct DeadEnds {
    /// How many bytes of the line are before `held`.
    offset: usize,
    /// The markup, by its first character and its length, and the offset in the line.
    until: Vec<(char, usize, usize)>,
}

/// What was found at a position.
enum Found {
    /// Markup or text of this many bytes, which has been passed to the sink.
    Shown(usize),
    /// More text decides. It must contain a character that can end markup, unless `any`.
    Undecided { any: bool },
}

impl Inline {
    pub(super) fn new(style: Style) -> Self {
        Self { style, ..Self::default() }
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str, sink: &mut Sink<'_>) {
        self.held.push_str(text);
        let can_decide = !self.waits_for_end
            || self.held.len() > MAX_SPAN
            || text.contains(['*', '_', '~', '`', ']', ')', '>', ';']);
        if can_decide {
            self.read(false, sink);
        }
    }

    /// Ends the line.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.read(true, sink);
    }

    /// Returns the text that is held back, as it was written.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    fn read(&mut self, is_complete: bool, sink: &mut Sink<'_>) {
        let held = std::mem::take(&mut self.held);
        let mut reader = Reader {
            text: &held,
            before: self.before,
            style: self.style,
            is_complete,
            depth: 0,
            dead: &mut self.dead,
        };
        let (used, any) = reader.read(sink);
        self.before = held[..used].chars().last().or(self.before);
        self.waits_for_end = !any;
        self.dead.offset += used;
        held[used..].clone_into(&mut self.held);
    }
}

/// Shows a complete piece of text.
pub(super) fn show(text: &str, style: Style, sink: &mut Sink<'_>) {
    let mut inline = Inline::new(style);
    inline.push(text, sink);
    inline.finish(sink);
}

struct Reader<'a> {
    text: &'a str,
    before: Option<char>,
    style: Style,
    is_complete: bool,
    depth: usize,
    dead: &'a mut DeadEnds,
}

impl Reader<'_> {
    /// Shows what can be decided. Returns how many bytes that is, and whether any further text can decide more.
    fn read(&mut self, sink: &mut Sink<'_>) -> (usize, bool) {
        let mut at = 0;
        while at < self.text.len() {
            let rest = &self.text[at..];
            let plain = rest.find(is_special).unwrap_or(rest.len());
            if plain > 0 {
                sink(&rest[..plain], self.style);
                at += plain;
                continue;
            }
            match self.read_special(at, sink) {
                Found::Shown(bytes) => at += bytes,
                Found::Undecided { any } => return (at, any),
            }
        }
        (at, true)
    }

    fn read_special(&mut self, at: usize, sink: &mut Sink<'_>) -> Found {
        let rest = &self.text[at..];
        let first = rest.chars().next();
        // A run is read as a whole, so this is the rest of one that is too long to be markup.
        if first.is_some_and(|c| "*_~`".contains(c)) && first == self.before(at) {
            let length = first.map_or(1, |c| run_length(rest, c));
            return self.show_plain(rest, length, sink);
        }
        match rest.as_bytes().first() {
            Some(b'\\') => self.read_escape(rest, sink),
            Some(b'`') => self.read_code(at, sink),
            Some(b'*' | b'_' | b'~') => self.read_emphasis(at, sink),
            Some(b'[' | b'!') => self.read_link(at, sink),
            Some(b'<') => self.read_autolink(rest, sink),
            Some(b'&') => self.read_entity(rest, sink),
            _ => self.show_plain(rest, 1, sink),
        }
    }

    /// Returns the character before a position.
    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().last().or(self.before)
    }

    /// Returns the text up to a limit.
    fn window(&self, from: usize, limit: usize) -> &str {
        &self.text[self.ceil(from)..self.ceil(limit.max(from))]
    }

    /// Returns the next position that is between two characters.
    fn ceil(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        at
    }

    fn show_plain(&self, rest: &str, bytes: usize, sink: &mut Sink<'_>) -> Found {
        sink(&rest[..bytes], self.style);
        Found::Shown(bytes)
    }

    fn read_escape(&self, rest: &str, sink: &mut Sink<'_>) -> Found {
        match rest[1..].chars().next() {
            None if !self.is_complete => Found::Undecided { any: true },
            // Not brackets and parentheses: `\(` and `\[` start formulas, which should stay readable.
            Some(next) if next.is_ascii_punctuation() && !"()[]".contains(next) => {
                sink(&rest[1..2], self.style);
                Found::Shown(2)
            }
            _ => self.show_plain(rest, 1, sink),
        }
    }

    fn read_code(&mut self, at: usize, sink: &mut Sink<'_>) -> Found {
        let rest = &self.text[at..];
        let ticks = run_length(rest, '`');
        if ticks > MAX_RUN {
            return self.show_plain(rest, ticks, sink);
        }
        if ticks == rest.len() && !self.is_complete {
            return Found::Undecided { any: true };
        }
        match self.find_end(at, '`', ticks) {
            End::At(end) => {
                let code = &rest[ticks..end - at];
                let trimmed = code
                    .strip_prefix(' ')
                    .and_then(|code| code.strip_suffix(' '))
                    .filter(|trimmed| !trimmed.trim().is_empty());
                sink(trimmed.unwrap_or(code), self.style.and(CODE));
                Found::Shown(end - at + ticks)
            }
            End::Nowhere => self.show_plain(rest, ticks, sink),
            End::Later => Found::Undecided { any: false },
        }
    }

    fn read_emphasis(&mut self, at: usize, sink: &mut Sink<'_>) -> Found {
        let rest = &self.text[at..];
        let marker = rest.chars().next().unwrap_or('*');
        let length = run_length(rest, marker);
        let Some(next) = rest[length..].chars().next() else {
            return if self.is_complete || length > MAX_RUN {
                self.show_plain(rest, length, sink)
            } else {
                Found::Undecided { any: true }
            };
        };
        let before = self.before(at);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let more = match (marker, length) {
            ('~', 2) => Style { strike: true, ..Style::PLAIN },
            ('*' | '_', 1) => Style { italic: true, ..Style::PLAIN },
            ('*' | '_', 2) => Style::BOLD,
            ('*' | '_', 3) => Style { italic: true, ..Style::BOLD },
            _ => return self.show_plain(rest, length, sink),
        };
        let can_start = !(next.is_whitespace() || marker == '_' && is_word(before));
        if !can_start || self.depth >= MAX_DEPTH {
            return self.show_plain(rest, length, sink);
        }
        match self.find_end(at, marker, length) {
            End::At(end) => {
                let mut inner = Reader {
                    text: &self.text[at + length..end],
                    before: Some(marker),
                    style: self.style.and(more),
                    is_complete: true,
                    depth: self.depth + 1,
                    dead: &mut DeadEnds::default(),
                };
                inner.read(sink);
                Found::Shown(end - at + length)
            }
            End::Nowhere => self.show_plain(rest, length, sink),
            End::Later => Found::Undecided { any: false },
        }
    }

    /// Searches the end of the markup that starts at `at`.
    fn find_end(&mut self, at: usize, marker: char, length: usize) -> End {
        let limit = at.saturating_add(length + MAX_SPAN);
        let known = self.dead.get(marker, length);
        let mut from = self.ceil((at + length).max(known.unwrap_or(0)));
        while let Some(found) = self.window(from, limit).find(marker) {
            let start = from + found;
            let run = run_length(&self.text[start..], marker);
            let after = self.text[start + run..].chars().next();
            if after.is_none() && !self.is_complete {
                return End::Later;
            }
            let before = self.text[..start].chars().last();
            if ends(marker, length, run, before, after) && start > at + length {
                // Of a longer run the last characters are used: the first end markup within.
                return End::At(if marker == '`' { start } else { start + run - length });
            }
            from = start + run;
        }
        if !self.is_complete && self.text.len() < limit {
            return End::Later;
        }
        self.dead.set(marker, length, limit.min(self.text.len()));
        End::Nowhere
    }

    /// Returns whether it is certain that this character does not follow within the length of markup.
    fn lacks(&mut self, at: usize, character: char) -> bool {
        let limit = at.saturating_add(MAX_SPAN);
        let from = at.max(self.dead.get(character, 0).unwrap_or(0));
        let found = self.window(from, limit).contains(character);
        if found || (!self.is_complete && self.text.len() < limit) {
            return false;
        }
        self.dead.set(character, 0, limit.min(self.text.len()));
        true
    }

    fn read_link(&mut self, at: usize, sink: &mut Sink<'_>) -> Found {
        let rest = &self.text[at..];
        if self.lacks(at, ']') || self.lacks(at, ')') {
            return self.show_plain(rest, 1, sink);
        }
        match link::read(rest, self.is_complete, MAX_SPAN) {
            link::Read::Link(link) if self.depth < MAX_DEPTH => {
                link.show(self.style, sink);
                Found::Shown(link.bytes)
            }
            link::Read::Undecided => Found::Undecided { any: rest == "!" || rest.ends_with(']') },
            _ => self.show_plain(rest, 1, sink),
        }
    }

    fn read_autolink(&self, rest: &str, sink: &mut Sink<'_>) -> Found {
        let end = rest.char_indices().take(MAX_SPAN).find(|(_, c)| matches!(c, '>' | ' ' | '\t'));
        match end.map(|(end, _)| end) {
            Some(end) if rest[end..].starts_with('>') && link::is_url(&rest[1..end]) => {
                sink(&rest[1..end], self.style.and(link::URL));
                Found::Shown(end + 1)
            }
            None if !self.is_complete && rest.len() < MAX_SPAN && link::may_be_url(&rest[1..]) => {
                Found::Undecided { any: true }
            }
            _ => self.show_plain(rest, 1, sink),
        }
    }

    fn read_entity(&self, rest: &str, sink: &mut Sink<'_>) -> Found {
        const ENTITIES: [(&str, &str); 6] = [
            ("&amp;", "&"),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
            ("&nbsp;", " "),
        ];
        for (entity, shown) in ENTITIES {
            if rest.starts_with(entity) {
                sink(shown, self.style);
                return Found::Shown(entity.len());
            }
            if !self.is_complete && entity.starts_with(rest) {
                return Found::Undecided { any: true };
            }
        }
        self.show_plain(rest, 1, sink)
    }
}

enum End {
    At(usize),
    Nowhere,
    Later,
}

impl DeadEnds {
    fn get(&self, marker: char, length: usize) -> Option<usize> {
        let known = self.until.iter().find(|(m, l, _)| (*m, *l) == (marker, length));
        known.map(|(_, _, until)| until.saturating_sub(self.offset))
    }

    fn set(&mut self, marker: char, length: usize, until: usize) {
        let until = until + self.offset;
        let known = self.until.iter().position(|(m, l, _)| (*m, *l) == (marker, length));
        match known {
            Some(at) => self.until[at].2 = until,
            // Runs of ticks can have any length; a few are remembered.
            None if self.until.len() < 32 => self.until.push((marker, length, until)),
            None => {}
        }
    }
}

/// Returns whether a run of markers between these characters ends markup that started with `length` of them.
fn ends(
    marker: char,
    length: usize,
    run: usize,
    before: Option<char>,
    after: Option<char>,
) -> bool {
    if marker == '`' {
        return run == length;
    }
    let is_after_text = before.is_some_and(|c| !c.is_whitespace());
    let is_before_word = after.is_some_and(char::is_alphanumeric);
    let fits = match length {
        1 => run == 1 || run == 3,
        length => run >= length && run <= 3,
    };
    fits && is_after_text && !(marker == '_' && is_before_word)
}

fn run_length(text: &str, marker: char) -> usize {
    text.len() - text.trim_start_matches(marker).len()
}

fn is_special(character: char) -> bool {
    matches!(character, '\\' | '`' | '*' | '_' | '~' | '[' | '!' | '<' | '&')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with `⟨…⟩` around everything that has a style.
    fn shown(pieces: &[&str]) -> String {
        let mut out: Vec<(Style, String)> = Vec::new();
        let mut sink = |text: &str, style: Style| match out.last_mut() {
            Some((last, span)) if *last == style => span.push_str(text),
            _ => out.push((style, text.to_owned())),
        };
        let mut inline = Inline::new(Style::PLAIN);
        for piece in pieces {
            inline.push(piece, &mut sink);
        }
        inline.finish(&mut sink);
        let mark = |(style, text): &(Style, String)| {
            let mut name = String::new();
            for (on, letter) in [
                (style.bold, "b"),
                (style.italic, "i"),
                (style.strike, "s"),
                (style.underline, "u"),
                (style.dim, "d"),
                (style.color.is_some(), "c"),
            ] {
                name.push_str(if on { letter } else { "" });
            }
            if name.is_empty() { text.clone() } else { format!("⟨{name}:{text}⟩") }
        };
        out.iter().map(mark).collect()
    }

    #[test]
    fn markup_is_shown_as_style() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a **b** c", "a ⟨b:b⟩ c"),
            ("a *b* _c_", "a ⟨i:b⟩ ⟨i:c⟩"),
            ("***both***", "⟨bi:both⟩"),
            ("**bold *it***", "⟨b:bold ⟩⟨bi:it⟩"),
            ("~~gone~~", "⟨s:gone⟩"),
            ("`a*b*`", "⟨c:a*b*⟩"),
            ("`` a`b ``", "⟨c:a`b⟩"),
            ("snake_case_name", "snake_case_name"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            (r"\*not\* \(x\)", r"*not* \(x\)"),
            ("a &lt; b &amp;&copy;", "a < b &&copy;"),
            ("open **bold", "open **bold"),
            ("open `code", "open `code"),
            ("<https://a.b/c>", "⟨u:https://a.b/c⟩"),
            ("<div> x < y", "<div> x < y"),
            ("**", "**"),
            ("****", "****"),
            ("\\", "\\"),
        ] {
            assert_eq!(shown(&[text]), expected, "{text}");
        }
    }

    #[test]
    fn every_split_of_a_line_gives_the_same_text() {
        for text in [
            "a **b** `c` [d](http://e.f) ***g*** _h_ ~~i~~ \\* &amp; <http://j.k> ![l](m) end",
            "**open *a `b [c](d",
            "****a**** *** b ***c*** `` ` `` !x !",
            "日本**語**`の`*文*。",
            &format!("{}a{} {}", "*".repeat(34), "`".repeat(40), "_".repeat(33)),
        ] {
            let whole = shown(&[text]);
            let single: Vec<String> = text.chars().map(String::from).collect();
            let single: Vec<&str> = single.iter().map(String::as_str).collect();
            assert_eq!(shown(&single), whole);
            for (at, _) in text.char_indices() {
                assert_eq!(shown(&[&text[..at], &text[at..]]), whole, "{at}");
            }
        }
    }

    #[test]
    fn markup_that_is_not_closed_is_held_back_only_for_a_while() {
        let mut shown = 0;
        let mut inline = Inline::new(Style::PLAIN);
        for _ in 0..5_000 {
            inline.push("*word ", &mut |text, _| shown += text.len());
            assert!(inline.held().len() <= 2 * MAX_SPAN);
        }
        assert!(shown > 25_000, "{shown}");
    }

    #[test]
    fn the_work_grows_in_proportion_to_the_text() {
        for unit in
            ["*a ", "**a ", "`a ``b ", "[a ", "![", "_a *b **c ", "<http:", "\\", "&", "*", "`"]
        {
            let text = unit.repeat(300_000 / unit.len());
            let mut bytes = 0;
            let mut inline = Inline::new(Style::PLAIN);
            for piece in text.as_bytes().chunks(4_096) {
                let piece = std::str::from_utf8(piece).unwrap();
                inline.push(piece, &mut |text, _| bytes += text.len());
                assert!(inline.held().len() <= 2 * MAX_SPAN + 4_096, "{unit}");
            }
            inline.finish(&mut |text, _| bytes += text.len());
            assert!(bytes > 100_000, "{unit}");
        }
    }
}
