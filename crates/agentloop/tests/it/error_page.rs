//! The page about errors has every kind, and states correctly which are retryable.

use std::collections::BTreeMap;
use std::path::Path;

use agentloop::ErrorKind;

/// Returns the names of all kinds, from the `match` of `ErrorKind::as_str`, which the compiler keeps complete.
fn names() -> Vec<&'static str> {
    let code = include_str!("../../src/chat/error_kind.rs");
    let names = code.lines().filter_map(|line| {
        let (variant, name) = line.trim().split_once(" => \"")?;
        variant.starts_with("Self::").then(|| name.trim_end_matches("\","))
    });
    names.collect()
}

/// Returns the kinds of the page's table, each with its cell about retries.
fn rows(page: &str) -> BTreeMap<&str, &str> {
    let (_, table) = page.split_once("| kind | retryable |").expect("the table of kinds");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (kind, retryable) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(cells.clone().count() == 2 && cells.all(|cell| !cell.is_empty()), "{row}");
        (kind.trim_matches('`'), retryable)
    });
    rows.collect()
}

#[test]
fn every_kind_of_error_is_on_the_page_about_errors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (names, mut rows) = (names(), rows(&page));
    assert!(names.len() >= 30, "{names:?}");
    for name in names {
        let kind: ErrorKind = serde_json::from_value(name.into()).expect(name);
        let retryable = rows.remove(name).unwrap_or_else(|| panic!("docs/errors.md lacks {name}"));
        match kind {
            ErrorKind::AllFailed => assert!(retryable.starts_with("if one"), "{retryable}"),
            _ => assert_eq!(retryable == "yes", kind.is_retryable(), "{name}"),
        }
    }
    assert!(rows.is_empty(), "docs/errors.md has kinds that do not exist: {rows:?}");
}
