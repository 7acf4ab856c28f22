//! The GGUF files in folders.

use std::fs;
use std::path::{Path, PathBuf};

/// How many files of a folder are looked at.
const MAX_FILES: usize = 10_000;

/// How many models are listed.
pub(super) const MAX_MODELS: usize = 1_000;

/// A model in a file, or in several of which this is the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// Lists the models of the folders, in the order of the folders and of their names.
pub(super) fn scan(folders: &[PathBuf]) -> Vec<Model> {
    let mut models: Vec<Model> = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(name) = name_of(&path).filter(|_| path.is_file()) else { continue };
            let is_new = !models.iter().any(|it| it.name.eq_ignore_ascii_case(&name));
            if is_new && models.len() < MAX_MODELS {
                models.push(Model { name, path });
            }
        }
    }
    models
}

/// Returns the name of a model: that of its file, without the number of the first of several files. Others, and files with which a
/// model reads images (`mmproj`), have none.
pub(super) fn name_of(file: &Path) -> Option<String> {
    let stem = file.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match stem.rsplit_once("-of-").filter(|(_, count)| is_number(count)) {
        None => stem,
        Some((start, _)) => start.strip_suffix("-00001")?,
    };
    let is_plain = !name.contains("mmproj") && !name.chars().any(char::is_control);
    is_plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_several_files_has_the_name_of_the_first() {
        let name = |file: &str| name_of(Path::new(file));
        assert_eq!(name("/m/Qwen-7B.Q4_K_M.gguf"), Some("Qwen-7B.Q4_K_M".to_owned()));
        assert_eq!(name("big-00001-of-00003.gguf"), Some("big".to_owned()));
        assert_eq!(name("big-00002-of-00003.gguf"), None);
        assert_eq!(name("one-of-many.gguf"), Some("one-of-many".to_owned()));
        for other in ["mmproj-big.gguf", "notes.txt", "a\nb.gguf", ".gguf.partial", ""] {
            assert_eq!(name(other), None, "{other:?}");
        }
    }
}
