//! Links and images.
//!
//! The URL of a link is always shown, so that its text cannot pretend to lead to another host. Where the text is the URL, it is
//! shown once.

use super::inline::{self, Sink};
use crate::screen::style::Style;

/// The style of a URL.
pub(super) const URL: Style = Style { underline: true, ..Style::PLAIN };

/// How many pairs of brackets can be nested in a link.
const MAX_PAIRS: usize = 4;

/// A link or an image.
pub(super) struct Link<'a> {
    text: &'a str,
    url: &'a str,
    is_image: bool,
    /// The length of its markup.
    pub(super) bytes: usize,
}

pub(super) enum Read<'a> {
    Link(Link<'a>),
    NoLink,
    Undecided,
}

/// Reads the link or the image at the start of a text.
pub(super) fn read(text: &str, is_complete: bool, max_span: usize) -> Read<'_> {
    let later = |end: usize| {
        if !is_complete && end < 2 * max_span { Read::Undecided } else { Read::NoLink }
    };
    let bang = usize::from(text.starts_with('!'));
    if !text[bang..].starts_with('[') {
        return if text == "!" { later(1) } else { Read::NoLink };
    }
    let start = bang + 1;
    let Some(end) = find_close(&text[start..], '[', ']', max_span) else {
        return if text.len() - start < max_span { later(text.len()) } else { Read::NoLink };
    };
    let after = start + end + 1;
    if text.len() == after {
        return later(after);
    }
    if !text[after..].starts_with('(') {
        return Read::NoLink;
    }
    let Some(length) = find_close(&text[after + 1..], '(', ')', max_span) else {
        return if text.len() - after < max_span { later(text.len()) } else { Read::NoLink };
    };
    let target = text[after + 1..after + 1 + length].trim();
    // A title may follow the URL.
    let url = target.split_whitespace().next().unwrap_or("");
    let url = url.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap_or(url);
    if url.is_empty() {
        return Read::NoLink;
    }
    Read::Link(Link {
        text: &text[start..start + end],
        url,
        is_image: bang == 1,
        bytes: after + 1 + length + 1,
    })
}

/// Finds the closing bracket, with nested pairs in between.
fn find_close(text: &str, open: char, close: char, max_span: usize) -> Option<usize> {
    let mut depth = 0;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if at >= max_span {
            return None;
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == close && depth == 0 => return Some(at),
            c if c == close => depth -= 1,
            // Deeper pairs are not part of a link that a person wrote.
            c if c == open && depth == MAX_PAIRS => return None,
            c if c == open => depth += 1,
            _ => {}
        }
    }
    None
}

/// Returns whether the text is a URL that can be opened.
pub(super) fn is_url(text: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| text.starts_with(scheme))
}

/// Returns whether the text is a URL, or can become one.
pub(super) fn may_be_url(text: &str) -> bool {
    let schemes = ["https://", "http://", "mailto:"];
    schemes.iter().any(|scheme| text.starts_with(scheme) || scheme.starts_with(text))
}

impl Link<'_> {
    pub(super) fn show(&self, style: Style, sink: &mut Sink<'_>) {
        if self.is_image {
            sink("[image", style.and(Style::DIM));
            if !self.text.is_empty() {
                sink(": ", style.and(Style::DIM));
                inline::show(self.text, style, sink);
            }
            sink("] ", style.and(Style::DIM));
            return sink(self.url, style.and(URL).and(Style::DIM));
        }
        if self.text == self.url {
            return sink(self.url, style.and(URL));
        }
        if !self.text.is_empty() {
            inline::show(self.text, style.and(URL), sink);
            sink(" ", style);
        }
        sink("(", style.and(Style::DIM));
        sink(self.url, style.and(Style::DIM));
        sink(")", style.and(Style::DIM));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut shown = String::new();
        inline::show(text, Style::PLAIN, &mut |text, _| shown.push_str(text));
        shown
    }

    #[test]
    fn the_url_of_a_link_is_always_shown() {
        assert_eq!(shown("[docs](https://a.b/c)"), "docs (https://a.b/c)");
        assert_eq!(
            shown("[https://bank.com](https://evil.com)"),
            "https://bank.com (https://evil.com)"
        );
        assert_eq!(shown("[https://a.b](https://a.b)"), "https://a.b");
        assert_eq!(shown("[a](https://a.b \"Title\") x"), "a (https://a.b) x");
        assert_eq!(shown("[a](<https://a.b>)"), "a (https://a.b)");
        assert_eq!(shown("[](https://a.b)"), "(https://a.b)");
        assert_eq!(shown("![a cat](cat.png)"), "[image: a cat] cat.png");
        assert_eq!(shown("[x](https://e.org/a_(b))"), "x (https://e.org/a_(b))");
    }

    #[test]
    fn brackets_that_are_not_a_link_are_text() {
        for text in ["[1]", "[ ] todo", "a[0](", "[a]()", "[a] (b)", "![", "x!", "[[a]"] {
            assert_eq!(shown(text), text);
        }
    }
}
