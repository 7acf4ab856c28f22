//! The pages that explain the code (`docs/seeds.md`, `docs/architecture.md`) name only folders, files and tests that exist.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the cells of the page's tables, one list for each row.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows =
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| requirement"));
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Returns the text between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns whether the source has a test whose name begins so.
fn has_test(source: &str, prefix: &str) -> bool {
    source.match_indices(&format!("fn {prefix}")).any(|(at, _)| {
        let before: Vec<&str> = source[..at].lines().rev().take(4).collect();
        before.iter().any(|line| line.contains("test"))
    })
}

#[test]
fn every_place_and_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/seeds.md")).unwrap();
    let mut wrong = Vec::new();
    let mut tests = 0;
    for row in rows(&page) {
        let [requirement, places, named, ..] = row[..] else { panic!("{row:?} has too few cells") };
        for place in quoted(places) {
            let path = root().join("crates/agentloop/src").join(place);
            if !path.is_dir() && !path.with_extension("rs").is_file() {
                wrong.push(format!("{requirement}: there is no module {place}"));
            }
        }
        for test in quoted(named) {
            tests += 1;
            let (file, prefix) = test.split_once("::").unwrap_or((test, ""));
            let is_code = file.ends_with(".rs") && !file.ends_with("/mod.rs");
            match std::fs::read_to_string(root().join("crates").join(file)) {
                Err(why) => wrong.push(format!("{requirement}: {file}: {why}")),
                Ok(source) if is_code && !has_test(&source, prefix) => {
                    wrong.push(format!("{requirement}: {file} has no test {prefix}…"));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(tests > 60, "only {tests} tests are named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_and_file_that_the_architecture_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let library = root().join("crates/agentloop");
    let is_there =
        |path: &str| library.join("src").join(path).exists() || library.join(path).exists();
    let is_module = |name: &str| is_there(name) || is_there(&format!("{name}.rs"));
    let modules = page.split("## Modules of the library").nth(1).unwrap();
    let modules = modules.split("\n## ").next().unwrap();
    let rows = modules.lines().filter(|line| line.starts_with("| `"));
    let mut named: Vec<&str> =
        rows.flat_map(|row| quoted(row.split(" | ").next().unwrap())).collect();
    assert!(named.len() > 20, "only {} modules are named", named.len());
    named.retain(|name| !is_module(name));
    let files = quoted(&page).into_iter().filter(|word| word.ends_with(".rs") && !is_there(word));
    named.extend(files);
    assert!(named.is_empty(), "these do not exist: {}", named.join(", "));
}
