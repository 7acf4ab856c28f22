//! `agentloop embed` with many texts: files, resuming, limits and errors.

#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::server::{self, Then};
use crate::common::sim::Server;
use crate::common::{Outcome, agentloop, command, signal};
#[cfg(unix)]
use crate::history::on_full_disk;

fn embed(folder: &Folder, more: &[&str]) -> Outcome {
    agentloop(["embed"].into_iter().chain(more.iter().copied())).within(folder.path()).run()
}

/// Runs `embed` with a provider `local` at this URL.
fn embed_at(url: &str, folder: &Folder, more: &[&str]) -> Outcome {
    let config = format!("[providers.local]\nbase_url = '{url}'\n[retry]\nmax_retries = 0\n");
    let args = ["embed", "-m", "local/e"].into_iter().chain(more.iter().copied());
    agentloop(args).config(&config).within(folder.path()).run()
}

/// Serves vectors that `vector` makes of the texts. `None` is a text that is refused.
fn serve(vector: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> String {
    server::serve_by(Then::Close, move |request| {
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let texts = match &body["input"] {
            Value::Array(texts) => texts.clone(),
            text => vec![text.clone()],
        };
        let vectors: Option<Vec<Value>> =
            texts.iter().map(|text| vector(text.as_str().unwrap())).collect();
        let Some(vectors) = vectors else {
            return server::json("400 Bad Request", r#"{"error":{"message":"input is too long"}}"#);
        };
        let data: Vec<Value> = vectors
            .into_iter()
            .enumerate()
            .map(|(index, vector)| json!({ "index": index, "embedding": vector }))
            .collect();
        let usage = json!({ "prompt_tokens": 1, "total_tokens": 1 });
        server::json("200 OK", &json!({ "model": "e", "data": data, "usage": usage }).to_string())
    })
}

fn results(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.read(name).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn indices(folder: &Folder, name: &str) -> Vec<u64> {
    results(folder, name).iter().map(|line| line["index"].as_u64().unwrap()).collect()
}

/// Returns the vectors of a file, in the order of its lines.
fn vectors(folder: &Folder, name: &str) -> Vec<Value> {
    results(folder, name).into_iter().map(|mut line| line["vector"].take()).collect()
}

#[test]
fn the_rows_of_a_file_become_json_lines_in_order() {
    let rows: String = (0..250).map(|number| format!("{number},text {number}\n")).collect();
    let folder = Folder::with([("rows.csv", &format!("id,body\n{rows}"))]);
    let args = ["-m", "sim/vectors", "-i", "rows.csv", "--text", "{{id}}: {{body}}"];
    let run = embed(&folder, &[&args[..], &["-o", "out.jsonl", "--batch-size", "7"]].concat());
    run.prints("");
    assert!(run.stderr.starts_with("note: 250 rows, "), "{run}");
    assert_eq!(indices(&folder, "out.jsonl"), (0..250).collect::<Vec<u64>>());
    let last = results(&folder, "out.jsonl").pop().unwrap();
    assert_eq!((&last["model"], &last["dimensions"]), (&json!("sim/vectors"), &json!(8)));
    let alone = agentloop(["embed", "-m", "sim/vectors", "249: text 249"]).run().json();
    assert_eq!(last["vector"], alone);
    // Without --text it is not clear which value is the text.
    let unclear = embed(&folder, &["-m", "sim/vectors", "-i", "rows.csv"]);
    unclear.fails(2, "--text '{{NAME}}'; the values are: id, body");
}

#[test]
fn a_file_has_one_vector_for_each_text_in_order() {
    let texts: Vec<String> = (0..300).map(|number| format!("text {number}")).collect();
    let folder = Folder::with([("rows.txt", &texts.join("\n"))]);
    let args = ["-m", "sim/vectors", "--dimensions", "5", "-i", "rows.txt", "-o", "out.jsonl"];
    embed(&folder, &args).exits(0);
    assert_eq!(indices(&folder, "out.jsonl"), (0..300).collect::<Vec<u64>>());
    let lines = agentloop(["embed", "-m", "sim/vectors", "--dimensions", "5"])
        .stdin(texts.join("\n"))
        .run();
    assert_eq!(vectors(&folder, "out.jsonl"), lines.lines());
    // A file that exists is not overwritten.
    embed(&folder, &args).exits(2);
}

#[cfg(unix)]
#[test]
fn a_killed_process_loses_nothing_that_was_written() {
    for name in ["KILL", "INT"] {
        let rows: String = (0..3_000).map(|number| format!("row {number}\n")).collect();
        let folder = Folder::with([("rows.txt", &rows)]);
        let args = ["embed", "-m", "sim/vectors", "-i", "rows.txt", "-o", "out.jsonl"];
        let args = [&args[..], &["--batch-size", "2", "--concurrency", "2"]].concat();
        let mut command = command(args.iter().copied());
        command.env("HOME", folder.path()).current_dir(folder.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while folder.read("out.jsonl").is_none_or(|text| text.lines().count() < 3) {
            assert!(child.try_wait().unwrap().is_none(), "the command ended");
            std::thread::yield_now();
        }
        signal(&child, name);
        let code = child.wait().unwrap().code();
        assert_eq!(code, (name == "INT").then_some(130));
        let before = folder.read("out.jsonl").unwrap().matches('\n').count();
        let run = embed(&folder, &[&args[1..], &["--resume"]].concat());
        run.exits(0).reports(&format!("{before} done before"));
        assert_eq!(indices(&folder, "out.jsonl"), (0..3_000).collect::<Vec<u64>>());
        let alone = agentloop(["embed", "-m", "sim/vectors", "row 2999"]).run();
        assert_eq!(vectors(&folder, "out.jsonl").last(), Some(&alone.json()));
    }
}

#[test]
fn a_text_that_is_refused_fails_alone_and_no_row_moves() {
    let url =
        serve(|text| (!text.contains("bad")).then(|| json!([f32::from(text.len() as u8), 1.0])));
    let rows = "a\nbb\nbad\ndddd\neeeee\n";
    let folder = Folder::with([("rows.txt", rows)]);
    let run = embed_at(&url, &folder, &["-i", "rows.txt", "-o", "out.jsonl"]);
    run.fails(1, "1 row failed; --resume tries it again");
    let lines = results(&folder, "out.jsonl");
    assert_eq!(indices(&folder, "out.jsonl"), [0, 1, 2, 3, 4]);
    assert_eq!(lines[2]["error"]["message"], "input is too long");
    assert_eq!(lines[4]["vector"], json!([5.0, 1.0]));
    // On stdout the lines have no index, so the first error ends them.
    let lines =
        embed_at(&url, &folder, &["-i", "rows.txt", "--batch-size", "1", "--concurrency", "1"]);
    assert_eq!((lines.code, lines.stdout.as_str()), (Some(1), "[1.0,1.0]\n[2.0,1.0]\n"), "{lines}");
    // If every text is refused, the first request ends the command.
    let none = serve(|_| None);
    let rows = "x\n".repeat(1_000);
    let all = Folder::with([("rows.txt", &rows)]);
    let run = embed_at(&none, &all, &["-i", "rows.txt", "-o", "out.jsonl"]);
    run.fails(1, "error: local: input is too long");
    assert!(results(&all, "out.jsonl").len() < 1_000);
}

#[test]
fn vectors_that_cannot_be_used_are_not_written() {
    // NaN as base64; JSON has no such number.
    let nan = serve(|text| (text != "x").then(|| json!([1.0])).or_else(|| Some(json!("AADAfw=="))));
    let folder = Folder::with([("rows.txt", "a\nx\n")]);
    let run = embed_at(&nan, &folder, &["-i", "rows.txt", "-o", "out.jsonl", "--batch-size", "1"]);
    assert_eq!(run.code, Some(1), "{run}");
    let lines = results(&folder, "out.jsonl");
    assert_eq!(lines[1]["error"]["message"], "number 0 of the vector is not finite", "{run}");
    // The length changes in the middle.
    let lengths = serve(|text| Some(json!(vec![0.5; text.len()])));
    let folder = Folder::with([("rows.txt", "aa\nbb\nccc\ndd\n")]);
    let args = ["-i", "rows.txt", "-o", "out.jsonl", "--batch-size", "1", "--concurrency", "1"];
    embed_at(&lengths, &folder, &args).fails(1, "3 numbers, but the earlier ones have 2");
    assert_eq!(indices(&folder, "out.jsonl"), [0, 1]);
}

#[test]
fn an_output_of_another_model_length_or_text_is_not_continued() {
    let folder = Folder::with([("rows.txt", "a\nb\n"), ("batch.jsonl", "")]);
    let args = ["-i", "rows.txt", "-o", "out.jsonl", "--resume"];
    let with = |more: &[&str]| embed(&folder, &[more, &args[..]].concat());
    assert_eq!(with(&["-m", "sim/vectors"]).code, Some(0));
    let before = folder.read("out.jsonl");
    for (more, expected) in [
        (&["-m", "sim/other"][..], "has vectors of sim/vectors, which cannot be compared"),
        (&["-m", "sim/vectors", "--dimensions", "9"], "has vectors of 8 numbers, not 9"),
        (&["-m", "sim/vectors", "--type", "query"], "row 1 has changed"),
        (&["-m", "sim/vectors", "--text", "x{{input}}"], "row 1 has changed"),
    ] {
        let run = with(more);
        assert_eq!(run.code, Some(2), "{more:?}: {run}");
        assert!(run.stderr.contains(expected), "{more:?}: {run}");
    }
    assert_eq!(folder.read("out.jsonl"), before);
    // A result of another command is not one of this command.
    let batch = r#"{"index":0,"hash":"x","text":"y"}"#.to_owned() + "\n";
    folder.write("batch.jsonl", &batch);
    let other =
        embed(&folder, &["-m", "sim/vectors", "-i", "rows.txt", "-o", "batch.jsonl", "--resume"]);
    assert!(other.stderr.contains("not a result of this command"), "{other}");
    // A line that was cut off is removed, and its text is sent again.
    let cut = before.clone().unwrap();
    folder.write("out.jsonl", &cut[..cut.len() - 5]);
    with(&["-m", "sim/vectors"]).exits(0);
    assert_eq!(folder.read("out.jsonl"), before);
}

#[test]
fn hostile_input_is_refused_before_anything_is_sent() {
    let folder = Folder::with([]);
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("giant.txt", &vec![b'x'; (16 << 20) + 1]);
    file("bytes.txt", b"ok\n\xff\xfe\n");
    file("wrong.jsonl", b"\"a\"\n[1]\n");
    file("open.csv", &[b"a,b\n1,\"".as_slice(), &vec![b'y'; 17 << 20]].concat());
    file("empty.txt", b"\n\n");
    for (name, expected) in [
        ("giant.txt", "line 1: longer than the limit"),
        ("bytes.txt", "line 2: not UTF-8 text"),
        ("wrong.jsonl", "line 2: neither a JSON object nor a JSON string"),
        ("open.csv", "longer than the limit"),
        ("empty.txt", "there is no text to embed"),
        (".", "is a directory"),
    ] {
        let run = embed(&folder, &["-m", "sim/vectors", "-i", name, "-o", "out.jsonl"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{name}: {run}");
        assert!(run.stderr.contains(expected), "{name}: {run}");
    }
    assert!(!folder.names().iter().any(|name| name.starts_with("out")));
    // Blank lines are not texts, and a note reports them.
    let blank = agentloop(["embed", "-m", "sim/vectors"]).stdin("a\n\nb\n").run();
    assert_eq!((blank.code, blank.stdout.lines().count()), (Some(0), 2), "{blank}");
    assert!(blank.stderr.contains("note: 1 blank line is skipped"), "{blank}");
    let args = ["-m", "sim/vectors", "text", "--format", "vectors", "-o", "x"];
    assert_eq!(embed(&folder, &args).code, Some(2));
}

#[cfg(unix)]
#[test]
fn on_a_full_disk_what_is_written_can_be_continued() {
    let rows: String = (0..400).map(|number| format!("row {number}\n")).collect();
    let folder = Folder::with([("rows.txt", &rows)]);
    let args = "embed -m sim/vectors --dimensions 64 -i rows.txt -o out.jsonl --batch-size 10";
    let done = on_full_disk(&folder, 40, args, Path::new("off"));
    done.fails(2, "out.jsonl: File too large");
    let args: Vec<&str> = args.split(' ').skip(1).chain(["--resume"]).collect();
    embed(&folder, &args).exits(0);
    assert_eq!(indices(&folder, "out.jsonl"), (0..400).collect::<Vec<u64>>());
}

#[test]
fn the_cost_is_estimated_and_limited() {
    let server = Server::start(&[]);
    let config = format!(
        "[providers.local]\nbase_url = '{}'\n[models.\"local/e\"]\nprices = [{{ per_million = {{ input = \"1000000\" }} }}]\n",
        server.url
    );
    let rows = "a\n".repeat(20);
    let folder = Folder::with([("rows.txt", &rows)]);
    let send = |more: &[&str]| {
        let args = ["embed", "-m", "local/e", "-i", "rows.txt", "-o", "out.jsonl"];
        agentloop(args.into_iter().chain(more.iter().copied()))
            .config(&config)
            .within(folder.path())
            .run()
    };
    let plan = send(&["--dry-run"]);
    assert_eq!((plan.code, plan.stdout.lines().count()), (Some(0), 2), "{plan}");
    assert!(plan.stdout.ends_with("20 rows, about 20 input tokens: about $20.00\n"), "{plan}");
    send(&["--max-cost", "6"]).fails(1, "the next row would exceed the limit of $6");
    assert_eq!(indices(&folder, "out.jsonl"), [0, 1, 2, 3, 4, 5]);
    send(&["--max-cost", "100", "--resume"]).exits(0);
    assert_eq!(indices(&folder, "out.jsonl"), (0..20).collect::<Vec<u64>>());
}

#[test]
fn names_without_a_provider_are_completed() {
    let run = agentloop(["embed", "-m", "text-embedding-3-small", "--dry-run", "Hello"])
        .env("OPENAI_API_KEY", "example")
        .run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("https://api.openai.com/v1/embeddings"), "{run}");
    agentloop(["embed", "-m", "openai", "Hello"]).run().fails(2, "openai/text-embedding-3-small");
    let args = ["embed", "-m", "sim/vectors!status=503", "--retries", "0", "--fallback"];
    let fallback = agentloop(args.into_iter().chain(["sim/vectors", "Hello"])).run();
    assert_eq!((fallback.code, fallback.stdout.lines().count()), (Some(0), 1), "{fallback}");
}
