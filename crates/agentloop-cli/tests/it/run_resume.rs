//! `agentloop run --save` and `--resume`: a run that waits continues in another process, and no tool runs twice.
#![cfg(unix)]

use crate::common;

use common::folder::Folder;
use common::sim::Server;
use common::{Outcome, agentloop, command};
use serde_json::{Value, json};

/// Creates a folder with one file. Runs are saved there.
fn folder() -> Folder {
    Folder::with([("README.md", "Read me.")])
}

fn run(folder: &Folder, args: &str) -> Outcome {
    agentloop(args.split(' ')).within(folder.path()).run().timeless()
}

const FIRST: &str = "run -m sim/tools --tool read_file --save run.json What";
const AGAIN: &str = "run --resume run.json --tool read_file";
const ALLOWED: &str = "run --resume run.json --tool read_file --allow read_file";

#[test]
fn without_a_terminal_a_run_waits_for_approval() {
    let folder = folder();
    insta::assert_snapshot!(run(&folder, FIRST), @r#"
    exit 3
    --- stdout
    --- stderr
    tool: read_file waits for approval: {"path":"README.md"}
    note: waiting: 1 step, 3 tokens, 0 ms
    error: the run waits for approval of `read_file`
    hint: the run is saved in run.json; continue it at a terminal with `agentloop --resume run.json --tool read_file`, or elsewhere by adding --allow TOOL or --deny TOOL
    "#);
    insta::assert_snapshot!(run(&folder, "run -m sim/tools --tool read_file What"), @r#"
    exit 3
    --- stdout
    --- stderr
    tool: read_file waits for approval: {"path":"README.md"}
    note: waiting: 1 step, 3 tokens, 0 ms
    error: the run waits for approval of `read_file`
    hint: the run is not saved; use --save FILE to save it, or --allow TOOL to allow the tool in advance
    "#);
}

#[test]
fn a_waiting_run_is_continued_once_in_another_process() {
    let folder = folder();
    assert_eq!(run(&folder, FIRST).code, Some(3));
    // Without a decision it still waits.
    assert_eq!(run(&folder, AGAIN).code, Some(3));
    insta::assert_snapshot!(run(&folder, ALLOWED), @r#"
    exit 0
    --- stdout
    read_file says: Read me.
    --- stderr
    tool: read_file (Reading README.md) is running
    tool: read_file (Reading README.md) completed in 0 ms: Read me.
    note: finished: 2 steps, 10 tokens, 0 ms
    note: the conversation is saved in run.json
    "#);
    // The run has finished, so nothing runs again.
    run(&folder, ALLOWED).refuses("the prompt is empty");
    assert_eq!(folder.names(), ["README.md", "run.json"]);
}

#[test]
fn a_run_continues_without_a_denied_tool() {
    let folder = folder();
    run(&folder, FIRST);
    let denied = run(&folder, &format!("{AGAIN} --deny read_file"));
    denied.prints("read_file says: Error: denied: the user denied the call\n");
}

#[test]
fn tools_that_ran_before_the_wait_do_not_run_again() {
    fn call(id: &str, name: &str, arguments: &str) -> Value {
        json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments })
    }
    let text = |text: &str| json!({ "type": "text", "text": text });
    let read = call("c2", "read_file", r#"{"path":"README.md"}"#);
    let script = json!({ "turns": [
        { "parts": [text("First I count."), call("c1", "time", "{}")] },
        { "parts": [read, call("c3", "time", r#"{"offset":"+02:00"}"#)] },
        { "parts": [text("All done.")] },
    ] });
    let folder = folder();
    let server = Server::scripted(&folder, &script);
    folder.write("local.toml", server.config());
    let tools = "--tool time --tool read_file";
    let first =
        run(&folder, &format!("run --config local.toml -m local/m {tools} --save run.json Go"));
    assert_eq!((first.code, first.stdout.as_str()), (Some(3), "First I count.\n"), "{first}");
    // No call of a step runs before there is a decision about all of them.
    assert_eq!(first.stderr.matches("tool: time completed").count(), 1, "{first}");
    let second = run(
        &folder,
        &format!("run --config local.toml --resume run.json {tools} --allow read_file"),
    );
    second.prints("All done.\n");
    for line in [
        "read_file (Reading README.md) completed",
        "tool: time ({\"offset\":\"+02:00\"}) completed",
        "finished: 3 steps",
    ] {
        assert_eq!(second.stderr.matches(line).count(), 1, "{line}: {second}");
    }
}

/// Runs with a data folder in the folder, so that later processes know what earlier ones did.
fn run_at_home(folder: &Folder, args: &str) -> Outcome {
    let home = folder.path().join("home");
    agentloop(args.split(' '))
        .within(folder.path())
        .env("HOME", home.to_str().unwrap())
        .run()
        .timeless()
}

fn database(folder: &Folder) -> rusqlite::Connection {
    let path = folder.path().join("home/.local/share/agentloop/history.sqlite3");
    rusqlite::Connection::open(path).unwrap()
}

/// Returns how many runs are stored with their content.
fn kept(folder: &Folder) -> i64 {
    let count = "SELECT count(*) FROM run WHERE json IS NOT NULL";
    database(folder).query_row(count, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_whose_process_was_killed_is_not_continued_silently() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    // What a process that is killed while the tool runs leaves behind.
    let saved = folder.read("run.json").unwrap();
    let changed = database(&folder).execute("UPDATE run SET state = 'running'", []).unwrap();
    assert_eq!(changed, 1);
    std::fs::remove_file(folder.path().join("run.json")).unwrap();
    for file in [None, Some(saved)] {
        if let Some(saved) = file {
            folder.write("run.json", saved);
        }
        let taken = run_at_home(&folder, ALLOWED);
        taken.refuses("ended before the run did").reports("at a terminal");
    }
}

#[test]
fn a_run_that_a_real_process_was_killed_in_is_not_continued() {
    let folder = folder();
    let config = "[tools.slow]\ncommand = ['/bin/sh', '-c', 'touch started; exec sleep 3']\ndescription = 'Sleeps'\n";
    folder.write("a.toml", config);
    run_at_home(&folder, "--config a.toml -m sim/tools --tool slow --save run.json Go").exits(3);
    let again = "--config a.toml --resume run.json --tool slow --allow slow";
    let mut command = command(again.split(' '));
    command.env("HOME", folder.path().join("home")).current_dir(folder.path());
    let mut child = command.env("PATH", std::env::var_os("PATH").unwrap()).spawn().unwrap();
    while !folder.path().join("started").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its tool ran");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(folder.path().join("started")).unwrap();
    run_at_home(&folder, again).fails(2, "ended before the run did");
    assert!(!folder.path().join("started").exists(), "the tool ran twice");
    assert_eq!(kept(&folder), 1, "the run is not lost");
}

#[test]
fn a_copy_of_a_saved_run_is_not_continued_again() {
    let folder = folder();
    for _ in 0..2 {
        // The simulated model makes the same run twice: each is continued once.
        assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
        let path = |name: &str| folder.path().join(name);
        std::fs::copy(path("run.json"), path("copy.json")).unwrap();
        run_at_home(&folder, ALLOWED).exits(0);
        let copy = "run --resume copy.json --tool read_file --allow read_file";
        run_at_home(&folder, copy).refuses("has continued this run");
    }
    assert_eq!(kept(&folder), 0, "only digests are kept of runs that have ended");
}

#[test]
fn a_run_whose_file_was_removed_is_still_in_the_store() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    std::fs::remove_file(folder.path().join("run.json")).unwrap();
    let done = run_at_home(&folder, ALLOWED);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "read_file says: Read me.\n"),
        "{done}"
    );
}

#[test]
fn without_a_history_only_the_digest_of_a_run_is_stored() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, &FIRST.replace("--save", "--no-log --save")).code, Some(3));
    let content: (Option<String>, String) = database(&folder)
        .query_row("SELECT json, state FROM run", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(content, (None, "waiting".to_owned()));
    assert_eq!(run_at_home(&folder, ALLOWED).code, Some(0));
}

#[test]
fn a_run_that_is_never_continued_is_forgotten_and_its_file_still_works() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    database(&folder).execute("UPDATE run SET time = 0", []).unwrap();
    let other = "run -m sim/tools --tool read_file --save other.json Another";
    assert_eq!(run_at_home(&folder, other).code, Some(3));
    assert_eq!(kept(&folder), 1);
    assert_eq!(run_at_home(&folder, ALLOWED).code, Some(0));
}

#[test]
fn without_a_data_folder_a_run_is_saved_and_not_continued() {
    let folder = folder();
    let run = |args: &str| agentloop(args.split(' ')).within(folder.path()).env("HOME", "").run();
    let first = run(FIRST).exits(3);
    assert!(!first.stderr.contains("warning"), "{first}");
    run(ALLOWED).refuses("no data folder is known");
    assert!(folder.read("run.json").is_some());
}

#[test]
fn at_a_terminal_a_killed_run_can_be_continued() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    database(&folder).execute("UPDATE run SET state = 'running'", []).unwrap();
    let args: Vec<&str> = ALLOWED.split(' ').collect();
    for (reply, code) in [("n\r", 2), ("y\r", 0)] {
        let mut screen = common::pty::terminal(folder.path(), &args).start();
        screen.wait_for("run its tools again? [y/N]");
        screen.press(reply);
        assert_eq!(screen.finish(), Some(code), "{}", screen.screen());
    }
}

#[test]
fn the_tools_of_a_waiting_run_must_be_given() {
    let folder = folder();
    run(&folder, FIRST);
    let before = folder.read("run.json").unwrap();
    run(&folder, "run --resume run.json --tool time").fails(2, "for example --tool read_file");
    run(&folder, &format!("{AGAIN} --allow read_file And more")).exits(2);
    assert_eq!(folder.read("run.json").unwrap(), before);
}

#[test]
fn a_run_of_another_version_is_refused_and_unchanged() {
    let folder = folder();
    run(&folder, FIRST);
    let newer = folder.read("run.json").unwrap().replace("\"version\":1", "\"version\":99");
    folder.write("run.json", &newer);
    run(&folder, ALLOWED).fails(2, "99");
    assert_eq!(folder.read("run.json").unwrap(), newer);
    assert_eq!(folder.names(), ["README.md", "run.json"]);
}

#[test]
fn a_conversation_continues_with_another_prompt() {
    let folder = folder();
    assert_eq!(run(&folder, "run -m sim/echo --save talk.json One").code, Some(0));
    let second = run(&folder, "run --resume talk.json Two").exits(0);
    assert!(second.stdout.starts_with("Two"), "{second}");
    let kept: agentloop::ChatRequest =
        serde_json::from_str(&folder.read("talk.json").unwrap()).unwrap();
    let roles: Vec<&str> = kept.messages.iter().map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[test]
fn saved_files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    run(&folder, FIRST);
    let about = std::fs::metadata(folder.path().join("run.json")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}

/// Locks a file, as another process does.
fn hold(folder: &Folder, name: &str) -> std::fs::File {
    let file = std::fs::File::create(folder.path().join(name)).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

#[test]
fn a_locked_file_is_an_error_before_any_request() {
    let folder = folder();
    assert_eq!(run(&folder, "run -m sim/echo --save talk.json One").code, Some(0));
    let before = folder.read("talk.json").unwrap();
    let held = hold(&folder, "talk.json.lock");
    for args in ["run --resume talk.json Two", "run -m sim/echo --save talk.json Two"] {
        run(&folder, args).refuses("another process is using this file");
    }
    assert_eq!(folder.read("talk.json").unwrap(), before);
    // The lock ends with the process that holds it.
    drop(held);
    assert_eq!(run(&folder, "run --resume talk.json Two").code, Some(0));
    assert_eq!(folder.names(), ["README.md", "talk.json"]);
}

#[test]
fn concurrent_processes_do_not_lose_messages() {
    let folder = folder();
    assert_eq!(run(&folder, "run -m sim/echo --save talk.json One").code, Some(0));
    let codes: Vec<Option<i32>> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| run(&folder, "run --resume talk.json Two").code))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let done = codes.iter().filter(|code| **code == Some(0)).count();
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
    let kept: agentloop::ChatRequest =
        serde_json::from_str(&folder.read("talk.json").unwrap()).unwrap();
    // The conversation contains the prompts of all processes that were not refused.
    assert_eq!(kept.messages.len(), 2 + 2 * done, "{codes:?}");
    assert_eq!(folder.names(), ["README.md", "talk.json"]);
}

#[test]
fn a_saved_approval_does_not_apply_to_a_changed_tool() {
    let folder = folder();
    run(&folder, FIRST);
    // The tool had another definition when the run was saved.
    let saved = folder.read("run.json").unwrap();
    let at = saved.find("\"definition\":\"").unwrap() + "\"definition\":\"".len();
    let changed = format!("{}{}{}", &saved[..at], "0".repeat(64), &saved[at + 64..]);
    let changed =
        changed.replace(r#""decision":{"type":"wait"}"#, r#""decision":{"type":"allow"}"#);
    assert_ne!(changed, saved);
    folder.write("run.json", changed);
    let again = run(&folder, AGAIN);
    assert_eq!((again.code, again.stdout.as_str()), (Some(3), ""), "{again}");
    assert!(again.stderr.contains("waits for approval of `read_file`"), "{again}");
}
