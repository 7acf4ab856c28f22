//! The macros that write methods and implementations which are the same for many types. The other crates of this repository use
//! them too.

/// Writes methods that change a value and return it, each from a line with its documentation.
///
/// `method(field: Type);` sets an optional field. The argument is converted to the type of the field, so `Type` may be
/// `impl Into<String>`. `method(self, argument: Type) => statement;` runs the statement.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $method:ident($($arguments:tt)*) $(=> $change:expr)?;)*) => {$(
        $crate::setters!(@method [$(#[$doc])*] $method($($arguments)*) $($change)?);
    )*};
    (@method [$($doc:tt)*] $method:ident($field:ident: $type:ty)) => {
        $($doc)*
        #[must_use = "the changed value is returned"]
        pub fn $method(mut self, $field: $type) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@method [$($doc:tt)*] $method:ident($this:ident $(, $argument:ident: $type:ty)*) $change:expr) => {
        $($doc)*
        #[must_use = "the changed value is returned"]
        pub fn $method(mut $this $(, $argument: $type)*) -> Self {
            $change;
            $this
        }
    };
}

/// Implements `Debug` for a type with the listed values only. What is not listed is not shown: it is a secret, or nothing that a
/// person can read.
#[doc(hidden)]
#[macro_export]
macro_rules! shown {
    ($(<$($parameter:tt),+>)? $name:ident $(<$($argument:tt),+>)?: $this:ident {$($field:ident: $value:expr),* $(,)?}) => {
        impl $(<$($parameter),+>)? std::fmt::Debug for $name $(<$($argument),+>)? {
            fn fmt(&$this, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}
