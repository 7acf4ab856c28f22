//! `agentloop chat --retries --fallback`: which requests are sent, and what is reported.

use crate::common;

use common::agentloop;

#[test]
fn a_fallback_model_responds_and_a_warning_explains_why() {
    for form in [None, Some("--no-stream"), Some("--json"), Some("--events")] {
        let args = ["chat", "-m", "sim/echo!status=503", "--fallback", "sim/long-3", "Hello"];
        let run = agentloop(args.into_iter().chain(form)).run().exits(0);
        assert!(run.stdout.contains("word3"), "{run}");
        let note = "warning: sim/echo!status=503 did not respond: overloaded";
        assert!(run.stderr.contains(note), "{run}");
    }
}

#[test]
fn the_error_names_every_model_that_failed() {
    let run = agentloop([
        "chat",
        "-m",
        "sim/echo!status=503",
        "--fallback",
        "sim/echo!status=500",
        "--fallback",
        "sim/echo!status=402",
        "Hello",
    ])
    .run();
    assert_eq!(run.code, Some(1), "{run}");
    for words in ["none of 3 models responded", "status 503", "status 500", "status 402"] {
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn retries_of_the_command_line_override_the_configuration() {
    let run = agentloop(["chat", "-m", "sim/echo!status=503", "--retries", "2", "--json", "Hi"])
        .config("[retry]\nmax_retries = 7\nfirst_wait = 0\n")
        .run();
    assert_eq!(run.error()["causes"].as_array().unwrap().len(), 2, "{run}");
    let run = agentloop(["chat", "-m", "sim/echo!status=503", "--retries", "0", "--json", "Hi"])
        .config("[retry]\nmax_retries = 7\n")
        .run();
    assert!(run.error()["causes"].is_null(), "{run}");
}

#[test]
fn retry_and_fallback_of_the_configuration_are_used() {
    let file = r#"
        [retry]
        max_retries = 1
        first_wait = 0
        [fallback]
        models = ["sim/long-3"]
    "#;
    let run = agentloop(["chat", "-m", "sim/echo!status=503", "Hi"]).config(file).run().exits(0);
    assert!(run.stdout.contains("word3"), "{run}");
}
