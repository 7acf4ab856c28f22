//! Settings that contain environment variables: `https://${RESOURCE}.example/v1`.

use std::borrow::Cow;

use super::Provider;
use crate::error::{Error, ErrorKind, Result};

/// Replaces each `${VARIABLE}` of a text. Values are not expanded again, and a `${` without an end is left as it is.
///
/// # Errors
///
/// Returns the name of the first variable that is not set or is empty.
pub(super) fn expand(
    template: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> std::result::Result<String, &str> {
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

impl Provider {
    /// Returns the URL, with `${VARIABLE}`s replaced from `environment`. The variable `AGENTLOOP_<NAME>_BASE_URL` replaces
    /// the whole URL.
    pub(crate) fn resolve_base_url(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Cow<'_, str>> {
        let mut replaced = String::with_capacity(self.name.len() + 19);
        replaced.push_str("AGENTLOOP_");
        let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        replaced.extend(self.name.chars().map(upper));
        replaced.push_str("_BASE_URL");
        let template =
            environment(&replaced).map_or_else(|| Cow::Borrowed(&*self.base_url), Cow::Owned);
        if let Cow::Borrowed(template) = template
            && !template.contains("${")
        {
            return Ok(Cow::Borrowed(template.trim_end_matches('/')));
        }
        let mut url = expand(&template, &environment).map_err(|variable| {
            let message = format!("the base URL is incomplete: {variable} is not set");
            Error::new(ErrorKind::Config, message)
                .with_provider(self.name.as_ref())
                .with_hint(format!("set {variable}, which {} names", self.base_url))
        })?;
        url.truncate(url.trim_end_matches('/').len());
        Ok(Cow::Owned(rename_host(url, &self.hosts)))
    }
}

/// Replaces the host of a URL, if it has another name: `hosts` are pairs of a host and its right name.
fn rename_host(url: String, hosts: &[(Cow<'static, str>, Cow<'static, str>)]) -> String {
    let renamed = hosts.iter().find_map(|(from, to)| {
        let (scheme, rest) = url.split_once("://")?;
        let path = rest.strip_prefix(&**from)?;
        path.starts_with('/').then(|| format!("{scheme}://{to}{path}"))
    });
    renamed.unwrap_or(url)
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
    fn a_host_is_renamed_as_a_whole() {
        let hosts = [("a.test".into(), "b.test".into())];
        for (url, expected) in [
            ("https://a.test/v1", "https://b.test/v1"),
            ("https://a.test.evil/v1", "https://a.test.evil/v1"),
            ("https://x.a.test/v1", "https://x.a.test/v1"),
            ("https://x/a.test/v1", "https://x/a.test/v1"),
            ("a.test/", "a.test/"),
        ] {
            assert_eq!(rename_host(url.to_owned(), &hosts), expected);
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
