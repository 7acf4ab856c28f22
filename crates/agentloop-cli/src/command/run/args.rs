//! Options of tools and runs, and the agent that they describe.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use agentloop::agent::Agent;
use agentloop::limits::AGENT_MAX_STEPS;
use agentloop::{AgentLoop, ToolsConfig, Usd};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use super::choice::Choice;
use super::kit::{Kit, Selection};
use super::tools;
use crate::failure::Failure;
use crate::printable;
use crate::setup::Setup;

/// How many steps in a row may make the same calls with the same results. A small model made the same call 19 times.
const MAX_REPEATS: u32 = 4;

/// Options of tools and of the runs that call them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArgs {
    /// A tool that the model may call: a built-in tool, a tool or a group of the configuration, tools of a configured MCP server
    /// ('github:get_*'), or a pattern ('read_*'). Can be repeated.
    ///
    /// The built-in tools are time, read_file, list_files, search_files, edit_file, run_command and fetch_page. All but `time` need
    /// approval, and so do the tools of the configuration. The change of a file is shown before you approve it. By default
    /// there is no tool, unless `default_tools` is set in the configuration. `agentloop tools` lists the tools.
    #[arg(long = "tool", value_name = "NAME", value_parser = ToolNames, hide_possible_values = true)]
    pub(super) tools: Vec<String>,

    /// Use no tools, also not those of `default_tools` in the configuration.
    #[arg(long, conflicts_with_all = ["tools", "servers"])]
    no_tools: bool,

    /// The folder that the file tools may use, including its subfolders, and where commands start [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,

    /// An MCP server whose tools the model may call: its name in the configuration, a command or a URL, for example
    /// 'npx -y server-name'. Can be repeated.
    #[arg(long = "mcp", value_name = "NAME|CMD|URL")]
    pub(super) servers: Vec<String>,

    /// Allow a tool to run without approval, as long as its definition does not change. Can be repeated.
    ///
    /// TOOL can be a pattern: 'read_*', 'github:get_*'. '*' allows every tool of the run, also those that run commands.
    #[arg(long = "allow", value_name = "TOOL")]
    pub(super) allowed: Vec<String>,

    /// Deny all calls of a tool, or of tools that match a pattern. The model is informed and continues. Can be repeated.
    #[arg(long = "deny", value_name = "TOOL")]
    pub(super) denied: Vec<String>,

    /// The maximum number of requests to the model in a run [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,

    /// Stop when the run has cost this many US dollars, for example 0.50.
    #[arg(long, value_name = "USD")]
    max_cost: Option<Usd>,

    /// Stop when the run has used this many tokens.
    #[arg(long, value_name = "N")]
    max_run_tokens: Option<u64>,

    /// Save the run to this file if it waits for approval, else its conversation. --resume continues both.
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,

    /// Continue the run or the conversation in this file. PROMPT is added to a conversation.
    ///
    /// Name the tools again with --tool and --mcp. The result is saved to the same file, or to the file of --save.
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
}

impl ToolArgs {
    /// Returns whether one of these options is given, or the configuration has tools for calls that choose none.
    pub(in crate::command) fn is_used(&self, config: &ToolsConfig) -> bool {
        let names = [&self.tools, &self.servers, &self.allowed, &self.denied];
        names.iter().any(|names| !names.is_empty())
            || !self.words(config).is_empty()
            || self.save.is_some()
            || self.resume.is_some()
            || self.max_steps.is_some()
            || self.max_cost.is_some()
            || self.max_run_tokens.is_some()
    }

    /// Returns whether the run or its conversation is in a file.
    pub(in crate::command) fn keeps_file(&self) -> bool {
        self.save.is_some() || self.resume.is_some()
    }

    pub(in crate::command) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("."))
    }

    /// Returns the names of tools, groups and patterns: those that were chosen, else `default_tools` of the configuration.
    fn words<'a>(&'a self, config: &'a ToolsConfig) -> &'a [String] {
        if self.no_tools || !self.tools.is_empty() || !self.servers.is_empty() {
            &self.tools
        } else {
            &config.default_tools
        }
    }

    /// Enables a tool, a group, or tools of a server.
    pub(in crate::command) fn enable(&mut self, name: &str, setup: &Setup) -> Result<(), Failure> {
        let config = &setup.config.tools;
        Choice::resolve(&[name.to_owned()], &[], config, setup.notes)?;
        self.tools = self.words(config).to_vec();
        self.no_tools = false;
        if !self.tools.iter().any(|tool| tool == name) {
            self.tools.push(name.to_owned());
        }
        Ok(())
    }

    /// Disables what was enabled by this name.
    pub(in crate::command) fn disable(&mut self, name: &str, setup: &Setup) -> Result<(), Failure> {
        self.tools = self.words(&setup.config.tools).to_vec();
        let before = self.tools.len() + self.servers.len();
        for names in [&mut self.tools, &mut self.servers, &mut self.allowed, &mut self.denied] {
            names.retain(|tool| tool != name);
        }
        // Without this, the default tools would be used again when the last tool is disabled.
        self.no_tools = self.tools.is_empty() && self.servers.is_empty();
        if self.tools.len() + self.servers.len() < before {
            Ok(())
        } else {
            Err(Failure::input_with_hint(
                format!("`{}` is not enabled by this name", printable::escape_name(name)),
                if self.tools.is_empty() {
                    "no tools are enabled".to_owned()
                } else {
                    format!("enabled: {}", self.tools.join(", "))
                },
            ))
        }
    }

    /// Builds the agent and returns it with its tools.
    pub(in crate::command) async fn build_agent(
        &self,
        client: AgentLoop,
        setup: &Setup,
    ) -> Result<(Agent, Kit), Failure> {
        let config = &setup.config.tools;
        if self.root.is_some() && self.words(config).is_empty() {
            return Err(Failure::input_with_hint(
                "--root is the folder of built-in tools, and there are none",
                "add tools with --tool NAME, for example --tool read_file",
            ));
        }
        let mut agent = Agent::new(client)
            .max_steps(self.max_steps.unwrap_or(AGENT_MAX_STEPS))
            .max_repeats(MAX_REPEATS)
            .final_answer();
        if let Some(cost) = self.max_cost {
            agent = agent.max_cost(cost);
        }
        if let Some(tokens) = self.max_run_tokens {
            agent = agent.max_tokens(tokens);
        }
        let selection = Selection {
            words: self.words(config),
            servers: &self.servers,
            allowed: &self.allowed,
            denied: &self.denied,
            root: self.root(),
        };
        selection.build(agent, config, setup.notes).await
    }

    /// Formats the command that continues the run in `file`, ready to be copied.
    pub(super) fn format_resume_command(&self, file: &str, config: &ToolsConfig) -> String {
        let mut command = format!("agentloop --resume {}", quote(file));
        for tool in &self.tools {
            command.push_str(&format!(" --tool {}", quote(tool)));
        }
        if let Some(root) = &self.root {
            command.push_str(&format!(" --root {}", quote(&root.to_string_lossy())));
        }
        // URLs and commands may contain keys, which must not appear in a log.
        for server in &self.servers {
            if config.servers.contains_key(server) {
                command.push_str(&format!(" --mcp {server}"));
            } else {
                command.push_str(" --mcp …");
            }
        }
        command
    }
}

/// Accepts every name, because the configuration is not read yet. Completions know the built-in tools.
#[derive(Clone)]
pub(in crate::command) struct ToolNames;

impl TypedValueParser for ToolNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(tools::NAMES.into_iter().map(PossibleValue::new)))
    }
}

/// Quotes a word for a shell. A word that no shell accepts, because it has a zero byte, stays as it is.
fn quote(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}
