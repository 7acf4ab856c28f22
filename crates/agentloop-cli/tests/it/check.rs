//! `agentloop check`.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::server::{self, Then};
use crate::common::sim::Server;
use crate::common::{Outcome, agentloop};

/// Runs `check` with a provider `local` at this URL.
fn check(url: &str, protocol: &str, more: &[&str]) -> Outcome {
    let config = format!(
        "[providers.local]\nbase_url = '{url}'\nprotocol = '{protocol}'\n[retry]\nmax_retries = 0\n"
    );
    let args = ["check", "--yes", "--json"].into_iter().chain(more.iter().copied());
    agentloop(args).config(&config).run()
}

/// Returns the result and the detail of a check.
fn result<'a>(document: &'a Value, name: &str) -> (&'a str, &'a str) {
    let rows = document["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["check"] == name).unwrap_or_else(|| panic!("no {name}"));
    (row["result"].as_str().unwrap(), row["detail"].as_str().unwrap())
}

#[test]
fn the_simulator_passes_in_every_protocol() {
    let server = Server::start(&[]);
    for protocol in ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"] {
        // OpenAI and Gemini list models at the same path, so the simulator distinguishes them by the version.
        let url = match protocol {
            "gemini" => server.url.replace("/v1", "/v1beta"),
            _ => server.url.clone(),
        };
        let run = check(&url, protocol, &["local/tools"]);
        assert_eq!(run.code, Some(0), "{protocol}: {run}");
        let document = run.json();
        assert_eq!(document["protocol"], protocol);
        assert_eq!(document["costUsd"], Value::Null, "the simulator has no price");
        assert!(run.stderr.contains(" skipped, cost unknown"), "{run}");
        // The Responses API has no stop sequences.
        let stop = if protocol == "openai_responses" { "skipped" } else { "pass" };
        assert_eq!(result(&document, "stop").0, stop, "{protocol}: {run}");
        for name in ["complete", "stream", "usage", "system", "length", "tool-call"] {
            assert_eq!(result(&document, name).0, "pass", "{protocol}: {run}");
        }
        // Ollama cannot force a tool.
        let forced = if protocol == "ollama" { "skipped" } else { "pass" };
        assert_eq!(result(&document, "forced-tool").0, forced, "{protocol}: {run}");
        for name in ["parallel-calls", "structured", "unicode"] {
            assert_eq!(result(&document, name).0, "pass", "{protocol}: {run}");
        }
        for name in ["thinking", "image", "wrong-key", "unknown-model"] {
            assert_eq!(result(&document, name).0, "skipped", "{protocol}: {run}");
        }
    }
}

/// Sums that do not add up, streams that are cut off, tools that are ignored, and everything that is asked for in vain.
#[test]
fn a_faulty_server_fails() {
    let url = server::serve_by(Then::Close, |request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            return server::json("200 OK", r#"{"data":[]}"#);
        };
        if body["stream"] == true {
            let chunk =
                r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"one"}}]}"#;
            return server::events(&format!("data: {chunk}\n\n"));
        }
        let response = json!({
            "id": "c1", "model": "m",
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": "one two three" }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9 },
        });
        server::json("200 OK", &response.to_string())
    });
    let run = check(&url, "openai_chat", &["local/m"]);
    run.fails(1, "checks failed");
    let document = run.json();
    assert_eq!(result(&document, "complete").0, "pass", "{run}");
    for (name, expected) in [
        ("stream", "the stream ended before"),
        ("usage", "expected tokens of prompt and response, got 9 + 0 = 9 tokens"),
        ("system", "expected a response with the word pelican"),
        ("stop", "expected text that ends before \"three\""),
        ("length", "expected the finish reason Length, got Stop"),
        ("tool-call", "expected a call of get_weather, got \"one two three\""),
        ("forced-tool", "expected a call of get_time"),
        ("parallel-calls", "expected two calls"),
        ("structured", "expected JSON with a city"),
        ("unicode", "expected text with Zürich"),
        ("model-list", "expected at least one model, got an empty list"),
    ] {
        let (result, detail) = result(&document, name);
        assert_eq!(result, "fail", "{name}: {run}");
        assert!(detail.contains(expected), "{name}: {detail}");
    }
}

/// A key that the provider repeats in its response is removed as well.
#[test]
fn recordings_have_no_secrets() {
    let key = "hush-4711-example";
    let url = server::serve_by(Then::Close, move |_| {
        let body = format!(
            r#"{{"error":{{"message":"Incorrect API key provided: {key}","type":"invalid_request_error","code":"invalid_api_key",
            "base64":"aHVzaC00NzExLWV4YW1wbGU=","hex":"687573682d343731312d6578616d706c65"}}}}"#
        );
        let response = server::json("401 Unauthorized", &body);
        response.replacen(
            "\r\n",
            &format!("\r\nset-cookie: a={key}\r\nx-echo: {key}\r\nopenai-organization: org-9\r\n"),
            1,
        )
    });
    let folder = Folder::with([]);
    let config = format!(
        "[providers.local]\nbase_url = '{url}'\nkey_env = 'LOCAL_KEY'\n[retry]\nmax_retries = 0\n"
    );
    let run = agentloop(["check", "local/m", "--yes", "--record", "out"])
        .config(&config)
        .env("LOCAL_KEY", key)
        .within(folder.path())
        .run();
    assert_eq!(run.code, Some(1), "{run}");
    assert!(!run.stdout.contains(key) && !run.stderr.contains(key), "{run}");
    assert!(run.stdout.lines().any(|line| line.starts_with("pass\twrong-key")), "{run}");
    let file = folder.path().join("out/local/complete.json");
    let recorded: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let exchange = &recorded["exchanges"][0];
    assert_eq!(exchange["response"]["status"], 401, "{recorded}");
    assert!(exchange["request"]["json"].to_string().contains("Say hello."), "{recorded}");
    let body = exchange["response"]["body"].to_string();
    assert!(body.contains("Incorrect API key provided: ***"), "{recorded}");
    for file in std::fs::read_dir(folder.path().join("out/local")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let others = ["hush-4711", "aHVzaC00NzEx", "687573682d34373131", "org-9", "set-cookie"];
        assert!(!others.iter().any(|other| text.contains(other)), "{text}");
    }
    // A test can replay it.
    assert!(!agentloop_sim::Recording::replay(file).unwrap().unused().is_empty());
}

#[test]
fn nothing_is_sent_without_consent_or_beyond_the_limit() {
    let run = agentloop(["check", "openai/gpt-4.1-mini"]).env("OPENAI_API_KEY", "example").run();
    run.refuses("for at most about $0.0").reports("--yes");
    agentloop(["check", "openai/gpt-4.1", "--yes", "--max-cost", "0.000001"])
        .env("OPENAI_API_KEY", "example")
        .run()
        .fails(2, "more than the limit of $0.000001");
    agentloop(["check", "sim/tools", "--yes", "--max-cost", "1"]).run().exits(2);
    agentloop(["check", "openai", "--yes"]).run().fails(2, "OPENAI_API_KEY");
    agentloop(["check", "opnai/x", "--yes"]).run().exits(2);
}

#[cfg(unix)]
#[test]
fn at_a_terminal_the_cost_is_stated_and_asked_about() {
    use crate::common::pty::terminal;
    let folder = Folder::with([]);
    for (reply, code) in [("n\r", 2), ("y\r", 0)] {
        let mut screen = terminal(folder.path(), &["check", "sim/tools"]).size(120, 40).start();
        screen.wait_for("Send about 20 small requests to sim/tools, for an unknown price? [y/N]");
        screen.press(reply);
        assert_eq!(screen.finish(), Some(code), "{}", screen.screen());
    }
}
