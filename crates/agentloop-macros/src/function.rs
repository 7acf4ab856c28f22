//! Reads the function that becomes a tool.

use syn::ext::IdentExt;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PathArguments, Result,
    ReturnType, Safety, Type,
};

/// A parameter of the function.
pub(crate) enum Parameter {
    /// An argument, which the model supplies.
    Argument { name: Ident, attributes: Vec<Attribute>, kind: Box<Type> },
    /// The `ToolContext` of the call.
    Context { by_reference: bool },
}

/// Checks that the function can become a tool.
pub(crate) fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let reject = |what: &dyn quote::ToTokens, why: &str| Err(syn::Error::new_spanned(what, why));
    if !signature.generics.params.is_empty() {
        return reject(
            &signature.generics,
            "a tool cannot be generic: its schema needs concrete types",
        );
    }
    if let Some(clause) = &signature.generics.where_clause {
        return reject(clause, "a tool cannot be generic: its schema needs concrete types");
    }
    if let Some(word) = &signature.constness {
        return reject(word, "a tool cannot be `const`");
    }
    if let Safety::Unsafe(word) = &signature.safety {
        return reject(
            word,
            "a tool cannot be `unsafe`: the model cannot uphold its safety requirements",
        );
    }
    if let Some(word) = &signature.abi {
        return reject(word, "a tool must be a plain Rust function");
    }
    if let Some(dots) = &signature.variadic {
        return reject(dots, "a tool must be a plain Rust function");
    }
    Ok(())
}

/// Returns the parameters and removes their attributes, which move to the fields of the arguments.
pub(crate) fn take_parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    function.sig.inputs.iter_mut().map(take_parameter).collect()
}

fn take_parameter(input: &mut FnArg) -> Result<Parameter> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            let message = "a tool cannot have a `self` parameter: use `ToolContext::resource`, or make the tool from a \
                           closure with `Tool::new`";
            return Err(syn::Error::new_spanned(receiver, message));
        }
    };
    let name = match typed.pat.as_ref() {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            pattern.ident.clone()
        }
        other => {
            let message = "a parameter of a tool must be a plain name, which the model sees";
            return Err(syn::Error::new_spanned(other, message));
        }
    };
    let attributes = std::mem::take(&mut typed.attrs);
    let (inner, by_reference) = match typed.ty.as_ref() {
        Type::Reference(reference) if reference.mutability.is_none() => {
            (reference.elem.as_ref(), true)
        }
        other => (other, false),
    };
    if last_name(inner).is_some_and(|name| name == "ToolContext") {
        return Ok(Parameter::Context { by_reference });
    }
    if matches!(typed.ty.as_ref(), Type::Reference(_)) {
        let message = "a parameter of a tool must be owned: for example `String` instead of `&str`";
        return Err(syn::Error::new_spanned(&typed.ty, message));
    }
    if let Type::ImplTrait(kind) = typed.ty.as_ref() {
        let message = "a tool cannot be generic: its schema needs concrete types";
        return Err(syn::Error::new_spanned(kind, message));
    }
    for attribute in &attributes {
        if !["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name)) {
            let message = "a parameter of a tool accepts only doc comments, `#[serde(…)]` and `#[schemars(…)]`";
            return Err(syn::Error::new_spanned(attribute, message));
        }
    }
    Ok(Parameter::Argument { name, attributes, kind: typed.ty.clone() })
}

/// Returns whether the return type is named `Result`.
pub(crate) fn is_fallible(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => false,
        ReturnType::Type(_, kind) => last_name(kind).is_some_and(|name| name == "Result"),
    }
}

fn last_name(kind: &Type) -> Option<String> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last()?;
    let plain = !matches!(last.arguments, PathArguments::Parenthesized(_));
    plain.then(|| last.ident.unraw().to_string())
}

/// Returns the doc comments as one text.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            let text = text.value();
            lines.extend(
                text.split('\n')
                    .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()),
            );
        }
    }
    lines.join("\n").trim().to_owned()
}
