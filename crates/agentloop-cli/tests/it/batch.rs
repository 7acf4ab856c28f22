//! `agentloop batch`.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::sim::Server;
use crate::common::{Outcome, agentloop};

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
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("1 row failed; --resume tries it again"), "{run}");
    let failed = results(&folder, "out.jsonl").into_iter().find(|line| line["index"] == 1).unwrap();
    assert_eq!(failed["error"]["message"], "row 2: there is no value `a` for the prompt");
}

#[test]
fn an_error_of_every_row_stops_the_batch() {
    let rows = "x\n".repeat(50);
    let run = agentloop(["batch", "-", "-m", "openai/gpt-4.1"]).stdin(rows).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{run}");
}

#[test]
fn a_mistake_in_the_last_row_is_found_before_the_first_is_sent() {
    let folder = Folder::with([("rows.jsonl", "{\"a\":1}\n{\"a\":2}\nnot json\n")]);
    let run = batch(&folder, &["rows.jsonl", "{{a}}", "-m", "sim/echo", "-o", "out.jsonl"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("rows.jsonl, line 3: not JSON"), "{run}");
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
    assert_eq!(first.code, Some(1), "{first}");
    assert!(first.stderr.contains("the next row would exceed the limit of $6"), "{first}");
    let some = results(&folder, "out.jsonl").len();
    assert!((1..20).contains(&some), "{some} rows: {first}");
    let second = send("1000000", &["--resume"]);
    assert_eq!(second.code, Some(0), "{second}");
    assert!(second.stderr.contains(&format!("{some} done before")), "{second}");
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
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
        .args(&args)
        .env_clear()
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("some results are written", || {
        folder.read("out.jsonl").is_some_and(|text| text.lines().count() >= 3)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    is_killed.store(true, Ordering::SeqCst);
    let before = results_of_complete_lines(&folder);
    let run = batch(&folder, &[&args[1..], &["--resume"]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    let mut after = indices(&results(&folder, "out.jsonl"));
    assert!(run.stderr.contains(&format!("{before} done before")), "{run}");
    after.sort_unstable();
    assert_eq!(after, (0..200).collect::<Vec<u64>>());
}

#[cfg(unix)]
fn results_of_complete_lines(folder: &Folder) -> usize {
    folder.read("out.jsonl").unwrap().matches('\n').count()
}

#[test]
fn a_changed_row_is_not_mixed_with_old_results() {
    let folder = Folder::with([("rows.txt", "a\nb\n")]);
    let args = ["rows.txt", "-m", "sim/echo", "-o", "out.jsonl"];
    assert_eq!(batch(&folder, &args).code, Some(0));
    assert!(batch(&folder, &args).stderr.contains("--resume"));
    std::fs::write(folder.path().join("rows.txt"), "a\nchanged\n").unwrap();
    let run = batch(&folder, &[&args[..], &["--resume"]].concat());
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("row 2 has changed"), "{run}");
}

#[test]
fn help_of_batch() {
    insta::assert_snapshot!(agentloop(["batch", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Send every row of a file to a model, and write the responses as JSON lines.

    Each result is one line with the number of its row (`index`, from 0), the text, the usage and the cost, or the error of a row that failed. A result is written as soon as it is there, so Ctrl-C or a crash loses nothing that was written to the file of --output: --resume continues with the rows that are missing and tries the failed ones again; of two lines with the same index the later one counts.

    An error that concerns every row, such as a wrong key, stops the batch. If a row failed, the exit code is 1.

    Example: agentloop batch reviews.csv 'Is this review positive? {{text}}' -m openai/gpt-4.1-mini -o out.jsonl

    Usage: agentloop batch [OPTIONS] <FILE> [PROMPT]

    Arguments:
      <FILE>
              The rows: a file with JSON lines, CSV or lines of text. - is stdin

      [PROMPT]
              The prompt, with values of the row in double braces, for example 'Translate to German: {{text}}' [default: the value `prompt`, `input`, `text` or `question` of the row, or its only value]
              
              Without it, a row of JSON that has `messages` is sent as a ChatRequest.

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

          --format <FORMAT>
              The format of the rows [default: by the extension of FILE; text for others]

              Possible values:
              - jsonl: One JSON object, or one JSON string, per line
              - csv:   Comma-separated values with a header
              - text:  One text per line. Blank lines are skipped

      -m, --model <MODEL>
              The model, as provider/model or an alias [default: AGENTLOOP_MODEL, else default_model of the configuration]

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

      -s, --system <TEXT>
              The system prompt: instructions for the model

          --schema <FILE|JSON>
              Request JSON that matches this JSON Schema, and write it as `value`. The value is a file or the schema itself

      -o, --output <FILE>
              Write the results to this file [default: stdout]

          --resume
              Continue a batch: rows that the file of --output already has are not sent again. Rows that failed are

          --in-order
              Write the results in the order of the rows instead of the order in which they finish

          --full
              Write the complete ChatResponse of each row instead of its text

          --concurrency <N>
              How many rows are sent at the same time
              
              [default: 8]

          --max-cost <USD>
              Stop when this many US dollars are spent, for example 2.50. Rows that are being processed are finished

          --provider-batch
              Submit the rows to the batch API of the provider, wait until it has processed them, and write the results.
              
              Batches cost less, and may take a day. The state is kept beside the file of --output, in FILE.batch: after Ctrl-C, `agentloop batches watch FILE` or --resume continues.

          --detach
              With --provider-batch: do not wait. `agentloop batches fetch FILE` writes the results later

          --interval <N>
              With --provider-batch: request the state of the batch every N seconds at first [default: 5; it grows to 60]

          --dry-run
              Send nothing: print the first three requests and the estimated price

      -h, --help
              Print help (see a summary with '-h')

    Request:
          --temperature <T>
              The sampling temperature; 0 gives the least random text [default: the model's own]

          --top-p <P>
              Sample only from the most likely tokens whose probabilities add up to P, for example 0.9 [default: the model's own]

          --max-tokens <N>
              The maximum length of each response in tokens, including thinking

          --effort <LEVEL>
              The effort that the model spends on thinking [default: the model's own]
              
              [possible values: none, minimal, low, medium, high, xhigh, max]

          --protocol <PROTOCOL>
              The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]

          --extra <NAME=JSON>
              Add a provider-specific field to the body of the request, for example --extra top_k=40. Can be repeated

          --lenient
              Leave out attachments that the model does not accept, with a warning, instead of failing

          --fallback <MODEL>
              A model to use if the previous one fails, for example groq/llama-3.3-70b-versatile. Can be repeated

          --retries <N>
              The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]

          --timeout <SECONDS>
              The time limit of each response, for example 30 or 2.5. With retries it applies to each attempt

          --no-cache
              Neither read from nor write to the cache that the configuration enables with [cache]
    --- stderr
    "#);
}
