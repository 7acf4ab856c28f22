//! Reads an object into a place that is already there.
//!
//! The objects of a stream are wide, and a returned value is copied at every level on its way out. A value that is
//! filled in place is not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

/// A value that is filled from JSON. If a field occurs twice, the last one counts.
pub(crate) trait Fill<'de>: Default {
    /// Fills `self`.
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// A value that is filled from the fields of an object.
pub(crate) trait FillFields<'de>: Default {
    /// Fills `self`, which is at its default, from the fields of an object.
    fn fill_fields<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;
}

/// Where to fill, in the form that serde takes.
pub(crate) struct Place<'p, 'de, T>(&'p mut T, PhantomData<&'de ()>);

impl<'p, T> Place<'p, '_, T> {
    pub(crate) fn new(place: &'p mut T) -> Self {
        Self(place, PhantomData)
    }
}

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Place<'_, 'de, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.fill(deserializer)
    }
}

/// Fills a value from an object. The error for anything else names what was `expected`.
pub(crate) fn fill_object<'de, T: FillFields<'de>, D: Deserializer<'de>>(
    place: &mut T,
    expected: &'static str,
    deserializer: D,
) -> Result<(), D::Error> {
    deserializer.deserialize_map(Filler { place, expected })
}

struct Filler<'p, T> {
    place: &'p mut T,
    expected: &'static str,
}

impl<'de, T: FillFields<'de>> Visitor<'de> for Filler<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.place.fill_fields(map)
    }
}

/// Implements filling for a struct: `fill!(Chunk { "id" => id; "choices" => choices })`. The fields before the
/// semicolon are small and are read as values, those after it are filled in place. Unknown names are skipped.
///
/// With `rest` after it, unknown names are pushed to the field `rest` of the type [`Rest`](super::rest::Rest), except
/// for the ones that follow: `fill!(Chunk { … } rest except "object", "obfuscation")`.
macro_rules! fill {
    ($name:ident { $($text:literal => $small:ident),* ; $($wide_text:literal => $wide:ident),* }) => {
        fill!(@filler $name);
        const _: () = {
            #[allow(non_camel_case_types, reason = "named like the fields")]
            enum Key { $($small,)* $($wide,)* __Other }

            struct KeyVisitor;

            impl serde::de::Visitor<'_> for KeyVisitor {
                type Value = Key;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a name")
                }

                #[inline]
                fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                    Ok(match name {
                        $($text => Key::$small,)*
                        $($wide_text => Key::$wide,)*
                        _ => Key::__Other,
                    })
                }
            }

            impl<'de> serde::Deserialize<'de> for Key {
                #[inline]
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_identifier(KeyVisitor)
                }
            }

            impl<'de> crate::protocol::fill::FillFields<'de> for $name<'de> {
                fn fill_fields<A: serde::de::MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
                    while let Some(key) = map.next_key()? {
                        match key {
                            $(Key::$small => self.$small = map.next_value()?,)*
                            $(Key::$wide => map.next_value_seed(crate::protocol::fill::Place::new(&mut self.$wide))?,)*
                            Key::__Other => _ = map.next_value::<serde::de::IgnoredAny>()?,
                        }
                    }
                    Ok(())
                }
            }
        };
    };
    ($name:ident { $($text:literal => $small:ident),* ; $($wide_text:literal => $wide:ident),* } rest except $($skipped:literal),*) => {
        fill!(@filler $name);
        const _: () = {
            #[allow(non_camel_case_types, reason = "named like the fields")]
            enum Key<'de> { $($small,)* $($wide,)* __Skipped, __Other(std::borrow::Cow<'de, str>) }

            struct KeyVisitor;

            #[inline(always)]
            fn known<'de>(name: &str) -> Option<Key<'de>> {
                Some(match name {
                    $($text => Key::$small,)*
                    $($wide_text => Key::$wide,)*
                    $($skipped => Key::__Skipped,)*
                    _ => return None,
                })
            }

            impl<'de> serde::de::Visitor<'de> for KeyVisitor {
                type Value = Key<'de>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a name")
                }

                #[inline]
                fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Key<'de>, E> {
                    Ok(known(name).unwrap_or(Key::__Other(std::borrow::Cow::Borrowed(name))))
                }

                fn visit_str<E>(self, name: &str) -> Result<Key<'de>, E> {
                    Ok(known(name).unwrap_or_else(|| Key::__Other(std::borrow::Cow::Owned(name.to_owned()))))
                }
            }

            impl<'de> serde::Deserialize<'de> for Key<'de> {
                #[inline]
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_identifier(KeyVisitor)
                }
            }

            impl<'de> crate::protocol::fill::FillFields<'de> for $name<'de> {
                fn fill_fields<A: serde::de::MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
                    while let Some(key) = map.next_key()? {
                        match key {
                            $(Key::$small => self.$small = map.next_value()?,)*
                            $(Key::$wide => map.next_value_seed(crate::protocol::fill::Place::new(&mut self.$wide))?,)*
                            Key::__Skipped => _ = map.next_value::<serde::de::IgnoredAny>()?,
                            Key::__Other(name) => self.rest.push(name, map.next_value()?),
                        }
                    }
                    Ok(())
                }
            }
        };
    };
    (@filler $name:ident) => {
        impl<'de> crate::protocol::fill::Fill<'de> for $name<'de> {
            fn fill<D: serde::Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                let expected = concat!("struct ", stringify!($name));
                crate::protocol::fill::fill_object(self, expected, deserializer)
            }
        }
    };
}

pub(crate) use fill;

#[cfg(test)]
mod tests {
    use crate::protocol::json::fill_json;
    use crate::protocol::lenient::{Few, Int, Object, Text};

    #[derive(Debug, Default)]
    struct Outer<'a> {
        name: Text<'a>,
        rows: Few<Row<'a>>,
        row: Object<Row<'a>>,
    }

    #[derive(Debug, Default)]
    struct Row<'a> {
        text: Text<'a>,
        number: Int,
    }

    fill!(Outer { "name" => name; "rows" => rows, "row" => row });
    fill!(Row { "text" => text, "number" => number; });

    fn filled(json: &str) -> Outer<'_> {
        let mut outer = Outer::default();
        fill_json(json.as_bytes(), &mut outer).unwrap();
        outer
    }

    #[test]
    fn the_last_of_repeated_fields_counts() {
        let outer = filled(
            r#"{"name":"a","row":{"text":"x","number":1},"rows":[{"text":"one"},{"text":"two"}],"row":{"number":2},
               "rows":[{"number":3}],"name":"b"}"#,
        );
        let Object(Some(row)) = &outer.row else { panic!("an object") };
        assert_eq!(
            (outer.name.non_empty(), row.text.non_empty(), row.number.0),
            (Some("b"), None, Some(2))
        );
        assert_eq!(outer.rows.into_iter().map(|row| row.number.0).collect::<Vec<_>>(), [Some(3)]);
    }

    #[test]
    fn other_shapes_and_unknown_names_are_as_good_as_absent() {
        let outer = filled(r#"{"row":[1,{"a":2}],"more":{"deep":[{}]},"name":7,"rows":null}"#);
        assert!(outer.row.0.is_none() && outer.rows.is_empty() && outer.name.0.is_none());
        let outer = filled(r#"{"rows":[null,{"text":"one"},null,{"text":"two"}]}"#);
        let texts: Vec<_> = outer.rows.into_iter().map(|row| row.text.0.unwrap()).collect();
        assert_eq!(texts, ["one", "two"]);
    }

    #[test]
    fn a_value_that_is_not_an_object_or_has_trailing_text_is_an_error() {
        for json in ["3", "[]", "{} {}", r#"{"rows":{}}"#, r#"{"name":"a""#] {
            assert!(fill_json(json.as_bytes(), &mut Outer::default()).is_err(), "{json}");
        }
    }
}
