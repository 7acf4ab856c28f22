//! Calls of a local server: what is printed for responses and failures.

use crate::common;

use std::io::{BufRead, BufReader};

use common::port::Port;
use common::server::{Then, events, json, serve};
use common::{Outcome, Run, agentloop, command, delta, finish, signal, sse};

const KEY: &str = "sk-very-secret";

/// Runs `agentloop` with the provider `lab` at this URL, a key and a default model.
fn lab<'a>(url: &str, args: impl IntoIterator<Item = &'a str>) -> Run {
    let config = format!(
        "default_model = 'lab/m'\n[providers.lab]\nbase_url = '{url}'\nkey_env = 'LAB_KEY'\nstrip = ['seed', 'temperature']\n[retry]\nmax_retries = 0\n"
    );
    agentloop(args).config(&config).env("LAB_KEY", KEY)
}

/// Starts a server that streams these deltas with this finish reason.
fn streams(deltas: &[&str], reason: &str) -> String {
    let mut chunks: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    chunks.push(finish(reason));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    serve(events(&sse(&chunks, true)), Then::Wait)
}

fn hello() -> String {
    streams(
        &[r#"{"reasoning":"Hm."}"#, r#"{"content":"Hello"}"#, r#"{"content":" there"}"#],
        "stop",
    )
}

#[test]
fn text_goes_to_stdout_and_ends_with_a_line_break() {
    let run = lab(&hello(), ["chat", "Hi"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    Hello there
    --- stderr
    "#);
}

#[test]
fn warnings_go_to_stderr_unless_quiet_is_set() {
    let url = hello();
    let run = lab(&url, ["chat", "--temperature", "0.5", "Hi"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    Hello there
    --- stderr
    warning: temperature: lab does not accept it
    "#);
    let run = lab(&url, ["chat", "-q", "--temperature", "0.5", "Hi"]).run();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn each_cited_source_is_printed_once_on_stderr() {
    let annotation = r#"{"type":"url_citation","url_citation":{"url":"https://a.example","title":"A","start_index":0,"end_index":2}}"#;
    let url = streams(
        &[r#"{"content":"So."}"#, &format!(r#"{{"annotations":[{annotation},{annotation}]}}"#)],
        "stop",
    );
    insta::assert_snapshot!(lab(&url, ["chat", "Hi"]).run(), @r#"
    exit 0
    --- stdout
    So.
    --- stderr
    source: A <https://a.example>
    "#);
}

#[test]
fn an_incomplete_response_is_printed_and_reported() {
    for (reason, words) in
        [("length", "token limit"), ("content_filter", "filter"), ("error", "failed")]
    {
        let url = streams(&[r#"{"content":"Hel"}"#], reason);
        for form in [None, Some("--json"), Some("--events")] {
            let run = lab(&url, ["chat", "Hi"].into_iter().chain(form)).run().exits(1);
            run.shows("Hel").reports(words);
        }
    }
}

#[test]
fn a_truncated_stream_is_an_error_after_its_text() {
    let url = serve(events(&sse(&[&delta(r#"{"content":"Hel"}"#)], false)), Then::Close);
    let run = lab(&url, ["chat", "Hi"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    Hel
    --- stderr
    error: lab: the stream ended before the response was complete
    "#);
    let run = lab(&url, ["chat", "--events", "Hi"]).run();
    let lines = run.lines();
    let last = lines.last().unwrap();
    assert_eq!((run.code, &last["type"]), (Some(1), &"error".into()), "{run}");
    assert_eq!(last["error"]["kind"], "incomplete_stream");
    let run = lab(&url, ["chat", "--json", "Hi"]).run();
    assert_eq!(run.error()["partial"]["choices"][0]["content"][0]["text"], "Hel");
}

#[test]
fn the_error_of_a_provider_is_printed_with_a_hint() {
    let body = r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#;
    let url = serve(json("401 Unauthorized", body), Then::Wait);
    insta::assert_snapshot!(lab(&url, ["chat", "Hi"]).run(), @r#"
    exit 1
    --- stdout
    --- stderr
    error: lab: Incorrect API key provided (status 401, invalid_api_key)
    hint: check the key, and that it may use this model
    "#);
    let run = lab(&url, ["chat", "--events", "Hi"]).run();
    assert_eq!(run.lines()[0]["error"]["status"], 401);
    let run = lab(&url, ["chat", "--json", "--no-stream", "Hi"]).run();
    assert_eq!(run.error()["kind"], "auth");
}

#[test]
fn a_refused_connection_is_a_clear_error() {
    let port = Port::reserve();
    let url = format!("http://{}/v1", port.address());
    let run = lab(&url, ["chat", "Hi"]).run().exits(1);
    assert!(run.stderr.starts_with("error: lab: "), "{run}");
    assert!(run.stdout.is_empty(), "{run}");
}

#[test]
fn the_key_is_never_printed() {
    let body = r#"{"error":{"message":"bad request"}}"#;
    let refuses = serve(json("400 Bad Request", body), Then::Wait);
    for url in [hello(), refuses] {
        for form in [None, Some("--json"), Some("--events")] {
            let run = lab(&url, ["chat", "Hi"].into_iter().chain(form)).run();
            assert!(!run.to_string().contains(KEY), "{run}");
        }
    }
}

#[test]
fn a_call_ends_at_its_timeout() {
    let url = serve(events(&sse(&[&delta(r#"{"content":"Hel"}"#)], false)), Then::Wait);
    // On a busy machine the text does not arrive before a short time is over.
    let mut texts = ["0.3", "3", "30"].iter().map(|seconds| {
        let run = lab(&url, ["chat", "--timeout", seconds, "Hi"]).run();
        run.fails(1, &format!("{seconds} s"));
        run.stdout
    });
    assert_eq!(texts.find(|text| !text.is_empty()).as_deref(), Some("Hel\n"));
}

/// The message named what was left of the time when the request was sent: 0.999763919 s.
#[test]
fn a_timeout_is_reported_as_it_was_set() {
    let url = serve(String::new(), Then::Wait);
    for form in [None, Some("--no-stream")] {
        let args = ["chat", "--timeout", "0.5", "Hi"].into_iter().chain(form);
        lab(&url, args).run().fails(1, "timed out after 0.5 s");
    }
}

#[test]
fn embed_prints_one_vector_per_line() {
    let body =
        r#"{"model":"e","data":[{"index":0,"embedding":[0.5,1]},{"index":1,"embedding":[2,-1]}]}"#;
    let url = serve(json("200 OK", body), Then::Wait);
    lab(&url, ["embed", "-m", "lab/e", "one", "two"]).run().prints("[0.5,1.0]\n[2.0,-1.0]\n");
    let run = lab(&url, ["embed", "-m", "lab/e", "--json"]).stdin("one\ntwo\n").run();
    assert_eq!(run.response()["embeddings"][1][0], 2.0);
    lab(&url, ["embed", "-m", "lab/e", "only one"]).run().exits(1);
}

#[test]
fn models_are_printed_one_per_line_with_their_context_window() {
    let body = r#"{"data":[{"id":"big","context_window":131072},{"id":"small"}]}"#;
    let url = serve(json("200 OK", body), Then::Wait);
    for args in [vec!["models"], vec!["models", "lab"]] {
        let run = lab(&url, args).run();
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "lab/big\t131072\nlab/small\n"),
            "{run}"
        );
    }
    let run = lab(&url, ["models", "--json"]).run();
    assert_eq!(run.response()[0]["contextWindow"], 131_072);
}

#[test]
fn a_failing_provider_does_not_hide_the_models_of_others() {
    let good = serve(json("200 OK", r#"{"data":[{"id":"a"}]}"#), Then::Wait);
    let bad = serve(json("500 Internal Server Error", "{}"), Then::Wait);
    let config =
        format!("[providers.bad]\nbase_url = '{bad}'\n[providers.good]\nbase_url = '{good}'\n");
    let run = agentloop(["models"]).config(&config).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "good/a\n"), "{run}");
    assert!(run.stderr.contains("bad: "), "{run}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_stream_at_once() {
    let url = serve(events(&sse(&[&delta(r#"{"content":"Hel\n"}"#)], false)), Then::Wait);
    let mut command = command(["chat", "-m", "vllm/m", "Hi"]);
    let mut child = command.env("AGENTLOOP_VLLM_BASE_URL", &url).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "Hel\n", "text comes before the stream ends");
    signal(&child, "INT");
    let run = Outcome::of(child).exits(130);
    assert_eq!(
        run.stderr,
        "note: the response is incomplete: only its first 4 characters arrived\nerror: interrupted\n"
    );
}
