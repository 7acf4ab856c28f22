//! Reading foreign JSON tolerantly: a field of an unexpected shape is as good as absent.
//!
//! The types here never fail on well-formed JSON, so no field can fail a response that does not need it. They borrow
//! from the input if it has no escapes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::fill::{Fill, FillFields};
use super::room;

/// Visits the shapes that a tolerant reader does not want, and makes `$none` of them.
macro_rules! absent {
    ($none:expr; $($shape:ident)*) => {
        $(absent!(@ $shape $none);)*
    };
    (@ bool $none:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($none) }
    };
    (@ number $none:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($none) }
    };
    (@ str $none:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($none) }
    };
    (@ unit $none:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($none) }
        fn visit_none<E>(self) -> Result<Self::Value, E> { Ok($none) }
    };
    (@ seq $none:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($none)
        }
    };
    (@ map $none:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($none)
        }
    };
}

pub(crate) use absent;

/// Text, or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// Returns the text, unless it is empty.
    pub(crate) fn non_empty(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns the text, unless it is empty, to keep.
    pub(crate) fn into_non_empty(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text(Some(Cow::Owned(text))))
    }

    absent!(Text(None); bool number unit seq map);
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A whole number, also when it is written as text or as `3.0`; or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Int(pub(crate) Option<i64>);

impl Int {
    /// Returns the number, unless it is negative.
    pub(crate) fn unsigned(self) -> Option<u64> {
        self.0.and_then(|number| u64::try_from(number).ok())
    }
}

struct IntVisitor;

impl<'de> Visitor<'de> for IntVisitor {
    type Value = Int;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Int, E> {
        Ok(Int(Some(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Int, E> {
        Ok(Int(i64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Int, E> {
        // 2^53: beyond it a float is not a whole number any more.
        let whole = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, reason = "checked on the line above")]
        Ok(Int(whole.then_some(number as i64)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Int, E> {
        Ok(Int(text.trim().parse().ok()))
    }

    absent!(Int(None); bool unit seq map);
}

impl<'de> Deserialize<'de> for Int {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntVisitor)
    }
}

/// A number, also when it is written as text; or nothing. It is always finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Float(pub(crate) Option<f64>);

struct FloatVisitor;

impl<'de> Visitor<'de> for FloatVisitor {
    type Value = Float;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    #[expect(clippy::cast_precision_loss, reason = "a measured value, not a count")]
    fn visit_i64<E>(self, number: i64) -> Result<Float, E> {
        Ok(Float(Some(number as f64)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a measured value, not a count")]
    fn visit_u64<E>(self, number: u64) -> Result<Float, E> {
        Ok(Float(Some(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Float, E> {
        Ok(Float(Some(number).filter(|number| number.is_finite())))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Float, E> {
        self.visit_f64(text.trim().parse().unwrap_or(f64::NAN))
    }

    absent!(Float(None); bool unit seq map);
}

impl<'de> Deserialize<'de> for Float {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloatVisitor)
    }
}

/// A truth value, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) Option<bool>);

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Flag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
        Ok(Flag(Some(value)))
    }

    absent!(Flag(None); number str unit seq map);
}

impl<'de> Deserialize<'de> for Flag {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FlagVisitor)
    }
}

/// A list of which nearly all have one element, which then costs no allocation. `null` is an empty list;
/// anything else that is not a list is an error, for a list of responses cannot be guessed.
#[derive(Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> Few<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Few<T>, A::Error> {
        // A `null` among the elements is not an element.
        let mut few = Few::default();
        while let Some(element) = seq.next_element::<Option<T>>()? {
            match element {
                Some(element) if few.first.is_none() => few.first = Some(element),
                Some(element) => {
                    room::take(size_of::<T>())?;
                    few.rest.push(element);
                }
                None => {}
            }
        }
        Ok(few)
    }

    absent!(Few::default(); unit);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

/// A list. Anything else counts as absent.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Few<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Few::default())
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<List<T>, A::Error> {
        FewVisitor(PhantomData).visit_seq(seq).map(List)
    }

    absent!(List(Few::default()); bool number str unit map);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// A list of any length. Its elements take no more memory than the lists of one text may.
#[derive(Debug)]
pub(crate) struct Many<T>(pub(crate) Vec<T>);

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Many<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            room::take(size_of::<T>())?;
            items.push(item);
        }
        Ok(Many(items))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ManyVisitor(PhantomData))
    }
}

/// The next element of a list, in its place; a `null` leaves the place empty.
struct Element<'p, T>(&'p mut Option<T>);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Element<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Fill<'de>> Visitor<'de> for Element<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.insert(T::default()).fill(deserializer)
    }

    absent!((); unit);
}

struct FewFiller<'p, T>(&'p mut Few<T>);

impl<'de, T: Fill<'de>> Visitor<'de> for FewFiller<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while self.0.first.is_none() {
            if seq.next_element_seed(Element(&mut self.0.first))?.is_none() {
                return Ok(());
            }
        }
        let mut next = None;
        while seq.next_element_seed(Element(&mut next))?.is_some() {
            room::take(size_of::<T>())?;
            self.0.rest.extend(next.take());
        }
        Ok(())
    }

    absent!((); unit);
}

impl<'de, T: Fill<'de>> Fill<'de> for Few<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = Self::default();
        deserializer.deserialize_any(FewFiller(self))
    }
}

struct ListFiller<'p, T>(&'p mut List<T>);

impl<'de, T: Fill<'de>> Visitor<'de> for ListFiller<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        FewFiller(&mut self.0.0).visit_seq(seq)
    }

    absent!((); bool number str unit map);
}

impl<'de, T: Fill<'de>> Fill<'de> for List<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = Self::default();
        deserializer.deserialize_any(ListFiller(self))
    }
}

/// JSON text: of a string its content, of anything else its JSON. Tool arguments come in both forms.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JsonText<'a>(pub(crate) Option<Cow<'a, str>>);

struct JsonTextVisitor;

fn written<'de, E: serde::de::Error>(value: &Value) -> Result<JsonText<'de>, E> {
    Ok(JsonText(Some(Cow::Owned(value.to_string()))))
}

impl<'de> Visitor<'de> for JsonTextVisitor {
    type Value = JsonText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonText<'de>, E> {
        Ok(JsonText(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonText<'de>, E> {
        Ok(JsonText(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_string<E>(self, text: String) -> Result<JsonText<'de>, E> {
        Ok(JsonText(Some(Cow::Owned(text))))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JsonText<'de>, A::Error> {
        let value =
            Value::deserialize(MapAccessDeserializer::new(map)).map_err(A::Error::custom)?;
        written(&value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<JsonText<'de>, A::Error> {
        let value =
            Value::deserialize(SeqAccessDeserializer::new(seq)).map_err(A::Error::custom)?;
        written(&value)
    }

    absent!(JsonText(None); bool number unit);
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonTextVisitor)
    }
}

/// An object. Anything else counts as absent.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Object(Some(object)))
    }

    absent!(Object(None); bool number str unit seq);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

struct ObjectFiller<'p, T>(&'p mut Object<T>);

impl<'de, T: FillFields<'de>> Visitor<'de> for ObjectFiller<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.0.insert(T::default()).fill_fields(map)
    }

    absent!((); bool number str unit seq);
}

impl<'de, T: FillFields<'de>> Fill<'de> for Object<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        self.0 = None;
        deserializer.deserialize_any(ObjectFiller(self))
    }
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
