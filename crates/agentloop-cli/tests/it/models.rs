//! `agentloop models`, where nobody is asked.

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
fn a_model_is_shown_with_all_that_is_known_of_it() {
    let run = agentloop(["models", "openai/gpt-4o"]).run();
    assert_eq!(run.code, Some(0), "{run}");
    let model = run.json();
    assert_eq!(model["id"], "openai/gpt-4o");
    assert_eq!(model["context_window"], 128_000);
    assert_eq!(model["abilities"]["tools"], true);
    assert_eq!(model["prices"][0]["per_million"]["output"], "10");
}

#[test]
fn an_unknown_model_is_said_to_be_unknown() {
    let run = agentloop(["models", "openai/gpt-of-tomorrow"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    for words in [
        "error: nothing is known of openai/gpt-of-tomorrow\n",
        "the data is of 20",
        "it can be used all the same",
        "[models.\"openai/gpt-of-tomorrow\"]",
    ] {
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn the_known_models_of_a_provider_are_listed_with_what_the_user_knows_better() {
    let run = agentloop(["models", "groq", "--known"]).config(CONFIG).run();
    assert_eq!(run.code, Some(0), "{run}");
    let line = |id: &str| {
        run.stdout.lines().find(|line| line.split('\t').next() == Some(id)).map(str::to_owned)
    };
    assert_eq!(
        line("groq/llama-3.3-70b-versatile").as_deref(),
        Some("groq/llama-3.3-70b-versatile\t131072\t32768\t0.59\t0.79")
    );
    assert!(line("groq/openai/gpt-oss-20b").is_some_and(|line| line.contains("\t77\t")), "{run}");

    let run = agentloop(["models", "vllm", "--known"]).config(CONFIG).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "vllm/one\t-\t5\t0.25\t1\n"), "{run}");
    let run = agentloop(["models", "vllm", "--known", "--json"]).config(CONFIG).run();
    assert_eq!(run.json()[0]["id"], "vllm/one");
}

#[test]
fn a_provider_of_which_nothing_is_known_is_an_error() {
    for (provider, words) in
        [("vllm", "no model of vllm is known"), ("nope", "no provider is called")]
    {
        let run = agentloop(["models", provider, "--known"]).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn what_a_provider_does_not_say_of_its_models_comes_from_the_data() {
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
fn a_slip_in_the_file_is_told_with_its_line() {
    let run = agentloop(["models", "openai/gpt-4o"])
        .config("[models.\"openai/gpt-4o\"]\ncontext = 1\n")
        .run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("line 2: unknown field `context`"), "{run}");
}
