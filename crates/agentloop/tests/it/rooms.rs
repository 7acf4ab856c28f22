//! What holds of the source itself.

use std::path::{Path, PathBuf};

use agentloop::Provider;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// A protocol is code, a provider is a row: what bends is a quirk, named after what differs, never after who.
#[test]
fn no_provider_is_named_in_a_protocol() {
    // The makers' own names are the names of the protocols.
    let names: Vec<String> = Provider::all()
        .iter()
        .map(|provider| provider.name.to_string())
        .filter(|name| {
            !["openai", "anthropic", "google", "ollama", "cohere", "bedrock"]
                .contains(&name.as_str())
        })
        .collect();
    let mut found = Vec::new();
    for file in sources(&source().join("protocol")) {
        let text = std::fs::read_to_string(&file).unwrap();
        // Comments name whom a workaround is for.
        let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
        for (number, line) in text.lines().enumerate().filter(is_code) {
            let words = line.to_ascii_lowercase();
            let mut words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| names.iter().any(|name| name == word)) {
                found.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// All data about a provider is in its row: no other code compares the name of a provider.
#[test]
fn only_rows_name_providers() {
    // Each of these is a name of something else: a protocol, a field of the wire, or the maker of a form of messages.
    let others = [
        ("chat/protocol.rs", "anthropic"),
        ("chat/protocol.rs", "ollama"),
        ("chat/protocol.rs", "cohere"),
        ("chat/protocol.rs", "bedrock"),
        ("credential/aws/mod.rs", "bedrock"),
        ("credential/missing.rs", "bedrock"),
        ("protocol/gemini/message.rs", "google"),
        ("chat/read/maker.rs", "openai"),
        ("chat/read/maker.rs", "openrouter"),
    ];
    let names: Vec<String> =
        Provider::all().iter().map(|provider| format!("\"{}\"", provider.name)).collect();
    let mut found = Vec::new();
    let root = source();
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if is_test || path.starts_with("provider/rows/") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        // A feature has the name of a protocol.
        let is_code =
            |line: &&str| !line.trim_start().starts_with("//") && !line.contains("feature = ");
        let lines = code.lines().filter(is_code);
        for (line, name) in lines.flat_map(|line| names.iter().map(move |name| (line, name))) {
            let is_other = others.contains(&(path.as_str(), name.trim_matches('"')));
            if line.contains(name.as_str()) && !is_other {
                found.push(format!("{path}: {line}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_file_is_longer_than_a_mind_can_hold() {
    let long: Vec<String> = sources(&source())
        .into_iter()
        .map(|file| (std::fs::read_to_string(&file).unwrap().lines().count(), file))
        .filter(|(lines, _)| *lines > 600)
        .map(|(lines, file)| format!("{lines} {}", file.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}
