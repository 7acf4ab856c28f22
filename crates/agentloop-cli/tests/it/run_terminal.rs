//! `agentloop run` with a person at the terminal, who is asked before tools run.
#![cfg(unix)]

use crate::common;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use common::Outcome;
use common::folder::Folder;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// What is shown before something is typed.
const PROMPT: &str = "[q]uit: ";

/// The end of what is typed.
const CTRL_D: &str = "\u{4}";

/// Runs the command with stdin and stderr at a terminal, at which these lines are typed, one at each question.
fn at_terminal(folder: &Folder, args: &str, lines: &[&str]) -> Outcome {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let open = || {
        let name = OsStr::from_bytes(name.as_bytes());
        File::options().read(true).write(true).open(name).unwrap()
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
        .args(args.split(' '))
        .env_clear()
        .env("NO_COLOR", "1")
        .current_dir(folder.path())
        .stdin(open())
        .stderr(open())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut terminal = File::from(controller);
    let (mut seen, mut lines, mut looked) = (String::new(), lines.iter(), 0);
    let mut buffer = [0; 1024];
    // The last one to leave a terminal ends it, which is an error to its reader.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        if let Some(at) = seen[looked..].find(PROMPT) {
            looked += at + PROMPT.len();
            let line = lines.next().unwrap_or_else(|| panic!("one question more: {seen}"));
            terminal.write_all(line.as_bytes()).unwrap();
        }
    }
    assert_eq!(lines.next(), None, "nobody asked: {seen}");
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let code = child.wait().unwrap().code();
    Outcome { code, stdout, stderr: seen.replace("\r\n", "\n") }.timeless()
}

fn folder() -> Folder {
    Folder::with([("README.md", "Read me.")])
}

const BOTH: &str = "run -m sim/tools --tool read_file --tool list_files";

#[test]
fn what_is_allowed_runs_and_what_is_not_is_told_with_its_reason() {
    let run = at_terminal(&folder(), &format!("{BOTH} Go"), &["what?\n", "y\n", "n it is mine\n"]);
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    read_file says: Read me.
    list_files says: Error: denied: the user does not allow it: it is mine
    --- stderr
    read_file wants to run: {"path":"README.md"}
      [y]es, [a]lways this tool, [n]o and why, [q]uit: what?
      [y]es, [a]lways this tool, [n]o and why, [q]uit: y
    list_files wants to run: {"path":"."}
      [y]es, [a]lways this tool, [n]o and why, [q]uit: n it is mine
    tool: list_files ({"path":"."}) was denied: the user does not allow it: it is mine
    tool: read_file (Reading README.md) runs
    tool: read_file (Reading README.md) done in 0 ms: Read me.
    note: finished: 2 steps, 35 tokens, 0 ms
    "#);
}

#[test]
fn quitting_ends_the_run_before_anything_runs() {
    let run = at_terminal(&folder(), &format!("{BOTH} Go"), &["y\n", "q\n"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.contains("error: the run was ended: the user ended it"), "{run}");
    assert!(!run.stderr.contains(" runs\n"), "{run}");
}

#[test]
fn what_nobody_answers_waits_and_is_asked_again_when_the_run_goes_on() {
    let folder = folder();
    let first = at_terminal(&folder, &format!("{BOTH} --save run.json Go"), &["y\n", CTRL_D]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(3), ""), "{first}");
    assert!(first.stderr.contains("the run waits for a word on `list_files`"), "{first}");
    let again = "run --resume run.json --tool read_file --tool list_files";
    let second = at_terminal(&folder, again, &["a\n"]);
    assert_eq!(second.code, Some(0), "{second}");
    assert!(second.stdout.starts_with("read_file says: Read me.\nlist_files says: README.md 8"));
    assert!(second.stderr.contains("the conversation is kept in run.json"), "{second}");
}

#[test]
fn events_stay_alone_on_stdout_while_somebody_is_asked() {
    let run = at_terminal(&folder(), "run -m sim/tools --tool read_file --events Go", &["yes\n"]);
    assert_eq!(run.code, Some(0), "{run}");
    let events = run.lines();
    assert!(events.iter().any(|event| event["type"] == "approval.needed"), "{run}");
    assert_eq!(events.last().unwrap()["type"], "run.done", "{run}");
}
