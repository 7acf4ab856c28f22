//! What the documentation says of tests and examples is so.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every `file.rs::name` of the guide.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`').filter_map(|word| word.split_once(".rs::")).collect()
}

#[test]
fn every_test_that_the_guide_names_exists() {
    let guide = read("docs/agent.md");
    let tests = named(&guide);
    assert!(tests.len() > 60, "only {} tests are named", tests.len());
    for (file, name) in tests {
        let source = read(format!("crates/{file}.rs"));
        let at = source.find(&format!("fn {name}(")).unwrap_or_else(|| panic!("{file}.rs::{name}"));
        let before = source[..at].lines().rev().take(4).collect::<String>();
        assert!(before.contains("test"), "{file}.rs::{name} is no test");
    }
}

#[test]
fn the_agent_of_the_tour_is_the_example_that_runs() {
    let tour = read("docs/tour.md");
    let example = read("crates/agentloop/examples/agent.rs");
    assert!(tour.contains(&format!("```rust,no_run\n{example}```")), "docs/tour.md differs");
    let lines = example.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 35, "{lines} lines");
}
