//! `agentloop PROMPT` and `agentloop chat`: one command with one set of options, with and without tools.

use std::ffi::OsString;

use crate::common;

use common::folder::Folder;
use common::sim::Server;
use common::{SUM, agentloop};
use serde_json::{Value, json};

#[test]
fn the_word_chat_can_be_left_out() {
    for args in [
        &["-m", "sim/echo", "Hello", "there"][..],
        &["Hello there", "-m", "sim/echo"],
        &["-q", "Hello", "-m", "sim/echo", "there"],
        &["chat", "-m", "sim/echo", "Hello there"],
        &["run", "-m", "sim/echo", "Hello there"],
    ] {
        let run = agentloop(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{args:?} {run}");
        assert!(run.stdout.contains("Hello there"), "{args:?} {run}");
    }
    let piped = agentloop([]).env("AGENTLOOP_MODEL", "sim/echo").stdin("From a pipe\n").run();
    assert_eq!(piped.code, Some(0), "{piped}");
    assert!(piped.stdout.contains("From a pipe"), "{piped}");
}

#[test]
fn a_mistyped_command_is_not_sent_to_a_model() {
    for (args, words) in [
        (&["modles"][..], "did you mean `models`?"),
        (&["provders", "-m", "sim/echo"], "did you mean `providers`?"),
        (&["modles", "groq"], "did you mean `models`?"),
        (&["-m", "sim/echo", "models"], "`models` is a command"),
    ] {
        let run = agentloop(args.iter().copied()).env("AGENTLOOP_MODEL", "sim/echo").run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?} {run}");
        assert!(run.stderr.contains(words), "{args:?} {run}");
        assert!(run.stderr.contains("agentloop chat "), "{args:?} {run}");
    }
    agentloop(["chat", "-m", "sim/echo", "modles"]).run().exits(0);
}

#[test]
fn a_mistyped_command_with_words_or_options_is_suggested() {
    // Nothing can be sent, so the hint begins with what was probably meant.
    let run = agentloop(["chta", "hello"]).run();
    run.refuses("hint: did you mean `agentloop chat hello`?").reports("agentloop setup");
    let run = agentloop(["chta", "hello", "-m", "openai/gpt-4.1"]).run();
    run.reports("hint: did you mean `agentloop chat hello`?").reports("OPENAI_API_KEY");
    // With a model, it is a prompt.
    let run = agentloop(["chta", "hello"]).env("AGENTLOOP_MODEL", "sim/echo").run().exits(0);
    assert!(run.stdout.contains("chta hello"), "{run}");
    // `chat` has no such option, but the command has it.
    let run = agentloop(["serv", "--check"]).env("AGENTLOOP_MODEL", "sim/echo").run();
    run.refuses("`serv` is not a command; did you mean `serve`?").reports("`--check`");
    // The option is what is wrong.
    agentloop(["why", "--temprature", "1"]).run().reports("'--temperature'");
}

#[test]
fn a_prompt_may_start_with_a_hyphen() {
    for args in [
        &["-5 plus 3", "-m", "sim/echo"][..],
        &["-m", "sim/echo", "-5", "plus", "3"],
        &["-m", "sim/echo", "--", "-5 plus 3"],
    ] {
        let run = agentloop(args.iter().copied()).run();
        assert_eq!(run.code, Some(0), "{args:?} {run}");
        assert!(run.stdout.contains("-5 plus 3"), "{args:?} {run}");
    }
    agentloop(["-m", "sim/echo", "- milk\n- eggs"]).run().shows("- milk\n- eggs");
    agentloop(["-m", "sim/echo", "-s", "-5 is cold", "Hello"]).run().exits(0);
    // A mistyped option is not a prompt.
    agentloop(["-m", "sim/echo", "--temprature", "1", "Hello"]).run().fails(2, "'--temperature'");
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf8_are_an_error() {
    use std::os::unix::ffi::OsStringExt as _;
    for words in [vec![b"caf\xe9".to_vec()], vec![b"-\xff 5".to_vec()], vec![b"\xff".to_vec()]] {
        let words = words.into_iter().map(OsString::from_vec);
        let output = common::command(["-m", "sim/echo"]).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

/// Runs the command with these files in its folder, and returns its output and the JSON on stdout.
fn received(args: &[&str], stdin: &str, files: &[(&str, &str)]) -> (common::Outcome, Value) {
    let folder = Folder::with([]);
    for (name, text) in files {
        folder.write(name, text);
    }
    let args = args.iter().copied().chain(["--json"]);
    let run = agentloop(args).stdin(stdin).within(folder.path()).run();
    let value = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    (run, value)
}

const REQUEST: &str = r#"{"model":"sim/echo","temperature":0.5,"messages":[
    {"role":"system","content":"Be brief."},{"role":"user","content":"From the file"}]}"#;

#[test]
fn a_request_in_a_file_or_in_stdin_is_sent() {
    let files = [("request.json", REQUEST)];
    for (args, stdin) in [(&["--request", "request.json"][..], ""), (&["--request", "-"], REQUEST)]
    {
        let (run, response) = received(args, stdin, &files);
        assert_eq!(run.code, Some(0), "{run}");
        let text = response["choices"][0]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("From the file"), "{run}");
    }
    // The prompt is added, and options override fields.
    let args = ["--request", "request.json", "-m", "sim/long-3", "And then?"];
    let (run, response) = received(&args, "", &files);
    assert_eq!(response["model"], "long-3", "{run}");
}

#[test]
fn a_file_that_is_not_a_request_is_an_error() {
    for (text, words) in [
        ("", "is empty; expected a ChatRequest"),
        ("[1]", "does not contain a ChatRequest"),
        (r#"{"modle":"x"}"#, "unknown field `modle`"),
        ("\u{0}\u{1b}[2J", "does not contain a ChatRequest"),
    ] {
        let (run, _) = received(&["--request", "r.json"], "", &[("r.json", text)]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains(words) && run.stderr.contains("an example: {"), "{run}");
    }
    let (run, _) = received(&["--request", "nowhere.json"], "", &[]);
    run.fails(2, "nowhere.json");
}

#[test]
fn json_of_a_run_is_the_last_response_with_the_run() {
    let args = ["-m", "sim/tools", "--tool", "sum", "--json", "How much?"];
    let run = agentloop(args).config(SUM).run();
    let response = run.response();
    assert_eq!(response["provider"], "sim");
    assert_eq!(response["choices"][0]["content"][0]["text"], "sum says: 14");
    assert_eq!(response["run"]["stop"]["type"], "finished");
    assert_eq!(response["run"]["steps"].as_array().unwrap().len(), 2);
    let args = ["-m", "sim/echo!status=401", "--tool", "time", "--json", "How much?"];
    assert_eq!(agentloop(args).run().error()["kind"], "auth");
}

#[test]
fn a_schema_holds_for_the_last_response_of_a_run() {
    let script = json!({ "turns": [
        { "parts": [{ "type": "text", "text": "Let me see." },
            { "type": "tool_call", "id": "c1", "name": "time", "arguments": "{}" }] },
        { "parts": [{ "type": "text", "text": "{\"sum\": 2}" }] },
    ] });
    let folder = Folder::with([]);
    let schema = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    for (more, pointer) in [(None, ""), (Some("--json"), "/data")] {
        let server = Server::scripted(&folder, &script);
        let tools = ["--tool", "time", "--schema", schema].into_iter().chain(more);
        let run = server.chat("m", &tools.collect::<Vec<_>>()).exits(0);
        assert_eq!(run.json().pointer(pointer), Some(&json!({ "sum": 2 })), "{run}");
    }
}

#[test]
fn options_mean_the_same_with_tools() {
    let args = ["-m", "sim/echo!status=503", "--fallback", "sim/tools", "--retries", "0"];
    let more = ["--tool", "sum", "--timeout", "20", "--effort", "low", "How much?"];
    agentloop(args.into_iter().chain(more)).config(SUM).run().exits(0).shows("sum says: 14");
    let folder = Folder::with([]);
    let args = ["-m", "sim/image", "Draw", "--tool", "time", "--save-media", "media"];
    let run = agentloop(args).within(folder.path()).run().exits(0);
    assert!(folder.path().join("media/image-1.png").exists(), "{run}");
}

#[test]
fn save_with_a_folder_names_the_option_for_media() {
    let folder = Folder::with([]);
    let args = ["-m", "sim/image", "Draw", "--save", "."];
    agentloop(args).within(folder.path()).run().refuses("--save-media DIR");
}

#[test]
fn options_of_the_request_cannot_change_a_run_that_waits() {
    let folder = Folder::with([("README.md", "Read me.")]);
    let args = ["-m", "sim/tools", "--tool", "read_file", "--save", "run.json", "Go"];
    assert_eq!(agentloop(args).within(folder.path()).run().code, Some(3));
    for more in [["--temperature", "1"], ["--schema", "{}"], ["--timeout", "9"]] {
        let args = ["--resume", "run.json", "--tool", "read_file", "--allow", "read_file"];
        let run = agentloop(args.into_iter().chain(more)).within(folder.path()).run();
        run.fails(2, "they cannot be changed");
    }
}

/// One stream mixed `callId` and `tool_call_id`. Messages of the conversation keep the names of requests.
#[test]
fn the_fields_of_events_are_in_camel_case() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let path = format!("{path}.{name}");
                    let is_message = matches!(name.as_str(), "messages" | "request");
                    assert!(!name.contains('_'), "{path}");
                    if !is_message {
                        check(value, &path);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, path)),
            _ => {}
        }
    }
    for tool in ["time", "read_file"] {
        let args = ["-m", "sim/tools", "--tool", tool, "--events", "Go"];
        for event in agentloop(args).run().lines() {
            check(&event, "");
        }
    }
}

/// A server that accepts a schema and ignores it made all attempts fail in the same way.
#[test]
fn a_response_that_is_not_json_is_requested_again_with_the_schema_in_the_prompt() {
    let script = json!({ "turns": [
        { "parts": [{ "type": "text", "text": "The sum is\ntwo." }] },
        { "parts": [{ "type": "text", "text": "{\"sum\": 2}" }] },
    ] });
    let server = Server::scripted(&Folder::with([]), &script);
    let schema = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    let run = server.chat("m", &["--schema", schema, "--json"]).exits(0);
    assert_eq!(run.json()["data"], json!({ "sum": 2 }), "{run}");
    assert_eq!(run.json()["strategy"], "prompt", "{run}");
    // A strategy that the user has chosen stays, and the error quotes the response.
    let server = Server::start(&[]);
    let more = ["--schema", schema, "--strategy", "native", "--json"];
    server.chat("long-3", &more).fails(1, "it begins with \"word");
}

#[test]
fn a_short_word_is_a_prompt_unless_it_is_probably_a_mistyped_command() {
    let config = "default_model = 'sim/echo'\n";
    let dog = agentloop(["dog"]).config(config).run().exits(0);
    assert!(dog.stdout.starts_with("dog"), "{dog}");
    for (typed, command) in [("lgo", "log"), ("modles", "models")] {
        agentloop([typed]).config(config).run().refuses(&format!("did you mean `{command}`?"));
    }
}

/// The hint named a field of the library, which is an option of the command.
#[test]
fn the_hint_about_attachments_names_the_option_of_the_command() {
    let folder = Folder::with([("a.mp4", "\0\0\0\u{18}ftypmp42\0\0\0\0mp42isom")]);
    let args = ["chat", "-m", "groq/openai/gpt-oss-120b", "--video", "a.mp4", "What is this?"];
    let run = agentloop(args).env("GROQ_API_KEY", "example").within(folder.path()).run();
    run.fails(2, "use --lenient to drop it");
}
