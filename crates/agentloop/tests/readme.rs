//! The README's table of providers is the table.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails"
)]

use std::fmt::Write as _;
use std::path::Path;

use agentloop::Provider;
use agentloop::provider::{Feature, KeySource};

/// What is generated: the name of its markers, and its text.
fn generated() -> [(&'static str, String); 2] {
    [("providers", table()), ("features", matrix())]
}

/// Providers × features.
fn matrix() -> String {
    let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let mut matrix = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for provider in Provider::all() {
        let cells: Vec<&str> = Feature::ALL
            .iter()
            .map(|feature| if provider.supports(*feature) { "✓" } else { "" })
            .collect();
        let _ = writeln!(matrix, "| {} | {} |", provider.name, cells.join(" | "));
    }
    matrix
}

fn table() -> String {
    let mut table = String::from("| provider | key | address | embeddings |\n|---|---|---|---|\n");
    for provider in Provider::all() {
        let variables = provider.key.variables().join(" or ");
        let key = match provider.key {
            KeySource::EnvIfSet(_) => format!("`{variables}`, if set"),
            _ => format!("`{variables}`"),
        };
        let embeddings = if provider.serves.embeddings { "yes" } else { "no" };
        let _ =
            writeln!(table, "| {} | {key} | {} | {embeddings} |", provider.name, provider.base_url);
    }
    table
}

#[test]
fn the_readme_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let mut readme = std::fs::read_to_string(&path).unwrap();
    for (name, text) in generated() {
        let open = format!(
            "<!-- {name}: generated; `UPDATE_README=1 cargo test -p agentloop --test readme` writes it -->\n"
        );
        let begin = readme.find(&open).expect("the marker is there") + open.len();
        let close = format!("<!-- end of {name} -->");
        let end = begin + readme[begin..].find(&close).expect("the end marker is there");
        if std::env::var_os("UPDATE_README").is_some() {
            readme.replace_range(begin..end, &text);
        } else {
            assert_eq!(&readme[begin..end], text, "run with UPDATE_README=1 to write it");
        }
    }
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, readme).unwrap();
    }
}
