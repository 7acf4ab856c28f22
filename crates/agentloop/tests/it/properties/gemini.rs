//! The laws of generateContent over generated input: any bytes in place of a response, any request.

use agentloop::{AgentLoop, ChatMessage, ChatRequest, ErrorKind, inspect};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::properties::encoding::{has_null, message, params};
use crate::properties::mutation::{keeps_the_grammar, mutated};
use crate::support::{Wire, closes_in_order, decode};

/// Our fixtures, and their streams as lists, to change at random.
fn fixtures() -> Vec<(bool, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gemini");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let stream = path.extension().is_some_and(|extension| extension == "sse");
        let bytes = std::fs::read(path).unwrap();
        if stream {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let steps: Vec<&str> =
                text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            all.push((true, format!("[{}]", steps.join("\n,\n")).into_bytes()));
        }
        all.push((stream, bytes));
    }
    all
}

/// Words that the decoder reacts to.
const WORDS: &[&str] = &[
    "null",
    "\"\"",
    "[]",
    "{}",
    "-1",
    "1e400",
    "true",
    "\ndata: ",
    "\u{feff}",
    "]",
    "\"error\":{},",
    "\"candidates\":null,",
    "\"parts\":null,",
    "\"index\":7,",
    "\"thought\":true,",
    "\"thoughtSignature\":\"x\",",
    "\"willContinue\":true,",
    "\"partialArgs\":[{\"jsonPath\":\"$.a[9]\",\"stringValue\":\"b\"}],",
    "\"partIndex\":3,",
    "\"startIndex\":2,",
    "\\ud83d",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_break_the_gemini_decoder(bytes in vec(any::<u8>(), 0..300), list in any::<bool>()) {
        let bytes = if list { [b"[".as_slice(), &bytes].concat() } else { bytes };
        keeps_the_grammar(&decode(&Wire { stream: true, ..Wire::of("google") }, &bytes));
    }

    #[test]
    fn no_change_to_a_response_breaks_the_gemini_decoder(
        (stream, bytes) in mutated(fixtures(), WORDS),
        size in 1usize..40,
    ) {
        let wire = Wire { stream, ..Wire::of("google") };
        let whole = decode(&wire, &bytes);
        keeps_the_grammar(&whole);
        prop_assert_eq!(closes_in_order(&whole.events), Ok(()));
        let cut = decode(&Wire { size, ..wire }, &bytes);
        // A response that lost its id gets made-up ids for its calls, which differ from one reading to the next.
        prop_assert_eq!(whole.events.len(), cut.events.len());
        prop_assert_eq!(whole.error.map(|error| error.kind()), cut.error.map(|error| error.kind()));
    }
}

/// The path of a parameter.
fn place(name: &str) -> &'static str {
    match name {
        "temperature" => "/generationConfig/temperature",
        "top_p" => "/generationConfig/topP",
        "top_k" => "/generationConfig/topK",
        "max_tokens" => "/generationConfig/maxOutputTokens",
        "stop" => "/generationConfig/stopSequences",
        "seed" => "/generationConfig/seed",
        "n" => "/generationConfig/candidateCount",
        "frequency_penalty" => "/generationConfig/frequencyPenalty",
        "presence_penalty" => "/generationConfig/presencePenalty",
        "logprobs" => "/generationConfig/responseLogprobs",
        "top_logprobs" => "/generationConfig/logprobs",
        "reasoning_effort" => "/generationConfig/thinkingConfig",
        "tools" => "/tools",
        "tool_choice" => "/toolConfig",
        "response_format" => "/generationConfig/responseMimeType",
        _ => "/nowhere",
    }
}

fn request(model: &str, params: &Value, messages: &[ChatMessage]) -> ChatRequest {
    let mut json = params.clone();
    json["model"] = json!(format!("google/{model}"));
    json["messages"] = json!(messages);
    serde_json::from_value(json).unwrap()
}

proptest! {
    #[test]
    fn nothing_is_dropped_on_the_way_to_gemini_without_a_warning(
        params in params(),
        messages in vec(message(), 1..6),
        model in select(&["m", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-4-argon", "gemma-3"][..]),
        stream in any::<bool>(),
    ) {
        let request = request(model, &params, &messages);
        let ai = AgentLoop::from_env();
        let encoded = match inspect::encode(&ai, &request, stream) {
            Ok(encoded) => encoded,
            Err(error) => {
                // Only instructions, or no text at all.
                prop_assert_eq!(error.kind(), ErrorKind::InvalidRequest);
                return Ok(());
            }
        };
        let again = inspect::encode(&ai, &request, stream).unwrap();
        prop_assert_eq!(encoded.body.get(), again.body.get());
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        prop_assert_eq!(has_null(&body, ""), None);
        for name in params.as_object().unwrap().keys() {
            let warned = encoded.warnings.iter().any(|w| w.subject.as_deref() == Some(name.as_str()));
            prop_assert!(warned || body.pointer(place(name)).is_some(), "{} vanished: {}", name, body);
        }
    }

    #[test]
    fn one_more_message_only_appends_to_the_gemini_request(
        params in params(),
        messages in vec(message(), 1..6),
        last in "\\PC{1,10}",
    ) {
        let ai = AgentLoop::from_env();
        let encode = |messages: &[ChatMessage]| {
            let request = request("gemini-3-flash-preview", &params, messages);
            inspect::encode(&ai, &request, true).map(|encoded| encoded.body.get().to_owned())
        };
        let Ok(before) = encode(&messages) else {
            return Ok(());
        };
        let mut all = messages;
        all.push(ChatMessage::user(last));
        let all = encode(&all).unwrap();
        prop_assert!(all.starts_with(before.strip_suffix("]}").unwrap()), "{}\n{}", before, all);
    }
}
