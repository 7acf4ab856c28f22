//! What the `#[tool]` attribute leans on.

/// What generated code names, so that its users need no other dependency. Not for use by hand.
#[doc(hidden)]
pub mod private {
    pub use schemars;
    pub use serde;
}

/// A tool says what it does.
///
/// ```compile_fail
/// #[agentloop::tool]
/// fn silent() {}
/// ```
///
/// It has no `self`.
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
/// It is not generic.
///
/// ```compile_fail
/// /// Says it again.
/// #[agentloop::tool]
/// fn echo<T: Clone>(value: T) -> String { String::new() }
/// ```
///
/// Its parameters have names.
///
/// ```compile_fail
/// /// Adds numbers.
/// #[agentloop::tool]
/// fn add((one, other): (f64, f64)) -> f64 { one + other }
/// ```
///
/// They are owned.
///
/// ```compile_fail
/// /// Says it again.
/// #[agentloop::tool]
/// fn echo(text: &str) -> String { text.to_owned() }
/// ```
///
/// Without such faults it is taken.
///
/// ```
/// /// Says it again.
/// #[agentloop::tool]
/// fn echo(text: String) -> String { text }
///
/// assert_eq!(echo::call("again".to_owned()), "again");
/// assert_eq!(agentloop::agent::Tool::from(echo).name(), "echo");
/// ```
#[cfg(doctest)]
struct Refused;
