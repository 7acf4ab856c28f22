//! `agentloop encode`: the HTTP request that would be sent.

use crate::common;

use common::{agentloop, encode};
use serde_json::json;

fn plain(model: &str) -> serde_json::Value {
    json!({
        "model": model,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ],
        "temperature": 0.5,
        "max_tokens": 100,
        "seed": 7,
    })
}

#[test]
fn a_plain_request_to_openai() {
    insta::assert_snapshot!(encode("", &plain("openai/gpt-4.1")), @r#"
    exit 0
    --- stdout
    {"method":"POST","url":"https://api.openai.com/v1/chat/completions","headers":{"accept":"application/json","accept-encoding":"gzip, br","authorization":"Bearer ***","content-type":"application/json","user-agent":"agentloop/0.1.0"},"body":{"model":"gpt-4.1","temperature":0.5,"max_completion_tokens":100,"seed":7,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]},"warnings":[]}
    --- stderr
    "#);
}

#[test]
fn a_plain_request_to_mistral() {
    insta::assert_snapshot!(encode("--stream", &plain("mistral/mistral-medium-latest")), @r#"
    exit 0
    --- stdout
    {"method":"POST","url":"https://api.mistral.ai/v1/chat/completions","headers":{"accept":"text/event-stream","authorization":"Bearer ***","content-type":"application/json","user-agent":"agentloop/0.1.0"},"body":{"model":"mistral-medium-latest","temperature":0.5,"max_tokens":100,"random_seed":7,"stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]},"warnings":[{"kind":"renamed","subject":"seed","message":"seed: mistral calls it `random_seed`"}]}
    --- stderr
    "#);
}

#[test]
fn a_plain_request_to_deepseek() {
    insta::assert_snapshot!(encode("--stream --protocol openai_chat", &plain("deepseek/deepseek-chat")), @r#"
    exit 0
    --- stdout
    {"method":"POST","url":"https://api.deepseek.com/chat/completions","headers":{"accept":"text/event-stream","authorization":"Bearer ***","content-type":"application/json","user-agent":"agentloop/0.1.0"},"body":{"model":"deepseek-chat","temperature":0.5,"max_tokens":100,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]},"warnings":[{"kind":"dropped","subject":"seed","message":"seed: deepseek does not accept it"}]}
    --- stderr
    "#);
}

#[test]
fn a_key_is_never_shown() {
    let run = agentloop(["encode"])
        .env("OPENAI_API_KEY", "sk-very-secret")
        .stdin(plain("openai/gpt-4.1").to_string())
        .run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.to_string().contains("very-secret"));
    assert_eq!(run.json()["headers"]["authorization"], "Bearer ***");
}

#[test]
fn secrets_in_configured_urls_and_headers_are_not_shown() {
    let run = agentloop(["encode"])
        .config(
            "[providers.lab]\nbase_url = 'https://me:very-secret@lab.example/v1'\n\
             headers = { x-lab-token = 'very-secret', x-team = 'blue' }\n",
        )
        .stdin(plain("lab/m").to_string())
        .run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.to_string().contains("very-secret"), "{run}");
    assert_eq!(run.json()["headers"]["x-team"], "blue");
    assert_eq!(run.json()["url"], "https://***@lab.example/v1/chat/completions");
}

#[test]
fn the_error_for_invalid_json_has_line_and_column() {
    let run = agentloop(["encode"]).stdin("{\n  \"model\": oops\n}").run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: stdin is not a ChatRequest as JSON: expected value at line 2 column 12
    hint: an example: {"model":"openai/gpt-4.1","messages":[{"role":"user","content":"Hello"}]}
    "#);
}

#[test]
fn a_request_that_is_nested_too_deeply_is_an_error() {
    // Deeper than the limits of encoding, of parsing, and of the stack.
    let refusals = [
        (113, "extra_body: JSON is nested deeper than 112 levels"),
        (200, "stdin is not a ChatRequest as JSON: recursion limit exceeded"),
        (1 << 20, "stdin is not a ChatRequest as JSON: recursion limit exceeded"),
    ];
    for (levels, why) in refusals {
        let deep = format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let messages = r#"[{"role":"user","content":"Hello"}]"#;
        let request =
            format!(r#"{{"model":"openai/m","messages":{messages},"extra_body":{{"a":{deep}}}}}"#);
        let run = agentloop(["encode"]).stdin(request).run();
        assert_eq!(run.code, Some(2), "{levels}: {run}");
        assert!(run.stderr.contains(why), "{levels}: {run}");
    }
}

#[test]
fn the_error_for_empty_input_states_what_is_expected() {
    insta::assert_snapshot!(agentloop(["encode"]).run(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: stdin is empty; expected a ChatRequest as JSON
    hint: an example: {"model":"openai/gpt-4.1","messages":[{"role":"user","content":"Hello"}]}
    "#);
}

#[test]
fn the_error_for_an_unknown_field_names_it() {
    let run = encode("", &json!({"model": "openai/m", "messages": [], "temprature": 1}));
    run.fails(2, "unknown field `temprature`");
}

#[test]
fn a_request_without_messages_is_an_error() {
    let run = encode("", &json!({"model": "openai/m", "messages": []}));
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    {"error":{"kind":"invalid_request","message":"the request has no messages","provider":"openai","model":null,"status":null,"code":null,"param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"hint":"add at least one message with `.user(…)`","raw":null,"partial":null}}
    --- stderr
    error: openai: the request has no messages
    hint: add at least one message with `.user(…)`
    "#);
}

#[test]
fn an_unknown_provider_is_an_error_with_the_closest_name() {
    let run = encode("", &plain("opnai/gpt-4.1")).to_string();
    let names: Vec<String> =
        ::agentloop::Provider::all().iter().map(|provider| provider.name.to_string()).collect();
    insta::assert_snapshot!(run.replace(&names.join(", "), "[built-in providers]"), @r#"
    exit 2
    --- stdout
    {"error":{"kind":"unknown_provider","message":"unknown provider `opnai`","provider":null,"model":null,"status":null,"code":null,"param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"hint":"did you mean `openai`? known providers: [built-in providers], sim, local","raw":null,"partial":null}}
    --- stderr
    error: unknown provider `opnai`
    hint: did you mean `openai`? known providers: [built-in providers], sim, local
    "#);
}

#[test]
fn the_protocol_of_a_provider_can_be_chosen() {
    let run = encode("--protocol openai_responses", &plain("openai/gpt-4.1"));
    assert_eq!(run.json()["url"], "https://api.openai.com/v1/responses", "{run}");
}

#[test]
fn an_unknown_protocol_lists_the_known_ones() {
    insta::assert_snapshot!(encode("--protocol openai", &plain("openai/m")), @r#"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'openai' for '--protocol <PROTOCOL>': unknown protocol; use one of openai_chat, openai_responses, anthropic, gemini, ollama, cohere, bedrock, gemini_interactions

    For more information, try '--help'.
    "#);
}

#[test]
fn models_are_chosen_by_provider_alias_or_default() {
    let run = |model: &str| {
        agentloop(["encode"])
            .config("default_provider = 'lab'\n[aliases]\nfast = 'groq/openai/gpt-oss-20b'\n[providers.lab]\nbase_url = 'http://lab.example/v1/'\n")
            .stdin(plain(model).to_string())
            .run()
            .response()
    };
    assert_eq!(run("groq/openai/gpt-oss-120b")["body"]["model"], "openai/gpt-oss-120b");
    assert_eq!(run("fast")["body"]["model"], "openai/gpt-oss-20b");
    let whole = run("meta-llama/Llama-3");
    assert_eq!(whole["body"]["model"], "meta-llama/Llama-3");
    assert_eq!(whole["url"], "http://lab.example/v1/chat/completions");
}
