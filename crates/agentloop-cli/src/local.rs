//! Models that run in the process. No other module of the command imports `agentloop_local`.

use agentloop::{AgentLoopBuilder, LocalConfig};
pub(crate) use agentloop_local::{Folders, Progress, Pull, has_engine};

use crate::notes::Notes;

/// The name of the provider.
pub(crate) const NAME: &str = "local";

/// What to do about a build without the engine.
pub(crate) const HOW_TO_BUILD: &str = "use the program of a release, or install the command with `cargo install agentloop-cli --features full,local`, which needs CMake, a C++ compiler and \
     libclang; or run a server such as Ollama";

/// Returns the folders of models: those of this machine and of `[local]`.
pub(crate) fn folders(config: Option<&LocalConfig>) -> Folders {
    let more = config.map(|config| config.folders.as_slice()).unwrap_or_default();
    more.iter().fold(Folders::from_env(), |folders, folder| folders.with_folder(folder))
}

/// Adds the provider `local`, if this build has the engine. Variables take precedence over `[local]`.
#[cfg(feature = "local")]
pub(crate) fn add_provider(
    builder: AgentLoopBuilder,
    config: Option<&LocalConfig>,
    notes: Notes,
) -> AgentLoopBuilder {
    let mut local = agentloop_local::Local::new().folders(folders(config));
    let numbers = config.cloned().unwrap_or_default();
    if let Some(tokens) = numbers.context {
        local = local.context(tokens);
    }
    if let Some(chats) = numbers.parallel {
        local = local.parallel(chats as usize);
    }
    if let Some(threads) = numbers.threads {
        local = local.threads(threads as usize);
    }
    if let Some(models) = numbers.max_models {
        local = local.max_models(models as usize);
    }
    let local = local.clone().with_env().unwrap_or_else(|error| {
        notes.print_warning(error.message());
        local
    });
    builder.provider(local.provider())
}

/// Adds the provider `local`, if this build has the engine.
#[cfg(not(feature = "local"))]
pub(crate) fn add_provider(
    builder: AgentLoopBuilder,
    _: Option<&LocalConfig>,
    _: Notes,
) -> AgentLoopBuilder {
    builder
}

/// Returns a model on this machine that can chat, as `local/NAME`, if this build can run it.
pub(crate) fn find_model(config: Option<&LocalConfig>) -> Option<String> {
    if !has_engine() {
        return None;
    }
    let models = folders(config).models();
    let mut chat = models.into_iter().filter(|model| !model.name.to_lowercase().contains("embed"));
    chat.next().map(|model| format!("{NAME}/{}", model.name))
}
