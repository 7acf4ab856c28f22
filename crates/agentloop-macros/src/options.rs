//! What stands in `#[tool(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Result, Token};

/// The longest name that all hosts take.
const MAX_NAME: usize = 64;

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) ask: bool,
    pub(crate) sequential: bool,
    pub(crate) reviewed: bool,
    pub(crate) strict: bool,
    pub(crate) timeout_secs: Option<LitInt>,
    pub(crate) retries: Option<LitInt>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "name" => {
                    let name: LitStr = value(input)?;
                    check_name(&name)?;
                    options.name = Some(name);
                }
                "description" => options.description = Some(value(input)?),
                "timeout_secs" => options.timeout_secs = Some(number::<u64>(input)?),
                "retries" => options.retries = Some(number::<u32>(input)?),
                "ask" => options.ask = true,
                "sequential" => options.sequential = true,
                "reviewed" => options.reviewed = true,
                "strict" => options.strict = true,
                other => {
                    let message = format!(
                        "`{other}` is not known here; known are `name`, `description`, `ask`, `sequential`, `reviewed`, \
                         `strict`, `timeout_secs` and `retries`"
                    );
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// A number that fits where it goes: it is checked here, where the span is right.
fn number<T: std::str::FromStr>(input: ParseStream<'_>) -> Result<LitInt>
where
    T::Err: std::fmt::Display,
{
    let number: LitInt = value(input)?;
    number.base10_parse::<T>()?;
    Ok(number)
}

fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && text.len() <= MAX_NAME && text.chars().all(known) {
        return Ok(());
    }
    let message = "the name of a tool begins with a letter and has up to 64 letters, digits, `_` and `-`: \
                   some hosts take no others";
    Err(syn::Error::new(name.span(), message))
}
