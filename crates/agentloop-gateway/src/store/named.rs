//! Enums whose values have names.

/// Defines an enum, a list of all its values, and their names.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident $word:literal,)+ }) => {
        $(#[$about])*
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $value,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// Returns its name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// Returns the one with a name.
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }
    };
}
pub(crate) use named;
