//! The `#[tool]` attribute of [`agentloop`](https://docs.rs/agentloop), which re-exports it as `agentloop::tool`. Depend on
//! `agentloop`, not on this crate.

mod expand;
mod function;
mod options;
#[cfg(test)]
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
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
