//! Conversations that are stored: `-c`, `--in`, `--no-log` and `agentloop log`.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::patience::wait_until;
use crate::common::server::{self, Then, serve, serve_by};
use crate::common::{Outcome, Run, agentloop, command, delta, signal, sse};

/// Prepares the command with the history in this folder.
pub(crate) fn prepare<'a>(folder: &Folder, args: impl IntoIterator<Item = &'a str>) -> Run {
    agentloop(args).env("AGENTLOOP_DATA", &folder.path().join("data").to_string_lossy())
}

pub(crate) fn run(folder: &Folder, args: &[&str]) -> Outcome {
    prepare(folder, args.iter().copied()).run().exits(0)
}

/// Returns the last conversation as it is stored.
fn last(folder: &Folder) -> Value {
    run(folder, &["log", "show", "--json"]).json()
}

/// Returns the messages of a conversation, or of a request.
fn messages(of: &Value) -> &[Value] {
    of["messages"].as_array().unwrap()
}

fn file(folder: &Folder) -> PathBuf {
    folder.path().join("data/history.sqlite3")
}

/// Responds to every request like OpenAI, and passes the bodies of the requests on.
pub(crate) fn serve_recorded(response: String) -> (String, Receiver<Value>) {
    let (sender, receiver) = channel();
    let url = serve_by(Then::Close, move |request| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let _ = sender.send(serde_json::from_str(body).unwrap());
        response.clone()
    });
    (url, receiver)
}

pub(crate) fn chat_completion(text: &str) -> String {
    let body = json!({ "id": "c", "model": "m", "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }] });
    server::json("200 OK", &body.to_string())
}

#[test]
fn a_conversation_continues_in_the_next_command_also_with_another_provider() {
    let folder = Folder::with([]);
    let (one, first) = serve_recorded(chat_completion("Rome."));
    let message = json!({ "id": "m", "type": "message", "role": "assistant", "model": "n", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "Three million." }], "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let (two, second) = serve_recorded(server::json("200 OK", &message.to_string()));
    let config = format!(
        "[providers.one]\nbase_url = '{one}'\n[providers.two]\nbase_url = '{two}'\nprotocol = 'anthropic'\n"
    );
    let chat = |args: &[&str]| {
        let args = ["chat", "--no-stream"].iter().chain(args).copied();
        prepare(&folder, args).config(&config).run().exits(0)
    };
    chat(&["-m", "one/m", "-s", "Be brief.", "The capital of Italy?"]);
    assert_eq!(messages(&first.recv().unwrap()).len(), 2);

    // The model and the system prompt are those of the conversation.
    chat(&["-c", "And its river?"]);
    let sent = first.recv().unwrap();
    let texts: Vec<&str> =
        messages(&sent).iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Be brief.", "The capital of Italy?", "Rome.", "And its river?"]);
    assert_eq!(sent["model"], "m");

    chat(&["-c", "-m", "two/n", "-s", "Be exact.", "How many people?"]);
    let sent = second.recv().unwrap();
    assert!(sent["system"].to_string().contains("Be exact."), "{sent}");
    assert_eq!(messages(&sent).len(), 5, "{sent}");
    assert!(messages(&sent)[1].to_string().contains("Rome."), "{sent}");

    let stored = last(&folder);
    assert_eq!((&stored["model"], &stored["system"]), (&json!("two/n"), &json!("Be exact.")));
    assert_eq!(stored["title"], "The capital of Italy?");
    let messages = messages(&stored);
    assert_eq!(messages.len(), 6);
    assert_eq!(messages[5]["response"]["state"], "complete");
    assert_eq!(messages[5]["response"]["provider"], "two");
    assert_eq!(messages[1]["response"]["usage"]["promptTokens"], 10);
}

#[test]
fn a_named_conversation_is_created_and_continued_by_its_name() {
    let folder = Folder::with([]);
    run(&folder, &["chat", "-m", "sim/echo", "--in", "trip", "First"]);
    run(&folder, &["chat", "-m", "sim/echo", "Another"]);
    run(&folder, &["chat", "--in", "trip", "Second"]);
    let talk = run(&folder, &["log", "show", "trip", "--json"]).json();
    assert_eq!(messages(&talk).len(), 4, "{talk}");
    let id = talk["id"].as_str().unwrap();
    run(&folder, &["chat", "--in", id, "Third"]);
    let count = |name: &str| messages(&run(&folder, &["log", "show", name, "--json"]).json()).len();
    assert_eq!(count(id), 6);
    let list = run(&folder, &["log", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    run(&folder, &["log", "rename", "trip", "journey"]);
    run(&folder, &["chat", "--in", "journey", "--no-log", "Fourth"]);
    assert_eq!(count("journey"), 6);
    for wrong in ["last", "a\u{202e}b", " x"] {
        let done = prepare(&folder, ["chat", "-m", "sim/echo", "--in", wrong, "Hello"]).run();
        assert_eq!(done.code, Some(2), "{done}");
        assert_eq!(done.stdout, "");
        assert!(!done.stderr.contains('\u{202e}'), "{done}");
    }
}

#[test]
fn nothing_is_stored_with_no_log_or_if_the_configuration_turns_it_off() {
    let folder = Folder::with([]);
    run(&folder, &["chat", "-m", "sim/echo", "--no-log", "Hello"]);
    let done = prepare(&folder, ["chat", "-m", "sim/echo", "Hello"])
        .config("[history]\nenabled = false")
        .run();
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done}");
    assert!(!folder.path().join("data").exists());
    run(&folder, &["log"]).reports("no conversation");
    let done = prepare(&folder, ["chat", "-c", "-m", "sim/echo", "Hello"]).run();
    done.fails(2, "there is no conversation yet");
}

#[test]
fn a_file_that_the_user_does_not_trust_does_not_turn_storing_on_or_off() {
    let folder = Folder::with([]);
    prepare(&folder, ["chat", "-m", "sim/echo", "Hello"])
        .folder_config("[history]\nenabled = false")
        .run()
        .exits(0)
        .reports("history.enabled");
    assert!(file(&folder).exists());
}

/// Starts the command without waiting for it.
fn spawn(folder: &Folder, config: &Path, args: &[&str]) -> Child {
    let mut command = command(args.iter().copied());
    command.arg("--config").arg(config).env("AGENTLOOP_DATA", folder.path().join("data"));
    command.spawn().unwrap()
}

/// Writes the configuration of a provider `lab` at this URL, and returns the path of the file.
fn lab(folder: &Folder, url: &str) -> PathBuf {
    let config = format!("[providers.lab]\nbase_url = '{url}'\n[retry]\nmax_retries = 0\n");
    folder.write("lab.toml", config)
}

/// A server that begins a response and then waits.
fn unfinished(folder: &Folder, then: Then) -> PathBuf {
    let url = serve(server::events(&sse(&[&delta(r#"{"content":"Half an "}"#)], false)), then);
    lab(folder, &url)
}

#[test]
fn a_killed_process_leaves_the_prompt_and_what_had_arrived() {
    let folder = Folder::with([]);
    let url = {
        // Text arrives all the time, and the response never ends.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut buffer = [0; 65_536];
                let _ = stream.read(&mut buffer);
                let _ = std::io::Write::write_all(&mut stream, server::events("").as_bytes());
                let chunk = sse(&[&delta(r#"{"content":"word "}"#)], false);
                while std::io::Write::write_all(&mut stream, chunk.as_bytes()).is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        url
    };
    let config = lab(&folder, &url);
    let mut child = spawn(&folder, &config, &["chat", "-m", "lab/m", "Tell me everything"]);
    let text = |stored: &Value| stored["messages"][1]["message"].to_string();
    wait_until("what has arrived is stored", || {
        let done = prepare(&folder, ["log", "show", "--json"]).run();
        done.code == Some(0) && text(&done.json()).contains("word word")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let stored = last(&folder);
    assert_eq!(stored["messages"][0]["message"]["content"], "Tell me everything");
    assert_eq!(stored["messages"][1]["response"]["state"], "running", "{stored}");
    assert!(run(&folder, &["log", "show"]).stdout.contains("incomplete"));
    // What had arrived is part of the conversation when it continues.
    let (url, sent) = serve_recorded(chat_completion("Well."));
    let config = format!("[providers.lab]\nbase_url = '{url}'\n");
    prepare(&folder, ["chat", "-c", "--no-stream", "Go on"]).config(&config).run().exits(0);
    let sent = sent.recv().unwrap();
    assert!(sent["messages"][1].to_string().contains("word word"), "{sent}");
    assert_eq!(sent["messages"][2]["content"], "Go on");
}

#[test]
fn an_interrupted_response_is_kept_and_marked() {
    let folder = Folder::with([]);
    let config = unfinished(&folder, Then::Wait);
    let mut child = spawn(&folder, &config, &["chat", "-m", "lab/m", "Hello"]);
    let mut seen = [0; 8];
    child.stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let stored = last(&folder);
    assert_eq!(stored["messages"][1]["response"]["state"], "incomplete", "{stored}");
    assert!(stored["messages"][1]["message"].to_string().contains("Half an "), "{stored}");
}

#[test]
fn a_truncated_and_a_failed_response_are_kept_with_their_errors() {
    let folder = Folder::with([]);
    let config = unfinished(&folder, Then::Close);
    let args = ["chat", "--config", &config.to_string_lossy(), "-m", "lab/m", "Hello"];
    prepare(&folder, args).run().exits(1);
    let response = &last(&folder)["messages"][1]["response"];
    assert_eq!(
        (&response["state"], &response["error"]["kind"]),
        (&json!("incomplete"), &json!("incomplete_stream"))
    );
    let url = serve(server::json("401 No", r#"{"error":{"message":"wrong key"}}"#), Then::Close);
    prepare(&folder, ["chat", "-m", "lab/m", "Hello"])
        .config(&format!("[providers.lab]\nbase_url = '{url}'\n"))
        .run()
        .exits(1);
    let stored = last(&folder);
    assert_eq!(stored["messages"][1]["response"]["state"], "failed");
    assert_eq!(stored["messages"][1]["response"]["error"]["raw"], Value::Null);
    assert_eq!(stored["messages"][1]["response"]["error"]["status"], 401);
}

/// Runs the command where a file may not have more than these blocks.
#[cfg(unix)]
pub(crate) fn on_full_disk(folder: &Folder, blocks: u32, args: &str, data: &Path) -> Outcome {
    // Without the trap the system would end the process.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {args}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_agentloop")]).stdin(Stdio::null());
    command.env_clear().env("AGENTLOOP_DATA", data).current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Outcome::of(command.spawn().unwrap())
}

#[cfg(unix)]
#[test]
fn on_a_full_disk_the_response_is_printed_and_a_warning_reports_that_it_is_not_stored() {
    let folder = Folder::with([]);
    let limited = |blocks: u32| {
        let data = folder.path().join("data");
        let done = on_full_disk(&folder, blocks, "chat -m sim/echo Hello", &data).exits(0);
        done.shows("Hello").reports("warning: the conversation is not logged: ");
        assert_eq!(done.stderr.lines().count(), 1, "{done}");
    };
    // The file cannot be created; later it cannot grow.
    limited(1);
    let _ = std::fs::remove_dir_all(folder.path().join("data"));
    run(&folder, &["chat", "-m", "sim/echo", "Before"]);
    limited(1);
    let list = run(&folder, &["log", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
}

#[test]
fn several_processes_at_once_lose_nothing() {
    const PROCESSES: usize = 6;
    let folder = Folder::with([]);
    let config = folder.write("empty.toml", "");
    let prompts: Vec<String> =
        (0..PROCESSES).map(|number| format!("prompt-{number}-of-many")).collect();
    let chat = |prompt| ["chat", "-m", "sim/echo", "--in", "shared", prompt];
    let children: Vec<Child> =
        prompts.iter().map(|prompt| spawn(&folder, &config, &chat(prompt))).collect();
    for child in children {
        let done = Outcome::of(child).exits(0);
        assert_eq!(done.stderr, "");
    }
    let talk = run(&folder, &["log", "show", "shared", "--json"]).json();
    let messages = messages(&talk);
    assert_eq!(messages.len(), 2 * PROCESSES, "{talk}");
    for prompt in &prompts {
        let at =
            messages.iter().position(|one| one["message"]["content"] == prompt.as_str()).unwrap();
        // The response comes right after its prompt.
        assert_eq!(messages[at + 1]["response"]["state"], "complete");
        assert!(messages[at + 1]["message"].to_string().contains(prompt.as_str()), "{talk}");
    }
}

#[test]
fn a_run_with_tools_is_stored_with_its_calls_and_results() {
    let folder = Folder::with([]);
    let done =
        prepare(&folder, ["run", "-m", "sim/tools", "--tool", "time", "What time is it?"]).run();
    assert_eq!(done.code, Some(0), "{done}");
    let stored = last(&folder);
    let roles: Vec<&str> =
        messages(&stored).iter().map(|one| one["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{stored}");
    assert_eq!(stored["messages"][1]["response"]["state"], "complete");
    prepare(&folder, ["run", "-c", "--tool", "time", "Again"]).run().exits(0);
    assert!(messages(&last(&folder)).len() >= 6);
}

#[test]
fn a_run_that_is_killed_keeps_its_finished_steps() {
    let folder = Folder::with([]);
    let call = json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [{ "id": "call_1", "type": "function",
        "function": { "name": "time", "arguments": "{}" } }] } }] });
    // The first request gets a call, and the second one nothing.
    let response = server::json("200 OK", &call.to_string());
    let response = response.replace("content-length", "connection: close\r\ncontent-length");
    let is_first = AtomicBool::new(true);
    let url = serve_by(Then::Wait, move |_| {
        if is_first.swap(false, Ordering::SeqCst) { response.clone() } else { String::new() }
    });
    let config = lab(&folder, &url);
    let args = ["run", "-m", "lab/m", "--no-stream", "--tool", "time", "What time is it?"];
    let mut child = spawn(&folder, &config, &args);
    let mut stored = Value::Null;
    wait_until("the step is stored", || {
        let done = prepare(&folder, ["log", "show", "--json"]).run();
        stored = if done.code == Some(0) { done.json() } else { Value::Null };
        stored["messages"].as_array().is_some_and(|messages| messages.len() == 4)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(stored["messages"][1]["response"]["state"], "complete", "{stored}");
    assert_eq!(stored["messages"][2]["message"]["tool_call_id"], "call_1", "{stored}");
    let result = stored["messages"][2]["message"]["content"].as_str().unwrap();
    assert!(result.contains("\"utc\""), "{stored}");
    assert_eq!(stored["messages"][3]["response"]["state"], "running", "{stored}");
}

#[test]
fn no_secret_is_in_the_file() {
    let folder = Folder::with([]);
    let echo =
        r#"{"error":{"message":"the key hush-environment-4711 of hush-query-4711 is wrong"}}"#;
    let failing = serve(server::json("401 No", echo), Then::Close);
    let (working, _sent) = serve_recorded(chat_completion("Fine."));
    for url in [failing, working] {
        let config = format!(
            "[providers.lab]\nbase_url = \"{}?api-key=hush-query-4711\"\nkey_env = \"LAB_KEY\"\n\
             headers = {{ x-lab-token = \"hush-header-4711\" }}\n",
            url.replace("http://", "http://me:hush-password-4711@")
        );
        let args =
            ["chat", "-m", "lab/m", "--no-stream", "--extra", "token=\"hush-extra-4711\"", "Hello"];
        let media = ["--image", "https://me:hush-image-4711@example.com/a.png"];
        let done = prepare(&folder, args.into_iter().chain(media))
            .config(&config)
            .env("LAB_KEY", "hush-environment-4711")
            .run();
        assert!(done.code.is_some(), "{done}");
    }
    assert_eq!(run(&folder, &["log", "--json"]).json().as_array().unwrap().len(), 2);
    for entry in std::fs::read_dir(folder.path().join("data")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            !bytes.windows(5).any(|seen| seen == b"hush-"),
            "a secret is in {}",
            path.display()
        );
    }
}

#[test]
fn the_log_is_listed_searched_shown_exported_and_deleted() {
    let folder = Folder::with([]);
    run(
        &folder,
        &["chat", "-m", "sim/echo", "-s", "Be brief.", "How do lifetimes\nwork\tin Rust?"],
    );
    run(&folder, &["chat", "-m", "sim/echo", "--in", "pasta", "A recipe for carbonara, please"]);
    let list = run(&folder, &["log"]).stdout;
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert_eq!((lines[0].len(), lines[0][5], lines[0][2]), (7, "pasta", "2"), "{list}");
    assert_eq!(lines[1][6], "How do lifetimes work in Rust?", "{list}");
    assert_eq!(run(&folder, &["log", "list", "-n", "1"]).stdout.lines().count(), 1);

    let found = run(&folder, &["log", "search", "LIFETIME*"]).stdout;
    assert!(
        found.lines().count() >= 2 && found.lines().all(|line| line.starts_with(lines[1][0])),
        "{found}"
    );
    let found = run(&folder, &["log", "search", "carbonara", "--json"]).json();
    assert_eq!(found[0]["name"], "pasta", "{found}");
    let none = run(&folder, &["log", "search", "\"; DROP TABLE message; --", "NEAR(", "*"]);
    assert!(none.stderr.contains("nothing was found"), "{none}");

    let shown = run(&folder, &["log", "show", lines[1][0]]).stdout;
    assert!(
        shown.contains("Be brief.") && shown.contains("How do lifetimes\nwork\tin Rust?"),
        "{shown}"
    );
    assert!(shown.contains("assistant") && shown.contains("sim/echo"), "{shown}");
    let text = run(&folder, &["log", "export", "pasta"]).stdout;
    assert!(
        text.starts_with("# A recipe for carbonara, please\n") && text.contains("\n## Assistant\n"),
        "{text}"
    );
    let all = run(&folder, &["log", "export", "--all", "--format", "json"]).lines();
    assert_eq!((all.len(), &all[1]["name"]), (2, &json!("pasta")));
    assert_eq!(all[0]["messages"][0]["message"]["content"], "How do lifetimes\nwork\tin Rust?");
    let path = run(&folder, &["log", "path"]).stdout;
    assert_eq!(path.trim_end(), file(&folder).to_string_lossy());

    prepare(&folder, ["log", "delete", "pasta"]).run().fails(2, "--yes");
    run(&folder, &["log", "delete", "--older-than", "1d", "--yes"]);
    assert_eq!(run(&folder, &["log"]).stdout.lines().count(), 2);
    run(&folder, &["log", "delete", "pasta", "--yes"]);
    assert_eq!(run(&folder, &["log"]).stdout.lines().count(), 1);
    prepare(&folder, ["log", "show", "pasta"]).run().exits(2);
    run(&folder, &["log", "delete", "--all", "-y"]);
    assert_eq!(run(&folder, &["log", "--json"]).json(), json!([]));
    prepare(&folder, ["log", "delete"]).run().exits(2);
}

#[test]
fn a_damaged_or_newer_file_is_reported_and_the_response_is_still_printed() {
    let folder = Folder::with([]);
    let before = "not a database".repeat(1_000);
    folder.write("data/history.sqlite3", &before);
    let done = run(&folder, &["chat", "-m", "sim/echo", "Hello"]);
    assert!(done.stdout.contains("Hello"), "{done}");
    assert!(done.stderr.starts_with("warning: the conversation is not logged: "), "{done}");
    for args in [&["log"][..], &["chat", "-m", "sim/echo", "-c", "Hello"]] {
        let done = prepare(&folder, args.iter().copied()).run().exits(2);
        assert!(
            done.stderr
                .contains("hint: the file is damaged, or is not a database, and was left as it is"),
            "{done}"
        );
    }
    assert_eq!(std::fs::read_to_string(file(&folder)).unwrap(), before);
}

/// A prompt without a key or for an unknown provider was listed as a conversation without a response.
#[test]
fn a_request_that_is_not_sent_is_not_a_conversation() {
    let folder = Folder::with([]);
    for args in [
        &["chat", "-m", "openai/gpt-4.1", "Hello"][..],
        &["chat", "-m", "unknown/x", "Hello"],
        &["chat", "-m", "openai/gpt-4.1", "--tool", "time", "Hello"],
    ] {
        prepare(&folder, args.iter().copied()).run().exits(2);
    }
    assert_eq!(run(&folder, &["log", "--json"]).json(), serde_json::json!([]));
    // A conversation that is continued stays as it was.
    run(&folder, &["chat", "-m", "sim/echo", "--in", "talk", "First"]);
    let before = last(&folder)["messages"].clone();
    let args = ["chat", "-m", "openai/gpt-4.1", "--in", "talk", "Second"];
    assert_eq!(prepare(&folder, args).run().code, Some(2));
    assert_eq!(last(&folder)["messages"], before);
}
