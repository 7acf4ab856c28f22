//! Finds the files of the sources that read input.

use std::fs;
use std::path::{Path, PathBuf};

use super::Reader;

/// Calls that make values of text or bytes from outside.
const CALLS: &[&str] = &[
    "serde_json::from_",
    "serde_json::Deserializer",
    "serde_path_to_error::",
    "from_reader(",
    "nesting::read",
    "toml::from_str",
    "toml::de",
    "toml::Table",
    "DocumentMut",
    "html2text",
    "globset",
    "GlobBuilder",
    "Regex::new",
    "RegexBuilder",
    "pulldown_cmark",
    "shlex::",
    ".decode(",
    "percent_decode",
    "read_form(",
    "from_str_radix(",
];

/// A file that has such a call and reads no input of others, and why. A folder ends with `/`.
pub type NoReader = (&'static str, &'static str);

/// Returns the files beneath `crates/NAME/src` that read input and that neither a reader nor an exception names; and names that match no
/// such file.
pub fn unlisted(names: &[&str], readers: &[&[Reader]], exceptions: &[NoReader]) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let found: Vec<String> = names.iter().flat_map(|name| reading(&crates, name)).collect();
    let covered = readers.iter().flat_map(|some| some.iter()).flat_map(|reader| reader.covers);
    let named: Vec<&str> =
        covered.copied().chain(exceptions.iter().map(|(file, _)| *file)).collect();
    let covers =
        |name: &str, file: &str| file == name || (name.ends_with('/') && file.starts_with(name));
    let mut wrong: Vec<String> = found
        .iter()
        .filter(|file| !named.iter().any(|name| covers(name, file)))
        .map(|file| format!("{file} reads input and is in no table of readers"))
        .collect();
    wrong.extend(
        named
            .iter()
            .filter(|name| !crates.join(name).exists())
            .map(|name| format!("{name} is in a table of readers and does not exist")),
    );
    wrong
}

/// The files of a crate that read input, apart from tests.
fn reading(crates: &Path, name: &str) -> Vec<String> {
    let mut folders = vec![crates.join(name).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let file = path.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/");
            let is_test = file.contains("/tests/")
                || ["tests.rs", "test.rs"].iter().any(|end| file.ends_with(end));
            if path.is_dir() {
                folders.push(path);
            } else if file.ends_with(".rs") && !is_test && is_reading(&path) {
                found.push(file);
            }
        }
    }
    found
}

fn is_reading(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap();
    // Tests in the same file are at its end.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    code.lines().filter(is_code).any(|line| CALLS.iter().any(|call| line.contains(call)))
}
