//! The commands. Each has `Args`, its options, and `run`. A command with more than one file is a folder whose `args.rs` has the
//! options and whose `show.rs` prints the result.

pub(crate) mod batch;
pub(crate) mod batches;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod config_edit;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod files;
#[cfg(test)]
mod hostile_tests;
pub(crate) mod image;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod moderate;
pub(crate) mod providers;
pub(crate) mod repl;
pub(crate) mod rerank;
mod rows;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod sim;
pub(crate) mod speak;
mod task;
pub(crate) mod teams;
pub(crate) mod templates;
pub(crate) mod tools;
pub(crate) mod transcribe;
pub(crate) mod trust;
pub(crate) mod usage;
pub(crate) mod use_model;

use crate::args::Command;
use crate::failure::Failure;
use crate::setup::Setup;

/// Runs a command.
pub(crate) async fn run(command: Command, setup: &Setup) -> Result<(), Failure> {
    match command {
        Command::Batch(args) => batch::run(*args, setup).await,
        Command::Batches(args) => batches::run(&args, setup).await,
        Command::Files(args) => files::run(args, setup).await,
        Command::Chat(args) | Command::Run(args) if args.is_interactive() => {
            repl::run(*args, setup).await
        }
        Command::Chat(args) if !args.is_run(setup) => chat::run(*args, setup).await,
        Command::Chat(args) | Command::Run(args) => run::run(*args, setup).await,
        Command::Check(args) => check::run(&args, setup).await,
        Command::Demo(args) => demo::run(&args, setup).await,
        Command::Encode(args) => encode::run(&args, setup),
        Command::Decode(args) => decode::run(args, setup).await,
        Command::Embed(args) => embed::run(*args, setup).await,
        Command::Image(args) => image::run(*args, setup).await,
        Command::Moderate(args) => moderate::run(*args, setup).await,
        Command::Rerank(args) => rerank::run(*args, setup).await,
        Command::Speak(args) => speak::run(*args, setup).await,
        Command::Transcribe(args) => transcribe::run(*args, setup).await,
        Command::Log(args) => log::run(&args, setup.notes),
        Command::Models(args) => models::run(&args, setup).await,
        Command::Providers(args) => providers::run(&args, setup),
        Command::Serve(args) => serve::run(&args, setup).await,
        Command::Sim(args) => sim::run(&args, setup).await,
        Command::Teams(args) => teams::run(&args, setup).await,
        Command::Templates(args) => templates::run(&args, setup.notes),
        Command::Tools(args) => tools::run(&args, setup).await,
        Command::Trust(args) => trust::run(&args, setup.notes),
        Command::Config(args) => config::run(&args, setup),
        Command::Keys(args) => keys::run(&args, setup).await,
        Command::Setup(args) => setup::run(&args, setup).await,
        Command::Usage(args) => usage::run(&args, setup).await,
        Command::Use(args) => use_model::run(&args, setup).await,
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, setup.notes),
    }
}
