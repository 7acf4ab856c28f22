//! Makes the file of models that agentloop carries, from public data.
//!
//! ```text
//! model-data --litellm FILE --models-dev DIR --out FILE
//! ```
//!
//! Nothing is fetched: the user points it at what there is, one source or both. See `docs/models.md`.

#![allow(clippy::print_stderr, reason = "a tool reports to the one who runs it")]

mod args;
mod listing;
mod litellm;
mod merge;
mod models_dev;
mod money;
mod notice;
#[path = "../../../crates/agentloop/src/models/pattern.rs"]
mod pattern;
mod places;
mod providers;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails, fails")]
mod tests;
mod write;

use std::process::ExitCode;

use agentloop::models::{DataFile, ModelCatalog};

use crate::args::Args;
use crate::merge::Merged;
use crate::write::Content;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("model-data: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let args = Args::read(std::env::args().skip(1))?;
    let mut sources = Vec::new();
    let mut models_dev = models_dev::Models::new();
    if let Some(folder) = &args.models_dev {
        models_dev = models_dev::read(folder)?;
        sources.push(notice::models_dev(folder, args.models_dev_version.as_deref()));
    }
    let mut litellm = litellm::Models::new();
    if let Some(path) = &args.litellm {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        litellm = litellm::read(&text)?;
        sources.push(notice::litellm(args.litellm_version.as_deref()));
    }
    let Merged { models, notes } = merge::merge(models_dev, litellm, args.date);
    let mut file = Content::new(args.date, sources);
    file.variants = providers::with_variants();
    file.profiles = providers::with_profiles();
    for model in models {
        file.insert(model);
    }
    let text = file.to_text()?;
    // What was written is what will be read, or it is not written.
    if Content::of(DataFile::parse(&text).map_err(|error| error.to_string())?) != file {
        return Err("the file does not read back as it was written".to_owned());
    }
    ModelCatalog::parse(text.as_str()).map_err(|error| error.to_string())?;
    std::fs::write(&args.out, &text).map_err(|error| format!("{}: {error}", args.out.display()))?;
    for note in notes {
        eprintln!("{note}");
    }
    eprintln!("{} models, {} bytes, {}", file.models.len(), text.len(), args.out.display());
    Ok(())
}
