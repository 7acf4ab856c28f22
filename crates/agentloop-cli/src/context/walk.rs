//! Finds the files of a folder or a pattern, without those that `.gitignore` excludes.

use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use ignore::WalkBuilder;

use crate::failure::Failure;

/// The most files that a folder or a pattern may add.
const MAX_FILES: usize = 2_000;

/// The most entries that are visited in search of them.
const MAX_VISITED: usize = 200_000;

/// How deep folders are visited.
const MAX_DEPTH: usize = 64;

/// Returns whether a path that does not exist is a pattern.
pub(super) fn is_pattern(source: &str) -> bool {
    source.contains(['*', '?', '[', '{'])
}

/// Returns the files below a folder, sorted by name. Symbolic links are not followed.
pub(super) fn files_of_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    visit(folder, |_| true)
}

/// Returns the files that match a pattern, sorted by name. `*` and `?` do not match `/`; `**` matches folders.
pub(super) fn files_of_pattern(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: globset::Error| {
        Failure::input(format!("{pattern}: not a pattern: {}", error.kind()))
    };
    // `./src/*.rs` and `src/*.rs` are the same pattern, but not the same text.
    let cleaned = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(cleaned).literal_separator(true).build().map_err(fail)?;
    let matcher = glob.compile_matcher();
    let folder = fixed_folder(cleaned);
    visit(&folder, |path| matcher.is_match(path.strip_prefix("./").unwrap_or(path)))
}

/// Returns the folders at the start of a pattern that have no wildcard.
fn fixed_folder(pattern: &str) -> PathBuf {
    let components = Path::new(pattern).components();
    let fixed: PathBuf = components
        .take_while(|component| match component {
            Component::Normal(name) => !is_pattern(&name.to_string_lossy()),
            _ => true,
        })
        .collect();
    if fixed.as_os_str().is_empty() { PathBuf::from(".") } else { fixed }
}

fn visit(folder: &Path, matches: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let walk = WalkBuilder::new(folder)
        .max_depth(Some(MAX_DEPTH))
        .follow_links(false)
        // A `.gitignore` counts in a folder that is not in a repository too.
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .build();
    let mut found = Vec::new();
    for (visited, entry) in walk.enumerate() {
        if visited >= MAX_VISITED {
            return Err(too_many(folder, &format!("more than {MAX_VISITED} entries")));
        }
        let entry = entry.map_err(|error| Failure::input(error.to_string()))?;
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file || !matches(entry.path()) {
            continue;
        }
        if found.len() >= MAX_FILES {
            return Err(too_many(folder, &format!("more than {MAX_FILES} files")));
        }
        let path = entry.into_path();
        found.push(path.strip_prefix("./").map(Path::to_path_buf).unwrap_or(path));
    }
    Ok(found)
}

fn too_many(folder: &Path, what: &str) -> Failure {
    Failure::input_with_hint(
        format!("{}: {what}", folder.display()),
        "name a smaller folder, or use a pattern such as 'src/**/*.rs'",
    )
}
