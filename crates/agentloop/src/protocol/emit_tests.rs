//! Whatever it is that grows, it counts.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::chat::{
    Citation, ImagePart, OpaqueCitation, ServerToolResultPart, TokenLogprob, UsageDetails,
};
use crate::shared_room::SharedRoom;

/// A sixteenth of what a response may hold, and a little more.
const LARGE: usize = (MAX_RESPONSE_BYTES >> 4) + 1;

fn large() -> String {
    "a".repeat(LARGE)
}

/// Returns an emitter for a response with many received bytes.
fn emitter() -> Emitter {
    let mut emitter = Box::new(Emitter::new("p", None, Vec::new())).quietly(true);
    emitter.receive(MAX_RESPONSE_BYTES);
    emitter.start("a", "m", None);
    emitter.ensure_choice(0).unwrap();
    *emitter
}

/// Fails unless the sixteenth step of a kind, and none before it, is too much.
fn counts(step: impl Fn(&mut Emitter) -> Result<()>) {
    let mut emitter = emitter();
    for _ in 0..15 {
        step(&mut emitter).unwrap();
        emitter.check().unwrap();
    }
    let error = step(&mut emitter).and_then(|()| emitter.check()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(emitter.done().is_err());
}

#[test]
fn every_kind_of_content_counts() {
    let text = emitter_with_text;
    counts(|emitter| text(emitter, PartDelta::Text { text: large() }));
    let citation = || OpaqueCitation { data: json!(large()), ..OpaqueCitation::default() };
    counts(|emitter| text(emitter, PartDelta::Citation { citation: Citation::Opaque(citation()) }));
    let state = || ProviderState::new("p", json!({ "a": [large()] }));
    counts(|emitter| text(emitter, PartDelta::ProviderState { provider_state: state() }));
    counts(|emitter| {
        let part = PartStart::ToolCall { id: "c".to_owned(), name: large() };
        emitter.open(0, part).map(drop)
    });
    counts(|emitter| {
        let image = ImagePart { data: large(), ..ImagePart::default() };
        emitter.whole(0, ResponsePart::Image(image))
    });
    counts(|emitter| {
        let content = json!([{ "a": large() }]);
        let result = ServerToolResultPart { content, ..ServerToolResultPart::default() };
        emitter.whole(0, ResponsePart::ServerToolResult(result))
    });
}

/// Adds to a text that is opened here.
fn emitter_with_text(emitter: &mut Emitter, delta: PartDelta) -> Result<()> {
    let part = emitter.open(0, PartStart::Text {})?;
    emitter.delta(0, part, delta)
}

#[test]
fn all_that_is_beside_the_content_counts() {
    counts(|emitter| {
        emitter.warn(Warning::about_response(large()));
        Ok(())
    });
    counts(|emitter| {
        let alternative = TokenLogprob { token: large(), ..TokenLogprob::default() };
        let token = TokenLogprob { top_logprobs: vec![alternative], ..TokenLogprob::default() };
        emitter.logprobs(0, Logprobs { content: vec![token], ..Logprobs::default() });
        Ok(())
    });
    counts(|emitter| {
        let metadata = Map::from_iter([(large(), json!(1))]);
        emitter.metadata(metadata);
        Ok(())
    });
    counts(|emitter| {
        emitter.choice_metadata(0, Map::from_iter([("a".to_owned(), json!(large()))]));
        Ok(())
    });
    counts(|emitter| emitter.charge(LARGE));
}

#[test]
fn a_replaced_value_counts_once() {
    let mut emitter = emitter();
    let mut fields = Map::new();
    for _ in 0..40 {
        emitter.keep(&mut fields, "name", json!(large())).unwrap();
        let counts = [(large(), 1)].into_iter().collect();
        let details = UsageDetails { server_tool_requests: counts, ..UsageDetails::default() };
        emitter.usage(Usage { details, ..Usage::default() }, ReportedCost::Absent);
    }
    emitter.check().unwrap();
}

#[test]
fn a_response_may_hold_a_limited_multiple_of_the_received_bytes() {
    let mut emitter = Emitter::new("p", None, Vec::new());
    emitter.charge(MAX_HELD_FREE_BYTES).unwrap();
    emitter.receive(10);
    emitter.charge(10 * MAX_HELD_PER_BYTE).unwrap();
    let error = emitter.charge(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("64 bytes for each byte"), "{error}");
}

#[test]
fn events_that_wait_count() {
    let mut emitter = Emitter::new("p", None, Vec::new());
    emitter.start("a", "m", None);
    emitter.ensure_choice(0).unwrap();
    let part = emitter.open(0, PartStart::Text {}).unwrap();
    let delta = || PartDelta::Text { text: "a".to_owned() };
    let fails = (0..1_000_000).any(|_| emitter.delta(0, part, delta()).is_err());
    assert!(fails, "a million events that are not taken");
}

#[test]
fn a_response_without_an_id_gets_one_that_no_other_has() {
    let id = |emitter: Emitter| {
        let mut emitter = emitter;
        emitter.start("", "m", None);
        emitter.partial().unwrap().id
    };
    let new = || Emitter::new("p", None, Vec::new());
    let (one, other) = (id(new()), id(new()));
    assert!(one.starts_with("resp_") && one.len() == 21 && one != other, "{one} {other}");
    assert_eq!(id(new().reproducibly()), id(new().reproducibly()));
}

#[test]
fn nothing_of_the_body_is_kept_unless_the_raw_response_is_requested() {
    let mut emitter = Emitter::new("lab", None, Vec::new());
    emitter.record(&[b'x'; 1000]);
    assert!(emitter.raw.is_none());
    assert_eq!((emitter.held, emitter.most), (0, MAX_HELD_FREE_BYTES));
}

#[test]
fn the_raw_response_counts_without_reducing_the_room_for_decoded_content() {
    let parts = RawParts::new(200, &http::HeaderMap::new(), Vec::new());
    let mut emitter = Box::new(Emitter::new("lab", None, Vec::new())).with_raw(Some(parts));
    emitter.record(&[b'x'; 1000]);
    assert_eq!((emitter.held, emitter.most), (1000, MAX_HELD_FREE_BYTES + 1000));
    emitter.start("1", "m", None);
    // Each byte that is not UTF-8 becomes three.
    emitter.record(&[0xff; 10]);
    emitter.done().unwrap();
    assert_eq!(emitter.held, 1030);
    let missing = || Error::new(ErrorKind::Protocol, "no end");
    let response = emitter.into_response(missing).unwrap();
    assert_eq!(response.raw.map(|raw| raw.body.len()), Some(1030));
}

/// Beside what each may hold by itself, which is taken in steps of a megabyte.
#[test]
fn large_responses_of_a_server_share_its_room_and_small_ones_never_fail() {
    let room = Arc::new(SharedRoom::new(8 << 20));
    let with_room = || Box::new(emitter()).with_room(Some(Arc::clone(&room)));
    let add = |emitter: &mut Emitter, bytes: usize| {
        emitter_with_text(emitter, PartDelta::Text { text: "a".repeat(bytes) })
    };
    let (mut one, mut other) = (with_room(), with_room());
    add(&mut one, 5 << 20).unwrap();
    let error = add(&mut other, 5 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("8388608 bytes"), "{error}");
    for _ in 0..10 {
        add(&mut with_room(), 1_000_000).unwrap();
    }
    // A body that is kept until its end is decoded counts with what it becomes.
    drop(other);
    let mut other = with_room();
    for length in [1 << 20, 2 << 20, 3 << 20] {
        other.keep_body(length).unwrap();
    }
    assert!(add(&mut other, 2 << 20).is_err());
    drop(one);
    let mut last = with_room();
    last.keep_body(1 << 20).unwrap();
    drop(other);
    add(&mut last, 7 << 20).unwrap();
}
