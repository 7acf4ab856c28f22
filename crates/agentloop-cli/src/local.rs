//! Models that run in the process. No other module of the command imports `agentloop_local`.

use agentloop::AgentLoopBuilder;
pub(crate) use agentloop_local::{Folders, Progress, Pull, has_engine};

use crate::notes::Notes;

/// The name of the provider.
pub(crate) const NAME: &str = "local";

/// What to do about a build without the engine.
pub(crate) const HOW_TO_BUILD: &str = "install the command with `cargo install agentloop-cli --features full,local`, which needs CMake, a C++ compiler and \
     libclang; or run a server such as Ollama";

/// Adds the provider `local`, if this build has the engine.
#[cfg(feature = "local")]
pub(crate) fn add_provider(builder: AgentLoopBuilder, notes: Notes) -> AgentLoopBuilder {
    let local = agentloop_local::Local::from_env().unwrap_or_else(|error| {
        notes.print_warning(error.message());
        agentloop_local::Local::new()
    });
    builder.provider(local.provider())
}

/// Adds the provider `local`, if this build has the engine.
#[cfg(not(feature = "local"))]
pub(crate) fn add_provider(builder: AgentLoopBuilder, _: Notes) -> AgentLoopBuilder {
    builder
}

/// Returns a model on this machine that can chat, as `local/NAME`, if this build can run it.
pub(crate) fn find_model() -> Option<String> {
    if !has_engine() {
        return None;
    }
    let models = Folders::from_env().models();
    let mut chat = models.into_iter().filter(|model| !model.name.to_lowercase().contains("embed"));
    chat.next().map(|model| format!("{NAME}/{}", model.name))
}
