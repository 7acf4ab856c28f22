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
use agentloop::provider::KeySource;

const BEGIN: &str = "<!-- providers: generated from the table; `UPDATE_README=1 cargo test -p agentloop --test readme` writes it -->\n";
const END: &str = "<!-- end of providers -->";

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
fn the_readme_lists_the_providers_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let begin = readme.find(BEGIN).expect("the marker is there") + BEGIN.len();
    let end = begin + readme[begin..].find(END).expect("the end marker is there");
    if std::env::var_os("UPDATE_README").is_some() {
        let updated = format!("{}{}{}", &readme[..begin], table(), &readme[end..]);
        std::fs::write(&path, updated).unwrap();
        return;
    }
    assert_eq!(&readme[begin..end], table(), "run with UPDATE_README=1 to write it");
}
