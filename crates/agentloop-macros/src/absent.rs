//! Expands `#[skip_serializing_none]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Data, DeriveInput, Field, Meta, Result, Type, parse_quote};

/// Adds `#[serde(skip_serializing_if = "Option::is_none")]` to the fields of the type `Option`.
pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let mut item: DeriveInput = syn::parse2(item)?;
    match &mut item.data {
        Data::Struct(data) => data.fields.iter_mut().for_each(mark),
        Data::Enum(data) => {
            data.variants.iter_mut().flat_map(|variant| &mut variant.fields).for_each(mark);
        }
        Data::Union(_) => {}
    }
    Ok(item.into_token_stream())
}

fn mark(field: &mut Field) {
    let is_option = match &field.ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    };
    if field.ident.is_some() && is_option && !field.attrs.iter().any(decides) {
        field.attrs.push(parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
    }
}

/// Returns whether an attribute says itself when the field is written.
fn decides(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let mut words = list.tokens.clone().into_iter();
    list.path.is_ident("serde")
        && words.any(|word| match word {
            TokenTree::Ident(word) => word.to_string().starts_with("skip") || word == "flatten",
            _ => false,
        })
}
