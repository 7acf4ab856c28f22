//! The folders in which models are found.

use std::path::{Path, PathBuf};

/// The folders in which models are found: the user's own, the cache of Hugging Face's tools, and the store of Ollama.
///
/// ```
/// use agentloop_local::Folders;
///
/// let folders = Folders::new("/srv/models").with_ollama("/usr/share/ollama/.ollama/models");
/// assert_eq!(folders.models_folder(), Some(std::path::Path::new("/srv/models")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    pub(super) models: Option<PathBuf>,
    pub(super) more: Vec<PathBuf>,
    pub(super) hugging_face: Option<PathBuf>,
    pub(super) ollama: Vec<PathBuf>,
}

impl Folders {
    /// The environment variable that names the user's folder of models.
    pub const VARIABLE: &str = "AGENTLOOP_MODELS";

    /// Creates a list with one folder of models, and without the folders of other tools.
    pub fn new(models: impl Into<PathBuf>) -> Self {
        Self { models: Some(models.into()), ..Self::default() }
    }

    /// Returns the folders of this machine:
    ///
    /// - that of `AGENTLOOP_MODELS`, else `models` in the folder of `AGENTLOOP_DATA`, else `agentloop/models` in the user's data folder
    ///   (`XDG_DATA_HOME` or `~/.local/share`; `LOCALAPPDATA` on Windows),
    /// - that of `HF_HUB_CACHE`, else `hub` in the folder of `HF_HOME`, else `~/.cache/huggingface/hub`,
    /// - that of `OLLAMA_MODELS`, else `~/.ollama/models` and the folder of Ollama's service.
    ///
    /// ```
    /// let folders = agentloop_local::Folders::from_env();
    /// println!("{:?}", folders.models_folder());
    /// ```
    pub fn from_env() -> Self {
        Self::from_variables(&|name| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        })
    }

    /// Returns the folders, with a function that returns the value of a variable.
    pub(super) fn from_variables(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        // A relative path would depend on the current folder, which another user may control.
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let models = variable(Self::VARIABLE)
            .and_then(|path| std::path::absolute(path).ok())
            .or_else(|| {
                let data =
                    variable("AGENTLOOP_DATA").and_then(|path| std::path::absolute(path).ok());
                data.map(|data| data.join("models"))
            })
            .or_else(|| absolute("XDG_DATA_HOME").map(|data| data.join("agentloop/models")))
            .or_else(|| {
                let data = absolute("LOCALAPPDATA").filter(|_| cfg!(windows));
                data.map(|data| data.join("agentloop").join("models"))
            })
            .or_else(|| below_home(".local/share/agentloop/models"));
        let hugging_face = absolute("HF_HUB_CACHE")
            .or_else(|| absolute("HF_HOME").map(|folder| folder.join("hub")))
            .or_else(|| below_home(".cache/huggingface/hub"));
        let ollama = match absolute("OLLAMA_MODELS") {
            Some(folder) => vec![folder],
            None => {
                let service = (!cfg!(windows)).then(|| "/usr/share/ollama/.ollama/models".into());
                below_home(".ollama/models").into_iter().chain(service).collect()
            }
        };
        Self { models, more: Vec::new(), hugging_face, ollama }
    }

    /// Sets the user's folder of models.
    ///
    /// ```
    /// use agentloop_local::Folders;
    ///
    /// let folders = Folders::from_env().with_models("/srv/models");
    /// assert!(folders.models_folder().is_some_and(|folder| folder.ends_with("models")));
    /// ```
    #[must_use]
    pub fn with_models(mut self, folder: impl Into<PathBuf>) -> Self {
        self.models = Some(folder.into());
        self
    }

    /// Adds a folder of models. It is searched after the user's own folder.
    ///
    /// ```
    /// let folders = agentloop_local::Folders::from_env().with_folder("/srv/models");
    /// # let _ = folders;
    /// ```
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.more.push(folder.into());
        self
    }

    /// Sets the folder of Hugging Face's cache, which contains `models--OWNER--NAME` folders.
    ///
    /// ```
    /// let folders = agentloop_local::Folders::new("models").with_hugging_face("/srv/huggingface/hub");
    /// assert!(folders.models().is_empty());
    /// ```
    #[must_use]
    pub fn with_hugging_face(mut self, folder: impl Into<PathBuf>) -> Self {
        self.hugging_face = Some(folder.into());
        self
    }

    /// Sets the folder of Ollama's store, which contains `manifests` and `blobs`.
    #[must_use]
    pub fn with_ollama(mut self, folder: impl Into<PathBuf>) -> Self {
        self.ollama = vec![folder.into()];
        self
    }

    /// Returns the user's folder of models, into which models are pulled.
    pub fn models_folder(&self) -> Option<&Path> {
        self.models.as_deref()
    }
}
