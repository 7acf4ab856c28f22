//! An interactive conversation at a terminal.
#![cfg(unix)]

use crate::common::folder::Folder;
use crate::common::pty::{Terminal, terminal};

/// Starts a conversation with a model that repeats the prompt.
fn talk(folder: &Folder, args: &[&str]) -> Terminal {
    start(folder, "sim/echo", args)
}

fn start(folder: &Folder, model: &str, args: &[&str]) -> Terminal {
    let args = [&["-m", model], args].concat();
    let mut session = terminal(folder.path(), &args).size(100, 60).start();
    wait_for_prompt(&mut session);
    session
}

/// Waits until the command waits for input.
fn wait_for_prompt(session: &mut Terminal) {
    session.wait_until("the prompt", |screen| {
        screen.lines().last().is_some_and(|line| line.ends_with('>'))
    });
}

/// Enters a line, and waits for a text that appears after it.
fn enter(session: &mut Terminal, line: &str, until: &str) {
    wait_for_prompt(session);
    let before = session.screen().matches(until).count();
    session.press(line);
    session.press("\r");
    session.wait_until(until, |screen| screen.matches(until).count() > before);
}

/// Leaves the conversation with these keys.
fn leave(mut session: Terminal, keys: &str) {
    wait_for_prompt(&mut session);
    session.press(keys);
    assert_eq!(session.finish(), Some(0), "{}", session.screen());
}

/// The end of the input.
const CTRL_D: &str = "\u{4}";

#[test]
fn a_conversation_remembers_and_ctrl_d_leaves() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    enter(&mut session, "first question", " tokens in");
    enter(&mut session, "/cost", "1 response,");
    enter(&mut session, "/undo", "are removed");
    enter(&mut session, "/model", "the model is sim/echo");
    leave(session, CTRL_D);
}

#[test]
fn a_mistyped_command_is_explained_and_not_sent() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    enter(&mut session, "/modle x", "did you mean /model?");
    enter(&mut session, "/help", "/retry");
    enter(&mut session, "/cost", "0 responses, 0 tokens");
    leave(session, "/quit\r");
}

#[test]
fn the_model_changes_in_the_middle_of_a_conversation() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    enter(&mut session, "remember the word violet", " tokens in");
    enter(&mut session, "/model sim/long-3", "sim/long-3>");
    enter(&mut session, "go on", "word3");
    enter(&mut session, "/model nowhere/model", "`nowhere`");
    enter(&mut session, "/cost", "2 responses");
    leave(session, CTRL_D);
}

#[test]
fn ctrl_c_ends_the_response_and_not_the_program() {
    let folder = Folder::with([]);
    let mut session = start(&folder, "sim/long-50!stall-events=12", &[]);
    enter(&mut session, "go", "word5");
    session.interrupt();
    session.wait_for("interrupted; what had arrived is part of the conversation");
    enter(&mut session, "/cost", "1 response");
    leave(session, CTRL_D);
}

#[test]
fn an_error_leaves_the_conversation_as_it_was() {
    let folder = Folder::with([]);
    let mut session = start(&folder, "sim/echo!status=400", &[]);
    enter(&mut session, "fails", "error: ");
    enter(&mut session, "/retry", "no prompt to send again");
    enter(&mut session, "/model sim/echo", "sim/echo>");
    enter(&mut session, "works", " tokens in");
    leave(session, CTRL_D);
}

#[test]
fn several_lines_are_one_prompt_also_when_they_are_pasted() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    session.press("one \\\r");
    session.press("two\r");
    session.wait_for(" tokens in");
    wait_for_prompt(&mut session);
    // A terminal marks pasted text, so its line ends do not send it.
    session.press("\u{1b}[200~three\rfour\u{1b}[201~");
    session.wait_for("four");
    session.press("\r");
    enter(&mut session, "/cost", "2 responses");
    leave(session, CTRL_D);
}

#[test]
fn a_conversation_is_stored_and_continues_in_another_process() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    enter(&mut session, "the first prompt", " tokens in");
    enter(&mut session, "a second one", " tokens in");
    enter(&mut session, "/undo", "are removed");
    leave(session, CTRL_D);
    let mut again = talk(&folder, &["-c"]);
    again.wait_for("this conversation has 2 messages");
    enter(&mut again, "/undo", "are removed");
    enter(&mut again, "/undo", "no prompt to remove");
    leave(again, CTRL_D);
}

#[test]
fn files_and_tools_are_added_during_the_conversation() {
    let folder = Folder::with([("notes.txt", "the secret is violet")]);
    let mut session = talk(&folder, &[]);
    enter(&mut session, "/file notes.txt", "added notes.txt: 20 bytes");
    enter(&mut session, "what is it", "the secret is violet");
    enter(&mut session, "/tools time", "enabled: time");
    enter(&mut session, "/tools -time", "no tools are enabled");
    enter(&mut session, "/tools nothing", "unknown tool `nothing`");
    enter(&mut session, "/save talk.md", "saved to talk.md");
    enter(&mut session, "/save talk.md", "File exists");
    leave(session, CTRL_D);
    assert!(folder.read("talk.md").unwrap().contains("## User"));
}

#[test]
fn tools_of_the_configuration_are_shown_and_switched() {
    let config = "default_tools = ['mine']\n[tools.weather]\ncommand = ['printf', 'sun']\n\
                  description = 'D'\n[groups.mine]\ntools = ['weather', 'time']\n";
    let folder = Folder::with([("tools.toml", config)]);
    let mut session = start(&folder, "sim/tools", &["--config", "tools.toml"]);
    enter(&mut session, "/tools", "enabled: weather (asks for approval)");
    enter(&mut session, "/tools -mine", "no tools are enabled");
    enter(&mut session, "/tools", "no tools are enabled");
    enter(&mut session, "/tools 'w*'", "enabled: weather");
    enter(&mut session, "/tools -time", "`time` is not enabled by this name");
    wait_for_prompt(&mut session);
    session.press("/tools rea\t");
    session.wait_for("/tools read_file");
    session.press("\r");
    session.wait_for("enabled: read_file (asks for approval)");
    leave(session, "/quit\r");
}

#[test]
fn tab_completes_commands() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    session.press("/ret\t\r");
    session.wait_for("there is no prompt to send again");
    leave(session, CTRL_D);
}

#[test]
fn hostile_keys_and_lines_do_not_end_the_program() {
    let folder = Folder::with([]);
    let mut session = talk(&folder, &[]);
    session.press("\u{1b}[999999999A\u{1b}]0;title\u{7}\u{0}\u{1}\u{b}");
    session.press("/\u{202e}x\r");
    // The line itself is what the user typed; the message about it has the character escaped.
    session.wait_for("unknown command /\\u{202e}x");
    enter(&mut session, "/cost", "0 responses");
    leave(session, CTRL_D);
}

#[test]
fn without_a_terminal_there_is_no_conversation() {
    crate::common::agentloop(["chat", "-m", "sim/echo"]).run().fails(2, "the prompt is empty");
}
