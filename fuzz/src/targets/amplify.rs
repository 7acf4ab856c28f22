//! Large responses made of small inputs: one list of a response is repeated until it is long, one text is stretched, and one
//! event of a stream comes many times. An input of a few kilobytes cannot show what grows out of proportion.

use agentloop::Protocol;
use agentloop::inspect::{DecodeOptions, HttpResponse};
use agentloop::limits::{MAX_HELD_FREE_BYTES, MAX_HELD_PER_BYTE, MAX_RESPONSE_BYTES};
use serde_json::Value;

use super::laws::{self, read_through};
use crate::seeds::{fixtures, input, parts, stream_of};

/// How long a list or a stream is made, in bytes.
const LONG: usize = 128 << 10;

/// How long a text is made, in bytes.
const STRETCHED: usize = 16 << 10;

/// How often what a response holds is in memory while it is decoded: the response itself, the events that wait to be taken,
/// the tree that was read, and what buffers set aside to grow.
const COPIES: usize = 6;

/// How many bytes may be allocated in all, for each byte that was sent: what is quadratic allocates far more.
const ALLOCATED_PER_BYTE: u64 = 2_000;

/// What may be allocated however little was sent.
const ALLOCATED_FREE: u64 = 64 << 20;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (protocol, how) in Protocol::ALL.iter().zip(0u8..) {
        for (stream, bytes) in fixtures(*protocol) {
            for pick in [0, 3, 11] {
                seeds.push(input(how << 1 | u8::from(stream), pick, &bytes));
            }
        }
    }
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((how, pick, bytes)) = parts(bytes) else { return };
    let stream = how & 1 == 1;
    let protocol = Protocol::ALL[usize::from(how >> 1) % Protocol::ALL.len()];
    let speakers = laws::speakers(protocol);
    let provider = speakers[usize::from(how >> 3) % speakers.len()];
    let mut options = DecodeOptions::new(provider);
    options.protocol = Some(protocol);
    options.stream = stream;
    // What ends an event, and what its data follows: the streams of Ollama are lines, and so is the text of Bedrock's frames.
    let form = match protocol {
        Protocol::Ollama => ("\n", ""),
        Protocol::Bedrock => ("\n", " "),
        _ => ("\n\n", "data:"),
    };
    let body = if stream { amplified_stream(bytes, pick, form) } else { amplified(bytes, pick) };
    let Some(body) = body else { return };
    let body = if stream { stream_of(protocol, &body) } else { body };
    let length = body.len();
    let counted = allocation_counter::measure(|| {
        read_through(&options, HttpResponse::new(body));
    });
    let most = (length * MAX_HELD_PER_BYTE + MAX_HELD_FREE_BYTES).min(MAX_RESPONSE_BYTES);
    assert!(
        counted.bytes_max <= (COPIES * most) as u64,
        "{length} bytes took {} of memory",
        counted.bytes_max
    );
    assert!(
        counted.bytes_total <= ALLOCATED_PER_BYTE * length as u64 + ALLOCATED_FREE,
        "for {length} bytes {} were allocated",
        counted.bytes_total
    );
}

/// A stream of which one event is amplified and comes again and again.
fn amplified_stream(bytes: &[u8], pick: u8, (end, mark): (&str, &str)) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let events: Vec<&str> = text.split(end).collect();
    let at = usize::from(pick) % events.len();
    let (before, data) = if mark.is_empty() {
        ("", events[at])
    } else {
        events[at].split_once(mark).unwrap_or(("", events[at]))
    };
    let many = amplified(data.trim().as_bytes(), pick / 8)?;
    // Half of the time one long event, half of the time many as they were.
    let (data, times) = match pick & 1 {
        0 => (String::from_utf8(many).ok()?, 1),
        _ => (data.trim().to_owned(), LONG / (data.len() + 16) + 1),
    };
    let event = format!("{before}{mark}{data}{end}");
    let mut out = events[..at].join(end);
    out.push_str(end);
    out.push_str(&event.repeat(times));
    out.push_str(&events[at + 1..].join(end));
    Some(out.into_bytes())
}

/// JSON of which one text is stretched and one list is repeated.
fn amplified(json: &[u8], pick: u8) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(json).ok()?;
    let pick = usize::from(pick);
    let (lists, texts) = count(&value);
    if let Some(text) = nth_text(&mut value, &mut (pick * 7 % texts.max(1))) {
        *text = text.repeat((STRETCHED / text.len()).max(1));
    }
    if let Some(list) = nth_list(&mut value, &mut (pick % lists.max(1))) {
        let length = serde_json::to_string(list).ok()?.len();
        let items = list.clone();
        (1..LONG / length).for_each(|_| list.extend(items.iter().cloned()));
    }
    serde_json::to_vec(&value).ok()
}

/// How many lists and texts there are that are not empty.
fn count(value: &Value) -> (usize, usize) {
    let sum = |(lists, texts), value| {
        let (more_lists, more_texts) = count(value);
        (lists + more_lists, texts + more_texts)
    };
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().fold((1, 0), sum),
        Value::Object(fields) => fields.values().fold((0, 0), sum),
        Value::String(text) if !text.is_empty() => (0, 1),
        _ => (0, 0),
    }
}

fn nth_list<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Vec<Value>> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            if *left == 0 {
                return Some(items);
            }
            *left -= 1;
            items.iter_mut().find_map(|item| nth_list(item, left))
        }
        Value::Object(fields) => fields.values_mut().find_map(|field| nth_list(field, left)),
        _ => None,
    }
}

fn nth_text<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut String> {
    match value {
        Value::String(text) if !text.is_empty() => {
            if *left == 0 {
                return Some(text);
            }
            *left -= 1;
            None
        }
        Value::Array(items) => items.iter_mut().find_map(|item| nth_text(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth_text(field, left)),
        _ => None,
    }
}
