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

#[test]
fn a_run_whose_process_was_killed_is_not_continued_silently() {
    let folder = folder();
    run(&folder, FIRST);
    std::fs::rename(folder.path().join("run.json"), folder.path().join("run.json.running"))
        .unwrap();
    let taken = run(&folder, &format!("{AGAIN} --allow read_file"));
    assert_eq!(taken.code, Some(2), "{taken}");
    assert!(taken.stderr.contains("ended before the run did"), "{taken}");
    assert!(taken.stderr.contains("run.json.running"), "{taken}");
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
