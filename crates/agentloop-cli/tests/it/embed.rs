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

#[test]
fn help_of_embed() {
    insta::assert_snapshot!(agentloop(["embed", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Convert texts to embedding vectors.

    Prints one vector per line as a JSON array, in the order of the texts. With --output, writes JSON lines, in the same order. Several texts are sent in one request, and several requests at the same time.

    Ctrl-C or a crash loses nothing that was written to the file of --output: --resume continues with the texts that are missing and tries the failed ones again. If a text failed, the exit code is 1, and no vector takes its place.

    Example: agentloop embed -m openai/text-embedding-3-small -i articles.csv --text '{{title}}: {{body}}' -o vectors.jsonl

    Usage: agentloop embed [OPTIONS] --model <MODEL> [TEXT]...

    Arguments:
      [TEXT]...
              The texts [default: stdin, as one text per line or as a JSON array of strings]

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

      -m, --model <MODEL>
              The embedding model, for example openai/text-embedding-3-small, or only its name if one configured provider has it

      -i, --input <FILE>
              Read the texts from a file with JSON lines, CSV or lines of text. - is stdin

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

          --input-format <FORMAT>
              The format of the input [default: by the extension of its file; text for others]

              Possible values:
              - jsonl: One JSON object, or one JSON string, per line
              - csv:   Comma-separated values with a header
              - text:  One text per line. Blank lines are skipped

          --text <TEXT>
              The text of a row, with values of the row in double braces, for example '{{title}}: {{body}}' [default: the value `prompt`, `input`, `text` or `question` of the row, or its only value]

      -o, --output <FILE>
              Write the vectors to this file [default: stdout]

          --format <FORMAT>
              The format of the vectors [default: jsonl for files, vectors for stdout]

              Possible values:
              - vectors: One JSON array per line. The first error ends the output
              - jsonl:   One JSON object per line, with `index`, `hash`, `model`, `dimensions` and `vector`, or `error`

          --resume
              Continue: texts whose vectors --output already has are not sent again. Texts that failed are

          --dimensions <N>
              The length of the vectors, for models that support a choice [default: the model's own length]

          --type <TYPE>
              The purpose of the vectors, for providers that distinguish it
              
              [possible values: query, document, classification, clustering, similarity]

          --batch-size <N>
              The maximum number of texts in one request [default: the provider's own maximum, else 96]

          --concurrency <N>
              The maximum number of parallel requests
              
              [default: 4]

          --max-cost <USD>
              Stop when this many US dollars are spent, for example 2.50. Requests that are running are finished

          --dry-run
              Send nothing: print the first request and the estimated price

          --fallback <MODEL>
              A model to use if the previous one fails. Its vectors are used only if it is the same model of another provider

          --retries <N>
              The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]

          --timeout <SECONDS>
              The time limit of each request, for example 30 or 2.5. With retries it applies to each attempt

          --no-cache
              Neither read from nor write to the cache that the configuration enables with [cache]

          --json
              Print the complete EmbedResponse as JSON

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
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
    let unlike = agentloop(["embed", "-m", "no-such-model-at-all", "Hello"]).run();
    assert!(unlike.stderr.contains("known providers: "), "{unlike}");
}
