//! Full-text search.

use rusqlite::params;

use super::conversation::{COLUMNS, Conversation};
use super::{Result, Store, StoreError};

/// The most words of a search.
const MAX_WORDS: usize = 32;

/// How many matches are compared with each other: the newest. Words that are in most messages do not take longer.
const MAX_RANKED: u32 = 5_000;

/// How many words of a text are shown around those that were found.
const SHOWN_WORDS: u32 = 24;

/// Begins and ends a word that was found. Searchable text has no control characters.
pub(crate) const FOUND: (char, char) = ('\u{2}', '\u{3}');

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) conversation: Conversation,
    /// The author of the message; `None` if the name or the title was found.
    pub(crate) role: Option<String>,
    /// The text around the words, which are enclosed in [`FOUND`].
    pub(crate) snippet: String,
}

impl Store {
    /// Searches the text of messages, names and titles for all of these words, the best matches first.
    ///
    /// Words match whole words, whatever their case and accents; a word that ends with `*` matches the beginnings of words. Of more than
    /// [`MAX_RANKED`] matches only the newest are compared.
    pub(crate) fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>> {
        let query = quote(words).ok_or_else(|| {
            StoreError::new("there is nothing to search for")
                .hint("name words, for example `agentloop log search rust iterator`; `iter*` finds all words that begin so")
        })?;
        self.read(|connection| {
            let mut statement = connection.prepare(&sql())?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![query, limit], |row| {
                Ok(Hit {
                    conversation: Conversation::read(row)?,
                    role: row.get(10)?,
                    snippet: row.get(11)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// The search. Only the matches that are returned are read outside of the index.
pub(super) fn sql() -> String {
    format!(
        "WITH matches AS MATERIALIZED (SELECT rowid AS key, rank AS score FROM search WHERE search MATCH ?1 \
         ORDER BY rowid DESC LIMIT {MAX_RANKED}), \
         best AS MATERIALIZED (SELECT key, score FROM matches ORDER BY score, key DESC LIMIT ?2) \
         SELECT {COLUMNS}, m.role, (SELECT snippet(search, 0, char(2), char(3), '…', {SHOWN_WORDS}) \
         FROM search WHERE search MATCH ?1 AND rowid = best.key) \
         FROM best JOIN searchable s ON s.key = best.key JOIN conversation c ON c.key = s.conversation \
         LEFT JOIN message m ON m.key = s.message ORDER BY best.score, best.key DESC"
    )
}

/// Quotes words for the index, so that nothing in them is an operator. `None` if there is no word.
fn quote(words: &str) -> Option<String> {
    let words = words.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    let quoted: Vec<String> = words
        .take(MAX_WORDS)
        .map(|word| {
            let (word, prefix) = match word.strip_suffix('*') {
                Some(start) => (start, "*"),
                None => (word, ""),
            };
            let word: String = word.chars().filter(|c| !c.is_control()).collect();
            format!("\"{}\"{prefix}", word.replace('"', "\"\""))
        })
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}
