//! Options of tools and runs, and the agent that they describe.

use std::path::{Path, PathBuf};

use agentloop::agent::{Agent, Policy, Tool};
use agentloop::limits::AGENT_MAX_STEPS;
use agentloop::{AgentLoop, Usd};
use clap::builder::PossibleValuesParser;

use super::{mcp, tools};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable;

/// How many steps in a row may make the same calls with the same results. A small model made the same call 19 times.
const MAX_REPEATS: u32 = 4;

/// Options of tools and of the runs that call them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArgs {
    /// A built-in tool that the model may call. Can be repeated. By default there is none.
    ///
    /// `read_file`, `list_files` and `search_files` need approval, because their results are sent to the model's provider;
    /// `edit_file` and `run_command` because they change something. The change of a file is shown before you approve it.
    #[arg(long = "tool", value_name = "NAME", value_parser = PossibleValuesParser::new(tools::NAMES))]
    pub(super) tools: Vec<String>,

    /// The folder that the file tools may use, including its subfolders, and where commands start [default: the current folder]
    #[arg(long, value_name = "DIR", requires = "tools")]
    pub(super) root: Option<PathBuf>,

    /// An MCP server whose tools the model may call, as a command or a URL, for example 'npx -y server-name'. Can be repeated.
    #[arg(long = "mcp", value_name = "CMD|URL")]
    pub(super) servers: Vec<String>,

    /// Allow a tool to run without approval, as long as its definition does not change. Can be repeated.
    #[arg(long = "allow", value_name = "TOOL")]
    pub(super) allowed: Vec<String>,

    /// Deny all calls of a tool. The model is informed and continues. Can be repeated.
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
    /// Returns whether one of these options is given.
    pub(in crate::command) fn is_used(&self) -> bool {
        let names = [&self.tools, &self.servers, &self.allowed, &self.denied];
        names.iter().any(|names| !names.is_empty())
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

    /// Enables a built-in tool.
    pub(in crate::command) fn enable(&mut self, name: &str) -> Result<(), Failure> {
        if !tools::NAMES.contains(&name) {
            return Err(Failure::input_with_hint(
                format!("unknown tool `{}`", printable::escape_name(name)),
                format!("the built-in tools are: {}", tools::NAMES.join(", ")),
            ));
        }
        if !self.tools.iter().any(|tool| tool == name) {
            self.tools.push(name.to_owned());
        }
        Ok(())
    }

    /// Disables a built-in tool.
    pub(in crate::command) fn disable(&mut self, name: &str) -> Result<(), Failure> {
        let before = self.tools.len();
        self.tools.retain(|tool| tool != name);
        self.allowed.retain(|tool| tool != name);
        self.denied.retain(|tool| tool != name);
        match self.tools.len() < before {
            true => Ok(()),
            false => Err(Failure::input(format!(
                "the built-in tool `{}` is not enabled",
                printable::escape_name(name)
            ))),
        }
    }

    /// Builds the agent and returns it with its tools.
    ///
    /// `--allow` applies to the current definition of a tool: if a server changes it, its calls need approval again. `--deny`
    /// applies to the name.
    pub(in crate::command) async fn build_agent(
        &self,
        client: AgentLoop,
        notes: Notes,
    ) -> Result<(Agent, Vec<Tool>), Failure> {
        let mut tools = tools::build_tools(&self.tools, self.root())?;
        let mut agent = Agent::new(client)
            .tools(tools.iter().cloned())
            .max_steps(self.max_steps.unwrap_or(AGENT_MAX_STEPS))
            .max_repeats(MAX_REPEATS)
            .final_answer();
        if let Some(cost) = self.max_cost {
            agent = agent.max_cost(cost);
        }
        if let Some(tokens) = self.max_run_tokens {
            agent = agent.max_tokens(tokens);
        }
        let (mut agent, more) = mcp::connect(agent, &self.servers, notes).await?;
        tools.extend(more);
        let find = |option: &str, name: &String| {
            let found = tools.iter().find(|tool| tool.name() == name);
            found.ok_or_else(|| describe_unknown_tool(option, name, &tools))
        };
        for name in &self.allowed {
            agent = agent.allow(find("--allow", name)?);
        }
        for name in &self.denied {
            find("--deny", name)?;
            agent = agent.policy(name, Policy::Deny);
        }
        if let Some(both) = self.allowed.iter().find(|name| self.denied.contains(name)) {
            let message = format!("the tool `{both}` is both allowed and denied");
            return Err(Failure::input_with_hint(message, "remove --allow or --deny"));
        }
        Ok((agent, tools))
    }

    /// Formats the command that continues the run in `file`, ready to be copied.
    pub(super) fn format_resume_command(&self, file: &str) -> String {
        let mut command = format!("agentloop --resume {}", quote(file));
        for tool in &self.tools {
            command.push_str(&format!(" --tool {tool}"));
        }
        if let Some(root) = &self.root {
            command.push_str(&format!(" --root {}", quote(&root.to_string_lossy())));
        }
        // URLs and commands may contain keys, which must not appear in a log.
        for _ in &self.servers {
            command.push_str(" --mcp …");
        }
        command
    }
}

fn describe_unknown_tool(option: &str, name: &str, tools: &[Tool]) -> Failure {
    let names: Vec<_> = tools.iter().map(|tool| printable::escape_name(tool.name())).collect();
    let message = format!("{option} {name}: the run does not have this tool");
    match names.is_empty() {
        true => Failure::input_with_hint(message, "add tools with --tool NAME or --mcp"),
        false => Failure::input_with_hint(
            message,
            format!("the tools of this run are: {}", names.join(", ")),
        ),
    }
}

/// Quotes a word for a shell.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
