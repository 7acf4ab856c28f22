//! Support for the `#[tool]` attribute.

/// Re-exports for generated code, so its users need no other dependency. Not part of the public API.
#[doc(hidden)]
pub mod private {
    pub use schemars;
    pub use serde;
}

/// A tool needs a description.
///
/// ```compile_fail
/// #[agentloop::tool]
/// fn silent() {}
/// ```
///
/// A tool cannot have a `self` parameter.
///
/// ```compile_fail
/// struct Weather;
/// impl Weather {
///     /// The weather.
///     #[agentloop::tool]
///     fn now(&self) {}
/// }
/// ```
///
/// A tool cannot be generic.
///
/// ```compile_fail
/// /// Repeats a text.
/// #[agentloop::tool]
/// fn echo<T: Clone>(value: T) -> String { String::new() }
/// ```
///
/// Each parameter needs a name.
///
/// ```compile_fail
/// /// Adds numbers.
/// #[agentloop::tool]
/// fn add((one, other): (f64, f64)) -> f64 { one + other }
/// ```
///
/// Each parameter must be owned.
///
/// ```compile_fail
/// /// Repeats a text.
/// #[agentloop::tool]
/// fn echo(text: &str) -> String { text.to_owned() }
/// ```
///
/// A function without these faults is accepted.
///
/// ```
/// /// Repeats a text.
/// #[agentloop::tool]
/// fn echo(text: String) -> String { text }
///
/// assert_eq!(echo::call("again".to_owned()), "again");
/// assert_eq!(agentloop::agent::Tool::from(echo).name(), "echo");
/// ```
#[cfg(doctest)]
struct Refused;
