//! Spending limits and the cache hold across processes.

use crate::common::folder::Folder;
use crate::common::server::{self, Then, serve};
use crate::common::{Outcome, agentloop, delta, sse};

/// A call costs 15 cents: 100,000 tokens at one dollar per million, and 50,000 at another one.
const PRICES: &str = "[models.\"lab/m\"]\nmax_output_tokens = 50000\n\
                      prices = [{ per_million = { input = \"1\", output = \"1\" } }]\n";

fn chat(folder: &Folder, url: &str, limit: &str, args: &[&str]) -> Outcome {
    let config =
        format!("{limit}\n[providers.lab]\nbase_url = '{url}'\n[retry]\nmax_retries = 0\n{PRICES}");
    let data = folder.path().join("data");
    agentloop(args.iter().copied())
        .config(&config)
        .env("AGENTLOOP_DATA", &data.to_string_lossy())
        .run()
}

fn completion() -> String {
    let body = serde_json::json!({ "id": "c", "model": "m",
        "usage": { "prompt_tokens": 100_000, "completion_tokens": 50_000, "total_tokens": 150_000 },
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "Hi" } }] });
    server::json("200 OK", &body.to_string())
}

const CHAT: [&str; 5] = ["chat", "-m", "lab/m", "--no-stream", "Hello"];

#[test]
fn a_limit_of_a_day_a_month_or_in_total_counts_the_calls_of_all_processes() {
    let url = serve(completion(), Then::Close);
    for period in ["day", "month", "total"] {
        let folder = Folder::with([]);
        let limit = format!("[cost]\nlimit = \"0.40\"\nper = \"{period}\"");
        // 0.15 is spent by each, and the most that another one can cost is 0.05 and a little.
        for _ in 0..3 {
            chat(&folder, &url, &limit, &CHAT).exits(0);
        }
        let refused = chat(&folder, &url, &limit, &CHAT);
        refused.fails(1, "the spending limit of 0.4 USD");
        // An agent, and conversations that are not stored, are refused too.
        for args in
            [&["run", "-m", "lab/m", "Hello"][..], &["chat", "-m", "lab/m", "--no-log", "Hello"]]
        {
            chat(&folder, &url, &limit, args).exits(1);
        }
        // The limit of one process is another one.
        chat(&folder, &url, "[cost]\nlimit = \"0.40\"", &CHAT).exits(0);
    }
}

#[test]
fn a_stream_that_was_cut_off_counts_with_an_estimate() {
    let folder = Folder::with([]);
    let text = "word ".repeat(20_000);
    let chunk = delta(&serde_json::json!({ "content": text }).to_string());
    let url = serve(server::events(&sse(&[&chunk], false)), Then::Close);
    // 100,000 bytes are about 25,000 tokens, 2.5 cents.
    let limit = "[history]\nenabled = false\n[cost]\nlimit = \"0.07\"\nper = \"day\"";
    let args = ["chat", "-m", "lab/m", "Hello"];
    let done = chat(&folder, &url, limit, &args);
    assert!(done.code == Some(1) && done.stdout.contains("word"), "{}", done.stderr);
    let refused = chat(&folder, &url, limit, &args);
    assert!(refused.stderr.contains("the spending limit of 0.07 USD per day"), "{refused}");
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_limit_that_cannot_be_checked_refuses_calls() {
    let folder = Folder::with([]);
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    folder.write("data/history.sqlite3", "damaged".repeat(1_000));
    let url = serve(completion(), Then::Close);
    let refused = chat(&folder, &url, "[cost]\nlimit = \"9\"\nper = \"day\"", &CHAT);
    refused.fails(2, "the spending limit cannot be checked");
}

#[test]
fn a_cached_response_is_used_by_the_next_process() {
    let folder = Folder::with([]);
    let data = folder.path().join("data");
    let cached = |command: &[&str]| {
        let done = agentloop(command.iter().copied())
            .config("[cache]\nttl = 3600")
            .env("AGENTLOOP_DATA", &data.to_string_lossy())
            .run();
        assert_eq!(done.code, Some(0), "{done}");
        done.json().get("cached").cloned()
    };
    for command in [
        ["chat", "-m", "sim/echo", "--json", "Hello"],
        ["embed", "-m", "sim/vectors", "--json", "Hello"],
    ] {
        assert_eq!(cached(&command), None);
        assert_eq!(cached(&command), Some(true.into()));
        assert_eq!(cached(&[&command[..], &["--no-cache"]].concat()), None);
    }
}
