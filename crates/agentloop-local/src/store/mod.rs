//! Finds the models on this machine.

mod folders;
mod hugging_face;
mod ollama;
mod walk;

use std::path::{Path, PathBuf};

use agentloop::{Error, ErrorKind, Result};

use crate::gguf::split::model_name;
pub use folders::Folders;

/// A model file on this machine.
///
/// ```
/// use agentloop_local::Folders;
///
/// for model in Folders::from_env().models() {
///     assert!(model.path.is_absolute() || model.path.exists());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalModel {
    /// The name, which follows `local/`.
    pub name: String,
    /// The file; the first one if the model is split into several.
    pub path: PathBuf,
    /// The size of that file in bytes.
    pub bytes: u64,
    /// Where it was found.
    pub source: ModelSource,
}

/// Where a model file was found.
///
/// ```
/// use agentloop_local::ModelSource;
///
/// assert_eq!(ModelSource::Ollama.as_str(), "ollama");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelSource {
    /// In the user's folder of models, or in an added one.
    Folder,
    /// In the cache of Hugging Face's tools.
    HuggingFace,
    /// In the store of Ollama.
    Ollama,
    /// At the path that the name contains.
    Path,
}

impl ModelSource {
    /// Returns the name of the source.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::HuggingFace => "huggingface",
            Self::Ollama => "ollama",
            Self::Path => "path",
        }
    }
}

impl Folders {
    /// Lists all models. If two have the same name, the one of the user's folder comes before those of added folders, these before that of
    /// Hugging Face's cache, and that before Ollama's.
    ///
    /// ```
    /// use agentloop_local::Folders;
    ///
    /// assert!(Folders::new("no/such/folder").models().is_empty());
    /// ```
    pub fn models(&self) -> Vec<LocalModel> {
        let mut models = Vec::new();
        for folder in self.models.iter().chain(&self.more) {
            walk::collect(folder, ModelSource::Folder, &mut models);
        }
        if let Some(folder) = &self.hugging_face {
            hugging_face::collect(folder, &mut models);
        }
        for folder in &self.ollama {
            ollama::collect(folder, &mut models);
        }
        let mut names = std::collections::HashSet::new();
        models.retain(|model| names.insert(model.name.clone()));
        models
    }

    /// Finds a model by its name, or by a path if the name is one: it starts with `/`, `./`, `../` or `~/`.
    ///
    /// A name without the tag of Ollama means the tag `latest`. Capitals do not matter, and the ending `.gguf` may be left out.
    ///
    /// ```
    /// use agentloop::ErrorKind;
    /// use agentloop_local::Folders;
    ///
    /// let error = Folders::new("no/such/folder").find("smollm2").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// assert!(error.hint().unwrap().contains("agentloop pull"));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error of the kind [`ErrorKind::NotFound`] if there is no such model. It lists those that there are.
    pub fn find(&self, name: &str) -> Result<LocalModel> {
        if let Some(path) = path_of(name) {
            return find_file(&path);
        }
        let models = self.models();
        let wanted = simplify(name);
        let exact = models.iter().find(|model| model.name == name);
        let found = exact.or_else(|| {
            models.iter().find(|model| {
                let known = simplify(&model.name);
                known == wanted || known.strip_suffix(":latest") == Some(wanted.as_str())
            })
        });
        match found {
            Some(model) => Ok(model.clone()),
            None => Err(describe_missing(name, &models)),
        }
    }
}

/// Returns a name in small letters, without its ending and the numbers of a split model.
fn simplify(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    model_name(name.strip_suffix(".gguf").unwrap_or(&name)).to_owned()
}

/// Returns the path in a name, if it is one.
fn path_of(name: &str) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    if let Some(rest) = name.strip_prefix("~/") {
        return Some(Path::new(&home()?).join(rest));
    }
    let is_path = ["/", "./", "../"].iter().any(|start| name.starts_with(start));
    (is_path || Path::new(name).is_absolute()).then(|| PathBuf::from(name))
}

fn find_file(path: &Path) -> Result<LocalModel> {
    let fail = |why: String| {
        Error::new(ErrorKind::NotFound, format!("the model file {} {why}", path.display()))
            .with_hint("`agentloop models local` lists the models that are found by name")
    };
    let metadata = path.metadata().map_err(|error| fail(format!("cannot be read: {error}")))?;
    if !metadata.is_file() {
        return Err(fail("is not a file".to_owned()));
    }
    let path = std::path::absolute(path).map_err(|error| fail(error.to_string()))?;
    let name = path.to_string_lossy().into_owned();
    Ok(LocalModel { name, path, bytes: metadata.len(), source: ModelSource::Path })
}

fn describe_missing(name: &str, models: &[LocalModel]) -> Error {
    /// How many names an error lists.
    const SHOWN: usize = 20;
    let mut names: Vec<&str> = models.iter().take(SHOWN).map(|model| model.name.as_str()).collect();
    let more = models.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.sort_unstable();
    let known = match names.is_empty() {
        true => "no model is on this machine".to_owned(),
        false => format!("the models on this machine are {}{more}", names.join(", ")),
    };
    Error::new(ErrorKind::NotFound, format!("there is no local model {name:?}; {known}")).with_hint(
        "download one with `agentloop pull OWNER/REPOSITORY` (a repository of Hugging Face with GGUF files), or name a file with \
         local/./FILE.gguf",
    )
}

#[cfg(test)]
mod tests;
