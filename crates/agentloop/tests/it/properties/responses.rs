//! Items of a Responses stream stay apart, whatever they are labelled with, whatever is left out and however they interleave.

use agentloop::ResponsePart;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::support::{Wire, decode};

/// How a provider identifies the item of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Labels {
    Both,
    IdOnly,
    PlaceOnly,
    /// The same id on every item, so the index decides.
    SameId,
    /// The same place for every item, so the id decides.
    SamePlace,
}

const LABELS: [Labels; 5] =
    [Labels::Both, Labels::IdOnly, Labels::PlaceOnly, Labels::SameId, Labels::SamePlace];

/// Which of the events with a complete item are sent. One of them always is.
#[derive(Clone, Copy, Debug)]
struct Sent {
    pieces: bool,
    inputs: bool,
    items: bool,
    list: bool,
}

fn sent() -> impl Strategy<Value = Sent> {
    let of = |(pieces, inputs, items, list)| Sent { pieces, inputs, items, list };
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(of)
        .prop_filter("the response is sent somehow", |sent| {
            sent.pieces || sent.inputs || sent.items || sent.list
        })
}

/// Calls and texts alternate.
fn is_call(at: usize) -> bool {
    at.is_multiple_of(2)
}

/// A call, or a text.
fn item(labels: Labels, at: usize, whole: &str) -> Value {
    let id = if labels == Labels::SameId { "same".to_owned() } else { format!("item_{at}") };
    if is_call(at) {
        json!({"type": "function_call", "id": id, "call_id": format!("call_{at}"),
            "name": format!("tool_{at}"), "arguments": whole})
    } else {
        json!({"type": "message", "id": id, "role": "assistant",
            "content": [{"type": "output_text", "text": whole, "annotations": []}]})
    }
}

/// The event `kind` for the item, with its labels.
fn event(labels: Labels, at: usize, kind: &str, more: &Value) -> Value {
    let mut event = Map::new();
    event.insert("type".to_owned(), json!(format!("response.{kind}")));
    let place = if labels == Labels::SamePlace { 0 } else { at };
    if labels != Labels::IdOnly {
        event.insert("output_index".to_owned(), json!(place));
    }
    if labels != Labels::PlaceOnly && !kind.starts_with("output_item") {
        event.insert("item_id".to_owned(), item(labels, at, "")["id"].clone());
    }
    event.extend(more.as_object().unwrap().clone());
    Value::Object(event)
}

proptest! {
    #[test]
    fn interleaved_items_keep_their_content(
        labels in select(&LABELS[..]),
        sent in sent(),
        fragments in vec(vec("[a-z{}\":é]{1,4}", 1..5), 1..5),
        order in vec(any::<Index>(), 0..40),
    ) {
        let wholes: Vec<String> = fragments.iter().map(|pieces| pieces.concat()).collect();
        let mut events = vec![json!({"type": "response.created", "response": {"id": "r"}})];
        for at in 0..fragments.len() {
            events.push(event(labels, at, "output_item.added", &json!({"item": item(labels, at, "")})));
        }
        let mut left: Vec<_> = fragments.iter().map(|pieces| pieces.iter()).collect();
        let turns = order.iter().map(|turn| turn.index(fragments.len()));
        let rest = (0..fragments.len()).flat_map(|at| std::iter::repeat_n(at, 5));
        for at in turns.chain(rest) {
            let Some(piece) = left[at].next() else { continue };
            if sent.pieces {
                let kind = if is_call(at) { "function_call_arguments.delta" } else { "output_text.delta" };
                events.push(event(labels, at, kind, &json!({"delta": piece})));
            }
            if left[at].len() > 0 {
                continue;
            }
            if sent.inputs && is_call(at) {
                let whole = json!({"arguments": wholes[at]});
                events.push(event(labels, at, "function_call_arguments.done", &whole));
            } else if sent.inputs {
                events.push(event(labels, at, "output_text.done", &json!({"text": wholes[at]})));
            }
            if sent.items {
                let whole = json!({"item": item(labels, at, &wholes[at])});
                events.push(event(labels, at, "output_item.done", &whole));
            }
        }
        let all = wholes.iter().enumerate().map(|(at, whole)| item(labels, at, whole));
        let list: Vec<Value> = if sent.list { all.collect() } else { Vec::new() };
        events.push(json!({"type": "response.completed", "response": {"id": "r", "output": list}}));
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let response = decode(&Wire::of_responses(true), stream.as_bytes()).response().unwrap();
        let mut calls = Vec::new();
        let mut texts = Vec::new();
        for part in &response.choices[0].content {
            match part {
                ResponsePart::ToolCall(call) => calls.push((call.id.clone(), call.arguments.clone())),
                ResponsePart::Text(text) => texts.push(text.text.clone()),
                other => panic!("{other:?}"),
            }
        }
        let (mut said, mut called) = (Vec::new(), Vec::new());
        for (at, whole) in wholes.iter().enumerate() {
            if is_call(at) { called.push((format!("call_{at}"), whole.clone())) } else { said.push(whole.clone()) }
        }
        prop_assert_eq!(calls, called);
        // Texts open when they are first sent.
        texts.sort();
        said.sort();
        prop_assert_eq!(texts, said);
    }
}
