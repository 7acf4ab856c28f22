//! Unique names for the tools of servers.

use std::collections::HashMap;

use ring::digest::{SHA256, digest};

/// The longest name that all providers accept.
const MAX_NAME: usize = 64;

/// The length of the digest that distinguishes names that would be equal otherwise.
const DIGEST_CHARS: usize = 8;

/// The separator between the server and the tool.
const SEPARATOR: &str = "__";

/// Replaces the characters that some provider rejects.
fn sanitize(text: &str) -> String {
    let replace = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(replace).collect()
}

/// Returns the prefix for the tools of a server. It has no two underscores in a row, so the separator is unambiguous.
pub(super) fn server_name(name: &str) -> String {
    let words: Vec<String> =
        sanitize(name).split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let name = words.join("_");
    match name.chars().next() {
        None => "mcp".to_owned(),
        // Some providers require a letter first.
        Some(first) if !first.is_ascii_alphabetic() => format!("mcp_{name}"),
        Some(_) => name,
    }
}

/// Returns the names of the tools of a server, in order. A name does not depend on the other tools, unless two names would
/// be equal.
pub(super) fn tool_names(server: &str, tools: &[&str]) -> Vec<String> {
    let names: Vec<String> =
        tools.iter().map(|tool| format!("{server}{SEPARATOR}{}", sanitize(tool))).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let make_unique = |(name, tool): (&String, &&str)| {
        if name.len() <= MAX_NAME && counts.get(name.as_str()) == Some(&1) {
            return name.clone();
        }
        let digest = digest(&SHA256, format!("{server}{SEPARATOR}{tool}").as_bytes());
        let digest: String = digest
            .as_ref()
            .iter()
            .take(DIGEST_CHARS / 2)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let room = name.len().min(MAX_NAME - DIGEST_CHARS - 1);
        format!("{}_{digest}", &name[..room])
    };
    names.iter().zip(tools).map(make_unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_name_is_one_that_all_providers_accept() {
        let cases = [
            ("files", "files"),
            ("mcp-servers/everything", "mcp-servers_everything"),
            ("a__b", "a_b"),
            ("_x_", "x"),
            ("3d tools", "mcp_3d_tools"),
            ("Bücher", "B_cher"),
            ("", "mcp"),
            ("☃", "mcp"),
        ];
        for (name, expected) in cases {
            assert_eq!(server_name(name), expected, "{name}");
        }
    }

    #[test]
    fn tool_names_are_unique_and_valid_whatever_the_server_calls_its_tools() {
        let long = "x".repeat(200);
        let longer = format!("{long}y");
        let given = ["read", "a.b", "a/b", "a_b", &long, &longer, "read_file"];
        let names = tool_names("files", &given);
        assert_eq!((names[0].as_str(), names[6].as_str()), ("files__read", "files__read_file"));
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= MAX_NAME && name.starts_with("files__"), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            assert!(!names[..at].contains(name), "{name} is there twice");
        }
        let alone = tool_names("files", &["a.b"]);
        assert_eq!(alone, ["files__a_b"]);
    }
}
