//! The types of columns, and their values as all stores keep them.

use std::borrow::Cow;
use std::collections::HashSet;

use agentloop::Usd;

use super::Outcome;

/// The longest text of a row, in bytes. The rest is cut off when the row is stored.
pub(crate) const MAX_TEXT_BYTES: usize = 256;

/// The most tags of a row. The others are left out when the row is stored.
pub(crate) const MAX_ROW_TAGS: usize = 32;

/// The values that a column may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Text,
    Texts,
    Flag,
    Number,
    /// An amount of money, a number of 10⁻¹² dollars.
    Amount,
    /// A number of 32 bits.
    Small,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Texts(Cow<'a, [String]>),
    Flag(bool),
    Number(i64),
}

/// A type of a column. Values that are not of its kind are read as its default.
pub(super) trait Column: Sized {
    const KIND: Kind;

    fn value(&self) -> Value<'_>;

    fn of(value: Value<'static>) -> Self;

    /// Returns whether every store keeps the value as it is.
    fn is_bounded(&self) -> bool {
        true
    }

    fn bound(&mut self) {}
}

impl Column for String {
    const KIND: Kind = Kind::Text;

    fn value(&self) -> Value<'_> {
        Value::Text(self.into())
    }

    fn of(value: Value<'static>) -> Self {
        if let Value::Text(text) = value { text.into_owned() } else { Self::new() }
    }

    fn is_bounded(&self) -> bool {
        self.len() <= MAX_TEXT_BYTES && memchr::memchr(0, self.as_bytes()).is_none()
    }

    fn bound(&mut self) {
        shorten(self);
        if self.contains('\0') {
            *self = self.replace('\0', "\u{fffd}");
            shorten(self);
        }
    }
}

/// Cuts a text off at the last character that ends within [`MAX_TEXT_BYTES`].
fn shorten(text: &mut String) {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
}

impl<T: Column> Column for Option<T> {
    const KIND: Kind = T::KIND;

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Column::value)
    }

    fn of(value: Value<'static>) -> Self {
        (value != Value::Null).then(|| T::of(value))
    }

    fn is_bounded(&self) -> bool {
        self.as_ref().is_none_or(Column::is_bounded)
    }

    fn bound(&mut self) {
        self.iter_mut().for_each(Column::bound);
    }
}

impl Column for Vec<String> {
    const KIND: Kind = Kind::Texts;

    fn value(&self) -> Value<'_> {
        Value::Texts(self.into())
    }

    fn of(value: Value<'static>) -> Self {
        if let Value::Texts(texts) = value { texts.into_owned() } else { Self::new() }
    }

    fn is_bounded(&self) -> bool {
        self.is_empty()
    }

    fn bound(&mut self) {
        // A client may name any number of tags. Only those before this many are looked at.
        self.truncate(8 * MAX_ROW_TAGS);
        self.iter_mut().for_each(Column::bound);
        let mut seen = HashSet::new();
        self.retain(|text| seen.len() < MAX_ROW_TAGS && seen.insert(text.clone()));
    }
}

impl Column for Outcome {
    const KIND: Kind = Kind::Text;

    fn value(&self) -> Value<'_> {
        Value::Text(self.as_str().into())
    }

    fn of(value: Value<'static>) -> Self {
        Self::of_name(&String::of(value)).unwrap_or_default()
    }
}

impl Column for bool {
    const KIND: Kind = Kind::Flag;

    fn value(&self) -> Value<'_> {
        Value::Flag(*self)
    }

    fn of(value: Value<'static>) -> Self {
        value == Value::Flag(true)
    }
}

/// Numbers of at most 64 bits with a sign. What does not fit becomes the greatest or the least that does.
macro_rules! numbers {
    ($($type:ty, $kind:ident, $to:expr, $of:expr;)+) => {$(
        impl Column for $type {
            const KIND: Kind = Kind::$kind;

            fn value(&self) -> Value<'_> {
                Value::Number(($to)(*self))
            }

            fn of(value: Value<'static>) -> Self {
                ($of)(if let Value::Number(number) = value { number } else { 0 })
            }

            fn is_bounded(&self) -> bool {
                ($of)(($to)(*self)) == *self
            }

            fn bound(&mut self) {
                *self = ($of)(($to)(*self));
            }
        }
    )+};
}

numbers! {
    i64, Number, i64::from, i64::from;
    u64, Number, |number| i64::try_from(number).unwrap_or(i64::MAX), |number: i64| u64::try_from(number).unwrap_or(0);
    u16, Small, i64::from, |number: i64| u16::try_from(number).unwrap_or(0);
    Usd, Amount, picos, |number: i64| Usd::from_picos(number.into());
}

fn picos(usd: Usd) -> i64 {
    let most = if usd.picos() < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(usd.picos()).unwrap_or(most)
}
