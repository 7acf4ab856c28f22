//! The `#[tool]` attribute of [`agentloop`](https://docs.rs/agentloop), which re-exports it. Nothing here is used by itself.

mod expand;
mod function;
mod options;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a tool of a function.
///
/// What stands above the function is told to the model, and its parameters are what the model gives: their comments are told
/// too. A parameter of the type `ToolContext`, or a reference to one, is the run's own and the model does not see it. What the
/// function returns is the result, or with a `Result` the result or why there is none.
///
/// The name then stands for the tool, which everything that takes `impl Into<Tool>` takes: for a function `weather`, both
/// `weather` and `weather()` do. The function that was written is `weather::call`.
///
/// - Each parameter is owned and has a type that is `Deserialize` and `JsonSchema`; an `Option` may be left out. `#[serde(…)]`
///   and `#[schemars(…)]` on a parameter mean what they mean on a field.
/// - `#[tool(…)]` takes `name = "…"`, `description = "…"`, `ask`, `sequential`, `reviewed`, `strict`, `timeout_secs = 30` and
///   `retries = 2`, which do what the methods of `Tool` of those names do.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
