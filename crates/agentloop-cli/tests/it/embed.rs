//! `agentloop embed`, and embeddings in `encode` and `decode`.

use crate::common;

use common::{agentloop, decode, encode};
use serde_json::json;

#[test]
fn texts_are_read_from_arguments_lines_or_a_json_array() {
    let embed = ["embed", "-m", "sim/vectors", "--dimensions", "3", "--type", "query"];
    let typed = agentloop(embed.iter().copied().chain(["one", "two"])).run();
    assert_eq!((typed.code, typed.stdout.lines().count()), (Some(0), 2), "{typed}");
    assert!(typed.stderr.contains("input_type"), "{typed}");
    let lines = agentloop(embed).stdin("one\ntwo\n").run();
    let list = agentloop(embed).stdin(r#"["one", "two"]"#).run();
    assert_eq!((&lines.stdout, &list.stdout), (&typed.stdout, &typed.stdout));
    for line in typed.stdout.lines() {
        assert_eq!(serde_json::from_str::<Vec<f32>>(line).unwrap().len(), 3);
    }
}

#[test]
fn many_texts_keep_their_order() {
    let numbers: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    let embed = ["embed", "-m", "sim/vectors", "--concurrency", "2"];
    let all = agentloop(embed).stdin(numbers.join("\n")).run();
    assert_eq!((all.code, all.stdout.lines().count()), (Some(0), 300), "{all}");
    let last = agentloop(["embed", "-m", "sim/vectors", "299"]).run();
    assert_eq!(all.stdout.lines().last(), last.stdout.lines().last());
}

#[test]
fn encode_prints_one_line_per_embeddings_request() {
    let request = json!({"model": "cohere/embed-v4.0", "input": ["a", "b"], "input_type": "query"});
    insta::assert_snapshot!(encode("--embed", &request), @r#"
    exit 0
    --- stdout
    {"method":"POST","url":"https://api.cohere.com/v2/embed","headers":{"accept":"application/json","accept-encoding":"gzip, br","authorization":"Bearer ***","content-type":"application/json","user-agent":"agentloop/0.1.0"},"body":{"model":"embed-v4.0","input_type":"search_query","embedding_types":["float"],"texts":["a","b"]},"warnings":[]}
    --- stderr
    "#);
    let many = json!({"model": "mistral/mistral-embed", "input": vec!["x"; 65]});
    let run = encode("--embed", &many);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 3), "{run}");
    let none = encode("--embed", &json!({"model": "anthropic/claude", "input": "x"}));
    assert_eq!(none.json()["error"]["kind"], "unsupported", "{none}");
    assert_eq!(encode("--embed", &json!({"model": "openai/e"})).code, Some(2));
}

#[test]
fn every_embeddings_format_is_decoded_for_every_provider() {
    let forms = [
        r#"{"embeddings":{"float":[[0.5,1]]},"meta":{"billed_units":{"input_tokens":2}}}"#,
        r#"{"model":"m","embeddings":[[0.5,1]],"prompt_eval_count":2}"#,
        r#"{"data":[{"index":0,"embedding":[0.5,1]}],"usage":{"prompt_tokens":2,"total_tokens":2}}"#,
        r#"{"embeddings":[{"values":[0.5,1]}],"usageMetadata":{"promptTokenCount":2}}"#,
    ];
    for provider in ["cohere", "ollama", "openai", "google"] {
        for form in forms {
            let read = decode(&format!("--provider {provider} --embed"), form).response();
            assert_eq!(read["embeddings"], json!([[0.5, 1.0]]), "{provider}: {form}");
            assert_eq!(read["usage"]["total_tokens"], 2, "{provider}: {form}");
        }
    }
}

/// The list of all providers did not help: the name of the model was wrong, and not that of a provider.
#[test]
fn a_typing_error_in_the_name_of_a_model_suggests_the_nearest_one() {
    for command in ["embed", "chat"] {
        let run = agentloop([command, "-m", "text-embedding-3-smal", "Hello"]).run();
        insta::allow_duplicates! {
            insta::assert_snapshot!(run, @r"
            exit 2
            --- stdout
            --- stderr
            error: no known model is named text-embedding-3-smal
            hint: did you mean `openai/text-embedding-3-small`? `agentloop models` lists the known ones
            ");
        }
    }
    agentloop(["embed", "-m", "no-such-model-at-all", "Hello"]).run().reports("known providers: ");
}
