//! The command line: global options and the list of commands.

use std::path::PathBuf;

use agentloop::Protocol;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::command::{
    batch, batches, chat, check, completions, config, decode, demo, embed, encode, files, image,
    keys, log, man, models, moderate, providers, rerank, serve, setup, sim, speak, teams,
    templates, tools, transcribe, trust, usage, use_model,
};

const EXIT_CODES: &str = "\
Exit codes:
  0    success: the response is complete
  1    the provider failed, or the response is truncated, filtered or incomplete
  2    the command line, the configuration or the input is wrong; for example a missing key or an
       unknown provider
  3    the run waits for approval of a tool; continue it with `agentloop --resume FILE`
  130  interrupted with Ctrl-C

Examples:
  agentloop 'Why is the sky blue?'
  agentloop -m anthropic/claude-sonnet-4-5 'Summarize this' < notes.txt
  agentloop --tool list_files --tool read_file 'What does this project do?'
  agentloop providers";

const USAGE: &str = "\
agentloop [OPTIONS] PROMPT
       agentloop [OPTIONS] COMMAND";

/// One interface to every LLM provider.
///
/// `agentloop PROMPT` is short for `agentloop chat PROMPT`; `agentloop chat --help` describes its options. Data goes to stdout;
/// notes, warnings and errors go to stderr.
#[derive(Debug, Parser)]
#[command(name = "agentloop", version, after_help = EXIT_CODES, override_usage = USAGE)]
pub(crate) struct Cli {
    /// Use this configuration file instead of searching for agentloop.toml. The file is trusted.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Do not print warnings and notes on stderr. Errors are still printed.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command that the parser adds.
const HELP: &str = "help";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a prompt to a model and print its response. With tools, the model calls them until it has finished.
    ///
    /// The response is printed on stdout as it arrives. Thinking is printed on stderr if stderr is a terminal, and so is the progress
    /// of tools. If the response is truncated or filtered, or the provider fails, the exit code is 1.
    ///
    /// A tool that needs approval is asked about at the terminal. Without a terminal the run is suspended: it is
    /// written to the file of --save, the exit code is 3, and --resume continues it, also in another process. No tool
    /// runs twice. Ctrl-C cancels the run; a second Ctrl-C ends the command at once.
    ///
    /// If no model is given and no provider has a key, the built-in simulator responds at a terminal. Elsewhere the exit code is 2.
    ///
    /// The word `chat` can be left out.
    ///
    /// Example: git diff | agentloop -m openai/gpt-4.1 'Write a commit message for this diff'
    Chat(Box<chat::Args>),
    /// Take a short tour with simulated providers, without a key and without a network.
    ///
    /// Shows a stream with thinking and sources over four protocols, a tool call with your approval, a truncated response and the model
    /// that takes over, and the tokens against the providers' bill.
    Demo(demo::Args),
    /// Send every row of a file to a model, and write the responses as JSON lines.
    ///
    /// Each result is one line with the number of its row (`index`, from 0), the text, the usage and the cost, or the
    /// error of a row that failed. A result is written as soon as it is there, so Ctrl-C or a crash loses nothing that
    /// was written to the file of --output: --resume continues with the rows that are missing and tries the failed
    /// ones again; of two lines with the same index the later one counts.
    ///
    /// An error that concerns every row, such as a wrong key, stops the batch. If a row failed, the exit code is 1.
    ///
    /// Example: agentloop batch reviews.csv 'Is this review positive? {{text}}' -m openai/gpt-4.1-mini -o out.jsonl
    Batch(Box<batch::Args>),
    /// Continue, cancel and list batches that a provider processes.
    ///
    /// `agentloop batch --provider-batch` submits one and waits for it. If it was interrupted, or submitted with --detach, `watch` waits and
    /// writes the results, and `fetch` writes them if the batch has ended. FILE is the file of --output, or the state file beside it
    /// (FILE.batch), which is removed when all results are written. If a row failed, the exit code is 1.
    ///
    /// Example: agentloop batches watch out.jsonl
    Batches(batches::Args),
    /// Upload, list, download and delete files that a provider stores.
    ///
    /// A file that is uploaded once can be used in many requests by its id, for example in the JSON of `agentloop batch`:
    /// {"type": "file", "file": {"file_id": "file-1"}}.
    ///
    /// Example: agentloop files upload openai report.pdf
    Files(files::Args),
    /// Print the HTTP request for a chat request, without sending it.
    ///
    /// Reads a ChatRequest as JSON from stdin and prints {"method","url","headers","body","warnings"}. Keys are shown as
    /// *** and need not be set. With --embed, reads an EmbedRequest.
    ///
    /// Example: echo '{"model":"groq/llama-3.3-70b-versatile","messages":[{"role":"user","content":"Hello"}]}' | agentloop encode
    Encode(encode::Args),
    /// Decode the raw bytes of a provider's response, without using the network.
    ///
    /// Reads the body of an HTTP response from stdin and prints the ChatResponse as JSON. If the provider reported an error,
    /// prints {"error":{…}} and exits with code 1.
    ///
    /// Example: agentloop decode --provider openai --stream --events < recorded.sse
    Decode(decode::Args),
    /// Convert texts to embedding vectors.
    ///
    /// Prints one vector per line as a JSON array, in the order of the texts. With --output, writes JSON lines, in the same
    /// order. Several texts are sent in one request, and several requests at the same time.
    ///
    /// Ctrl-C or a crash loses nothing that was written to the file of --output: --resume continues with the texts that are missing
    /// and tries the failed ones again. If a text failed, the exit code is 1, and no vector takes its place.
    ///
    /// Example: agentloop embed -m openai/text-embedding-3-small -i articles.csv --text '{{title}}: {{body}}' -o vectors.jsonl
    Embed(Box<embed::Args>),
    /// Generate images, or edit some.
    ///
    /// Writes each image to a file and prints its path. A terminal that can show images shows it. If the provider returns only a URL, that
    /// is printed. With --edit, the images are changed as the prompt says.
    ///
    /// Example: agentloop image -m openai/gpt-image-1 'A lighthouse at dusk' --size 1024x1024 -o lighthouse.png
    Image(Box<image::Args>),
    /// Turn text into speech.
    ///
    /// Writes the audio to a file and prints its path. With `-o -` the audio goes to stdout as it arrives, for example to a player.
    ///
    /// Example: agentloop speak -m openai/gpt-4o-mini-tts --voice coral 'Good morning' -o - | mpv -
    Speak(Box<speak::Args>),
    /// Turn speech into text, or into subtitles.
    ///
    /// The text is printed as it arrives, if the provider streams it. With --format srt or vtt, or a file with such a name, subtitles
    /// are written.
    ///
    /// Example: agentloop transcribe -m groq/whisper-large-v3 meeting.mp3 -o meeting.srt
    Transcribe(Box<transcribe::Args>),
    /// Sort documents by how well they match a query, the best first.
    ///
    /// On a terminal it is a table; in a pipe each line has the tab-separated columns score, place of the document in the input (from 0) and
    /// document.
    ///
    /// Example: agentloop rerank -m cohere/rerank-v3.5 'capital of Norway' -i facts.txt -n 3
    Rerank(Box<rerank::Args>),
    /// Check texts or a conversation for harm.
    ///
    /// On a terminal it is a table; in a pipe each line has the tab-separated columns result (flagged or ok), categories with their
    /// scores and text, which is the last message of a conversation. The exit code does not depend on the result.
    ///
    /// Example: agentloop moderate -m openai/omni-moderation-latest -i comments.txt
    Moderate(Box<moderate::Args>),
    /// List, search, show, export and delete the conversations that are stored.
    ///
    /// Without a command, lists the conversations, the last used first. On a terminal it is a table; in a pipe each line has the
    /// tab-separated columns identifier, time, messages, cost in US dollars, model, name and title.
    ///
    /// Example: agentloop log show last
    Log(log::Args),
    /// List models, with their limits and prices.
    ///
    /// Prints one model per line, as tab-separated columns: provider/model, context window (tokens), maximum output
    /// (tokens), and the prices of a million input and output tokens in US dollars. A value that is not known is
    /// printed as -, or left out at the end of a line.
    ///
    /// If MODEL is given, prints everything known about that model as JSON, without using the network.
    Models(models::Args),
    /// List the providers and whether each is ready to use.
    Providers(providers::Args),
    /// The same as chat, but always a run of the agent, also without tools.
    ///
    /// The options are those of chat. The events end with run.done, and a note at the end has the steps, tokens and cost.
    ///
    /// Example: agentloop run --tool list_files --tool read_file 'What does this project do?'
    Run(Box<chat::Args>),
    /// Serve every provider behind the APIs of OpenAI, Anthropic and Google, until Ctrl-C.
    ///
    /// Any program that uses one of their SDKs works with any model by changing its base URL. A model is written as
    /// provider/model, or as the name of a route of the configuration. Requests to a provider of the same API are passed on
    /// unchanged; others are translated.
    ///
    /// The first start creates an API key and prints it once. Settings are in the table [gateway] of agentloop.toml, which is
    /// read again when it changes and on SIGHUP.
    ///
    /// Example: agentloop serve --listen 127.0.0.1:4180
    Serve(serve::Args),
    /// Serve the simulated model over HTTP, until Ctrl-C.
    Sim(sim::Args),
    /// List the templates that `-t` can use, or show one.
    ///
    /// A template is a file NAME.md in the folder `templates` of the user's configuration folder: a prompt with variables such
    /// as {{language}}, and {{input}} for the prompt of the command line. Settings can stand above it, as TOML between two
    /// lines +++: description, model, system, temperature, max_tokens, effort, defaults.
    ///
    /// Example: agentloop -t review --var language=German < change.diff
    Templates(templates::Args),
    /// List the tools that a model may call, show one, or try one.
    ///
    /// Lists the built-in tools, the programs, groups and MCP servers of the configuration, where each comes from, and whether
    /// it asks for approval. No server is started without --mcp or --all. On a terminal it is a table; in a pipe each line has the
    /// tab-separated columns name, source, approval and description.
    ///
    /// `agentloop tools NAME` shows a tool with its parameters, and `agentloop tools try NAME` runs it.
    ///
    /// Example: agentloop tools try time offset=+02:00
    Tools(tools::Args),
    /// Check a provider with your key: send small requests, and compare the responses with what is expected.
    ///
    /// Checks complete responses and streams, usage, the system prompt, stop sequences, limits, tools, structured output, thinking,
    /// images, Unicode, errors, embeddings, the list of models and the count of tokens. Each check passes, fails (with what was
    /// expected and what came) or is skipped (with the reason). The cost is stated before anything is sent. If a check fails, the exit
    /// code is 1.
    ///
    /// Example: agentloop check groq/openai/gpt-oss-20b --record fixtures
    Check(check::Args),
    /// Trust a configuration file, so that all of its settings are used.
    ///
    /// An agentloop.toml in the current folder or above it may always set models, aliases and limits. Settings that
    /// redirect keys, files, environment variables or prompts are used only if you trust the file. It is
    /// remembered by its path and its content, so a file that changes must be trusted again.
    ///
    /// At a terminal you are asked. In a pipe such settings are ignored with a note, and a provider that they configure
    /// is not used (exit code 2).
    Trust(trust::Args),
    /// Store the key of a provider, test it and set a default model. Asks questions at the terminal.
    Setup(setup::Args),
    /// Set the default model in your configuration. The rest of the file is not changed.
    ///
    /// MODEL can be the name of a provider, for its default model, or of a model without its provider.
    ///
    /// Example: agentloop use groq/openai/gpt-oss-120b
    Use(use_model::Args),
    /// List and change keys: those of providers, and those of the gateway's clients.
    ///
    /// `set` and `remove` store the keys of providers. `create`, `update`, `revoke` and `forget` manage the keys that clients send to
    /// `agentloop serve`, in the database that the gateway uses. On a terminal the list is two tables; in a pipe each line begins with
    /// `provider` or `gateway`.
    ///
    /// Example: agentloop keys create build-server --budget 5/day
    Keys(keys::Args),
    /// List and change the teams of the gateway, whose keys share budgets and limits.
    ///
    /// Example: agentloop teams create web --budget 100/month
    Teams(teams::Args),
    /// Show what the clients of the gateway have used and what it cost, or export it.
    ///
    /// Sums up the ledger of `agentloop serve`, which has a row for every call to a provider. All times are in UTC. A cost with ~ contains
    /// estimates: of calls that were cut off before the provider reported their usage. In a pipe each line has the tab-separated columns
    /// group, calls, incomplete calls, prompt tokens, cached prompt tokens, response tokens, cost and estimated cost, and the last line is the
    /// total.
    ///
    /// Example: agentloop usage --by model --since 7d
    Usage(Box<usage::Args>),
    /// Show the settings of the configuration files and where each comes from, or edit your file.
    Config(config::Args),
    /// Print a script that completes commands and options in a shell.
    ///
    /// Example: agentloop completions bash > ~/.local/share/bash-completion/completions/agentloop
    Completions(completions::Args),
    /// Print the manual page, or write the pages of all commands to a folder.
    ///
    /// Example: agentloop man ~/.local/share/man/man1
    Man(man::Args),
}

impl Command {
    /// Returns the names of the commands.
    pub(crate) fn names() -> Vec<String> {
        let command = Cli::command();
        let names = command.get_subcommands().map(clap::Command::get_name);
        names.chain([HELP]).map(str::to_owned).collect()
    }

    /// Returns whether a command has this name, without building the definition of all commands.
    pub(crate) fn is_name(name: &str) -> bool {
        name == HELP || Self::has_subcommand(name)
    }
}

/// Parses the name of a protocol.
pub(crate) fn parse_protocol(name: &str) -> Result<Protocol, String> {
    if let Some(protocol) = Protocol::from_name(name) {
        return Ok(protocol);
    }
    let known: Vec<&str> = Protocol::ALL.iter().map(|known| known.name()).collect();
    Err(format!("unknown protocol; use one of {}", known.join(", ")))
}

#[cfg(test)]
mod tests;
