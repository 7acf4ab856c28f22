//! `agentloop chat`: which model is used, and what is printed.

use crate::common;

use common::folder::Folder;
use common::{agentloop, command};

/// A job whose secret is missing must not report success.
#[test]
fn without_a_key_and_a_terminal_nothing_is_simulated() {
    for more in
        [&[][..], &["-q"], &["--json"], &["--events"], &["--schema", "{}"], &["--tool", "time"]]
    {
        let run = agentloop(["Hello", "there"].into_iter().chain(more.iter().copied())).run();
        run.refuses("error: no model is given and no provider has a key").reports("OPENAI_API_KEY");
        assert!(run.stderr.contains("-m sim/echo"), "{run}");
    }
}

#[cfg(unix)]
#[test]
fn without_a_key_at_a_terminal_the_simulator_responds_with_a_note() {
    let folder = Folder::with([]);
    let run = crate::run_terminal::at_terminal(&folder, "Hello there", &[]).exits(0);
    run.shows("Hello there").reports("note: no key is set");
    assert!(run.stderr.contains("sim/echo") && run.stderr.contains("OPENAI_API_KEY"), "{run}");
}

#[test]
fn quiet_prints_only_the_response() {
    let run = agentloop(["-q", "chat", "-m", "sim/echo", "Hello"]).run();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
}

#[test]
fn stdin_is_appended_to_the_prompt_after_a_blank_line() {
    let run = agentloop(["chat", "-m", "sim/echo", "Translate:"]).stdin("Guten\nTag\n").run();
    assert!(run.stdout.contains("Translate:\n\nGuten\nTag"), "{run}");
}

/// Programs that start other programs often leave their stdin open.
#[test]
fn a_note_reports_a_stdin_that_stays_open() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let mut command = command(["chat", "-m", "sim/echo", "Hello"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("note: waiting for the end of stdin"), "{line}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn complete_and_streamed_responses_are_the_same() {
    for form in [None, Some("--json"), Some("--events")] {
        let args = |more| ["chat", "-m", "sim/echo", "Hello"].into_iter().chain(form).chain(more);
        let streamed = agentloop(args(None)).run();
        let complete = agentloop(args(Some("--no-stream"))).run();
        assert_eq!(streamed.code, Some(0), "{streamed}");
        assert_eq!(complete.code, Some(0), "{complete}");
        if form.is_none() {
            assert_eq!(streamed.stdout, complete.stdout);
        }
    }
}

#[test]
fn json_prints_the_complete_response() {
    let run = agentloop(["chat", "-m", "sim/echo", "--json", "Hello"]).run();
    let response = run.response();
    assert_eq!(response["provider"], "sim");
    assert_eq!(response["choices"][0]["finishReason"], "stop");
}

#[test]
fn events_start_with_message_start_and_end_with_message_done() {
    let run = agentloop(["chat", "-m", "sim/echo", "--events", "Hello"]).run();
    let events = run.lines();
    assert_eq!(events.first().unwrap()["type"], "message.start");
    assert_eq!(events.last().unwrap()["type"], "message.done");
}

#[test]
fn the_error_for_a_missing_key_names_the_variable() {
    let run = agentloop(["chat", "-m", "openai/gpt-4.1", "Hello"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: openai: no key is set
    hint: store a key with `agentloop setup openai`, or set OPENAI_API_KEY, or `key_env` or `key_file` under [providers.openai] in agentloop.toml; get a key at https://platform.openai.com/settings/organization/api-keys
    "#);
}

#[test]
fn the_error_for_an_unknown_provider_suggests_the_closest_name() {
    agentloop(["chat", "-m", "mistrall/m", "Hello"]).run().fails(2, "did you mean `mistral`?");
}

#[test]
fn the_model_comes_from_the_command_line_then_the_environment_then_the_file() {
    let config = "default_model = 'openai/from-the-file'\n[aliases]\ne = 'sim/echo'\n";
    agentloop(["chat", "Hello"]).config(config).run().reports("openai: no key is set");
    let environment = agentloop(["chat", "Hello"])
        .config(config)
        .env("AGENTLOOP_MODEL", "groq/from-the-environment")
        .run();
    assert!(environment.stderr.contains("groq: no key is set"), "{environment}");
    agentloop(["chat", "-m", "e", "Hello"])
        .config(config)
        .env("AGENTLOOP_MODEL", "groq/from-the-environment")
        .run()
        .exits(0);
}

#[test]
fn an_empty_prompt_is_an_error() {
    insta::assert_snapshot!(agentloop(["chat"]).run(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: the prompt is empty
    hint: give the prompt as an argument, for example `agentloop 'Hello'`, or pipe it in
    "#);
}

#[test]
fn a_prompt_that_is_not_utf8_is_an_error() {
    let run = agentloop(["chat", "-m", "sim/echo"]).stdin(b"abc\xff".to_vec()).run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: stdin is not UTF-8 text: invalid byte at offset 3
    hint: pipe in text only; attach other files with --image, --file, --audio or --video
    "#);
}

#[test]
fn errors_for_wrong_options_explain_the_right_ones() {
    for (args, words) in [
        (["--extra", "a=b"], "a string needs quotes: a='\"text\"'"),
        (["--effort", "huge"], "minimal, low, medium"),
        (["--timeout", "0"], "more than 0"),
        (["--timeout", "1e19"], "at most a year"),
        (["--timeout", "nan"], "not a number"),
        (["--temperature", "warm"], "invalid value"),
        (["--json", "--events"], "cannot be used with"),
    ] {
        agentloop(["chat", "hi"].into_iter().chain(args)).run().fails(2, words);
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let mut child = command(["providers"]).spawn().unwrap();
    drop(child.stdout.take());
    let run = common::Outcome::of(child).exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn images_are_saved_and_existing_files_are_kept() {
    let folder = Folder::with([]);
    let path = folder.path().to_str().unwrap();
    for name in ["image-1.png", "image-2.png"] {
        let run = agentloop(["chat", "-m", "sim/image", "Draw", "--save-media", path]).run();
        run.exits(0).reports(name);
        assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn a_file_that_cannot_be_attached_is_named() {
    let run = agentloop(["chat", "-m", "sim/echo", "Look", "--image", "nowhere.png"]).run();
    run.fails(2, "nowhere.png");
}

#[test]
fn media_are_attached_by_url_and_by_path() {
    let folder = Folder::with([("a.txt", "some text")]);
    let image = "https://x.test/a.png";
    let args = ["chat", "-m", "sim/echo", "Look", "--image", image, "--file", "a.txt"];
    agentloop(args).within(folder.path()).run().exits(0).shows("Look");
}

#[cfg(unix)]
#[test]
fn media_are_not_written_through_a_symbolic_link() {
    let folder = Folder::with([]);
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, folder.path().join("image-1.png")).unwrap();
    let args = ["chat", "-m", "sim/image", "Draw", "--save-media", "."];
    agentloop(args).within(folder.path()).run().exits(0).reports("image-2.png");
    assert_eq!(folder.names(), ["image-1.png", "image-2.png"]);
}
