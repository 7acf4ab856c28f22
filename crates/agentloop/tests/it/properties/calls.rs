//! Parallel tool calls stay apart, whatever their ids, indices and order of arrival.

use agentloop::ResponsePart;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Wire, decode};

/// How a provider labels the pieces of its calls.
#[derive(Clone, Copy, Debug)]
enum Labels {
    /// The index on every piece, id and name on the first.
    Usual,
    /// Id, name and index on every piece.
    Repeated,
    /// The id alone on every piece, every index 0.
    IdWithIndexZero,
    /// The id alone on every piece.
    IdOnly,
    /// Empty id and name on later pieces.
    EmptyLater,
    /// Index only, and no id at all.
    NoId,
    /// Indices as text, beginning anywhere.
    TextIndex,
    /// The same id on every piece of every call.
    SameId,
}

const LABELS: [Labels; 8] = [
    Labels::Usual,
    Labels::Repeated,
    Labels::IdWithIndexZero,
    Labels::IdOnly,
    Labels::EmptyLater,
    Labels::NoId,
    Labels::TextIndex,
    Labels::SameId,
];

fn piece(labels: Labels, call: usize, first: bool, arguments: &str) -> Value {
    let (id, name) = (format!("id_{call}"), format!("tool_{call}"));
    let named = json!({"name": name, "arguments": arguments});
    let bare = json!({"arguments": arguments});
    let function = if first { named.clone() } else { bare.clone() };
    match labels {
        Labels::Usual if first => json!({"index": call, "id": id, "function": named}),
        Labels::Usual => json!({"index": call, "function": bare}),
        Labels::Repeated => json!({"index": call, "id": id, "function": named}),
        Labels::IdWithIndexZero => json!({"index": 0, "id": id, "function": function}),
        Labels::IdOnly => json!({"id": id, "function": function}),
        Labels::EmptyLater if first => json!({"index": call, "id": id, "function": named}),
        Labels::EmptyLater => {
            json!({"index": call, "id": "", "type": null, "function": {"name": "", "arguments": arguments}})
        }
        Labels::SameId => json!({"index": call, "id": "same", "function": function}),
        Labels::NoId => json!({"index": call, "id": null, "function": function}),
        Labels::TextIndex if first => {
            json!({"index": (call + 5).to_string(), "id": id, "function": named})
        }
        Labels::TextIndex => json!({"index": (call + 5).to_string(), "function": bare}),
    }
}

proptest! {
    #[test]
    fn interleaved_calls_keep_their_arguments(
        labels in proptest::sample::select(&LABELS[..]),
        fragments in vec(vec("[a-z{}\":é]{0,4}", 1..5), 1..5),
        order in vec(any::<prop::sample::Index>(), 0..40),
        together in any::<bool>(),
    ) {
        let mut left: Vec<_> = fragments.iter().map(|pieces| pieces.iter()).collect();
        let mut begun = vec![false; fragments.len()];
        let mut opened = Vec::new();
        let mut deltas = Vec::new();
        // Pieces of calls alternate in a random order; the rest follows at the end.
        let turns = order.iter().map(|turn| turn.index(fragments.len()));
        let rest = (0..fragments.len()).flat_map(|call| std::iter::repeat_n(call, 5));
        for call in turns.chain(rest) {
            if let Some(text) = left[call].next() {
                let first = !std::mem::replace(&mut begun[call], true);
                if first {
                    opened.push(call);
                }
                deltas.push(piece(labels, call, first, text));
            }
        }
        let chunks: Vec<Vec<Value>> = if together {
            // Several pieces in one chunk, but never two of the same call.
            let mut chunks: Vec<Vec<Value>> = Vec::new();
            let mut calls: Vec<Vec<String>> = Vec::new();
            for delta in deltas {
                let key = format!("{}{}", delta["index"], delta["id"]);
                match (chunks.last_mut(), calls.last_mut()) {
                    (Some(chunk), Some(keys)) if !keys.iter().any(|k| k[..1] == key[..1]) && chunk.len() < 3 => {
                        keys.push(key);
                        chunk.push(delta);
                    }
                    _ => {
                        calls.push(vec![key]);
                        chunks.push(vec![delta]);
                    }
                }
            }
            chunks
        } else {
            deltas.into_iter().map(|delta| vec![delta]).collect()
        };
        let mut stream = String::new();
        for chunk in chunks {
            let chunk = json!({"id": "x", "model": "m", "choices": [
                {"index": 0, "delta": {"tool_calls": chunk}, "finish_reason": null}
            ]});
            stream.push_str(&format!("data: {chunk}\n\n"));
        }
        stream.push_str("data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n");
        let wire = Wire { stream: true, ..Wire::of("openai") };
        let response = decode(&wire, stream.as_bytes()).response().unwrap();
        let calls: Vec<_> = response.choices[0]
            .content
            .iter()
            .map(|part| match part {
                ResponsePart::ToolCall(call) => call.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        prop_assert_eq!(calls.len(), fragments.len());
        let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), calls.len());
        for (call, expected) in calls.iter().zip(opened) {
            let arguments = fragments[expected].concat();
            let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
            prop_assert_eq!(&call.name, &format!("tool_{expected}"));
            prop_assert_eq!(&call.arguments, &arguments);
            if !matches!(labels, Labels::NoId | Labels::SameId) {
                prop_assert_eq!(&call.id, &format!("id_{expected}"));
            }
        }
    }
}
