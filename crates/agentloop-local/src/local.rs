//! The settings of local models, and the provider made from them.

use std::path::PathBuf;
use std::sync::Arc;

use agentloop::{Error, ErrorKind, Provider, Result};

use crate::engine::Engine;
use crate::store::Folders;
use crate::transport::LocalTransport;

/// The name of the provider.
pub(crate) const NAME: &str = "local";

/// The tokens of a chat's context, unless set: prompt and response together.
const DEFAULT_CONTEXT: u32 = 4_096;

/// How many chats a model works on at once, unless set.
const DEFAULT_PARALLEL: usize = 2;

/// The most chats that a model works on at once.
const MAX_PARALLEL: usize = 16;

/// How many models are loaded at once, unless set.
const DEFAULT_MODELS: usize = 2;

/// The most threads of a model, unless set. More rarely help, because memory is the limit.
const DEFAULT_THREADS: usize = 8;

/// The settings of local models.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop_local::Local;
///
/// let local = Local::new().context(8_192).threads(4);
/// let ai = AgentLoop::builder().provider(local.provider()).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Local {
    folders: Folders,
    options: Options,
}

/// What the engine needs to know.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine reads them"))]
pub(crate) struct Options {
    pub(crate) context: u32,
    pub(crate) parallel: usize,
    pub(crate) threads: usize,
    pub(crate) max_models: usize,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// Creates the settings with the folders of this machine; see [`Folders::from_env`].
    pub fn new() -> Self {
        // Threads that share a core wait for each other, so half of the logical ones are used.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let options = Options {
            context: DEFAULT_CONTEXT,
            parallel: DEFAULT_PARALLEL,
            threads: (cores / 2).clamp(1, DEFAULT_THREADS),
            max_models: DEFAULT_MODELS,
        };
        Self { folders: Folders::from_env(), options }
    }

    /// Creates the settings with those of the environment: `AGENTLOOP_LOCAL_CONTEXT`, `AGENTLOOP_LOCAL_PARALLEL`,
    /// `AGENTLOOP_LOCAL_THREADS` and `AGENTLOOP_LOCAL_MODELS`, a number each, for the methods of these names.
    ///
    /// ```
    /// let local = agentloop_local::Local::from_env()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if one of them is not a number.
    pub fn from_env() -> Result<Self> {
        Self::new().with_env()
    }

    /// Changes the settings to those of the environment; see [`from_env`](Self::from_env). The others stay.
    ///
    /// ```
    /// let local = agentloop_local::Local::new().context(8_192).with_env()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if one of the variables is not a number.
    pub fn with_env(self) -> Result<Self> {
        self.with_variables(&|name| std::env::var(name).ok())
    }

    fn with_variables(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let number = |name: &str| match variable(name).filter(|value| !value.trim().is_empty()) {
            None => Ok(None),
            Some(value) => value.trim().parse::<u32>().map(Some).map_err(|_| {
                let message =
                    format!("{name} is {value:?}, which is not a number, so it is not used");
                Error::new(ErrorKind::Config, message)
            }),
        };
        let mut local = self;
        if let Some(tokens) = number("AGENTLOOP_LOCAL_CONTEXT")? {
            local = local.context(tokens);
        }
        if let Some(chats) = number("AGENTLOOP_LOCAL_PARALLEL")? {
            local = local.parallel(chats as usize);
        }
        if let Some(threads) = number("AGENTLOOP_LOCAL_THREADS")? {
            local = local.threads(threads as usize);
        }
        if let Some(models) = number("AGENTLOOP_LOCAL_MODELS")? {
            local = local.max_models(models as usize);
        }
        Ok(local)
    }

    /// Sets the folders in which models are found.
    ///
    /// ```
    /// use agentloop_local::{Folders, Local};
    ///
    /// let local = Local::new().folders(Folders::new("/srv/models"));
    /// assert!(local.models().is_empty());
    /// ```
    #[must_use]
    pub fn folders(mut self, folders: Folders) -> Self {
        self.folders = folders;
        self
    }

    /// Sets the user's folder of models.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().models_folder("/srv/models").provider();
    /// assert_eq!(provider.name, "local");
    /// ```
    #[must_use]
    pub fn models_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders = self.folders.with_models(folder);
        self
    }

    /// Sets how many tokens a chat may have, prompt and response together; 4,096 unless set. A model that was trained with fewer has
    /// fewer.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().context(16_384).provider();
    /// ```
    #[must_use]
    pub fn context(mut self, tokens: u32) -> Self {
        self.options.context = tokens;
        self
    }

    /// Sets how many chats a model works on at once, from 1 to 16; 2 unless set. Each has its own context.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().parallel(1).provider();
    /// ```
    #[must_use]
    pub fn parallel(mut self, chats: usize) -> Self {
        self.options.parallel = chats.clamp(1, MAX_PARALLEL);
        self
    }

    /// Sets how many threads a model uses; half of the logical processors and at most 8 unless set.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().threads(2).provider();
    /// ```
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads.clamp(1, 512);
        self
    }

    /// Sets how many models are loaded at once; 2 unless set. A model that is not in use is unloaded for another one.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().max_models(1).provider();
    /// ```
    #[must_use]
    pub fn max_models(mut self, models: usize) -> Self {
        self.options.max_models = models.max(1);
        self
    }

    /// Lists the models on this machine.
    ///
    /// ```
    /// for model in agentloop_local::Local::new().models() {
    ///     println!("local/{} ({} bytes)", model.name, model.bytes);
    /// }
    /// ```
    pub fn models(&self) -> Vec<crate::LocalModel> {
        self.folders.models()
    }

    /// Creates the provider `local`. Its models are `local/NAME`; see [`Folders::find`] for the names.
    ///
    /// Clones of the provider share the loaded models. A model is loaded by its first call, and unloaded when no call has used it for
    /// [`UNLOAD_AFTER`](crate::limits::UNLOAD_AFTER), or when the last client with the provider is dropped.
    ///
    /// ```
    /// let provider = agentloop_local::Local::new().provider();
    /// assert_eq!(provider.name, "local");
    /// ```
    pub fn provider(&self) -> Provider {
        let engine = Arc::new(Engine::new(self.options.clone()));
        let transport = LocalTransport::new(self.folders.clone(), engine);
        Provider::openai_compatible(NAME, "local://process/v1").modalities([]).transport(transport)
    }
}

/// Returns the provider `local` with the default settings.
///
/// ```no_run
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let ai = AgentLoop::builder().provider(agentloop_local::provider()).build()?;
/// let response = ai.chat(ChatRequest::new("local/smollm2").user("Hello")).await?;
/// println!("{}", response.text());
/// # Ok(())
/// # }
/// ```
pub fn provider() -> Provider {
    Local::new().provider()
}

/// Returns whether this build contains the engine, so that models can run: the feature `llama`.
///
/// ```
/// assert_eq!(agentloop_local::has_engine(), cfg!(feature = "llama"));
/// ```
pub const fn has_engine() -> bool {
    cfg!(feature = "llama")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_environment_are_bounded_numbers() {
        let of = |value: &'static str| {
            Local::new().with_variables(&move |name| {
                name.starts_with("AGENTLOOP_LOCAL_").then(|| value.to_owned())
            })
        };
        let local = of(" 3 ").unwrap();
        assert_eq!((local.options.context, local.options.parallel), (3, 3));
        assert_eq!((local.options.threads, local.options.max_models), (3, 3));
        let local = of("4000000000").unwrap();
        assert_eq!((local.options.parallel, local.options.threads), (16, 512));
        for wrong in ["many", "-1", "1.5"] {
            assert_eq!(of(wrong).unwrap_err().kind(), ErrorKind::Config);
        }
        assert!(of("").is_ok());
    }
}
