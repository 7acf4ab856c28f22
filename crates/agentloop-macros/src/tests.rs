//! What is refused, and in which words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::expand;

fn refusal(attribute: TokenStream, item: TokenStream) -> String {
    expand(attribute, item).expect_err("it is refused").to_string()
}

#[test]
fn each_function_that_cannot_be_a_tool_is_refused_with_its_reason() {
    let cases = [
        (quote! {}, quote! { fn silent() {} }, "told what this tool does"),
        (quote! {}, quote! { #[doc = " "] fn silent() {} }, "told what this tool does"),
        (quote! {}, quote! { #[doc = "x"] fn of(&self) {} }, "no `self`"),
        (quote! {}, quote! { #[doc = "x"] fn of<T>(a: T) {} }, "cannot be generic"),
        (quote! {}, quote! { #[doc = "x"] fn of(a: impl Copy) {} }, "cannot be generic"),
        (quote! {}, quote! { #[doc = "x"] fn of((a, b): (u8, u8)) {} }, "is a name"),
        (quote! {}, quote! { #[doc = "x"] fn of(_: u8) {} }, "is a name"),
        (quote! {}, quote! { #[doc = "x"] fn of(a: &str) {} }, "is owned"),
        (quote! {}, quote! { #[doc = "x"] fn of(#[other] a: u8) {} }, "takes comments"),
        (quote! {}, quote! { #[doc = "x"] unsafe fn of() {} }, "cannot be `unsafe`"),
        (quote! {}, quote! { #[doc = "x"] const fn of() {} }, "cannot be `const`"),
        (quote! {}, quote! { struct NoFunction; }, "stands above a function"),
        (quote! { colour = "red" }, quote! { #[doc = "x"] fn of() {} }, "`colour` is not known"),
        (quote! { name = "of it" }, quote! { #[doc = "x"] fn of() {} }, "begins with a letter"),
        (quote! { name = "1st" }, quote! { #[doc = "x"] fn of() {} }, "begins with a letter"),
        (quote! { retries = 1.5 }, quote! { #[doc = "x"] fn of() {} }, "expected integer"),
    ];
    for (attribute, item, why) in cases {
        let said = refusal(attribute, item.clone());
        assert!(said.contains(why), "{item}: {said}");
    }
}

#[test]
fn a_documented_function_is_taken_with_every_setting() {
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
