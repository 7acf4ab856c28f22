//! The attributes of [`agentloop`](https://docs.rs/agentloop): `#[tool]`, which it re-exports as `agentloop::tool`, and one that its own
//! types use. Depend on `agentloop`, not on this crate.

mod absent;
#[cfg(feature = "tool")]
mod expand;
#[cfg(feature = "tool")]
mod function;
#[cfg(feature = "tool")]
mod options;
#[cfg(all(test, feature = "tool"))]
mod tests;

use proc_macro::TokenStream;

/// Turns a function into a tool that a model can call.
///
/// - The doc comment of the function becomes the description of the tool, and the doc comments of the parameters become the
///   descriptions of its arguments.
/// - Each parameter must be owned and of a type that implements `Deserialize` and `JsonSchema`. An `Option` is an optional
///   argument. `#[serde(…)]` and `#[schemars(…)]` work as on the fields of a struct.
/// - A parameter of the type `ToolContext` or `&ToolContext` receives the context of the call. The model does not see it.
/// - The return value is the result of the call. A function that returns a `Result` can fail; the model receives the error.
/// - The options are `name = "…"`, `description = "…"`, `ask`, `sequential`, `reviewed`, `strict`, `timeout_secs = 30` and
///   `retries = 2`. They have the effect of the methods of `Tool` with these names; `ask` sets `Policy::Ask`.
///
/// The name of the function then refers to the tool: for a function `weather`, `weather` and `weather()` convert into a
/// `Tool`. The original function is `weather::call`.
#[cfg(feature = "tool")]
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Leaves the fields of the type `Option` that are `None` out of the JSON of a struct or an enum, unless a field has a rule of its own.
/// It must come before the derive of `Serialize`. It is for the types of `agentloop` alone.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn skip_serializing_none(_: TokenStream, item: TokenStream) -> TokenStream {
    absent::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
