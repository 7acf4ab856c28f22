//! Collects the GGUF files below a folder.

use std::path::{Path, PathBuf};

use super::{LocalModel, ModelSource};
use crate::gguf::split::{SplitName, model_name};
use crate::limits::{MAX_LIST_DEPTH, MAX_LISTED_ENTRIES};

/// Adds the models below a folder: by their path in the folder without `.gguf`.
pub(super) fn collect(folder: &Path, source: ModelSource, models: &mut Vec<LocalModel>) {
    let mut left = MAX_LISTED_ENTRIES;
    let mut found = files(folder, &mut left);
    found.sort();
    for path in found {
        let Ok(inside) = path.strip_prefix(folder) else { continue };
        let inside = inside.with_extension("");
        let parts: Option<Vec<&str>> = inside.iter().map(|part| part.to_str()).collect();
        if let Some(parts) = parts {
            push(&parts.join("/"), path, source, models);
        }
    }
}

/// Adds a model by the name of its file, unless the file cannot be read.
pub(super) fn push(name: &str, path: PathBuf, source: ModelSource, models: &mut Vec<LocalModel>) {
    // The file of a link is what counts.
    if let Ok(metadata) = path.metadata()
        && metadata.is_file()
        && models.len() < MAX_LISTED_ENTRIES
    {
        let name = model_name(name).to_owned();
        models.push(LocalModel { name, path, bytes: metadata.len(), source });
    }
}

/// Returns the GGUF files below a folder. Folders that are links are not followed, so the walk ends. At most `left` entries are visited,
/// and subtracted.
pub(super) fn files(folder: &Path, left: &mut usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            if *left == 0 {
                return found;
            }
            *left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < MAX_LIST_DEPTH {
                open.push((path, depth + 1));
            } else if !kind.is_dir() && is_model(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Returns whether a file is one that can be loaded: not the second part of a split model, and not the part of a model that reads
/// images.
fn is_model(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let Some(stem) = name.strip_suffix(".gguf") else { return false };
    let is_later_part = SplitName::of(stem).is_some_and(|split| split.number > 1);
    !name.starts_with('.') && !stem.to_ascii_lowercase().starts_with("mmproj") && !is_later_part
}
