//! Settings that contain environment variables: `https://${RESOURCE}.example/v1`.

use crate::error::{Error, ErrorKind};

/// Replaces each `${VARIABLE}` of a text. Values are not expanded again, and a `${` without an end is left as it is.
///
/// # Errors
///
/// Returns the name of the first variable that is not set or is empty.
pub(super) fn expand(
    template: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<String, &str> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, after)) = after.split_once('}') else { break };
        let value = environment(variable).filter(|value| !value.is_empty()).ok_or(variable)?;
        text.push_str(before);
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns the error of a header whose variable is not set.
pub(super) fn incomplete_header(provider: &str, header: &str, variable: &str) -> Error {
    let (header, variable) = (header.escape_debug(), variable.escape_debug());
    Error::new(ErrorKind::Config, format!("the header `{header}` is incomplete"))
        .with_provider(provider)
        .with_hint(format!("set {variable}, which `headers` of [providers.{provider}] names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "A" => Some("${B}".to_owned()),
            "B" => Some("b".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_replaced_once() {
        for (template, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${B}", "b"),
            ("x${B}y${B}z", "xbybz"),
            ("${A}", "${B}"),
            ("${B", "${B"),
            ("$B {B} }${", "$B {B} }${"),
            ("ä${B}ö", "äbö"),
        ] {
            assert_eq!(expand(template, environment), Ok(expected.to_owned()), "{template}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_or_empty_is_named() {
        for (template, variable) in
            [("${NONE}", "NONE"), ("${B}${EMPTY}", "EMPTY"), ("${}", ""), ("${${B}}", "${B")]
        {
            assert_eq!(expand(template, environment), Err(variable), "{template}");
        }
    }
}
