//! The cache of Hugging Face's tools: `models--OWNER--NAME/snapshots/REVISION/FILE.gguf`, where files are links to blobs.

use std::path::Path;

use super::walk::{files, push};
use super::{LocalModel, ModelSource};
use crate::limits::MAX_LISTED_ENTRIES;

/// Adds the models of the cache, by the name of their file. If two repositories have a file of the same name, the first one counts; the
/// other is found by its path.
pub(super) fn collect(folder: &Path, models: &mut Vec<LocalModel>) {
    let Ok(entries) = folder.read_dir() else { return };
    // All repositories together, and not the files of each.
    let mut left = MAX_LISTED_ENTRIES;
    let mut repositories: Vec<_> = entries.flatten().take(left).map(|entry| entry.path()).collect();
    left = left.saturating_sub(repositories.len());
    repositories.sort();
    for repository in repositories {
        let name = repository.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with("models--")) {
            continue;
        }
        let mut found = files(&repository.join("snapshots"), &mut left);
        found.sort();
        for path in found {
            if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
                push(stem, path.clone(), ModelSource::HuggingFace, models);
            }
        }
    }
}
