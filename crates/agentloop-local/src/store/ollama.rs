//! The store of Ollama: `manifests/registry.ollama.ai/library/NAME/TAG` names the blob `blobs/sha256-…` with the weights.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::walk::push;
use super::{LocalModel, ModelSource};
use crate::limits::{MAX_LISTED_ENTRIES, MAX_MANIFEST_BYTES};

/// The kind of the layer with the weights.
const WEIGHTS: &str = "application/vnd.ollama.image.model";

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType", default)]
    kind: String,
    #[serde(default)]
    digest: String,
}

/// Adds the models of the store, as `NAME:TAG`. A manifest that cannot be read is left out.
pub(super) fn collect(folder: &Path, models: &mut Vec<LocalModel>) {
    let library = folder.join("manifests/registry.ollama.ai/library");
    // All manifests together, and not those of each name.
    let mut left = MAX_LISTED_ENTRIES;
    for name in sorted(&library, &mut left) {
        for tag in sorted(&name, &mut left) {
            let shown =
                |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let (Some(model), Some(label)) = (shown(&name), shown(&tag)) else { continue };
            if let Some(blob) = read_manifest(&tag) {
                let path = folder.join("blobs").join(blob);
                push(&format!("{model}:{label}"), path, ModelSource::Ollama, models);
            }
        }
    }
}

fn sorted(folder: &Path, left: &mut usize) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().take(*left).map(|entry| entry.path()).collect();
    *left = left.saturating_sub(paths.len());
    paths.sort();
    paths
}

/// Returns the file name of the blob with the weights.
fn read_manifest(path: &Path) -> Option<String> {
    let mut text = String::new();
    // Opening a pipe would wait for its other end.
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let file = File::open(path).ok()?;
    file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    let weights = manifest.layers.into_iter().find(|layer| layer.kind == WEIGHTS)?;
    let digest = weights.digest.strip_prefix("sha256:")?;
    // The digest becomes a file name, so it must be nothing else.
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| format!("sha256-{digest}"))
}
