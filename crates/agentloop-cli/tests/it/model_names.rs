//! Names of models: bare names, names of providers, and calls that name no model.

use crate::common;

use common::server::{Then, json, serve};
use common::{Outcome, agentloop};

const HELLO: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}]}"#;

/// Runs a call with these variables. All providers are at a local server.
fn ask(args: &[&str], keys: &[(&str, &str)]) -> Outcome {
    let url = serve(json("200 OK", HELLO), Then::Close);
    let args = args.iter().copied().chain(["--no-stream", "--json", "Hi there"]);
    let mut run = agentloop(args);
    for provider in ["GROQ", "OPENAI", "ANTHROPIC", "CEREBRAS", "SAMBANOVA"] {
        run = run.env(&format!("AGENTLOOP_{provider}_BASE_URL"), &url);
    }
    for (name, value) in keys {
        run = run.env(name, value);
    }
    run.run()
}

#[test]
fn a_bare_name_is_a_model_of_the_provider_that_has_a_key() {
    let run = ask(&["-m", "gpt-4o"], &[("OPENAI_API_KEY", "k")]);
    assert_eq!(run.response()["provider"], "openai", "{run}");
    let both = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
    let run = ask(&["-m", "gpt-4o"], &both);
    assert_eq!(run.response()["provider"], "openai", "{run}");
}

#[test]
fn a_bare_name_without_a_key_names_the_providers_and_their_keys() {
    let run = ask(&["-m", "claude-sonnet-4-5"], &[]);
    run.refuses("claude-sonnet-4-5 is a model of ").reports("ANTHROPIC_API_KEY");
}

#[test]
fn a_bare_name_of_several_configured_providers_is_an_error_that_lists_them() {
    let keys = [("CEREBRAS_API_KEY", "k"), ("SAMBANOVA_API_KEY", "k")];
    ask(&["-m", "gpt-oss-120b"], &keys).refuses("cerebras/gpt-oss-120b, sambanova/gpt-oss-120b");
}

#[test]
fn a_name_that_is_not_known_is_an_error() {
    for name in ["gpt-of-tomorrow", "\u{202e}x", "", "a b"] {
        let run = ask(&["-m", name], &[("OPENAI_API_KEY", "k")]);
        assert_eq!((run.code, run.stderr.is_empty()), (Some(2), false), "{name} {run}");
    }
}

#[test]
fn the_name_of_a_provider_is_its_default_model() {
    let run = ask(&["-m", "groq"], &[("GROQ_API_KEY", "k")]);
    assert_eq!(run.response()["provider"], "groq", "{run}");
    let list = serve(json("200 OK", r#"{"data":[{"id":"embed-1"},{"id":"llama"}]}"#), Then::Close);
    let run = agentloop(["-m", "ollama", "--retries", "0", "--json", "Hi there"])
        .env("AGENTLOOP_OLLAMA_BASE_URL", &list)
        .run();
    // The server lists models but does not chat, so the error names the model.
    assert_eq!(run.error()["model"], "llama", "{run}");
}

#[test]
fn the_default_model_of_the_only_configured_provider_is_used_with_a_note() {
    let run = ask(&[], &[("GROQ_API_KEY", "k")]);
    assert_eq!(run.response()["provider"], "groq", "{run}");
    assert!(run.stderr.contains("note: no model is given, so groq/"), "{run}");
    let keys = [("GROQ_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
    insta::assert_snapshot!(ask(&[], &keys), @r#"
    exit 2
    --- stdout
    --- stderr
    error: no model is given; these providers are ready: openai, groq
    hint: name a model with -m, for example -m openai for its default model, or set a default with `agentloop use MODEL`; `agentloop models openai` lists the models
    "#);
}
