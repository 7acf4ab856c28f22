//! Every relative link goes to a file of the repository, and every anchor to a heading.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::markdown::Page;
use super::{files, pages, read, root};

/// Removes `.` and `..` from a path. `None` if it leaves the repository.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir => whole.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(whole)
}

/// Returns what is wrong with a link of a page.
fn problem(
    page: &Page,
    link: &str,
    anchors: &BTreeMap<String, Vec<String>>,
) -> Option<&'static str> {
    let has_scheme = link.split_once(':').is_some_and(|(scheme, _)| {
        scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    });
    if has_scheme {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let target = if path.is_empty() {
        Some(page.path.clone().into())
    } else {
        normalize(&folder.join(path))
    };
    let Some(target) = target else { return Some("leaves the repository") };
    if !root().join(&target).exists() {
        return Some("does not exist");
    }
    match anchors.get(target.to_string_lossy().as_ref()) {
        Some(known) if !anchor.is_empty() && !known.iter().any(|known| known == anchor) => {
            Some("has no such heading")
        }
        _ => None,
    }
}

#[test]
fn every_link_and_every_anchor_resolves() {
    let mut all = pages();
    let others = ["CHANGELOG.md", "CONTRIBUTING.md", "docs/SUMMARY.md", "bench/README.md"];
    let crates = files("crates").into_iter().filter(|name| name.ends_with("/README.md"));
    for name in others.iter().map(|name| (*name).to_owned()).chain(crates) {
        all.push(Page::new(&name, &read(&name)));
    }
    let anchors = all.iter().map(|page| (page.path.clone(), page.anchors())).collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in &all {
        for (line, link) in &page.links {
            count += 1;
            if let Some(problem) = problem(page, link, &anchors) {
                wrong.push(format!("{}:{line}: {link} {problem}", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn a_wrong_link_is_found() {
    let page = Page::new("docs/agent.md", "");
    let anchors = BTreeMap::from([("docs/agent.md".to_owned(), vec!["one".to_owned()])]);
    let problem = |link| problem(&page, link, &anchors);
    for fine in [
        "#one",
        "agent.md#one",
        "../README.md",
        "https://example.com/x#y",
        "../crates",
        "mailto:a@b.c",
    ] {
        assert_eq!(problem(fine), None, "{fine}");
    }
    assert_eq!(problem("#two"), Some("has no such heading"));
    assert_eq!(problem("absent.md"), Some("does not exist"));
    assert_eq!(problem("../../README.md"), Some("leaves the repository"));
    assert_eq!(problem("/etc/hosts"), Some("leaves the repository"));
}
