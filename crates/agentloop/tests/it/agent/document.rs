//! The examples of the documentation are the examples that run.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_agent_of_the_tour_is_the_example_that_runs() {
    let tour = read("docs/tour.md");
    let example = read("crates/agentloop/examples/agent.rs");
    assert!(tour.contains(&format!("```rust,no_run\n{example}```")), "docs/tour.md differs");
    let lines = example.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 35, "{lines} lines");
}
