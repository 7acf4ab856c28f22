//! The cache of Hugging Face's tools: `models--OWNER--NAME/snapshots/REVISION/FILE.gguf`, where files are links to blobs.

use std::path::Path;

use super::walk::{files, push};
use super::{LocalModel, ModelSource};

/// Adds the models of the cache, by the name of their file. If two repositories have a file of the same name, the first one counts; the
/// other is found by its path.
pub(super) fn collect(folder: &Path, models: &mut Vec<LocalModel>) {
    let Ok(entries) = folder.read_dir() else { return };
    let mut repositories: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    repositories.sort();
    for repository in repositories {
        let name = repository.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with("models--")) {
            continue;
        }
        let mut found = files(&repository.join("snapshots"));
        found.sort();
        for path in found {
            if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
                push(stem, path.clone(), ModelSource::HuggingFace, models);
            }
        }
    }
}
