//! Variables in the settings of tools.

use crate::failure::Failure;

/// Replaces each `${VARIABLE}` by the value of the environment variable. `table` is the table of the setting.
pub(in crate::command::run) fn expand(table: &str, text: &str) -> Result<String, Failure> {
    expand_with(table, text, |variable| std::env::var(variable).ok())
}

fn expand_with(
    table: &str,
    text: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<String, Failure> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, after)) = after.split_once('}') else { break };
        let value = environment(variable).filter(|value| !value.is_empty()).ok_or_else(|| {
            let variable = variable.escape_debug();
            Failure::input_with_hint(
                format!("{table}: the environment variable {variable} is not set"),
                format!("set {variable}, or remove it from [{table}]"),
            )
        })?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once() {
        let read = |name: &str| (name == "A").then(|| "${A}".to_owned());
        let expand = |text: &str| expand_with("mcp.x", text, read).ok();
        assert_eq!(expand("Bearer ${A}!").as_deref(), Some("Bearer ${A}!"));
        assert_eq!(expand("plain $A {A} ${A").as_deref(), Some("plain $A {A} ${A"));
        assert_eq!(expand("${B}"), None);
        assert_eq!(expand("${}"), None);
    }
}
