//! The command line, as it is typed.

use std::path::PathBuf;

use agentloop::Protocol;
use clap::{Parser, Subcommand};

use crate::command::{chat, decode, embed, encode, models, providers, run, sim, trust};

const EXIT_CODES: &str = "\
Exit codes:
  0    the answer is there, and whole
  1    the provider failed, or the answer is cut, filtered or broken
  2    the command line, the configuration or the input is wrong; a missing key and an unknown
       provider belong here
  3    the run waits for somebody's word: `agentloop run --resume` goes on with it
  130  stopped with Ctrl-C";

/// One interface to every LLM provider.
///
/// stdout is data, stderr is everything else.
#[derive(Debug, Parser)]
#[command(name = "agentloop", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// The configuration file, in place of those that are found. It is trusted.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// No warnings and no notes on stderr; errors remain.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a model, and show its answer as it comes.
    ///
    /// The answer's text goes to stdout, thinking to stderr if that is a terminal. Without a key of any provider and
    /// without a model, the built-in simulator answers. An answer that is cut, filtered or failed is exit code 1.
    Chat(Box<chat::Args>),
    /// Show the HTTP request that a chat request becomes. Nothing is sent.
    ///
    /// A ChatRequest as JSON on stdin becomes {"method","url","headers","body","warnings"} on stdout, with *** in place
    /// of the key; none is needed. With --embed it is an EmbedRequest.
    Encode(encode::Args),
    /// Show what a provider's raw answer is read as. No network is used.
    ///
    /// The bytes on stdin become the ChatResponse as JSON on stdout. A provider's error becomes {"error":{…}} there,
    /// with exit code 1.
    Decode(decode::Args),
    /// Turn texts into vectors.
    ///
    /// One vector a line on stdout, as a JSON list, in the order of the texts.
    Embed(embed::Args),
    /// List the models that providers serve.
    ///
    /// One model a line, as provider/model; where they are known, the size of its context, the most tokens of an answer
    /// and the prices of a million tokens read and written, in dollars, follow after tabs, with - for what is not known.
    ///
    /// With a model in place of a provider, all that is known of it is shown as JSON, and nobody is asked.
    Models(models::Args),
    /// List the providers, and which of them are ready.
    Providers(providers::Args),
    /// Let a model use tools until it has answered, and show the run as it happens.
    ///
    /// The model's text goes to stdout, what its tools do to stderr. A tool that needs approval is asked for at the
    /// terminal; without one the run waits: it is written to the file of --save, the exit code is 3, and --resume goes on
    /// with it, also in another process. Nothing runs twice. Ctrl-C cancels the run, a second one ends the command.
    ///
    /// A run that ends before the model has answered (a limit, a cut answer) is exit code 1.
    Run(Box<run::Args>),
    /// Serve the simulated model on this machine, until Ctrl-C.
    Sim(sim::Args),
    /// Let all settings of a configuration file count.
    ///
    /// An agentloop.toml in this folder or above it may choose models, aliases and limits. Settings that direct keys, files,
    /// environment variables or prompts elsewhere count only after you have trusted the file. It is remembered by its path and its
    /// content, so a file that has changed has to be trusted again. At a terminal you are asked; in a pipe such settings
    /// are ignored with a note, and a provider that they describe is not used (exit code 2).
    Trust(trust::Args),
}

/// Reads the name of a protocol.
pub(crate) fn protocol(name: &str) -> Result<Protocol, String> {
    if let Some(protocol) = Protocol::from_name(name) {
        return Ok(protocol);
    }
    let known: Vec<&str> = Protocol::ALL.iter().map(|known| known.name()).collect();
    Err(format!("no protocol has that name; known are {}", known.join(", ")))
}
