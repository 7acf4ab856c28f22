//! What a user makes or calls has an example.
//!
//! rustc's `missing_docs` checks that public items have documentation, and only a nightly lint of rustdoc that it has examples. This test reads the
//! sources: a public function, trait or type with a constructor is covered if its name occurs in an example of the documentation of any item, in a
//! page of the guide, or in a file of `examples/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
}

/// Returns the texts of all files in a folder.
fn texts(folder: &Path, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    files(folder, ending, &mut found);
    found.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Adds the words of the blocks of code in lines.
fn add_examples<'a>(lines: impl Iterator<Item = &'a str>, words: &mut BTreeSet<String>) {
    let mut is_code = false;
    for line in lines {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            add_words(line, words);
        }
    }
}

fn add_words(text: &str, words: &mut BTreeSet<String>) {
    let is_end = |c: char| !c.is_alphanumeric() && c != '_';
    words.extend(text.split(is_end).map(str::to_owned));
}

/// Returns the name after `pub KEYWORD` at the beginning of a line.
fn public_name<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix(keyword)?;
    let rest = rest.strip_prefix(' ')?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Returns the functions, the traits and the types with a constructor in a file.
fn wanted(text: &str) -> BTreeSet<String> {
    let named = |keyword| text.lines().filter_map(move |line| public_name(line, keyword));
    let mut wanted: BTreeSet<String> =
        ["fn", "trait"].into_iter().flat_map(named).map(str::to_owned).collect();
    for kind in ["struct", "enum"].into_iter().flat_map(named) {
        let starts = [format!("impl {kind} {{"), format!("impl {kind}<")];
        let mut blocks = text.split("\nimpl").skip(1).map(|block| format!("impl{block}"));
        let makes = blocks.any(|block| {
            let block = block.split("\n}").next().unwrap_or_default();
            let is_own = starts.iter().any(|start| block.starts_with(start));
            let mut lines = block.lines().filter(|line| line.starts_with("    pub "));
            is_own
                && lines.any(|line| {
                    let is_made = line.contains("-> Self") || line.contains("-> Result<Self");
                    is_made && !line.contains("self")
                })
        });
        if makes {
            wanted.insert(kind.to_owned());
        }
    }
    wanted
}

#[test]
fn what_a_user_makes_or_calls_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = ["agentloop", "agentloop-gateway", "agentloop-macros", "agentloop-sim"];
    let mut words = BTreeSet::new();
    let mut sources = Vec::new();
    for name in crates {
        let folder = root.join("crates").join(name);
        sources.extend(texts(&folder.join("src"), "rs"));
        texts(&folder.join("examples"), "rs").iter().for_each(|text| add_words(text, &mut words));
    }
    for text in &sources {
        let comment = |line: &'_ str| {
            let line = line.trim_start();
            line.strip_prefix("///").or(line.strip_prefix("//!")).map(str::to_owned)
        };
        let comments: Vec<String> = text.lines().filter_map(comment).collect();
        add_examples(comments.iter().map(String::as_str), &mut words);
    }
    for text in texts(&root.join("docs"), "md") {
        add_examples(text.lines(), &mut words);
    }
    let wanted: BTreeSet<String> = sources.iter().flat_map(|text| wanted(text)).collect();
    assert!(wanted.len() > 100, "{}", wanted.len());
    // The other crates of this repository use these. They are not in the documentation.
    let library = fs::read_to_string(root.join("crates/agentloop/src/lib.rs")).unwrap();
    let (_, internal) = library.split_once("pub mod internal {").unwrap();
    let mut hidden = BTreeSet::new();
    add_words(internal.split_once("\n}").unwrap().0, &mut hidden);
    let gateway = fs::read_to_string(root.join("crates/agentloop-gateway/src/internal.rs"));
    add_words(&gateway.unwrap(), &mut hidden);
    add_words("StoreError skip_serializing_none", &mut hidden);
    let is_missing = |name: &&String| !words.contains(*name) && !hidden.contains(*name);
    let missing: Vec<&String> = wanted.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "without an example: {missing:?}");
}
