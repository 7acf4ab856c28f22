//! `agentloop batch`.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::sim::Server;
use crate::common::{Outcome, agentloop, command};

fn batch(folder: &Folder, more: &[&str]) -> Outcome {
    agentloop(["batch"].into_iter().chain(more.iter().copied())).within(folder.path()).run()
}

fn results(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.read(name).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn indices(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["index"].as_u64().unwrap()).collect()
}

#[test]
fn every_row_is_sent_with_its_values_and_written_in_order() {
    let rows = "name,text\nA,first\nB,\"second, quoted\"\nC,third\n";
    let folder = Folder::with([("rows.csv", rows)]);
    let run = batch(&folder, &["rows.csv", "{{name}}: {{text}}", "-m", "sim/echo", "--in-order"]);
    assert_eq!(run.code, Some(0), "{run}");
    let texts = run.lines();
    let texts: Vec<&str> =
        texts.iter().filter_map(|line| line["text"].as_str()?.lines().next()).collect();
    assert_eq!(texts, ["A: first", "B: second, quoted", "C: third"]);
    let first = &run.lines()[0];
    assert_eq!((&first["index"], &first["finishReason"]), (&json!(0), &json!("stop")), "{first}");
    assert!(first["usage"]["totalTokens"].is_u64(), "{first}");
    assert!(run.stderr.starts_with("note: 3 rows, "), "{run}");
}

#[test]
fn rows_come_from_stdin_and_requests_from_json() {
    let text =
        agentloop(["batch", "-", "-m", "sim/echo", "--in-order"]).stdin("one\n\ntwo\n").run();
    assert_eq!((text.code, text.lines().len()), (Some(0), 2), "{text}");
    let request = json!({ "model": "sim/echo", "messages": [{ "role": "user", "content": "Hi" }] });
    let run = agentloop(["batch", "-", "--format", "jsonl", "-m", "sim/echo", "--full"])
        .stdin(request.to_string())
        .run();
    let response = run.json()["response"].take();
    let text = response["choices"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Hi"), "{run}");
}

#[test]
fn a_row_that_fails_is_a_result_and_the_exit_code_is_1() {
    let folder = Folder::with([("rows.jsonl", "{\"a\":1}\n{\"b\":2}\n")]);
    let run = batch(&folder, &["rows.jsonl", "{{a}}", "-m", "sim/echo", "-o", "out.jsonl"]);
    run.fails(1, "1 row failed; --resume tries it again");
    let failed = results(&folder, "out.jsonl").into_iter().find(|line| line["index"] == 1).unwrap();
    assert_eq!(failed["error"]["message"], "row 2: there is no value `a` for the prompt");
}

#[test]
fn an_error_of_every_row_stops_the_batch() {
    let rows = "x\n".repeat(50);
    agentloop(["batch", "-", "-m", "openai/gpt-4.1"]).stdin(rows).run().refuses("OPENAI_API_KEY");
}

#[test]
fn a_mistake_in_the_last_row_is_found_before_the_first_is_sent() {
    let folder = Folder::with([("rows.jsonl", "{\"a\":1}\n{\"a\":2}\nnot json\n")]);
    let run = batch(&folder, &["rows.jsonl", "{{a}}", "-m", "sim/echo", "-o", "out.jsonl"]);
    run.fails(2, "rows.jsonl, line 3: not JSON");
    assert_eq!(folder.read("out.jsonl"), None);
}

#[test]
fn a_dry_run_prints_three_requests_and_the_estimated_price() {
    let rows = "hello there\n".repeat(1_000);
    let run = agentloop(["batch", "-", "-m", "openai/gpt-4.1", "--max-tokens", "10", "--dry-run"])
        .stdin(rows)
        .run();
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 4), "{run}");
    let last = run.stdout.lines().last().unwrap();
    assert!(last.starts_with("1000 rows, about "), "{last}");
    assert!(last.contains("at most $"), "{last}");
}

#[test]
fn the_batch_stops_at_its_cost_limit_and_a_higher_limit_continues() {
    let server = Server::start(&[]);
    let config = format!(
        "[providers.local]\nbase_url = '{}'\n[models.\"local/echo\"]\nprices = [{{ per_million = {{ input = \"1000000\", output = \"0\" }} }}]\n",
        server.url
    );
    let rows = "a\n".repeat(20);
    let folder = Folder::with([("rows.txt", &rows)]);
    let send = |limit: &str, more: &[&str]| {
        let args =
            ["batch", "rows.txt", "-m", "local/echo", "-o", "out.jsonl", "--max-cost", limit];
        agentloop(args.into_iter().chain(more.iter().copied()))
            .config(&config)
            .within(folder.path())
            .run()
    };
    let first = send("6", &[]);
    first.fails(1, "the next row would exceed the limit of $6");
    let some = results(&folder, "out.jsonl").len();
    assert!((1..20).contains(&some), "{some} rows: {first}");
    send("1000000", &["--resume"]).exits(0).reports(&format!("{some} done before"));
    let all: BTreeSet<u64> = indices(&results(&folder, "out.jsonl")).into_iter().collect();
    assert_eq!(all.len(), 20);
}

/// A batch that is killed in the middle continues where it was, and no row is sent twice.
#[cfg(unix)]
#[test]
fn a_killed_batch_continues_where_it_was() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use crate::common::patience::wait_until;
    use crate::common::server::{Then, serve_by};
    use crate::history::chat_completion;

    // A provider that responds to some rows, and the others when the batch has been killed.
    let (asked, is_killed) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let may_go_on = Arc::clone(&is_killed);
    let url = serve_by(Then::Close, move |_| {
        if asked.fetch_add(1, Ordering::SeqCst) >= 50 {
            wait_until("the batch is killed", || may_go_on.load(Ordering::SeqCst));
        }
        chat_completion("Yes.")
    });
    let config = format!("[providers.lab]\nbase_url = '{url}'\n");
    let rows: String = (0..200).map(|number| format!("row {number}\n")).collect();
    let folder = Folder::with([("rows.txt", rows.as_str()), ("agentloop.toml", config.as_str())]);
    let args = ["batch", "rows.txt", "-m", "lab/m", "-o", "out.jsonl", "--concurrency", "2"];
    let args = [&args[..], &["--config", "agentloop.toml"]].concat();
    let mut command = command(args.iter().copied());
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("some results are written", || {
        folder.read("out.jsonl").is_some_and(|text| text.lines().count() >= 3)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    is_killed.store(true, Ordering::SeqCst);
    let before = folder.read("out.jsonl").unwrap().matches('\n').count();
    let run = batch(&folder, &[&args[1..], &["--resume"]].concat()).exits(0);
    let mut after = indices(&results(&folder, "out.jsonl"));
    assert!(run.stderr.contains(&format!("{before} done before")), "{run}");
    after.sort_unstable();
    assert_eq!(after, (0..200).collect::<Vec<u64>>());
}

#[test]
fn a_changed_row_is_not_mixed_with_old_results() {
    let folder = Folder::with([("rows.txt", "a\nb\n")]);
    let args = ["rows.txt", "-m", "sim/echo", "-o", "out.jsonl"];
    assert_eq!(batch(&folder, &args).code, Some(0));
    assert!(batch(&folder, &args).stderr.contains("--resume"));
    folder.write("rows.txt", "a\nchanged\n");
    batch(&folder, &[&args[..], &["--resume"]].concat()).fails(2, "row 2 has changed");
}
