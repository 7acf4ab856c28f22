//! The table of features in docs/terminal-compared.md states what the tests show.

use std::collections::BTreeMap;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the cells of each row of the table.
fn rows() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(repository().join("docs/terminal-compared.md")).unwrap();
    let (_, table) = text.split_once("| feature | agentloop |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

#[test]
fn every_feature_that_is_claimed_is_shown_by_a_test_that_exists() {
    let mut files = BTreeMap::new();
    let mut shown = 0;
    for row in rows() {
        let (feature, ours, test) = (&row[0], &row[1], &row[7]);
        assert_eq!(ours, "Y", "{feature}");
        if feature == "start-up" {
            assert!(test.contains("bench/cli.py"), "{test}");
            continue;
        }
        let (file, name) = test.trim_matches('`').split_once("::").expect(feature);
        let path = repository().join(format!("crates/agentloop-cli/tests/it/{file}.rs"));
        let code = files
            .entry(file.to_owned())
            .or_insert_with(|| std::fs::read_to_string(path).expect(file));
        assert!(code.contains(&format!("fn {name}()")), "{feature}: there is no test {test}");
        shown += 1;
    }
    assert!(shown > 40, "{shown}");
}

#[test]
fn the_install_line_of_the_readme_is_right() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let line = readme.lines().find(|line| line.starts_with("cargo install ")).unwrap();
    let after = |option: &str| {
        line.split_whitespace().skip_while(|word| *word != option).nth(1).unwrap_or_default()
    };
    let manifest = repository().join(after("--path")).join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains("name = \"agentloop-cli\""), "{line}");
    assert!(manifest.contains(&format!("\n{} = [", after("--features"))), "{line}");
    assert!(manifest.contains("name = \"agentloop\""), "the command is called agentloop");
}
