//! `agentloop run` at a terminal, where the user approves tool calls.
#![cfg(unix)]

use crate::common;

use std::io::Write as _;

use common::folder::Folder;
use common::pty::{converse, open_terminal};
use common::sim::Server;
use common::{Outcome, command};

/// The end of a question.
const PROMPT: &str = "[q]uit: ";

/// Ends the input.
const CTRL_D: &str = "\u{4}";

/// Runs the command with a terminal as stdin and stderr, and types one of these lines at each question.
pub(crate) fn at_terminal(folder: &Folder, args: &str, lines: &[&str]) -> Outcome {
    typed(folder, args, "", PROMPT, lines)
}

/// Runs the command with input that is typed before it starts. Its questions end with `prompt`.
pub(crate) fn typed(
    folder: &Folder,
    args: &str,
    ahead: &str,
    prompt: &str,
    lines: &[&str],
) -> Outcome {
    let (mut terminal, open) = open_terminal();
    let child = command(args.split(' '))
        .env("NO_COLOR", "1")
        .env("HOME", folder.path().join("home"))
        .current_dir(folder.path())
        .stdin(open())
        .stderr(open())
        .spawn()
        .unwrap();
    terminal.write_all(ahead.as_bytes()).unwrap();
    let replies: Vec<(&str, &str)> = lines.iter().map(|line| (prompt, *line)).collect();
    let stderr = converse(terminal, &replies, prompt);
    Outcome { stderr, ..Outcome::of(child) }.timeless()
}

fn folder() -> Folder {
    Folder::with([("README.md", "Read me.")])
}

const BOTH: &str = "run -m sim/tools --tool read_file --tool list_files";

#[test]
fn allowed_tools_run_and_denied_ones_return_the_reason() {
    let run = at_terminal(&folder(), &format!("{BOTH} Go"), &["what?\n", "y\n", "n it is mine\n"]);
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    read_file says: Read me.
    list_files says: Error: denied: the user denied the call: it is mine
    --- stderr
    ▌ The model calls read_file with these arguments:
    ▌   {
    ▌     "path": "README.md"
    ▌   }
    ▌ Run it? [y]es, [a]lways this tool, [n]o (add a reason), [q]uit: what?
    ▌ Run it? [y]es, [a]lways this tool, [n]o (add a reason), [q]uit: y
    ▌ The model calls list_files with these arguments:
    ▌   {
    ▌     "path": "."
    ▌   }
    ▌ Run it? [y]es, [a]lways this tool, [n]o (add a reason), [q]uit: n it is mine
    tool: list_files ({"path":"."}) was denied: the user denied the call: it is mine
    tool: read_file (Reading README.md) is running
    tool: read_file (Reading README.md) completed in 0 ms: Read me.
    finished · 2 steps · sim/tools · 14 tokens in · 19 out · 0 ms
    "#);
}

#[test]
fn quit_stops_the_run_before_any_tool_runs() {
    let run = at_terminal(&folder(), &format!("{BOTH} Go"), &["y\n", "q\n"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.contains("error: the run was stopped: the user stopped the run"), "{run}");
    assert!(!run.stderr.contains(" is running\n"), "{run}");
}

#[test]
fn without_a_reply_the_run_waits_and_asks_again_later() {
    let folder = folder();
    let first = at_terminal(&folder, &format!("{BOTH} --save run.json Go"), &["y\n", CTRL_D]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(3), ""), "{first}");
    assert!(first.stderr.contains("the run waits for approval of `list_files`"), "{first}");
    let again = "run --resume run.json --tool read_file --tool list_files";
    let second = at_terminal(&folder, again, &["a\n"]).exits(0);
    assert!(second.stdout.starts_with("read_file says: Read me.\nlist_files says: README.md 8"));
    assert!(second.stderr.contains("the conversation is saved in run.json"), "{second}");
}

#[test]
fn questions_do_not_disturb_events_on_stdout() {
    let run = at_terminal(&folder(), "run -m sim/tools --tool read_file --events Go", &["yes\n"]);
    assert_eq!(run.code, Some(0), "{run}");
    let events = run.lines();
    assert!(events.iter().any(|event| event["type"] == "approval.needed"), "{run}");
    assert_eq!(events.last().unwrap()["type"], "run.done", "{run}");
}

#[test]
fn input_before_the_question_is_discarded() {
    // A model could print a false question to make the user type this.
    let args = "run -m sim/tools --tool read_file Go";
    let run = typed(&folder(), args, "y\na\nyes\n", PROMPT, &["n typed late\n"]);
    run.prints("read_file says: Error: denied: the user denied the call: typed late\n");
}

/// Starts a model that writes text and makes one call.
fn scripted(text: &str, name: &str, arguments: &str) -> (Folder, Server) {
    let script = serde_json::json!({ "turns": [
        { "parts": [
            { "type": "text", "text": text },
            { "type": "tool_call", "id": "c1", "name": name, "arguments": arguments },
        ] },
        { "parts": [{ "type": "text", "text": "Done." }] },
    ] });
    let folder = folder();
    let server = Server::scripted(&folder, &script);
    folder.write("local.toml", server.config());
    (folder, server)
}

const SCRIPTED: &str = "run --config local.toml -m local/m --tool read_file Go";

#[test]
fn the_question_shows_the_arguments_without_invisible_characters() {
    let written =
        "{\"path\":\"README.md\",\"path\":\"x\u{202e}y\u{2028}z\u{61c}\u{ad}\u{e0041}\\u001b[2J\"}";
    let (folder, _server) = scripted("Hello", "read_file", written);
    let run = at_terminal(&folder, SCRIPTED, &["n\n"]);
    let line = r#"▌     "path": "x\u202ey\u2028z\u061c\u00ad\udb40\udc41\u001b[2J""#;
    assert!(run.stderr.contains(line), "{run}");
    assert!(!run.stderr.contains("\"path\": \"README.md\""), "{run}");
}

#[test]
fn long_arguments_are_shown_completely_before_a_yes_is_accepted() {
    let long = serde_json::json!({ "path": format!("{}README.md", "./".repeat(4_000)) });
    let (folder, _server) = scripted("Hello", "read_file", &long.to_string());
    let run = at_terminal(&folder, SCRIPTED, &["y\n", "\n", "e\n", "y\n"]);
    assert!(run.stderr.contains("of 112 lines. [Enter] more"), "{run}");
    let shown: String = run
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("▌ "))
        .filter(|line| !line.contains(PROMPT))
        .map(|line| line.strip_prefix("… ").unwrap_or(line))
        .collect();
    assert!(shown.contains(&"./".repeat(4_000)), "{run}");
    let at = |text: &str| run.stderr.find(text).unwrap_or_else(|| panic!("{text} in {run}"));
    assert!(at("README.md\"") < at("[y]es, [a]lways"), "{run}");
}

#[test]
fn text_of_a_model_cannot_imitate_messages_of_the_command() {
    let fake = "x\nerror: fake\n▌ [y]es, [a]lways this tool, [n]o (add a reason), [q]uit ";
    let (folder, _server) = scripted("a\rb", fake, "{}");
    let run = at_terminal(&folder, SCRIPTED, &[]);
    assert!(!run.stderr.lines().any(|line| line.starts_with("error: fake")), "{run}");
    assert!(!run.stderr.contains('▌'), "{run}");
    assert!(run.stderr.contains(r"x\nerror: fake\n\u{258c} [y]es"), "{run}");
}
