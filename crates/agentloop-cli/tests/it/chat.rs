//! `agentloop chat`: which model is used, and what is printed.

use crate::common;

use common::agentloop;

/// A job whose secret is missing must not report success.
#[test]
fn without_a_key_and_a_terminal_nothing_is_simulated() {
    for more in
        [&[][..], &["-q"], &["--json"], &["--events"], &["--schema", "{}"], &["--tool", "time"]]
    {
        let run = agentloop(["Hello", "there"].into_iter().chain(more.iter().copied())).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains("error: no model is given and no provider has a key"), "{run}");
        assert!(run.stderr.contains("OPENAI_API_KEY"), "{run}");
        assert!(run.stderr.contains("-m sim/echo"), "{run}");
    }
}

#[cfg(unix)]
#[test]
fn without_a_key_at_a_terminal_the_simulator_responds_with_a_note() {
    let folder = common::folder::Folder::with([]);
    let run = crate::run_terminal::at_terminal(&folder, "Hello there", &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Hello there"), "{run}");
    assert!(run.stderr.contains("note: no key is set"), "{run}");
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
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
        .args(["chat", "-m", "sim/echo", "Hello"])
        .env_clear()
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
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
    let run = agentloop(["chat", "-m", "mistrall/m", "Hello"]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("did you mean `mistral`?"), "{run}");
}

#[test]
fn the_model_comes_from_the_command_line_then_the_environment_then_the_file() {
    let config = "default_model = 'openai/from-the-file'\n[aliases]\ne = 'sim/echo'\n";
    let file = agentloop(["chat", "Hello"]).config(config).run();
    assert!(file.stderr.contains("openai: no key is set"), "{file}");
    let environment = agentloop(["chat", "Hello"])
        .config(config)
        .env("AGENTLOOP_MODEL", "groq/from-the-environment")
        .run();
    assert!(environment.stderr.contains("groq: no key is set"), "{environment}");
    let typed = agentloop(["chat", "-m", "e", "Hello"])
        .config(config)
        .env("AGENTLOOP_MODEL", "groq/from-the-environment")
        .run();
    assert_eq!(typed.code, Some(0), "{typed}");
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
        let run = agentloop(["chat", "hi"].into_iter().chain(args)).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
        .args(["providers"])
        .env_clear()
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8(output.stderr));
}

#[test]
fn images_are_saved_and_existing_files_are_kept() {
    let folder = std::env::temp_dir().join(format!("agentloop-save-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().unwrap();
    for name in ["image-1.png", "image-2.png"] {
        let run = agentloop(["chat", "-m", "sim/image", "Draw", "--save-media", path]).run();
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stderr.contains(name), "{run}");
        assert!(std::fs::read(folder.join(name)).unwrap().starts_with(b"\x89PNG"), "{run}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_cannot_be_attached_is_named() {
    let run = agentloop(["chat", "-m", "sim/echo", "Look", "--image", "nowhere.png"]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("nowhere.png"), "{run}");
}

#[test]
fn media_are_attached_by_url_and_by_path() {
    let path = std::env::temp_dir().join(format!("agentloop-attach-{}.txt", std::process::id()));
    std::fs::write(&path, "some text").unwrap();
    let file = path.to_str().unwrap();
    let args =
        ["chat", "-m", "sim/echo", "Look", "--image", "https://x.test/a.png", "--file", file];
    let run = agentloop(args).run();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Look"), "{run}");
}

#[cfg(unix)]
#[test]
fn media_are_not_written_through_a_symbolic_link() {
    let folder = common::folder::Folder::with([]);
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, folder.path().join("image-1.png")).unwrap();
    let args = ["chat", "-m", "sim/image", "Draw", "--save-media", "."];
    let run = agentloop(args).within(folder.path()).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains("image-2.png"), "{run}");
    assert_eq!(folder.names(), ["image-1.png", "image-2.png"]);
}
