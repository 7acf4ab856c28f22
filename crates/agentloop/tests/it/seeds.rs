//! The page that traces requirements (`docs/seeds.md`) names only folders, files and tests that exist.

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

/// Returns what stands between backticks.
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
            match std::fs::read_to_string(root().join("crates").join(file)) {
                Err(why) => wrong.push(format!("{requirement}: {file}: {why}")),
                Ok(source) if !file.ends_with("/mod.rs") && !has_test(&source, prefix) => {
                    wrong.push(format!("{requirement}: {file} has no test {prefix}…"));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(tests > 60, "only {tests} tests are named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
