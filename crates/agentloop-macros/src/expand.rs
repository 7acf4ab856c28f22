//! Expands `#[tool]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, ItemFn, Result, ReturnType};

use crate::function::{self, Parameter};
use crate::options::Options;

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(attribute)?;
    let mut function: ItemFn = syn::parse2(item).map_err(|error| {
        syn::Error::new(error.span(), format!("`#[tool]` applies only to functions: {error}"))
    })?;
    function::check(&function)?;
    let parameters = function::take_parameters(&mut function)?;
    let description = match &options.description {
        Some(text) => text.value(),
        None => function::documentation(&function.attrs),
    };
    if description.trim().is_empty() {
        let message = "the tool needs a description for the model: add a doc comment `/// …`, or \
                       `#[tool(description = \"…\")]`";
        return Err(syn::Error::new(function.sig.ident.span(), message));
    }
    let body = make_tool(&options, &function, &parameters, &description);
    Ok(make_item(function, &body))
}

/// Generates a function that makes the tool, and an enum of the same name that holds the original function as `call`.
///
/// Functions and types have separate namespaces, so both can have the name of the original function. A unit struct would be
/// in both, and a variable in scope could not have that name.
fn make_item(function: ItemFn, body: &TokenStream) -> TokenStream {
    let ItemFn { attrs, vis, mut sig, block, .. } = function;
    let name = std::mem::replace(&mut sig.ident, format_ident!("call"));
    let is = |attribute: &Attribute, name: &str| attribute.path().is_ident(name);
    let docs: Vec<_> = attrs.iter().filter(|attribute| is(attribute, "doc")).collect();
    let cfgs: Vec<_> = attrs.iter().filter(|attribute| is(attribute, "cfg")).collect();
    let others = attrs.iter().filter(|attribute| !is(attribute, "doc") && !is(attribute, "cfg"));
    quote! {
        #(#cfgs)*
        #(#docs)*
        #[allow(clippy::unit_arg, clippy::useless_conversion, unused_variables)]
        #vis fn #name() -> ::agentloop::agent::Tool { #body }

        #(#cfgs)*
        #(#docs)*
        #[allow(non_camel_case_types)]
        #vis enum #name {}

        #(#cfgs)*
        impl #name {
            #(#docs)*
            #(#others)*
            // Arguments are always owned, and some tools have nothing to await.
            #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
            #vis #sig #block
        }
    }
}

/// Generates the expression that makes the tool.
fn make_tool(
    options: &Options,
    function: &ItemFn,
    parameters: &[Parameter],
    description: &str,
) -> TokenStream {
    let name = &function.sig.ident;
    let tool_name = match &options.name {
        Some(name) => name.value(),
        None => name.unraw().to_string(),
    };
    let fields = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument { name, attributes, kind } => {
            Some(quote! { #(#attributes)* #name: #kind, })
        }
        Parameter::Context { .. } => None,
    });
    let values = parameters.iter().map(|parameter| match parameter {
        Parameter::Argument { name, .. } => quote! { arguments.#name },
        Parameter::Context { by_reference: true } => quote! { &context },
        Parameter::Context { by_reference: false } => {
            quote! { ::core::clone::Clone::clone(&context) }
        }
    });
    let wait = function.sig.asyncness.map(|_| quote! { .await });
    let output = quote! { #name::call(#(#values),*) #wait };
    let span = match &function.sig.output {
        ReturnType::Default => name.span(),
        ReturnType::Type(_, kind) => kind.span(),
    };
    let output = if function::is_fallible(&function.sig.output) {
        quote_spanned! { span => (#output).map_err(::agentloop::agent::ToolError::from) }
    } else {
        quote_spanned! { span =>
            ::core::result::Result::<_, ::agentloop::agent::ToolError>::Ok(#output)
        }
    };
    let settings = make_settings(options);
    quote! {
        #[derive(
            ::agentloop::agent::__private::serde::Deserialize,
            ::agentloop::agent::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::agentloop::agent::__private::serde")]
        #[schemars(crate = "::agentloop::agent::__private::schemars")]
        struct Arguments { #(#fields)* }

        ::agentloop::agent::Tool::new(
            #tool_name,
            #description,
            |arguments: Arguments, context: ::agentloop::agent::ToolContext| async move { #output },
        ) #settings
    }
}

/// Generates the calls of the methods of `Tool` for the options.
fn make_settings(options: &Options) -> TokenStream {
    let flags = [
        (options.ask, quote! { .policy(::agentloop::agent::Policy::Ask) }),
        (options.sequential, quote! { .sequential() }),
        (options.reviewed, quote! { .reviewed() }),
        (options.strict, quote! { .strict() }),
    ];
    let flags = flags.into_iter().filter_map(|(set, call)| set.then_some(call));
    let timeout = options.timeout_secs.as_ref().map(|seconds| {
        quote! { .timeout(::core::time::Duration::from_secs(#seconds)) }
    });
    let retries = options.retries.as_ref().map(|retries| quote! { .retries(#retries) });
    quote! { #(#flags)* #timeout #retries }
}
