//! Finds the files of a folder or a pattern.

use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;
use crate::walk::{Walk, pattern};

/// The most files that a folder or a pattern may add.
const MAX_FILES: usize = 2_000;

/// The most entries that are visited in search of them.
const MAX_VISITED: usize = 200_000;

/// Returns whether a path that does not exist is a pattern.
pub(super) fn is_pattern(source: &str) -> bool {
    source.contains(['*', '?', '[', '{'])
}

/// Returns the files below a folder, sorted by name. Symbolic links are not followed.
pub(super) fn files_of_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    visit(folder, |_| true)
}

/// Returns the files that match a pattern, sorted by name. `*` and `?` do not match `/`; `**` matches folders.
pub(super) fn files_of_pattern(source: &str) -> Result<Vec<PathBuf>, Failure> {
    // `./src/*.rs` and `src/*.rs` are the same pattern, but not the same text.
    let cleaned = source.strip_prefix("./").unwrap_or(source);
    let matching = pattern::parse(cleaned)
        .map_err(|why| Failure::input(format!("{source}: not a pattern: {why}")))?;
    let folder = fixed_folder(cleaned);
    visit(&folder, |path| matching.is_match(path.strip_prefix("./").unwrap_or(path)))
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
    let fail = |why: String| {
        Failure::input_with_hint(
            why,
            "name single files, a smaller folder, or a pattern such as 'src/**/*.rs'",
        )
    };
    let mut found = Vec::new();
    for path in Walk::new(folder, MAX_VISITED).map_err(|error| fail(error.to_string()))? {
        let path = path.map_err(|error| fail(error.to_string()))?;
        if !matches(&path) {
            continue;
        }
        if found.len() >= MAX_FILES {
            return Err(fail(format!("{}: more than {MAX_FILES} files", folder.display())));
        }
        found.push(path.strip_prefix("./").map(Path::to_path_buf).unwrap_or(path));
    }
    Ok(found)
}
