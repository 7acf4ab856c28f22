//! The same response with less repetition: a Responses stream sends everything up to four times, and providers leave out what
//! they like. Whatever is left out, nothing is lost and nothing doubled.

use agentloop::ChatResponse;
use serde_json::Value;

use crate::recordings::corpus::Recording;
use crate::recordings::over;

const WIRE: &str = "openai-responses";

/// Recordings whose last event does not list the items that were streamed.
const UNLISTED: &[&str] = &["other-stream-redacted-thinking-parallel-tool-calls-8b10f605"];

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

fn is_end(event: &Value) -> bool {
    matches!(kind(event), "response.completed" | "response.incomplete" | "response.failed")
}

fn is_listed(recording: &Recording) -> bool {
    !UNLISTED.contains(&recording.id.as_str())
}

/// Reads the stream with its events changed, and compares it with the stream unchanged.
fn same_after(recording: &Recording, change: impl Fn(&mut Vec<Value>)) -> Result<(), String> {
    if !recording.streaming || !recording.is_answer() {
        return Ok(());
    }
    let mut events_left = recording.values();
    change(&mut events_left);
    let text: String = events_left.iter().map(|event| format!("data: {event}\n\n")).collect();
    let decoded = recording.decode_bytes(text.as_bytes(), usize::MAX);
    compare(recording.decode().response()?, decoded.response()?)
}

fn compare(original: &ChatResponse, changed: &ChatResponse) -> Result<(), String> {
    let (one, other) = (comparable(original), comparable(changed));
    for (one, other) in one.iter().zip(&other) {
        if one != other {
            return Err(format!("{one:.400}\n{other:.400}"));
        }
    }
    if one.len() == other.len() { Ok(()) } else { Err(format!("{one:?}\n{other:?}")) }
}

/// The parts, and all else of a response. Of the state only what is the same however often it is sent: ids and encrypted
/// texts are not. Items that run side by side stand in any order.
fn comparable(response: &ChatResponse) -> Vec<String> {
    let mut response = response.clone();
    let choice = &mut response.choices[0];
    for token in choice.logprobs.iter_mut().flat_map(|logprobs| &mut logprobs.content) {
        // Rounded in one place and not in the other.
        token.logprob = None;
    }
    let mut shown: Vec<String> = std::mem::take(&mut choice.content)
        .into_iter()
        .map(|part| {
            let mut part = serde_json::json!(part);
            if let Some(state) = part.pointer_mut("/providerState/data") {
                *state = serde_json::json!([state["type"], state["status"], state["phase"]]);
            }
            part.to_string()
        })
        .collect();
    shown.sort();
    shown.push(serde_json::json!(response).to_string());
    shown
}

#[test]
fn without_the_pieces_the_wholes_count() {
    over(WIRE, |recording| {
        same_after(recording, |events| {
            events.retain(|event| !kind(event).ends_with(".delta"));
        })
    });
}

#[test]
fn without_the_wholes_the_list_at_the_end_counts() {
    over(WIRE, |recording| {
        if !is_listed(recording) {
            return Ok(());
        }
        same_after(recording, |events| {
            events.retain(|event| !kind(event).ends_with(".done"));
        })
    });
}

#[test]
fn the_list_at_the_end_alone_is_the_response() {
    over(WIRE, |recording| {
        if !is_listed(recording) {
            return Ok(());
        }
        same_after(recording, |events| events.retain(is_end))
    });
}

#[test]
fn without_the_list_at_the_end_the_items_count() {
    over(WIRE, |recording| {
        same_after(recording, |events| {
            for event in events.iter_mut().filter(|event| is_end(event)) {
                event["response"]["output"] = Value::Array(Vec::new());
            }
        })
    });
}

#[test]
fn without_their_beginning_items_begin_as_they_grow_or_end() {
    over(WIRE, |recording| {
        same_after(recording, |events| {
            events.retain(|event| {
                !matches!(kind(event), "response.output_item.added" | "response.content_part.added")
            });
        })
    });
}

#[test]
fn items_without_a_place_are_distinguished_by_their_ids() {
    over(WIRE, |recording| {
        same_after(recording, |events| {
            for event in events {
                let event = event.as_object_mut().unwrap();
                event.remove("output_index");
                event.remove("sequence_number");
            }
        })
    });
}

#[test]
fn items_without_an_id_are_distinguished_by_their_place() {
    over(WIRE, |recording| {
        same_after(recording, |events| {
            for event in events {
                event.as_object_mut().unwrap().remove("item_id");
            }
        })
    });
}

#[test]
fn items_without_both_are_distinguished_by_their_order() {
    over(WIRE, |recording| {
        // Side by side there is no order.
        if recording.id == "xai-stream-citations-search-results-98ebabf3" {
            return Ok(());
        }
        same_after(recording, |events| {
            for event in events {
                let event = event.as_object_mut().unwrap();
                event.remove("item_id");
                event.remove("output_index");
            }
        })
    });
}

#[test]
fn the_response_at_the_end_of_a_stream_equals_a_complete_body() {
    over(WIRE, |recording| {
        if !recording.streaming || !recording.is_answer() || !is_listed(recording) {
            return Ok(());
        }
        let mut end = recording.values().into_iter().rfind(is_end).unwrap();
        let body = end["response"].take().to_string();
        let decoded = recording.decode_bytes(body.as_bytes(), usize::MAX);
        compare(recording.decode().response()?, decoded.response()?)
    });
}

#[test]
fn events_after_the_end_are_ignored() {
    over(WIRE, |recording| {
        if !recording.streaming || !recording.is_answer() {
            return Ok(());
        }
        let mut body = recording.body.clone();
        body.extend_from_slice(b"\n\ndata: [DONE]\n\ndata: {\"type\":\"error\"}\n\n");
        let decoded = recording.decode_bytes(&body, usize::MAX);
        compare(recording.decode().response()?, decoded.response()?)
    });
}
