//! `agentloop run`: what is printed, and how a run ends.

use crate::common;

use agentloop::agent::{RunEvent, StopReason};
use common::folder::Folder;
use common::{SUM, agentloop};

fn events(run: &common::Outcome) -> Vec<RunEvent> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn text_goes_to_stdout_and_tool_progress_to_stderr() {
    let run = agentloop(["run", "-m", "sim/tools", "--tool", "sum", "How much?"]).config(SUM).run();
    insta::assert_snapshot!(run.timeless(), @r#"
    exit 0
    --- stdout
    sum says: 14
    --- stderr
    tool: sum is running
    tool: sum completed in 0 ms: 14
    note: finished: 2 steps, 9 tokens, 0 ms
    "#);
}

#[test]
fn quiet_prints_only_the_response() {
    let args = ["-q", "run", "-m", "sim/tools", "--tool", "sum", "How much?"];
    insta::assert_snapshot!(agentloop(args).config(SUM).run(), @r#"
    exit 0
    --- stdout
    sum says: 14
    --- stderr
    "#);
}

#[test]
fn complete_and_streamed_runs_differ_only_in_their_deltas() {
    let args = ["run", "-m", "sim/tools", "--tool", "sum", "How much?"];
    let streamed = agentloop(args).config(SUM).run().timeless();
    let complete = agentloop(args.into_iter().chain(["--no-stream"])).config(SUM).run().timeless();
    assert_eq!(streamed.to_string(), complete.to_string());
    let count_deltas = |more: Option<&'static str>| {
        let run = agentloop(args.into_iter().chain(["--events"]).chain(more)).config(SUM).run();
        run.lines().iter().filter(|event| event["delta"]["type"] == "text").count()
    };
    assert!(count_deltas(None) > 1);
    assert_eq!(count_deltas(Some("--no-stream")), 1);
}

#[test]
fn events_can_be_deserialized_and_the_last_is_the_outcome() {
    let args = ["run", "-m", "sim/tools", "--tool", "time", "--tool", "sum", "--events", "?"];
    let run = agentloop(args).config(SUM).run();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let events = events(&run);
    let Some(RunEvent::RunDone { outcome }) = events.last() else { panic!("{run}") };
    assert_eq!(outcome.stop, StopReason::Finished);
    assert!(outcome.text().contains("sum says: 14"), "{run}");
    let completed =
        events.iter().filter(|event| matches!(event, RunEvent::ToolCompleted { .. })).count();
    assert_eq!(completed, 2, "{run}");
}

#[test]
fn a_failure_is_an_event_and_an_error_on_stderr() {
    let run = agentloop(["run", "-m", "sim/echo!status=401", "--events", "Hello"]).run().exits(1);
    assert!(run.stderr.starts_with("error: "), "{run}");
    let Some(RunEvent::RunDone { outcome }) = events(&run).pop() else { panic!("{run}") };
    assert_eq!(outcome.stop, StopReason::Failed);
}

#[test]
fn a_failed_tool_is_reported_to_the_model_and_the_run_continues() {
    let folder = Folder::with([]);
    let args =
        ["run", "-m", "sim/tools", "--tool", "read_file", "--allow", "read_file", "What is in it?"];
    insta::assert_snapshot!(agentloop(args).within(folder.path()).run().timeless(), @r#"
    exit 0
    --- stdout
    read_file says: Error: `README.md` does not exist
    --- stderr
    tool: read_file (Reading README.md) is running
    tool: read_file (Reading README.md) failed in 0 ms: `README.md` does not exist
    note: finished: 2 steps, 22 tokens, 0 ms
    "#);
}

#[test]
fn files_of_the_root_folder_can_be_read() {
    let folder = Folder::with([("README.md", "Read me.")]);
    let root = folder.path().to_str().unwrap();
    let args = ["run", "-m", "sim/tools", "--root", root, "What is there?"];
    let tools = ["read_file", "list_files"].into_iter();
    let tools = tools.flat_map(|name| ["--tool", name, "--allow", name]);
    let run = agentloop(args.into_iter().chain(tools)).run();
    run.prints("read_file says: Read me.\nlist_files says: README.md 8\n");
}

#[test]
fn a_denied_tool_does_not_run_and_the_model_is_informed() {
    let args = ["run", "-m", "sim/tools", "--tool", "time", "--deny", "time", "What time is it?"];
    insta::assert_snapshot!(agentloop(args).config(SUM).run().timeless(), @r#"
    exit 0
    --- stdout
    time says: Error: denied: the policy of the tool `time` does not allow calls
    --- stderr
    tool: time ({"offset":"+02:00"}) was denied: the policy of the tool `time` does not allow calls
    note: finished: 2 steps, 36 tokens, 0 ms
    "#);
}

#[test]
fn a_run_that_stops_early_reports_the_reason() {
    for (more, words) in [
        (["--max-steps", "1"], "limit of 1 requests to the model (--max-steps)"),
        (["--max-run-tokens", "1"], "tokens; its limit is 1 (--max-run-tokens)"),
        (["--max-cost", "0.01"], "the cost of the last response is unknown"),
    ] {
        let args = ["run", "-m", "sim/tools", "--tool", "time", "What time is it?"];
        let run = agentloop(args.into_iter().chain(more)).config(SUM).run();
        run.fails(1, words).reports("tool: time ({\"offset\":\"+02:00\"}) did not run");
    }
    let run = agentloop(["run", "-m", "sim/length", "Hello"]).run();
    run.fails(1, "error: the response is truncated");
}

#[test]
fn the_prompt_can_be_piped_in() {
    let run = agentloop(["run", "-m", "sim/echo", "Translate:"]).stdin("Guten Tag\n").run();
    assert!(run.stdout.contains("Translate:\n\nGuten Tag"), "{run}");
    assert_eq!(agentloop(["run", "-m", "sim/echo"]).run().code, Some(2));
}

#[test]
fn errors_for_wrong_options_explain_the_right_ones() {
    let known = "the tools are: time, read_file, list_files";
    for (args, words) in [
        (vec!["--tool", "shell"], known),
        (vec!["--allow", "shell", "--tool", "time"], "the tools of this run are: time"),
        (vec!["--deny", "time"], "add tools with --tool NAME or --mcp"),
        (vec!["--tool", "time", "--allow", "time", "--deny", "time"], "both allowed and denied"),
        (vec!["--tool", "read_file", "--root", "nowhere"], "--root nowhere: "),
        (vec!["--max-steps", "0"], "0 is not in 1.."),
        (vec!["--max-cost", "much"], "invalid value 'much'"),
        (vec!["--save", "nowhere/run.json"], "its folder does not exist"),
        (vec!["--resume", "nowhere.json"], "nowhere.json: "),
        #[cfg(feature = "mcp")]
        (vec!["--mcp", "no-such-server --now"], "no-such-server"),
        #[cfg(feature = "mcp")]
        (vec!["--mcp", "sh -c 'open"], "--mcp: the command line ends inside a quote"),
        #[cfg(not(feature = "mcp"))]
        (vec!["--mcp", "no-such-server --now"], "cargo install agentloop-cli --features mcp"),
    ] {
        let run = agentloop(["run", "-m", "sim/echo", "hi"].into_iter().chain(args)).run().exits(2);
        assert!(run.stderr.contains(words) && run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn a_file_that_save_did_not_write_is_not_overwritten() {
    let folder = Folder::with([("notes.md", "My notes."), ("data.json", "{\"a\":1}")]);
    for name in ["notes.md", "data.json"] {
        let run = agentloop(["run", "-m", "sim/echo", "--save", name, "Hello"]);
        run.within(folder.path()).run().fails(2, "exists and was not written by --save");
        let run = agentloop(["run", "--resume", name, "Hello"]).within(folder.path()).run();
        run.fails(2, "the file was not written by --save");
    }
    assert_eq!(folder.read("notes.md").unwrap(), "My notes.");
}

/// A saved run of 171 MB took 4.3 GB to read.
#[test]
fn a_saved_file_that_is_too_large_is_refused_before_it_is_read() {
    let folder = Folder::with([("notes.md", "")]);
    let path = folder.path().join("large.json");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let run = agentloop(["run", "--resume", "large.json", "Hello"]).within(folder.path()).run();
    run.fails(2, "larger than the limit of 67108864 bytes");
}
