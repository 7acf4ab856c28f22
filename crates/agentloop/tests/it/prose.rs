//! Phrases of the old documentation that must not come back. The rules for prose are in CONTRIBUTING.md.

use std::path::{Path, PathBuf};

/// Each phrase in lower case, with what to write instead.
const PHRASES: [(&str, &str); 24] = [
    ("is no", "\"is not a\""),
    ("handed on", "\"returned to the caller\""),
    ("hands on", "\"returns\""),
    ("the same, with", "what the item does"),
    ("nobody", "who or what the sentence is about"),
    ("somebody", "who or what the sentence is about"),
    ("told", "\"reported\", \"documented\" or \"returned\""),
    ("anew", "\"again\""),
    ("broken off", "\"truncated\" or \"cancelled\""),
    ("breaks off", "\"is truncated\" or \"is cancelled\""),
    ("in its own words", "\"in its own format\""),
    ("and its kin", "the list, or \"and similar\""),
    ("the same, of", "what the item does"),
    ("known are", "\"known providers: …\""),
    ("leads nowhere", "\"cannot be resolved\""),
    ("everyone who", "\"the providers that\""),
    ("in whatever", "\"in any\""),
    ("handed over", "\"passed\" or \"returned\""),
    ("unseen", "what is not seen, and by whom"),
    ("came whole", "\"arrived complete\""),
    ("as they came", "\"unchanged\""),
    ("as it came", "\"unchanged\""),
    ("an answer", "\"a response\""),
    ("by address", "\"by URL\""),
];

/// Uses of a phrase that are plain English.
const FINE: [&str; 4] = ["there is no", "is no longer", "is no more", "is no less"];

/// What is read: files and folders below the root of the repository.
const READ: [&str; 13] = [
    ".ci/run",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "bench/README.md",
    "crates",
    "docs",
    "fuzz/src",
    "fuzz/tests",
    "justfile",
    "tests",
    "tools",
    "deny.toml",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a text in one line: line breaks, comment markers, indentation and the underscores of names become single spaces.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start();
        let line = ["//!", "///", "//", "#", ">"]
            .iter()
            .find_map(|marker| line.strip_prefix(marker))
            .unwrap_or(line);
        flat.push_str(line.trim());
        flat.push(' ');
    }
    flat.to_lowercase().replace('_', " ")
}

/// Returns the phrases that a text contains as whole words, each with the words around it.
fn find(text: &str) -> Vec<(&'static str, String)> {
    let flat = flatten(text);
    let mut found = Vec::new();
    for (phrase, _) in PHRASES {
        for (at, _) in flat.match_indices(phrase) {
            let is_inside_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            if is_inside_word(flat[..at].chars().next_back())
                || is_inside_word(flat[at + phrase.len()..].chars().next())
            {
                continue;
            }
            let before: Vec<char> = flat[..at].chars().rev().take(30).collect();
            let mut around: String = before.into_iter().rev().collect();
            around.extend(flat[at..].chars().take(phrase.len() + 30));
            let is_fine = FINE.iter().any(|fine| {
                fine.find(phrase).is_some_and(|offset| {
                    at.checked_sub(offset).is_some_and(|start| flat[start..].starts_with(fine))
                })
            });
            if !is_fine {
                found.push((phrase, around));
            }
        }
    }
    found
}

fn visit(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let name = path.file_name().unwrap_or_default();
        if ["fixtures", "snapshots", "target"].iter().any(|skipped| name == *skipped) {
            return;
        }
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| visit(entry, files));
    } else {
        files.push(path.to_owned());
    }
}

#[test]
fn phrases_of_the_old_documentation_do_not_come_back() {
    let root = root();
    let mut files = Vec::new();
    READ.iter().for_each(|path| visit(&root.join(path), &mut files));
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let is_prose = [".rs", ".md", "justfile", ".ci/run", "deny.toml"];
        if name.ends_with("tests/it/prose.rs") || !is_prose.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for (phrase, around) in find(&text) {
            found.push(format!("{name}: {phrase:?} in \"…{around}…\""));
        }
    }
    let advice: Vec<String> =
        PHRASES.iter().map(|(phrase, instead)| format!("{phrase:?}: write {instead}")).collect();
    assert!(found.is_empty(), "{}\n\n{}", found.join("\n"), advice.join("\n"));
}

#[test]
fn a_phrase_is_found_across_lines_and_only_as_whole_words() {
    let find = |text: &str| find(text).into_iter().map(|(phrase, _)| phrase).collect::<Vec<_>>();
    assert_eq!(find("/// This is\n    /// no answer."), ["is no"]);
    assert_eq!(find("It was Told so."), ["told"]);
    assert_eq!(
        find("There is no tag. It is no longer so. He stood in the manewood, is not."),
        [""; 0]
    );
}
