//! The guide in `docs/` and the README: their links exist, and their code blocks do what they show.
//!
//! CONTRIBUTING.md has the rules for authors. `tools/book/build` builds the guide as a book.

mod blocks;
mod configuration;
mod links;
mod llms;
mod markdown;
mod providers;
#[cfg(unix)]
mod replay;
mod rust;
#[cfg(unix)]
mod session;
mod source;
mod summary;

use std::path::{Path, PathBuf};

use markdown::Page;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the Markdown files below a folder of the repository, sorted.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(files(&name));
        } else if name.ends_with(".md") {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// Reads the pages of the guide, and the README.
fn pages() -> Vec<Page> {
    let mut names = files("docs");
    names.retain(|name| name != "docs/SUMMARY.md");
    names.push("README.md".to_owned());
    names.iter().map(|name| Page::new(name, &read(name))).collect()
}

/// Compares a generated file with the committed one, or writes it.
fn check_generated(path: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let whole = root().join(path);
        std::fs::create_dir_all(whole.parent().unwrap()).unwrap();
        // Tests of other processes read the pages meanwhile: each sees the old page or the new one, and never a part of it.
        let part = root().join(format!("{path}.{}.part", std::process::id()));
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, whole).unwrap();
        return;
    }
    let written = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let differs = written.lines().zip(text.lines()).position(|(old, new)| old != new);
    assert!(
        written == text,
        "{path} is not current (line {}): write it with `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide`",
        differs.unwrap_or_else(|| written.lines().count().min(text.lines().count())) + 1
    );
}
