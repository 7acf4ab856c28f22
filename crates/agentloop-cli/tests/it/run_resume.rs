//! `agentloop run --save` and `--resume`: a run that waits continues in another process, and no tool runs twice.
#![cfg(unix)]

use crate::common;

use common::folder::Folder;
use common::sim::Server;
use common::{Outcome, agentloop};

/// Creates a folder with one file. Runs are saved there.
fn folder() -> Folder {
    Folder::with([("README.md", "Read me.")])
}

fn run(folder: &Folder, args: &str) -> Outcome {
    agentloop(args.split(' ')).within(folder.path()).run().timeless()
}

const FIRST: &str = "run -m sim/tools --tool read_file --save run.json What";
const AGAIN: &str = "run --resume run.json --tool read_file";

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
    insta::assert_snapshot!(run(&folder, &format!("{AGAIN} --allow read_file")), @r#"
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
    let over = run(&folder, &format!("{AGAIN} --allow read_file"));
    assert_eq!((over.code, over.stdout.as_str()), (Some(2), ""), "{over}");
    assert!(over.stderr.contains("the prompt is empty"), "{over}");
    assert_eq!(folder.names(), ["README.md", "run.json"]);
}

#[test]
fn a_run_continues_without_a_denied_tool() {
    let folder = folder();
    run(&folder, FIRST);
    let denied = run(&folder, &format!("{AGAIN} --deny read_file"));
    assert_eq!(denied.code, Some(0), "{denied}");
    assert_eq!(denied.stdout, "read_file says: Error: denied: the user denied the call\n");
}

#[test]
fn tools_that_ran_before_the_wait_do_not_run_again() {
    let call = |id: &str, name: &str, arguments: &str| {
        format!(r#"{{"type":"tool_call","id":"{id}","name":"{name}","arguments":{arguments:?}}}"#)
    };
    let script = format!(
        r#"{{"turns":[
            {{"parts":[{{"type":"text","text":"First I count."}},{}]}},
            {{"parts":[{},{}]}},
            {{"parts":[{{"type":"text","text":"All done."}}]}}
        ]}}"#,
        call("c1", "time", "{}"),
        call("c2", "read_file", r#"{"path":"README.md"}"#),
        call("c3", "time", r#"{"offset":"+02:00"}"#),
    );
    let folder = folder();
    let path = folder.path().join("script.json");
    std::fs::write(&path, script).unwrap();
    let server = Server::start(&["--script", path.to_str().unwrap()]);
    let config = format!("[providers.local]\nbase_url = '{}'\n", server.url);
    std::fs::write(folder.path().join("local.toml"), config).unwrap();
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
    assert_eq!((second.code, second.stdout.as_str()), (Some(0), "All done.\n"), "{second}");
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
            std::fs::write(folder.path().join("run.json"), saved).unwrap();
        }
        let taken = run_at_home(&folder, &format!("{AGAIN} --allow read_file"));
        assert_eq!((taken.code, taken.stdout.as_str()), (Some(2), ""), "{taken}");
        assert!(taken.stderr.contains("ended before the run did"), "{taken}");
        assert!(taken.stderr.contains("at a terminal"), "{taken}");
    }
}

#[test]
fn a_run_that_a_real_process_was_killed_in_is_not_continued() {
    let folder = folder();
    let config = "[tools.slow]\ncommand = ['/bin/sh', '-c', 'touch started; exec sleep 3']\ndescription = 'Sleeps'\n";
    std::fs::write(folder.path().join("a.toml"), config).unwrap();
    let first = run_at_home(&folder, "--config a.toml -m sim/tools --tool slow --save run.json Go");
    assert_eq!(first.code, Some(3), "{first}");
    let again = "--config a.toml --resume run.json --tool slow --allow slow";
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_agentloop"))
        .args(again.split(' '))
        .env_clear()
        .env("HOME", folder.path().join("home"))
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(folder.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("started").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its tool ran");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(folder.path().join("started")).unwrap();
    let taken = run_at_home(&folder, again);
    assert_eq!(taken.code, Some(2), "{taken}");
    assert!(taken.stderr.contains("ended before the run did"), "{taken}");
    assert!(!folder.path().join("started").exists(), "the tool ran twice");
    let kept: i64 = database(&folder)
        .query_row("SELECT count(*) FROM run WHERE json IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 1, "the run is not lost");
}

#[test]
fn a_copy_of_a_saved_run_is_not_continued_again() {
    let folder = folder();
    for _ in 0..2 {
        // The simulated model makes the same run twice: each is continued once.
        assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
        let path = |name: &str| folder.path().join(name);
        std::fs::copy(path("run.json"), path("copy.json")).unwrap();
        let done = run_at_home(&folder, &format!("{AGAIN} --allow read_file"));
        assert_eq!(done.code, Some(0), "{done}");
        let copy = "run --resume copy.json --tool read_file --allow read_file";
        let refused = run_at_home(&folder, copy);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
        assert!(refused.stderr.contains("has continued this run"), "{refused}");
    }
    let kept: i64 = database(&folder)
        .query_row("SELECT count(*) FROM run WHERE json IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 0, "only digests are kept of runs that have ended");
}

#[test]
fn a_run_whose_file_was_removed_is_still_in_the_store() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    std::fs::remove_file(folder.path().join("run.json")).unwrap();
    let done = run_at_home(&folder, &format!("{AGAIN} --allow read_file"));
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
    assert_eq!(run_at_home(&folder, &format!("{AGAIN} --allow read_file")).code, Some(0));
}

#[test]
fn a_run_that_is_never_continued_is_forgotten_and_its_file_still_works() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    database(&folder).execute("UPDATE run SET time = 0", []).unwrap();
    let other = "run -m sim/tools --tool read_file --save other.json Another";
    assert_eq!(run_at_home(&folder, other).code, Some(3));
    let kept: i64 = database(&folder)
        .query_row("SELECT count(*) FROM run WHERE json IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 1);
    assert_eq!(run_at_home(&folder, &format!("{AGAIN} --allow read_file")).code, Some(0));
}

#[test]
fn without_a_data_folder_a_run_is_saved_and_not_continued() {
    let folder = folder();
    let run = |args: &str| agentloop(args.split(' ')).within(folder.path()).env("HOME", "").run();
    let first = run(FIRST);
    assert_eq!(first.code, Some(3), "{first}");
    assert!(!first.stderr.contains("warning"), "{first}");
    let refused = run(&format!("{AGAIN} --allow read_file"));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
    assert!(refused.stderr.contains("no data folder is known"), "{refused}");
    assert!(folder.read("run.json").is_some());
}

#[test]
fn at_a_terminal_a_killed_run_can_be_continued() {
    let folder = folder();
    assert_eq!(run_at_home(&folder, FIRST).code, Some(3));
    database(&folder).execute("UPDATE run SET state = 'running'", []).unwrap();
    let args: Vec<&str> = AGAIN.split(' ').chain(["--allow", "read_file"]).collect();
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
    let missing = run(&folder, "run --resume run.json --tool time");
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("for example --tool read_file"), "{missing}");
    let more = run(&folder, &format!("{AGAIN} --allow read_file And more"));
    assert_eq!(more.code, Some(2), "{more}");
    assert_eq!(folder.read("run.json").unwrap(), before);
}

#[test]
fn a_run_of_another_version_is_refused_and_unchanged() {
    let folder = folder();
    run(&folder, FIRST);
    let newer = folder.read("run.json").unwrap().replace("\"version\":1", "\"version\":99");
    std::fs::write(folder.path().join("run.json"), &newer).unwrap();
    let refused = run(&folder, &format!("{AGAIN} --allow read_file"));
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("99"), "{refused}");
    assert_eq!(folder.read("run.json").unwrap(), newer);
    assert_eq!(folder.names(), ["README.md", "run.json"]);
}

#[test]
fn a_conversation_continues_with_another_prompt() {
    let folder = folder();
    assert_eq!(run(&folder, "run -m sim/echo --save talk.json One").code, Some(0));
    let second = run(&folder, "run --resume talk.json Two");
    assert_eq!(second.code, Some(0), "{second}");
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
        let second = run(&folder, args);
        assert_eq!((second.code, second.stdout.as_str()), (Some(2), ""), "{second}");
        assert!(second.stderr.contains("another process is using this file"), "{second}");
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
    std::fs::write(folder.path().join("run.json"), changed).unwrap();
    let again = run(&folder, AGAIN);
    assert_eq!((again.code, again.stdout.as_str()), (Some(3), ""), "{again}");
    assert!(again.stderr.contains("waits for approval of `read_file`"), "{again}");
}
