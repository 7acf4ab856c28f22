//! Tests of rejected functions and their error messages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::expand;

fn rejection(attribute: TokenStream, item: TokenStream) -> String {
    expand(attribute, item).expect_err("the function is rejected").to_string()
}

#[test]
fn a_function_that_cannot_be_a_tool_is_rejected_with_the_reason() {
    let cases = [
        (quote! {}, quote! { fn silent() {} }, "needs a description"),
        (quote! {}, quote! { #[doc = " "] fn silent() {} }, "needs a description"),
        (quote! {}, quote! { #[doc = "x"] fn of(&self) {} }, "cannot have a `self`"),
        (quote! {}, quote! { #[doc = "x"] fn of<T>(a: T) {} }, "cannot be generic"),
        (quote! {}, quote! { #[doc = "x"] fn of(a: impl Copy) {} }, "cannot be generic"),
        (quote! {}, quote! { #[doc = "x"] fn of((a, b): (u8, u8)) {} }, "must be a plain name"),
        (quote! {}, quote! { #[doc = "x"] fn of(_: u8) {} }, "must be a plain name"),
        (quote! {}, quote! { #[doc = "x"] fn of(a: &str) {} }, "must be owned"),
        (quote! {}, quote! { #[doc = "x"] fn of(#[other] a: u8) {} }, "accepts only doc comments"),
        (quote! {}, quote! { #[doc = "x"] unsafe fn of() {} }, "cannot be `unsafe`"),
        (quote! {}, quote! { #[doc = "x"] const fn of() {} }, "cannot be `const`"),
        (quote! {}, quote! { struct NoFunction; }, "applies only to functions"),
        (quote! { colour = "red" }, quote! { #[doc = "x"] fn of() {} }, "unknown option `colour`"),
        (quote! { name = "of it" }, quote! { #[doc = "x"] fn of() {} }, "must begin with a letter"),
        (quote! { name = "1st" }, quote! { #[doc = "x"] fn of() {} }, "must begin with a letter"),
        (quote! { retries = 1.5 }, quote! { #[doc = "x"] fn of() {} }, "expected integer"),
    ];
    for (attribute, item, why) in cases {
        let message = rejection(attribute, item.clone());
        assert!(message.contains(why), "{item}: {message}");
    }
}

#[test]
fn a_documented_function_is_accepted_with_every_option() {
    let made = expand(
        quote! { name = "the-weather", ask, sequential, reviewed, strict, timeout_secs = 5, retries = 2 },
        quote! { #[doc = " The weather"] pub(crate) async fn weather(mut city: String, context: &ToolContext) {} },
    );
    let text = made.unwrap().to_string();
    for piece in
        ["\"the-weather\"", "\"The weather\"", "sequential", "reviewed", "strict", "from_secs"]
    {
        assert!(text.contains(piece), "{piece} is missing in {text}");
    }
}
