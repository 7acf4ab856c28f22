//! The function of which a tool is made.

use syn::ext::IdentExt;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PathArguments, Result,
    ReturnType, Type,
};

/// What a parameter is for.
pub(crate) enum Parameter {
    /// The model gives it.
    Argument { name: Ident, attributes: Vec<Attribute>, kind: Box<Type> },
    /// The run's own context.
    Context { by_reference: bool },
}

/// That a tool can be made of the function.
pub(crate) fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let refuse = |what: &dyn quote::ToTokens, why: &str| Err(syn::Error::new_spanned(what, why));
    if !signature.generics.params.is_empty() {
        return refuse(
            &signature.generics,
            "a tool cannot be generic: the model has to be told its types",
        );
    }
    if let Some(clause) = &signature.generics.where_clause {
        return refuse(clause, "a tool cannot be generic: the model has to be told its types");
    }
    if let Some(word) = &signature.constness {
        return refuse(word, "a tool cannot be `const`: it runs when it is called");
    }
    if let Some(word) = &signature.unsafety {
        return refuse(word, "a tool cannot be `unsafe`: the model cannot keep promises");
    }
    if let Some(word) = &signature.abi {
        return refuse(word, "a tool is a plain function");
    }
    if let Some(dots) = &signature.variadic {
        return refuse(dots, "a tool is a plain function");
    }
    Ok(())
}

/// The parameters, without the attributes that are ours: those move to the arguments.
pub(crate) fn parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    function.sig.inputs.iter_mut().map(parameter).collect()
}

fn parameter(input: &mut FnArg) -> Result<Parameter> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            let message = "a tool has no `self`: give it a resource of the agent through `ToolContext::resource`, or make \
                           it with `Tool::new` of a closure";
            return Err(syn::Error::new_spanned(receiver, message));
        }
    };
    let name = match typed.pat.as_ref() {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            pattern.ident.clone()
        }
        other => {
            let message = "a parameter of a tool is a name, which the model is told";
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
        let message = "a parameter of a tool is owned: `String` rather than `&str`, for example";
        return Err(syn::Error::new_spanned(&typed.ty, message));
    }
    if let Type::ImplTrait(kind) = typed.ty.as_ref() {
        let message = "a tool cannot be generic: the model has to be told its types";
        return Err(syn::Error::new_spanned(kind, message));
    }
    for attribute in &attributes {
        if !["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name)) {
            let message =
                "a parameter of a tool takes comments, `#[serde(…)]` and `#[schemars(…)]`";
            return Err(syn::Error::new_spanned(attribute, message));
        }
    }
    Ok(Parameter::Argument { name, attributes, kind: typed.ty.clone() })
}

/// Whether it may fail, as far as its words tell.
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

/// What the comments say, as one text.
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
