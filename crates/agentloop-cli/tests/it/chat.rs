//! `agentloop chat`: which model is asked, and what comes out.

use crate::common;

use common::agentloop;

#[test]
fn without_any_key_the_simulator_answers_and_says_so() {
    let run = agentloop(["chat", "Hello", "there"]).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Hello there"), "{run}");
    assert!(run.stdout.ends_with('\n'), "{run}");
    assert!(run.stderr.contains("sim/echo"), "{run}");
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{run}");
}

#[test]
fn quiet_leaves_only_the_answer() {
    let run = agentloop(["-q", "chat", "Hello"]).run();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
}

#[test]
fn text_that_is_piped_in_follows_the_prompt_after_a_blank_line() {
    let run = agentloop(["chat", "-m", "sim/echo", "Translate:"]).stdin("Guten\nTag\n").run();
    assert!(run.stdout.contains("Translate:\n\nGuten\nTag"), "{run}");
}

/// Programs that start others often leave them a stdin that never ends.
#[test]
fn a_stdin_that_stays_open_is_told_of() {
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
    assert!(line.starts_with("note: waiting for stdin"), "{line}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn whole_and_streamed_answers_are_the_same() {
    for form in [None, Some("--json"), Some("--events")] {
        let args = |more| ["chat", "-m", "sim/echo", "Hello"].into_iter().chain(form).chain(more);
        let streamed = agentloop(args(None)).run();
        let whole = agentloop(args(Some("--no-stream"))).run();
        assert_eq!(streamed.code, Some(0), "{streamed}");
        assert_eq!(whole.code, Some(0), "{whole}");
        if form.is_none() {
            assert_eq!(streamed.stdout, whole.stdout);
        }
    }
}

#[test]
fn json_is_the_whole_answer() {
    let run = agentloop(["chat", "-m", "sim/echo", "--json", "Hello"]).run();
    let answer = run.response();
    assert_eq!(answer["provider"], "sim");
    assert_eq!(answer["choices"][0]["finishReason"], "stop");
}

#[test]
fn events_begin_with_the_start_and_end_with_the_answer() {
    let run = agentloop(["chat", "-m", "sim/echo", "--events", "Hello"]).run();
    let events = run.lines();
    assert_eq!(events.first().unwrap()["type"], "message.start");
    assert_eq!(events.last().unwrap()["type"], "message.done");
}

#[test]
fn with_a_key_but_no_model_it_says_how_to_choose() {
    let run = agentloop(["chat", "Hello"]).env("GROQ_API_KEY", "gsk-very-secret").run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: no model is named; groq could answer
    hint: name one with -m groq/MODEL, AGENTLOOP_MODEL or `default_model` in agentloop.toml; `agentloop models groq` lists them
    "#);
}

#[test]
fn a_missing_key_says_which_variable_to_set() {
    let run = agentloop(["chat", "-m", "openai/gpt-4.1", "Hello"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: openai: no key is set
    hint: set OPENAI_API_KEY, or `key_env` or `key_file` under [providers.openai] in agentloop.toml
    "#);
}

#[test]
fn an_unknown_provider_suggests_the_nearest() {
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
fn nothing_to_say_is_refused() {
    insta::assert_snapshot!(agentloop(["chat"]).run(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there is nothing to say
    hint: give a prompt as arguments, or pipe one in
    "#);
}

#[test]
fn a_prompt_that_is_no_text_is_refused() {
    let run = agentloop(["chat", "-m", "sim/echo"]).stdin(b"abc\xff".to_vec()).run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: stdin is not UTF-8 text (byte 3)
    hint: only text can be piped in
    "#);
}

#[test]
fn wrong_options_say_what_is_right() {
    for (args, words) in [
        (["--extra", "a=b"], "text needs quotes"),
        (["--effort", "huge"], "minimal, low, medium"),
        (["--timeout", "0"], "more than 0"),
        (["--timeout", "1e19"], "more than a year"),
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
fn a_reader_that_leaves_early_is_no_failure() {
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
fn what_a_model_draws_is_written_into_a_folder_and_nothing_is_replaced() {
    let folder = std::env::temp_dir().join(format!("agentloop-save-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let place = folder.to_str().unwrap();
    for name in ["image-1.png", "image-2.png"] {
        let run = agentloop(["chat", "-m", "sim/image", "Draw", "--save", place]).run();
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
fn media_are_attached_by_address_and_by_path() {
    let path = std::env::temp_dir().join(format!("agentloop-attach-{}.txt", std::process::id()));
    std::fs::write(&path, "some text").unwrap();
    let place = path.to_str().unwrap();
    let args =
        ["chat", "-m", "sim/echo", "Look", "--image", "https://x.test/a.png", "--file", place];
    let run = agentloop(args).run();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Look"), "{run}");
}

#[cfg(unix)]
#[test]
fn media_are_not_written_through_a_link_that_waits_for_them() {
    let folder = common::folder::Folder::with([]);
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, folder.path().join("image-1.png")).unwrap();
    let args = ["chat", "-m", "sim/image", "Draw", "--save", "."];
    let run = agentloop(args).within(folder.path()).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains("image-2.png"), "{run}");
    assert_eq!(folder.names(), ["image-1.png", "image-2.png"]);
}
