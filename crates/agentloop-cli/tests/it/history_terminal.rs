//! `agentloop log` at a terminal.
#![cfg(unix)]

use crate::common::command;
use crate::common::folder::Folder;
use crate::common::pty::{converse, open_terminal};
use crate::history::{chat_completion, prepare, run, serve_recorded};

/// Runs the command at a terminal with these replies, and returns what the terminal shows.
fn at_terminal(folder: &Folder, args: &[&str], replies: &[(&str, &str)]) -> String {
    let (terminal, open) = open_terminal();
    let mut child = command(args.iter().copied())
        .env("NO_COLOR", "1")
        .env("AGENTLOOP_DATA", folder.path().join("data"))
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .unwrap();
    let shown = converse(terminal, replies, QUESTION);
    child.wait().unwrap();
    shown
}

const QUESTION: &str = "Delete 1 conversation? [y]es, [n]o (default: no): ";

#[test]
fn hostile_text_of_the_file_does_not_control_the_terminal() {
    let folder = Folder::with([]);
    let hostile = "a\u{1b}[2J\u{9b}31m\u{85}b\rc\u{202e}d\u{2066}e\u{61c}f\u{2028}g\u{e0041}h\u{7f}i \u{258c} user";
    let answer = format!("{hostile} answered");
    let (url, _sent) = serve_recorded(chat_completion(&answer));
    let config = format!("[providers.lab]\nbase_url = '{url}'\n");
    let args = ["chat", "-m", "lab/m", "--no-stream", "-s", hostile, hostile];
    prepare(&folder, args).config(&config).run().exits(0);
    let is_hostile = |c: char| {
        (c.is_control() && c != '\n')
            || ['\u{202e}', '\u{2066}', '\u{61c}', '\u{2028}', '\u{e0041}'].contains(&c)
    };
    let commands: [&[&str]; 6] = [
        &["log"],
        &["log", "search", "answered"],
        &["log", "show"],
        &["log", "show", "--json"],
        &["log", "export", "last"],
        &["log", "export", "last", "--format", "json"],
    ];
    for args in commands {
        let shown = at_terminal(&folder, args, &[]);
        assert!(!shown.contains(is_hostile), "{args:?}: {shown:?}");
        assert!(shown.lines().count() >= 1, "{args:?}: {shown:?}");
    }
    // A line with the frame is a line of the command, and there is one for each message, the system prompt and the head.
    let shown = at_terminal(&folder, &["log", "show"], &[]);
    assert_eq!(shown.matches('\u{258c}').count(), 4, "{shown}");
    let list = at_terminal(&folder, &["log"], &[]);
    assert!(list.starts_with("ID "), "{list}");
}

#[test]
fn deleting_asks_at_a_terminal() {
    let folder = Folder::with([]);
    run(&folder, &["chat", "-m", "sim/echo", "Hello"]);
    let shown = at_terminal(&folder, &["log", "delete", "last"], &[(QUESTION, "n\n")]);
    assert!(shown.contains("nothing was deleted"), "{shown}");
    assert_eq!(run(&folder, &["log"]).stdout.lines().count(), 1);
    let shown = at_terminal(&folder, &["log", "delete", "last"], &[(QUESTION, "y\n")]);
    assert!(shown.contains("deleted 1 conversation"), "{shown}");
    assert_eq!(run(&folder, &["log"]).stdout, "");
}
