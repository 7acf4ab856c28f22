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
    for name in sorted(&library) {
        for tag in sorted(&name) {
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

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.flatten().take(MAX_LISTED_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the file name of the blob with the weights.
fn read_manifest(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path)
        .ok()
        .filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    let weights = manifest.layers.into_iter().find(|layer| layer.kind == WEIGHTS)?;
    let digest = weights.digest.strip_prefix("sha256:")?;
    // The digest becomes a file name, so it must be nothing else.
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| format!("sha256-{digest}"))
}
