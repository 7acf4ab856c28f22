//! Runs one tool with arguments that the user types.
//!
//! A simulated model calls the tool, so the call takes the same path as in every run: the arguments are validated, the user is
//! asked, and the result is limited.

use std::path::{Path, PathBuf};

use agentloop::agent::{Agent, StopReason, Tool, ToolStatus};
use agentloop::{AgentLoop, ChatRequest};
use serde_json::{Map, Value};

use super::{build, idle_client};
use crate::command::run::{Pattern, Selection, TerminalApprover};
use crate::failure::Failure;
use crate::output::Output;
use crate::printable::escape_name;
use crate::setup::Setup;
use crate::simulator::{Simulator, Turn};

/// Options of `agentloop tools try`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The tool. Tools of a configured MCP server are written as 'github:get_issue'.
    #[arg(value_name = "NAME", value_parser = crate::command::run::ToolNames, hide_possible_values = true)]
    name: String,

    /// The arguments, as one JSON object or as NAME=VALUE pairs.
    #[arg(value_name = "JSON|NAME=VALUE")]
    arguments: Vec<String>,

    /// The MCP server of the tool, if it is not in the configuration: a command or a URL.
    #[arg(long = "mcp", value_name = "NAME|CMD|URL")]
    servers: Vec<String>,

    /// The folder that the file tools may use, including its subfolders [default: the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Run the tool without asking. TOOL is its name, or a pattern.
    #[arg(long = "allow", value_name = "TOOL")]
    allowed: Vec<String>,

    /// Print the result as JSON, with its status and duration.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let is_typed = !args.servers.is_empty();
    let words = [args.name.clone()];
    let root = args.root.as_deref().unwrap_or(Path::new("."));
    let selection = Selection {
        words: if is_typed { &[] } else { &words },
        servers: &args.servers,
        allowed: &args.allowed,
        denied: &[],
        root,
    };
    let (_agent, kit) = build(idle_client()?, selection, setup).await?;
    let pattern = Pattern::new(&args.name);
    let found: Vec<_> =
        kit.tools.iter().filter(|offered| !is_typed || pattern.matches(offered)).collect();
    let [offered] = found[..] else {
        let names: Vec<_> =
            kit.tools.iter().map(|offered| escape_name(offered.tool.name())).collect();
        return Err(Failure::input_with_hint(
            format!("`{}` is not the name of one tool", escape_name(&args.name)),
            format!("name one of: {}", names.join(", ")),
        ));
    };
    let name = offered.tool.name().to_owned();
    let arguments = read_arguments(&args.arguments, &offered.tool)?;
    // The tool keeps the connection to its server.
    let mut agent =
        Agent::new(call_once(&name, &arguments)?).tool(offered.tool.clone()).max_steps(2);
    if kit.allowed.contains(&name) {
        agent = agent.allow(&offered.tool);
    }
    if let Some(approver) = TerminalApprover::at_terminal(setup.notes) {
        agent = agent.approver(approver.with_root(root));
    }
    let outcome = agent.run(ChatRequest::new("sim/try").user("Go")).await;
    let outcome = outcome.map_err(agentloop::Error::from)?;
    if outcome.stop == StopReason::Waiting {
        return Err(Failure::Waiting {
            message: format!("`{}` needs approval", escape_name(&name)),
            hint: format!("approve it at a terminal, or add --allow {}", escape_name(&name)),
        });
    }
    let result = outcome.steps.first().and_then(|step| step.results.first());
    let Some(result) = result else {
        return match outcome.error {
            Some(error) => Err(error.into()),
            None => Err(Failure::Response("the tool did not run".to_owned())),
        };
    };
    let mut output = Output::new();
    if args.json {
        output.write_document(result)?;
        output.flush()?;
        return if result.status.is_success() { Ok(()) } else { Err(Failure::Shown) };
    }
    let text = result.output.to_text();
    match result.status {
        ToolStatus::Completed => {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            output.write_untrusted(&format!("{text}{end}"))?;
            Ok(output.flush()?)
        }
        ToolStatus::InvalidArguments => Err(Failure::input_with_hint(
            text,
            format!("`agentloop tools {}` shows the parameters", escape_name(&args.name)),
        )),
        _ => Err(Failure::Response(format!("{}: {text}", escape_name(&name)))),
    }
}

/// Returns a client whose model calls the tool once.
fn call_once(name: &str, arguments: &Value) -> Result<AgentLoop, Failure> {
    let turns = [Turn::tool_call("call_1", name, arguments), Turn::text("Done.")];
    let simulator = Simulator::new().with_responses(turns);
    Ok(AgentLoop::builder().provider(simulator.provider()).build()?)
}

/// Reads the arguments: one JSON object, or pairs. The value of a pair is JSON, unless the parameter is a text.
fn read_arguments(words: &[String], tool: &Tool) -> Result<Value, Failure> {
    if let [word] = words
        && word.trim_start().starts_with('{')
    {
        let object: Result<Map<String, Value>, _> = serde_json::from_str(word);
        return object.map(Value::Object).map_err(|error| {
            Failure::input(format!("the arguments are not a JSON object: {error}"))
        });
    }
    let mut arguments = Map::new();
    let schema = tool.definition().parameters.clone().unwrap_or_default();
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(Failure::input_with_hint(
                format!("`{}` is neither a JSON object nor NAME=VALUE", escape_name(word)),
                "write arguments as path=README.md or as '{\"path\":\"README.md\"}'",
            ));
        };
        arguments.insert(
            name.trim().to_owned(),
            read_value(value, &schema["properties"][name.trim()]["type"]),
        );
    }
    Ok(Value::Object(arguments))
}

fn read_value(text: &str, kind: &Value) -> Value {
    let is_text = kind == "string"
        || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string"));
    match serde_json::from_str(text) {
        Ok(value) if !is_text => value,
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_json_or_pairs() {
        let schema = json!({ "type": "object", "properties": {
            "text": { "type": "string" }, "count": { "type": "integer" }, "any": {},
        } });
        let tool = Tool::dynamic("t", "t", schema, |_: Value, _| async { Ok("") });
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            read_arguments(&words, &tool).ok()
        };
        assert_eq!(read(&[]), Some(json!({})));
        assert_eq!(read(&["{\"text\":\"a\"}"]), Some(json!({ "text": "a" })));
        assert_eq!(
            read(&["text=12=3", "count=12", "any=[1]", "other=x y"]),
            Some(json!({ "text": "12=3", "count": 12, "any": [1], "other": "x y" }))
        );
        assert_eq!(read(&["{\"text\""]), None);
        assert_eq!(read(&["text"]), None);
    }
}
