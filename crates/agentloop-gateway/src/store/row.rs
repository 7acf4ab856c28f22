//! Rows of the ledger.

use std::borrow::Cow;

use agentloop::Usd;
use serde::{Deserialize, Serialize};

use super::column::{Column, Kind, MAX_ROW_TAGS, Value};
use super::named::named;

/// The name of a price: the beginning of the SHA-256 of its JSON.
pub type PriceId = String;

named! {
    /// How a call to a provider ended.
    ///
    /// ```
    /// use agentloop_gateway::Outcome;
    ///
    /// assert_eq!(Outcome::of_name("cancelled"), Some(Outcome::Cancelled));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Outcome {
        /// The response is complete.
        Complete "complete",
        /// The client disconnected before the end.
        Cancelled "cancelled",
        /// The call failed, and may have cost something nevertheless.
        Failed "failed",
        /// The gateway was killed before the end.
        #[default]
        Unknown "unknown",
        /// The response came from the gateway's cache, and cost nothing.
        Cached "cached",
    }
}

/// Calls a macro with the columns of the ledger: the one that is first, those that are known when a call begins and do not change, and
/// those that are known at its end. Each has its name in stores and in CSV, its name in JSON, and its type, a [`Column`].
macro_rules! columns {
    ($call:ident) => {
        $call! {
            /// Its id, different for every call on every node.
            id "id" String;

            /// The id of the request, which the client got as `x-request-id`.
            request "request" String,
            /// The node that made the call.
            node "node" String,
            /// When the call began, in milliseconds of Unix time.
            time_ms "timeMs" i64,
            /// The name of the client's key.
            key "key" String,
            /// The team of the key at that time.
            #[serde(skip_serializing_if = "Option::is_none")]
            team "team" Option<String>,
            /// The API of the client.
            api "api" String,
            /// The call: `chat` or `embed`.
            call "call" String,
            /// The model as the client named it.
            model "model" String,
            /// The provider.
            provider "provider" String,
            /// The provider's name of the model.
            served "served" String,
            /// The words that the request is marked with.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            tags "tags" Vec<String>;

            /// How it ended.
            outcome "outcome" Outcome,
            /// Whether the tokens, and so the cost, are an estimate.
            estimated "estimated" bool,
            /// The tokens of the prompt, including those read from a cache or written to it.
            prompt_tokens "promptTokens" u64,
            /// The tokens of the response, including reasoning.
            completion_tokens "completionTokens" u64,
            /// The tokens of the prompt that the provider's cache had.
            cached_tokens "cachedTokens" u64,
            /// The tokens of the response that are reasoning.
            reasoning_tokens "reasoningTokens" u64,
            /// The cost. Absent if the price is not known.
            #[serde(skip_serializing_if = "Option::is_none")]
            usd "usd" Option<Usd>,
            /// The amount that was reserved, which is the most that an estimated row can be wrong by.
            reserved "reserved" Usd,
            /// The price that the cost was computed with. Absent if the provider reported the cost, or the price is not known.
            #[serde(skip_serializing_if = "Option::is_none")]
            price "price" Option<PriceId>,
            /// The time until the end of the response, in milliseconds.
            duration_ms "durationMs" u64,
            /// The time until the first byte of the response, in milliseconds.
            #[serde(skip_serializing_if = "Option::is_none")]
            first_byte_ms "firstByteMs" Option<u64>,
            /// The status of the response that the client got.
            status "status" u16;
        }
    };
}
pub(crate) use columns;

macro_rules! define {
    ($($($(#[$about:meta])* $name:ident $json:literal $kind:ty),+;)+) => {
        /// One call to a provider that may have cost something.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct LedgerRow {
            $($($(#[$about])* #[serde(rename = $json)] pub $name: $kind,)+)+
        }

        /// The names and the kinds of the columns, in the order in which they are written and read.
        pub(super) const COLUMNS: &[(&str, Kind)] =
            &[$($((stringify!($name), <$kind as Column>::KIND),)+)+];

        impl LedgerRow {
            /// Returns the value of each column.
            pub(super) fn values(&self) -> [Value<'_>; COLUMNS.len()] {
                [$($(self.$name.value(),)+)+]
            }

            /// Reads a row from the values of its columns.
            pub(super) fn read<E>(
                mut read: impl FnMut(usize, Kind) -> Result<Value<'static>, E>,
            ) -> Result<Self, E> {
                let mut values = COLUMNS.iter().enumerate().map(|(at, (_, kind))| read(at, *kind));
                let mut next = || values.next().unwrap_or(Ok(Value::Null));
                // The fields are read in the order in which they are written here.
                Ok(Self { $($($name: Column::of(next()?),)+)+ })
            }

            /// Returns whether a store keeps the row as it is.
            fn is_storable(&self) -> bool {
                $($(self.$name.is_bounded())&&+)&&+
            }

            fn bounded(mut self) -> Self {
                $($(self.$name.bound();)+)+
                self
            }
        }
    };
}
columns!(define);

impl LedgerRow {
    /// Returns the row as every store keeps it, so that it reads the same from all of them.
    ///
    /// Databases have integers of 64 bits with a sign: greater numbers of tokens and amounts beyond 9.2 million dollars become the
    /// greatest that fit. PostgreSQL has no text with the character NUL: it is replaced. Long texts are cut off, also those that no
    /// index has: a row that is refused would be sent forever. A tag counts once.
    pub(crate) fn storable(&self) -> Cow<'_, Self> {
        if self.is_storable() { Cow::Borrowed(self) } else { Cow::Owned(self.clone().bounded()) }
    }

    /// Returns the row with shorter texts. The id stays, because it must be the same in every line of a call.
    pub(crate) fn shortened(&self) -> Self {
        let mut row = Self { id: self.id.clone(), ..self.clone().bounded() };
        row.tags.truncate(MAX_ROW_TAGS / 2);
        row
    }

    /// Returns the names of the columns, separated by commas.
    pub(super) fn column_names() -> String {
        let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::column::MAX_TEXT_BYTES;

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
