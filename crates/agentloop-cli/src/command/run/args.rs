//! What was typed, and the agent that it means.

use std::path::{Path, PathBuf};

use agentloop::agent::{Agent, Policy, Tool};
use agentloop::{AgentLoop, Usd};
use clap::builder::PossibleValuesParser;

use super::{mcp, tools};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model, as provider/model or an alias; else AGENTLOOP_MODEL, else the configuration's default_model.
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// Instructions for the model.
    #[arg(short, long, value_name = "SYSTEM")]
    pub(super) system: Option<String>,

    /// A tool that the model may use; may be given more than once. Without it there is none.
    ///
    /// `read_file` and `list_files` hand what they find to the model's provider, and need approval.
    #[arg(long = "tool", value_name = "NAME", value_parser = PossibleValuesParser::new(tools::NAMES))]
    pub(super) tools: Vec<String>,

    /// The folder that the tools for files see, with all below it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) root: PathBuf,

    /// An MCP server whose tools the model may use, by command or address; may be given more than once.
    #[arg(long = "mcp", value_name = "CMD|URL")]
    pub(super) servers: Vec<String>,

    /// A tool that may run without asking, as it is defined now; may be given more than once.
    #[arg(long = "allow", value_name = "TOOL")]
    pub(super) allowed: Vec<String>,

    /// A tool that may not run: the model is told, and goes on; may be given more than once.
    #[arg(long = "deny", value_name = "TOOL")]
    pub(super) denied: Vec<String>,

    /// How often the model may be asked.
    #[arg(long, value_name = "N", default_value_t = agentloop::limits::AGENT_MAX_STEPS,
        value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: u32,

    /// Stop when the run has cost so much.
    #[arg(long, value_name = "USD")]
    max_cost: Option<Usd>,

    /// Stop when the run has used so many tokens.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// One event of the run a line, as JSON; the last is run.done.
    #[arg(long)]
    pub(super) events: bool,

    /// Write the run into this file: if it waits, so that --resume goes on with it, else its conversation.
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,

    /// Go on with what is in this file: a run that waits, or a conversation, to which PROMPT is added.
    ///
    /// The tools are named again. What comes of it is written into the same file, or into that of --save.
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,

    /// Ask for each answer as a whole.
    #[arg(long)]
    pub(super) no_stream: bool,

    /// What to do. Text that is piped in follows after a blank line.
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Vec<String>,
}

impl Args {
    /// Returns the agent and its tools.
    ///
    /// `--allow` holds for the definitions that the tools have now: if a server changes one, its calls are asked for. `--deny` holds
    /// for the name.
    pub(super) async fn agent(
        &self,
        client: AgentLoop,
        notes: Notes,
    ) -> Result<(Agent, Vec<Tool>), Failure> {
        let mut tools = tools::named(&self.tools, &self.root)?;
        let mut agent = Agent::new(client).tools(tools.iter().cloned()).max_steps(self.max_steps);
        if let Some(cost) = self.max_cost {
            agent = agent.max_cost(cost);
        }
        if let Some(tokens) = self.max_tokens {
            agent = agent.max_tokens(tokens);
        }
        let (mut agent, more) = mcp::connect(agent, &self.servers, notes).await?;
        tools.extend(more);
        let find = |option: &str, name: &String| {
            let found = tools.iter().find(|tool| tool.name() == name);
            found.ok_or_else(|| unknown(option, name, &tools))
        };
        for name in &self.allowed {
            agent = agent.allow(find("--allow", name)?);
        }
        for name in &self.denied {
            find("--deny", name)?;
            agent = agent.policy(name, Policy::Deny);
        }
        if let Some(both) = self.allowed.iter().find(|name| self.denied.contains(name)) {
            let message = format!("`{both}` cannot be allowed and denied at once");
            return Err(Failure::input(message));
        }
        Ok((agent, tools))
    }

    /// How to go on with the run that `file` holds, ready to be copied.
    pub(super) fn going_on(&self, file: &str) -> String {
        let mut command = format!("agentloop run --resume {}", quoted(file));
        for tool in &self.tools {
            command.push_str(&format!(" --tool {tool}"));
        }
        if self.root.as_path() != Path::new(".") {
            command.push_str(&format!(" --root {}", quoted(&self.root.to_string_lossy())));
        }
        // Addresses and commands may hold keys, which do not belong into a log.
        for _ in &self.servers {
            command.push_str(" --mcp …");
        }
        command
    }
}

fn unknown(option: &str, name: &str, tools: &[Tool]) -> Failure {
    let names: Vec<_> = tools.iter().map(|tool| printable::name(tool.name())).collect();
    let message = format!("{option} {name}: the run has no such tool");
    match names.is_empty() {
        true => Failure::input_with_hint(message, "--tool names the tools of a run"),
        false => Failure::input_with_hint(message, format!("its tools are: {}", names.join(", "))),
    }
}

/// As a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
