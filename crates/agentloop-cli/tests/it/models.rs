//! `agentloop models` with the built-in data.

use crate::common;

use common::agentloop;
use common::server::{Then, json, serve};

const CONFIG: &str = r#"
[models."groq/openai/gpt-oss-20b"]
context_window = 77

[models."vllm/one"]
max_output_tokens = 5
prices = [{ per_million = { input = "0.25", output = 1 } }]
"#;

#[test]
fn everything_known_about_a_model_is_printed() {
    let run = agentloop(["models", "openai/gpt-4o"]).run().exits(0);
    let model = run.json();
    assert_eq!(model["id"], "openai/gpt-4o");
    assert_eq!(model["context_window"], 128_000);
    assert_eq!(model["abilities"]["tools"], true);
    assert_eq!(model["prices"][0]["per_million"]["output"], "10");
}

#[test]
fn the_error_for_an_unknown_model_explains_what_to_do() {
    let run = agentloop(["models", "openai/gpt-of-tomorrow"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    for words in [
        "error: no data about the model openai/gpt-of-tomorrow\n",
        "the built-in model data is from 20",
        "the model can still be used",
        "[models.\"openai/gpt-of-tomorrow\"]",
    ] {
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn the_configuration_overrides_the_known_models() {
    let run = agentloop(["models", "groq", "--known"]).config(CONFIG).run().exits(0);
    let line = |id: &str| {
        run.stdout.lines().find(|line| line.split('\t').next() == Some(id)).map(str::to_owned)
    };
    assert_eq!(
        line("groq/llama-3.3-70b-versatile").as_deref(),
        Some("groq/llama-3.3-70b-versatile\t131072\t32768\t0.59\t0.79")
    );
    assert!(line("groq/openai/gpt-oss-20b").is_some_and(|line| line.contains("\t77\t")), "{run}");

    let run = agentloop(["models", "vllm", "--known"]).config(CONFIG).run();
    run.prints("vllm/one\t-\t5\t0.25\t1\n");
    let run = agentloop(["models", "vllm", "--known", "--json"]).config(CONFIG).run();
    assert_eq!(run.json()[0]["id"], "vllm/one");
}

#[test]
fn a_provider_without_known_models_is_an_error() {
    for (provider, words) in [("vllm", "no data about the models of vllm"), ("nope", "`nope`")] {
        agentloop(["models", provider, "--known"]).run().fails(2, words);
    }
}

#[test]
fn built_in_data_completes_the_list_of_a_provider() {
    let body = r#"{"data":[{"id":"one","context_window":9},{"id":"two"}]}"#;
    let address = serve(json("200 OK", body), Then::Wait);
    let run =
        agentloop(["models", "vllm"]).config(CONFIG).env("AGENTLOOP_VLLM_BASE_URL", &address).run();
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "vllm/one\t9\t5\t0.25\t1\nvllm/two\n"),
        "{run}"
    );
}

#[test]
fn without_a_key_the_hint_names_the_list_of_known_models() {
    let run = agentloop(["models", "groq"]).run();
    run.fails(2, "set GROQ_API_KEY").reports("`agentloop models groq --known`");
}

#[test]
fn an_unknown_setting_of_a_model_is_reported_with_its_line() {
    agentloop(["models", "openai/gpt-4o"])
        .config("[models.\"openai/gpt-4o\"]\ncontext = 1\n")
        .run()
        .fails(2, "line 2: unknown field `context`");
}
