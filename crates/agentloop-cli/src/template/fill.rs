//! Replaces the variables of a template.

/// Replaces every `{{name}}` by its value. A value is inserted as it is: braces in it are not variables.
///
/// A variable without a value stays as it is, and so do braces around anything that is not a name.
pub(crate) fn fill<'a>(text: &str, value_of: &mut dyn FnMut(&str) -> Option<&'a str>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        filled.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let name = inside.find("}}").map(|end| (&inside[..end], &inside[end + 2..]));
        match name.filter(|(name, _)| is_name(name.trim())) {
            Some((name, after)) => {
                match value_of(name.trim()) {
                    Some(value) => filled.push_str(value),
                    None => filled.push_str(&rest[start..rest.len() - after.len()]),
                }
                rest = after;
            }
            // The second brace may begin a variable: `{{{name}}}`.
            None => {
                filled.push('{');
                rest = &rest[start + 1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// Returns whether this can be the name of a variable.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && name.len() <= 64
}
