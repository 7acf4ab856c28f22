//! The options of `#[tool(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Result, Token};

/// The longest name that all providers accept.
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
                    let name: LitStr = parse_value(input)?;
                    check_name(&name)?;
                    options.name = Some(name);
                }
                "description" => options.description = Some(parse_value(input)?),
                "timeout_secs" => options.timeout_secs = Some(parse_number::<u64>(input)?),
                "retries" => options.retries = Some(parse_number::<u32>(input)?),
                "ask" => options.ask = true,
                "sequential" => options.sequential = true,
                "reviewed" => options.reviewed = true,
                "strict" => options.strict = true,
                other => {
                    let message = format!(
                        "unknown option `{other}`; the options are `name`, `description`, `ask`, `sequential`, `reviewed`, \
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

fn parse_value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Parses a number of this type. It is checked here, because the error then has the right span.
fn parse_number<T: std::str::FromStr>(input: ParseStream<'_>) -> Result<LitInt>
where
    T::Err: std::fmt::Display,
{
    let number: LitInt = parse_value(input)?;
    number.base10_parse::<T>()?;
    Ok(number)
}

fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && text.len() <= MAX_NAME && text.chars().all(is_accepted) {
        return Ok(());
    }
    let message = "the name of a tool must begin with a letter or `_` and have at most 64 letters, digits, `_` and `-`: \
                   some providers accept no others";
    Err(syn::Error::new(name.span(), message))
}
