//! Names that tell the tools of servers apart.

use std::collections::HashMap;

use ring::digest::{SHA256, digest};

/// The longest name that all hosts take.
const MAX_NAME: usize = 64;

/// How much of a digest tells names apart that would else be the same.
const DIGEST_CHARS: usize = 8;

/// What stands between the server and the tool.
const BETWEEN: &str = "__";

/// Letters that all hosts take, in place of the others.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(plain).collect()
}

/// The name of a server, as it stands before its tools: no two underlines in a row, so that it is clear where it ends.
pub(super) fn server(name: &str) -> String {
    let words: Vec<String> =
        plain(name).split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let name = words.join("_");
    match name.chars().next() {
        None => "mcp".to_owned(),
        // Some hosts want a letter first.
        Some(first) if !first.is_ascii_alphabetic() => format!("mcp_{name}"),
        Some(_) => name,
    }
}

/// The names of a server's tools, in order. Each is the same whatever the others are called, unless two would be the same.
pub(super) fn tools(server: &str, tools: &[&str]) -> Vec<String> {
    let names: Vec<String> =
        tools.iter().map(|tool| format!("{server}{BETWEEN}{}", plain(tool))).collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *times.entry(name).or_default() += 1;
    }
    let told_apart = |(name, tool): (&String, &&str)| {
        if name.len() <= MAX_NAME && times.get(name.as_str()) == Some(&1) {
            return name.clone();
        }
        let digest = digest(&SHA256, format!("{server}{BETWEEN}{tool}").as_bytes());
        let digest: String = digest
            .as_ref()
            .iter()
            .take(DIGEST_CHARS / 2)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let room = name.len().min(MAX_NAME - DIGEST_CHARS - 1);
        format!("{}_{digest}", &name[..room])
    };
    names.iter().zip(tools).map(told_apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_name_is_one_that_all_hosts_take() {
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
            assert_eq!(server(name), expected, "{name}");
        }
    }

    #[test]
    fn tools_have_names_of_their_own_however_they_are_called() {
        let long = "x".repeat(200);
        let longer = format!("{long}y");
        let given = ["read", "a.b", "a/b", "a_b", &long, &longer, "read_file"];
        let names = tools("files", &given);
        assert_eq!((names[0].as_str(), names[6].as_str()), ("files__read", "files__read_file"));
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= MAX_NAME && name.starts_with("files__"), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            assert!(!names[..at].contains(name), "{name} is there twice");
        }
        let alone = tools("files", &["a.b"]);
        assert_eq!(alone, ["files__a_b"]);
    }
}
