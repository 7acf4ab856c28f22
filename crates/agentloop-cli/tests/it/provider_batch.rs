//! `agentloop batch --provider-batch`, `agentloop batches` and `agentloop files`.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::sim::Server;
use crate::common::{Outcome, agentloop};

const ROWS: &str = "one\ntwo\nthree\n";

fn results(folder: &Folder) -> Vec<Value> {
    let text = folder.read("out.jsonl").unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["index"].as_u64());
    lines
}

/// A folder, and a server that several processes use.
struct Lab {
    folder: Folder,
    server: Server,
}

impl Lab {
    fn new(rows: &str) -> Self {
        Self { folder: Folder::with([("rows.txt", rows)]), server: Server::start(&[]) }
    }

    fn run(&self, args: &[&str]) -> Outcome {
        let config = format!(
            "[providers.local]\nbase_url = '{}'\n[providers.local.quirks.storage]\nfiles = 'purpose_form'\npurpose = 'user_data'\nbatches = 'input_file'\n",
            self.server.url
        );
        agentloop(args.iter().copied()).config(&config).within(self.folder.path()).run()
    }

    fn batch(&self, more: &[&str]) -> Outcome {
        let args = ["batch", "rows.txt", "-m", "local/echo", "-o", "out.jsonl", "--provider-batch"];
        self.run(&args.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// Returns how many batches the provider has.
    fn batches(&self) -> usize {
        let run = self.run(&["batches", "list", "local", "--json"]);
        run.json().as_array().unwrap().len()
    }
}

#[test]
fn a_batch_of_the_provider_writes_the_same_lines_as_single_requests() {
    let folder = Folder::with([("rows.txt", ROWS)]);
    let send = |output: &str, more: &[&str]| {
        let args = ["batch", "rows.txt", "-m", "sim/echo", "--in-order", "-o", output];
        let run =
            agentloop(args.into_iter().chain(more.iter().copied())).within(folder.path()).run();
        assert_eq!(run.code, Some(0), "{run}");
        run
    };
    let run = send("out.jsonl", &["--provider-batch"]);
    send("single.jsonl", &[]);
    assert_eq!(folder.read("out.jsonl"), folder.read("single.jsonl"));
    assert_eq!(folder.read("out.jsonl.batch"), None);
    assert!(run.stderr.contains("note: 3 rows are submitted; after Ctrl-C, `agentloop batches watch out.jsonl` continues"), "{run}");
}

#[test]
fn another_process_fetches_what_was_submitted_once() {
    let lab = Lab::new(ROWS);
    lab.batch(&["--detach"]).prints("");
    assert!(lab.folder.read("out.jsonl.batch").is_some());
    lab.batch(&["--detach"]).fails(2, "continue it with --resume");
    let status = lab.run(&["batches", "status", "out.jsonl"]);
    assert_eq!(
        (&status.json()["state"], &status.json()["counts"]["total"]),
        (&json!("completed"), &json!(3))
    );
    lab.run(&["batches", "fetch", "out.jsonl.batch"]).exits(0);
    let texts: Vec<String> =
        results(&lab.folder).iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    assert!(
        texts.iter().zip(["one", "two", "three"]).all(|(text, row)| text.starts_with(row)),
        "{texts:?}"
    );
    lab.run(&["batches", "fetch", "out.jsonl"]).fails(2, "out.jsonl.batch does not exist");
    assert_eq!(lab.batches(), 1);
    lab.batch(&["--resume"]).exits(0).reports("all rows have a result");
    assert_eq!(lab.batches(), 1);
}

#[test]
fn a_process_that_ended_before_it_saved_the_id_does_not_submit_twice() {
    let lab = Lab::new(ROWS);
    assert_eq!(lab.batch(&["--detach"]).code, Some(0));
    let change = |change: &dyn Fn(&mut Value)| {
        let mut state: Value =
            serde_json::from_str(&lab.folder.read("out.jsonl.batch").unwrap()).unwrap();
        change(&mut state["parts"][0]["batch"]);
        lab.folder.write("out.jsonl.batch", state.to_string());
    };
    change(&|batch| _ = batch.as_object_mut().unwrap().remove("id"));
    lab.batch(&["--resume"]).exits(0);
    assert_eq!((results(&lab.folder).len(), lab.batches()), (3, 1));
}

#[test]
fn the_state_is_kept_after_a_response_that_does_not_show_whether_the_batch_exists() {
    for (status, is_kept) in [(408, true), (409, true), (500, true), (400, false), (401, false)] {
        let lab = Lab::new(ROWS);
        let config = format!(
            "[providers.local]\nbase_url = '{}'\nheaders = {{ x-sim-fault = 'status={status}' }}\n[providers.local.quirks.storage]\nfiles = 'purpose_form'\npurpose = 'user_data'\nbatches = 'input_file'\n",
            lab.server.url
        );
        let args = ["batch", "rows.txt", "-m", "local/echo", "-o", "out.jsonl", "--provider-batch"];
        let run = agentloop(args).config(&config).within(lab.folder.path()).run();
        assert_ne!(run.code, Some(0), "{run}");
        assert_eq!(lab.folder.read("out.jsonl.batch").is_some(), is_kept, "{status}: {run}");
        lab.batch(&["--resume"]).exits(0);
        assert_eq!((results(&lab.folder).len(), lab.batches()), (3, 1), "{status}");
    }
}

#[test]
fn a_batch_that_was_never_submitted_is_submitted_by_resume() {
    let lab = Lab::new(ROWS);
    assert_eq!(lab.batch(&["--detach"]).code, Some(0));
    let mut state: Value =
        serde_json::from_str(&lab.folder.read("out.jsonl.batch").unwrap()).unwrap();
    let batch = &mut state["parts"][0]["batch"];
    batch.as_object_mut().unwrap().remove("id");
    batch["label"] = json!("agentloop-of-no-batch");
    lab.folder.write("out.jsonl.batch", state.to_string());
    lab.run(&["batches", "fetch", "out.jsonl"]).fails(2, "some rows were not submitted");
    lab.batch(&["--resume"]).exits(0);
    assert_eq!((results(&lab.folder).len(), lab.batches()), (3, 2));
}

#[test]
fn rows_that_fail_are_lines_and_only_they_are_sent_again() {
    let folder_rows = |bad: &str| {
        let row = |model: &str| json!({ "model": model, "messages": [{ "role": "user", "content": "Hi" }] });
        format!("{}\n{}\n", row("local/echo"), row(bad))
    };
    let lab = Lab::new("");
    lab.folder.write("rows.jsonl", folder_rows("local/echo!status=400"));
    let args = ["batch", "rows.jsonl", "-o", "out.jsonl", "--provider-batch"];
    lab.run(&args).fails(1, "1 row failed; --resume sends it again");
    let lines = results(&lab.folder);
    assert!(lines[0]["text"].is_string(), "{lines:?}");
    assert_eq!(lines[1]["error"]["kind"], "invalid_request", "{lines:?}");
    lab.run(&[&args[..], &["--resume"]].concat()).exits(1);
    assert_eq!(lab.batches(), 2);
    let status = lab.run(&["batches", "list", "local", "--json"]);
    assert_eq!(status.json()[0]["counts"]["total"], 1, "only the row that failed");
}

#[test]
fn a_state_file_that_is_wrong_is_refused() {
    let lab = Lab::new(ROWS);
    assert_eq!(lab.batch(&["--detach"]).code, Some(0));
    let good: Value = serde_json::from_str(&lab.folder.read("out.jsonl.batch").unwrap()).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut state = good.clone();
        change(&mut state);
        state.to_string()
    };
    for (state, message) in [
        (String::new(), "not the state of a batch"),
        ("[]".to_owned(), "not the state of a batch"),
        (with(&|state| state["version"] = json!(2)), "its version is 2, not 1"),
        (
            with(&|state| _ = state["parts"][0]["rows"].as_array_mut().unwrap().pop()),
            "as many requests as rows",
        ),
        (with(&|state| state["parts"][0]["batch"]["provider"] = json!("nowhere")), "nowhere"),
    ] {
        lab.folder.write("out.jsonl.batch", &state);
        lab.run(&["batches", "fetch", "out.jsonl"]).fails(2, message);
    }
    lab.folder.write("out.jsonl.batch", good.to_string());
    lab.folder.write("rows.txt", "one\nCHANGED\nthree\n");
    lab.batch(&["--resume"]).fails(2, "row 2 has changed since the first run");
}

#[test]
#[cfg(unix)]
fn a_state_file_that_is_not_a_regular_file_is_refused_without_waiting() {
    let lab = Lab::new(ROWS);
    let path = lab.folder.path().join("out.jsonl.batch");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    for args in [&["batches", "status", "out.jsonl"][..], &["batches", "fetch", "out.jsonl"]] {
        lab.run(args).fails(2, "not a regular file");
    }
    lab.batch(&["--resume"]).exits(2);
}

#[test]
fn a_batch_that_has_ended_cannot_be_cancelled_but_is_shown() {
    let lab = Lab::new(ROWS);
    assert_eq!(lab.batch(&["--detach"]).code, Some(0));
    let run = lab.run(&["batches", "cancel", "out.jsonl"]);
    assert_eq!((run.code, &run.json()["state"]), (Some(0), &json!("completed")), "{run}");
}

#[test]
fn options_that_a_batch_of_the_provider_does_not_have_are_refused() {
    let lab = Lab::new(ROWS);
    for more in [&["--schema", "{}"][..], &["--max-cost", "1"]] {
        assert_eq!(lab.batch(more).code, Some(2));
    }
    agentloop(["batch", "-", "-m", "sim/echo", "--provider-batch"]).stdin("x").run().exits(2);
    agentloop(["batch", "-", "-m", "sim/echo", "--detach"]).stdin("x").run().exits(2);
    let folder = Folder::with([("rows.txt", ROWS)]);
    let args = ["batch", "rows.txt", "-m", "ollama/x", "-o", "out.jsonl", "--provider-batch"];
    agentloop(args).within(folder.path()).run().fails(2, "ollama has no API for batches");
    assert_eq!(folder.read("out.jsonl.batch"), None);
}

#[test]
fn a_dry_run_estimates_the_price_of_a_batch() {
    let rows = "hello there\n".repeat(1_000);
    let estimate = |more: &[&str]| {
        let args =
            ["batch", "-", "-m", "openai/gpt-4.1", "--max-tokens", "10", "--dry-run", "-o", "x"];
        let run =
            agentloop(args.into_iter().chain(more.iter().copied())).stdin(rows.as_str()).run();
        assert_eq!(run.code, Some(0), "{run}");
        run.stdout.lines().last().unwrap().to_owned()
    };
    assert_ne!(estimate(&["--provider-batch"]), estimate(&[]));
}

#[test]
fn files_are_uploaded_listed_downloaded_and_deleted() {
    let lab = Lab::new(ROWS);
    let run = lab.run(&["files", "upload", "local", "rows.txt"]).exits(0);
    let id = run.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(run.json()["name"], "rows.txt");
    let list = lab.run(&["files", "list", "local"]);
    assert!(list.stdout.starts_with(&format!("{id}\t14\t")), "{list}");
    assert_eq!(lab.run(&["files", "get", "local", &id]).json()["bytes"], 14);
    lab.run(&["files", "get", "local", &id, "-o", "copy.txt"]).exits(0);
    assert_eq!(lab.folder.read("copy.txt").as_deref(), Some(ROWS));
    let got = lab.run(&["files", "get", "local", &id, "-o", "copy.txt"]);
    assert_eq!(got.code, Some(2), "it exists: {got}");
    assert_eq!(lab.run(&["files", "delete", "local", &id]).code, Some(0));
    assert_eq!(lab.run(&["files", "get", "local", &id]).code, Some(1));
    assert_eq!(lab.run(&["files", "list", "ollama"]).code, Some(2));
}
