//! Output on a terminal contains no control characters, and JSON keeps its value.
#![cfg(unix)]

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::common::folder::Folder;
use crate::common::pty::{converse, open_terminal};
use crate::common::server::{Then, json, serve};
use crate::common::{agentloop, command, sse};

/// Control characters, a lone carriage return, direction marks, a line separator and a tag.
const HOSTILE: &str =
    "a\u{1b}[2J\u{9b}31m\u{85}b\rc\u{202e}d\u{2066}e\u{61c}f\u{2028}g\u{e0041}h\u{7f}i";

fn is_hostile(c: char) -> bool {
    (c.is_control() && c != '\n')
        || ['\u{202e}', '\u{2066}', '\u{61c}', '\u{2028}', '\u{e0041}'].contains(&c)
}

fn chunk() -> String {
    let delta = serde_json::json!({ "content": HOSTILE });
    let end = serde_json::json!({});
    let choice = |delta: &Value, reason: Value| {
        serde_json::json!({ "id": "c", "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
        .to_string()
    };
    sse(&[&choice(&delta, Value::Null), &choice(&end, "stop".into())], true)
}

/// Runs the command with a terminal as stdout, and returns its output.
fn shown(args: &[&str], folder: &Folder, stdin: &str) -> String {
    let (terminal, open) = open_terminal();
    let mut child = command(args.iter().copied())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(open())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let shown = converse(terminal, &[], "\0");
    child.wait().unwrap();
    shown
}

#[test]
fn json_on_a_terminal_contains_no_control_characters() {
    let folder = Folder::with([]);
    let decode = ["decode", "--provider", "openai", "--stream"];
    let whole = shown(&decode, &folder, &chunk());
    assert!(!whole.contains(is_hostile), "{whole:?}");
    let response: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(response["choices"][0]["content"][0]["text"], HOSTILE);
    let events = shown(&[&decode[..], &["--events"]].concat(), &folder, &chunk());
    assert!(!events.contains(is_hostile), "{events:?}");
    let texts: String = events
        .lines()
        .filter_map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["delta"]["text"].as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(texts, HOSTILE);
}

#[test]
fn text_on_a_terminal_contains_no_control_characters() {
    let body = serde_json::json!({ "id": "c", "model": "m", "choices": [{ "index": 0,
        "finish_reason": "stop", "message": { "role": "assistant", "content": HOSTILE } }] });
    let url = serve(json("200 OK", &body.to_string()), Then::Close);
    let config = format!("[providers.lab]\nbase_url = '{url}'\n");
    let folder = Folder::with([("lab.toml", config.as_str())]);
    let args = ["chat", "--config", "lab.toml", "-m", "lab/m", "--no-stream", "Hi"];
    let text = shown(&args, &folder, "");
    assert!(!text.contains(is_hostile), "{text:?}");
    assert!(text.starts_with("a\u{fffd}[2J"), "{text:?}");
    let schema = [&args[..], &["--schema", r#"{"type":"object"}"#]].concat();
    let body = serde_json::json!({ "id": "c", "model": "m", "choices": [{ "index": 0,
        "finish_reason": "stop", "message": { "role": "assistant",
        "content": serde_json::json!({ "a": HOSTILE }).to_string() } }] });
    let url = serve(json("200 OK", &body.to_string()), Then::Close);
    folder.write("lab.toml", format!("[providers.lab]\nbase_url = '{url}'\n"));
    let data = shown(&schema, &folder, "");
    assert!(!data.contains(is_hostile), "{data:?}");
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["a"], HOSTILE);
}

#[test]
fn a_long_error_is_truncated_on_stderr_but_not_in_json() {
    let message = "x".repeat(900_000);
    let body = serde_json::json!({ "error": { "message": message } }).to_string();
    let url = serve(json("400 Bad Request", &body), Then::Close);
    let config = format!("[providers.lab]\nbase_url = '{url}'\n");
    let args = ["chat", "-m", "lab/m", "--no-stream", "--json", "Hi"];
    let run = agentloop(args).config(&config).run().exits(1);
    assert!(run.stderr.len() < 6_000, "{} bytes", run.stderr.len());
    assert!(run.stderr.contains("more characters; use --json"), "{}", run.stderr);
    assert!(run.json()["error"]["message"].as_str().unwrap().len() > run.stderr.len());
}
