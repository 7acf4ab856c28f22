//! Programs in place of `llama-server` that do what they should not.

use crate::common;

use common::server::{Then, json, serve};

use super::fake::{Fake, Kind};

/// Runs a chat with a program that does this after its start. Returns what is printed on stderr.
fn chat_with(then: &str) -> String {
    chat_for("20", then)
}

/// Does that with a limit of the call in seconds.
fn chat_for(limit: &str, then: &str) -> String {
    let fake = Fake::new(Kind::Router);
    fake.script(then);
    let run = fake
        .run_with(&["-m", "local/tiny", "--timeout", limit, "Hello"], &[("HF_TOKEN", "hf-hush")]);
    assert_eq!(run.stdout, "", "{run}");
    assert!(matches!(run.code, Some(1 | 2)), "{run}");
    assert!(!run.stderr.contains(&fake.read("key")) && !run.stderr.contains("hf-hush"), "{run}");
    assert!(run.stderr.len() < 5_000, "{} bytes", run.stderr.len());
    fake.assert_nothing_runs();
    run.stderr
}

#[test]
fn one_that_ends_at_once_is_an_error_with_what_it_printed() {
    let stderr = chat_with("echo 'E srv  start: cannot bind: error 98'; exit 3");
    assert!(stderr.contains("llama-server ended before it listened (exit status: 3)"), "{stderr}");
    assert!(stderr.contains("it printed: E srv  start: cannot bind: error 98"), "{stderr}");
    let stderr = chat_with("kill -9 $$");
    assert!(stderr.contains("llama-server ended before it listened"), "{stderr}");
}

#[test]
fn a_port_that_is_taken_is_an_error_with_what_it_printed() {
    let stderr = chat_with(
        "echo \"E srv  start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080\"; exit 1",
    );
    assert!(stderr.contains("couldn't bind HTTP server socket"), "{stderr}");
}

#[test]
fn one_that_prints_without_end_is_ended() {
    for output in ["yes", "yes | tr -d '\\n'", "cat /dev/zero"] {
        let stderr = chat_for("3", output);
        assert!(stderr.contains("error: "), "{output}: {stderr}");
    }
}

#[test]
fn one_that_hangs_is_ended_with_the_call() {
    let fake = Fake::new(Kind::Router);
    fake.script("echo loading; sleep 600 & exec sleep 600");
    let run = fake.run(&["-m", "local/tiny", "--timeout", "1", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run}");
    fake.assert_nothing_runs();
}

#[test]
fn the_port_of_another_server_gets_no_prompt() {
    let url = serve(json("200 OK", "{}"), Then::Close);
    let other = url.trim_end_matches("/v1");
    let stderr = chat_with(&format!("echo 'srv: listening on {other}'; exec sleep 600"));
    assert!(
        stderr.contains("what listens at the port that llama-server printed is not llama-server"),
        "{stderr}"
    );
    // No server listens there.
    let stderr = chat_with("echo 'srv: listening on http://127.0.0.1:9'; exec sleep 600");
    assert!(stderr.contains("is not llama-server"), "{stderr}");
}

#[test]
fn secrets_that_it_prints_are_not_shown() {
    let stderr = chat_with("echo \"error: $LLAMA_API_KEY $HF_TOKEN\"; exit 1");
    assert!(stderr.contains("error: [key] [key]"), "{stderr}");
}

#[test]
fn what_it_prints_cannot_write_to_the_terminal() {
    let stderr = chat_with("printf 'error: \\033]0;evil\\007\\033[2J\\n'; exit 1");
    assert!(!stderr.contains('\u{1b}') && !stderr.contains('\u{7}'), "{stderr:?}");
}

#[test]
fn a_model_that_does_not_load_is_an_error_with_the_reason() {
    let fake = Fake::new(Kind::Router);
    std::fs::write(fake.folder().join("home/broken.gguf"), "GGUF").unwrap();
    let run = fake.run(&["-m", "local/./broken.gguf", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("llama-server cannot load local/./broken.gguf"), "{run}");
    let pipe = fake.folder().join("home/pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for name in ["./pipe.gguf", "./missing.gguf", ".//", "/dev/zero"] {
        let run = fake.run(&["-m", &format!("local/{name}"), "Hello"]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("is not a file"), "{run}");
    }
    fake.assert_nothing_runs();
}

#[test]
fn an_option_that_this_version_does_not_have_is_an_error() {
    let fake = Fake::new(Kind::Router);
    let program = fake.program();
    fake.configure(&format!(
        "[local]\nprogram = '{}'\noptions = ['--nonsense']\n",
        program.display()
    ));
    let run = fake.run(&["models", "local"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("error: invalid argument: --nonsense"), "{run}");
}
