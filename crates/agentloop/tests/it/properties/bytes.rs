//! Any bytes at all: no panic, no hang, and the events keep their grammar.

use agentloop::{ChatStreamEvent, Protocol};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::properties::mutation::{keeps_the_grammar, mutated};
use crate::support::{Wire, decode};

/// Our fixtures, to change at random.
fn fixtures() -> Vec<(bool, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    const PROTOCOLS: [&str; 6] =
        ["openai_chat", "openai_responses", "anthropic", "ollama", "cohere", "gemini_interactions"];
    let mut paths: Vec<_> = PROTOCOLS
        .iter()
        .flat_map(|protocol| std::fs::read_dir(folder.join(protocol)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let stream = path.extension().is_some_and(|extension| extension != "json");
            (stream, std::fs::read(path).unwrap())
        })
        .collect()
}

/// Words that decoders react to.
const WORDS: &[&str] = &[
    "null",
    "\"\"",
    "[]",
    "{}",
    "0",
    "-1",
    "1e400",
    "true",
    "[DONE]",
    "\ndata: ",
    "\r",
    "\u{feff}",
    "\"error\":{},",
    "\"choices\":null,",
    "\"index\":\"1\",",
    "\"id\":\"\",",
    "<think>",
    "\"output_index\":0,",
    "\"item_id\":\"\",",
    "\"type\":\"reasoning\",",
    "\\ud83d",
    "\"done\":true,",
    "\"type\":\"citation-start\",",
    "\"sources\":[{}],",
    "\"event_type\":\"step.delta\",",
    "\"type\":\"thought\",",
    "\"step\":{},",
];

/// The protocols whose bytes are changed. Those of generateContent have their own suite.
fn wires(stream: bool) -> [Wire; 6] {
    let ollama = Wire { protocol: Some(Protocol::Ollama), ..Wire::of("ollama") };
    let steps = Wire { protocol: Some(Protocol::GeminiInteractions), ..Wire::of("google") };
    let own = [Wire::of("openai"), Wire::of("anthropic"), Wire::of("cohere"), ollama, steps];
    let [openai, anthropic, cohere, ollama, steps] = own.map(|wire| Wire { stream, ..wire });
    [openai, anthropic, cohere, ollama, steps, Wire::of_responses(stream)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_break_the_decoder(bytes in vec(any::<u8>(), 0..300), stream in any::<bool>()) {
        for wire in wires(stream) {
            keeps_the_grammar(&decode(&wire, &bytes));
        }
    }

    #[test]
    fn no_change_to_a_response_breaks_the_decoder((stream, bytes) in mutated(fixtures(), WORDS)) {
        for wire in wires(stream).into_iter().chain([Wire::of("perplexity")]) {
            let model = Some("sonar-reasoning");
            keeps_the_grammar(&decode(&Wire { stream, model, ..wire }, &bytes));
        }
    }

    #[test]
    fn changed_responses_decode_the_same_however_they_are_cut((stream, bytes) in mutated(fixtures(), WORDS), size in 1usize..40) {
        for wire in wires(stream) {
            let whole = decode(&wire, &bytes);
            let cut = decode(&Wire { size, ..wire }, &bytes);
            prop_assert_eq!(
                serde_json::to_string(&without_made_up_ids(&whole.events)).unwrap(),
                serde_json::to_string(&without_made_up_ids(&cut.events)).unwrap()
            );
            let kinds = (whole.error.map(|error| error.kind()), cut.error.map(|error| error.kind()));
            prop_assert_eq!(kinds.0, kinds.1);
        }
    }
}

/// The events as JSON, without the ids that are made up for calls of a response without an id: a word and sixteen digits,
/// which differ from one reading to the next.
fn without_made_up_ids(events: &[ChatStreamEvent]) -> Vec<String> {
    let without = |event: &ChatStreamEvent| {
        let mut kept = serde_json::to_string(event).unwrap();
        for word in ["\"call_", "\"host_", "\"resp_"] {
            let mut pieces = kept.split(word);
            let mut shown = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                let hex = piece.bytes().take_while(u8::is_ascii_hexdigit).count();
                shown.push_str(word);
                shown.push_str(if hex == 16 { &piece[16..] } else { piece });
            }
            kept = shown;
        }
        kept
    };
    events.iter().map(without).collect()
}
