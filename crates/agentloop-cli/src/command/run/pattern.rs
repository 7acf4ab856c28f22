//! Names of tools and patterns of names: `read_file`, `read_*`, `github:get_*`.

use super::kit::{Offered, Source};

/// A name of a tool, or a pattern in which `*` is any text and `?` any character.
///
/// With a colon, the part before it is the name of an MCP server, and the part after it that of a tool on this server. Without
/// one, the whole name is compared, which is `server__tool` for a tool of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) struct Pattern(String);

impl Pattern {
    pub(in crate::command) fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub(super) fn list(texts: &[String]) -> Vec<Self> {
        texts.iter().map(|text| Self::new(text)).collect()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is a name and not a pattern.
    pub(super) fn is_exact(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// Returns whether a tool of a run matches.
    pub(in crate::command) fn matches(&self, offered: &Offered) -> bool {
        match (self.0.split_once(':'), &offered.source) {
            (None, _) => self.matches_name(offered.tool.name()),
            (Some((server, tool)), Source::Server { name, .. }) => {
                is_match(server, name) && is_match(tool, offered.short_name())
            }
            (Some(_), _) => false,
        }
    }

    /// Returns whether a name matches.
    pub(super) fn matches_name(&self, name: &str) -> bool {
        is_match(&self.0, name)
    }
}

/// Compares a name with a pattern, in time that grows with the product of their lengths at most.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and where its text ends.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(c), _) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, end))) => {
                star = Some((at, end + 1));
                (p, n) = (at + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_one_character() {
        for (pattern, name, expected) in [
            ("read_file", "read_file", true),
            ("read_file", "read_files", false),
            ("read_*", "read_file", true),
            ("*", "", true),
            ("*", "anything", true),
            ("**", "anything", true),
            ("*_file", "read_file", true),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxcxxb", false),
            ("r?ad", "read", true),
            ("r?ad", "rad", false),
            ("", "a", false),
            ("[a-z]*", "read", false),
            ("Read", "read", false),
            ("ä?", "äö", true),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_more_than_quadratic_time() {
        let pattern = "*a".repeat(500) + "b";
        assert!(!is_match(&pattern, &"a".repeat(2_000)));
    }
}
