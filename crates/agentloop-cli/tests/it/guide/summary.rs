//! The table of contents has every page.

use super::markdown::Page;
use super::{pages, read};

/// The pages that are not in the book.
const OUTSIDE: [&str; 1] = ["docs/seeds.md"];

/// A line of the table of contents.
pub(super) enum Entry {
    /// The title of a part.
    Part(String),
    /// A page.
    Page { title: String, path: String },
}

/// Reads the table of contents.
pub(super) fn contents() -> Vec<Entry> {
    let text = read("docs/SUMMARY.md");
    let mut entries = Vec::new();
    for line in text.lines().skip(1).map(str::trim) {
        if let Some(title) = line.strip_prefix("# ") {
            entries.push(Entry::Part(title.to_owned()));
        } else if let Some((title, path)) =
            line.trim_start_matches("- ").strip_prefix('[').and_then(|rest| rest.split_once("]("))
        {
            let path = format!("docs/{}", path.trim_end_matches(')'));
            entries.push(Entry::Page { title: title.to_owned(), path });
        }
    }
    entries
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let contents: Vec<String> = contents()
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Page { path, .. } => Some(path),
            Entry::Part(_) => None,
        })
        .collect();
    let all = pages();
    let guide: Vec<&Page> = all.iter().filter(|page| page.path.starts_with("docs/")).collect();
    for page in &guide {
        let count = contents.iter().filter(|path| **path == page.path).count();
        let expected = usize::from(!OUTSIDE.contains(&page.path.as_str()));
        assert_eq!(count, expected, "{} is {count} times in docs/SUMMARY.md", page.path);
    }
    for path in &contents {
        assert!(guide.iter().any(|page| page.path == *path), "docs/SUMMARY.md: there is no {path}");
    }
}

#[test]
fn every_page_begins_with_a_title() {
    for page in pages() {
        assert!(page.title.is_some_and(|title| !title.is_empty()), "{}", page.path);
    }
}
