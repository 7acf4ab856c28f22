//! Rows of the ledger.

use std::borrow::Cow;
use std::collections::HashSet;

use agentloop::Usd;
use serde::{Deserialize, Serialize};

/// The longest text of a row, in bytes. The rest is cut off when the row is stored.
pub(crate) const MAX_TEXT_BYTES: usize = 256;

/// The most tags of a row. The others are left out when the row is stored.
pub(crate) const MAX_ROW_TAGS: usize = 32;

/// The name of a price: the beginning of the SHA-256 of its JSON.
pub type PriceId = String;

/// How a call to a provider ended.
///
/// ```
/// use agentloop_gateway::Outcome;
///
/// assert_eq!(Outcome::of_name("cancelled"), Some(Outcome::Cancelled));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The response is complete.
    Complete,
    /// The client disconnected before the end.
    Cancelled,
    /// The call failed, and may have cost something nevertheless.
    Failed,
    /// The gateway was killed before the end.
    #[default]
    Unknown,
    /// The response came from the gateway's cache, and cost nothing.
    Cached,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Complete, Self::Cancelled, Self::Failed, Self::Unknown, Self::Cached];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cached => "cached",
        }
    }

    /// Returns the one with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// One call to a provider that may have cost something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct LedgerRow {
    /// Its id, different for every call on every node.
    pub id: String,
    /// The id of the request, which the client got as `x-request-id`.
    pub request: String,
    /// The node that made the call.
    pub node: String,
    /// When the call began, in milliseconds of Unix time.
    pub time_ms: i64,
    /// The name of the client's key.
    pub key: String,
    /// The team of the key at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The API of the client.
    pub api: String,
    /// The call: `chat` or `embed`.
    pub call: String,
    /// The model as the client named it.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// The provider's name of the model.
    pub served: String,
    /// The words that the request is marked with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tokens, and so the cost, are an estimate.
    pub estimated: bool,
    /// The tokens of the prompt, including those read from a cache or written to it.
    pub prompt_tokens: u64,
    /// The tokens of the response, including reasoning.
    pub completion_tokens: u64,
    /// The tokens of the prompt that the provider's cache had.
    pub cached_tokens: u64,
    /// The tokens of the response that are reasoning.
    pub reasoning_tokens: u64,
    /// The cost. Absent if the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<Usd>,
    /// The amount that was reserved, which is the most that an estimated row can be wrong by.
    pub reserved: Usd,
    /// The price that the cost was computed with. Absent if the provider reported the cost, or the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceId>,
    /// The time until the end of the response, in milliseconds.
    pub duration_ms: u64,
    /// The time until the first byte of the response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// The status of the response that the client got.
    pub status: u16,
}

impl LedgerRow {
    /// Returns the row as every store keeps it, so that it reads the same from all of them.
    ///
    /// Databases have integers of 64 bits with a sign: greater numbers of tokens and amounts beyond 9.2 million dollars become the
    /// greatest that fit. PostgreSQL has no text with the character NUL: it is replaced. Long texts are cut off, and a tag counts once.
    pub(crate) fn storable(&self) -> Cow<'_, Self> {
        if self.is_storable() { Cow::Borrowed(self) } else { Cow::Owned(self.clone().bounded()) }
    }

    /// Returns whether a store keeps the row as it is.
    fn is_storable(&self) -> bool {
        let numbers = [
            self.prompt_tokens,
            self.completion_tokens,
            self.cached_tokens,
            self.reasoning_tokens,
            self.duration_ms,
            self.first_byte_ms.unwrap_or(0),
        ];
        let fits = |usd: Usd| i64::try_from(usd.picos()).is_ok();
        let texts = [&self.id, &self.request, &self.node, &self.key, &self.api, &self.call]
            .into_iter()
            .chain([&self.model, &self.provider, &self.served])
            .chain(&self.team)
            .chain(&self.price);
        numbers.iter().all(|number| i64::try_from(*number).is_ok())
            && self.usd.is_none_or(fits)
            && fits(self.reserved)
            && self.tags.is_empty()
            && texts.into_iter().all(|text| {
                text.len() <= MAX_TEXT_BYTES && memchr::memchr(0, text.as_bytes()).is_none()
            })
    }

    fn bounded(mut self) -> Self {
        const MOST: u64 = i64::MAX.unsigned_abs();
        let bounded = |usd: Usd| {
            Usd::from_picos(usd.picos().clamp(i128::from(i64::MIN), i128::from(i64::MAX)))
        };
        for tokens in [
            &mut self.prompt_tokens,
            &mut self.completion_tokens,
            &mut self.cached_tokens,
            &mut self.reasoning_tokens,
            &mut self.duration_ms,
        ] {
            *tokens = (*tokens).min(MOST);
        }
        self.first_byte_ms = self.first_byte_ms.map(|time| time.min(MOST));
        self.usd = self.usd.map(bounded);
        self.reserved = bounded(self.reserved);
        // A client may name any number of tags. Only those before this many are looked at.
        self.tags.truncate(8 * MAX_ROW_TAGS);
        // All of them: PostgreSQL refuses long texts in an index, and a row that is refused would be sent forever.
        for text in [&mut self.id, &mut self.request, &mut self.node, &mut self.key]
            .into_iter()
            .chain([&mut self.api, &mut self.call, &mut self.model])
            .chain([&mut self.provider, &mut self.served])
            .chain(&mut self.team)
            .chain(&mut self.tags)
            .chain(&mut self.price)
        {
            shorten(text);
            if text.contains('\0') {
                *text = text.replace('\0', "\u{fffd}");
                shorten(text);
            }
        }
        let mut seen = HashSet::new();
        self.tags.retain(|tag| seen.len() < MAX_ROW_TAGS && seen.insert(tag.clone()));
        self
    }
}

/// Cuts a text off at the last character that ends within [`MAX_TEXT_BYTES`].
fn shorten(text: &mut String) {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_rows_are_bounded_before_they_are_stored() {
        let row = LedgerRow {
            id: "a\0b".to_owned(),
            model: "ü".repeat(MAX_TEXT_BYTES),
            served: "\0".repeat(MAX_TEXT_BYTES),
            key: "k".repeat(10_000),
            tags: (0..10_000).map(|n| format!("{}{}", n / 2, "t".repeat(10_000))).collect(),
            prompt_tokens: u64::MAX,
            usd: Some(Usd::from_picos(i128::MAX)),
            reserved: Usd::from_picos(i128::MIN),
            ..LedgerRow::default()
        };
        let stored = row.storable().into_owned();
        assert_eq!(stored.id, "a\u{fffd}b");
        assert_eq!(stored.model, "ü".repeat(MAX_TEXT_BYTES / 2));
        assert_eq!(stored.served, "\u{fffd}".repeat(MAX_TEXT_BYTES / 3));
        assert_eq!(stored.key.len(), MAX_TEXT_BYTES);
        assert_eq!((stored.tags.len(), stored.tags[0].len()), (MAX_ROW_TAGS, MAX_TEXT_BYTES));
        assert_eq!(stored.prompt_tokens, i64::MAX.unsigned_abs());
        assert_eq!(stored.usd, Some(Usd::from_picos(i64::MAX.into())));
        assert_eq!(stored.reserved, Usd::from_picos(i64::MIN.into()));
        assert_eq!(stored.storable().into_owned(), stored);
    }

    #[test]
    fn only_rows_that_a_store_would_change_are_copied() {
        let most = i64::MAX.unsigned_abs();
        let fits = LedgerRow {
            id: "i".repeat(MAX_TEXT_BYTES),
            team: Some("t".repeat(MAX_TEXT_BYTES)),
            prompt_tokens: most,
            first_byte_ms: Some(most),
            usd: Some(Usd::from_picos(i64::MIN.into())),
            reserved: Usd::from_picos(i64::MAX.into()),
            ..LedgerRow::default()
        };
        assert!(matches!(fits.storable(), Cow::Borrowed(row) if *row == row.clone().bounded()));
        let changes: [fn(&mut LedgerRow); 9] = [
            |row| row.served.push('\0'),
            |row| row.id.push('i'),
            |row| row.team = Some("t".repeat(MAX_TEXT_BYTES + 1)),
            |row| row.price = Some("\0".to_owned()),
            |row| row.completion_tokens = u64::MAX,
            |row| row.duration_ms = u64::MAX,
            |row| row.first_byte_ms = Some(u64::MAX),
            |row| row.usd = Some(Usd::from_picos(i128::from(i64::MAX) + 1)),
            |row| row.reserved = Usd::from_picos(i128::from(i64::MIN) - 1),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut row = fits.clone();
            change(&mut row);
            assert_ne!(row, row.clone().bounded(), "{number}");
            assert!(matches!(row.storable(), Cow::Owned(_)), "{number}");
        }
    }
}
