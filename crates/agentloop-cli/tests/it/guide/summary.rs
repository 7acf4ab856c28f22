//! The table of contents has every page, under the title of the page.

use super::markdown::{Page, plain};
use super::{pages, read};

/// Returns the titles and the paths of the table of contents.
fn contents() -> Vec<(String, String)> {
    let text = read("docs/SUMMARY.md");
    let entries = text.lines().filter_map(|line| {
        let entry = line.trim().trim_start_matches("- ").strip_prefix('[')?;
        let (title, path) = entry.split_once("](")?;
        Some((title.to_owned(), format!("docs/{}", path.trim_end_matches(')'))))
    });
    entries.collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let contents = contents();
    let all = pages();
    let guide: Vec<&Page> = all.iter().filter(|page| page.path.starts_with("docs/")).collect();
    for page in &guide {
        let count = contents.iter().filter(|(_, path)| *path == page.path).count();
        assert_eq!(count, 1, "{} is {count} times in docs/SUMMARY.md", page.path);
    }
    for (_, path) in &contents {
        assert!(guide.iter().any(|page| page.path == *path), "docs/SUMMARY.md: there is no {path}");
    }
}

#[test]
fn every_page_begins_with_a_title() {
    for page in pages() {
        let first = page.prose.iter().find(|(_, line)| !line.trim().is_empty());
        let (_, line) = first.unwrap_or_else(|| panic!("{} is empty", page.path));
        assert!(line.starts_with("# "), "{}: {line}", page.path);
        assert!(!plain(page.title()).is_empty(), "{}", page.path);
    }
}
