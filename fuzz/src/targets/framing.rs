//! Streams whose lines end in one way or another, with comments and empty lines between: the same events.

use agentloop::Protocol;
use agentloop::inspect::{DecodeOptions, HttpResponse};

use super::laws::{Decoded, decode, speakers};
use crate::seeds::{fixtures, input, parts};

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (at, protocol) in Protocol::ALL.iter().enumerate() {
        let streams = fixtures(*protocol).into_iter().filter(|(stream, _)| *stream).take(6);
        let at = u8::try_from(at).unwrap_or_default();
        seeds.extend(streams.map(|(_, bytes)| input(at, 3, bytes)));
    }
    seeds.push(input(
        2,
        3,
        "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},\r\n{\"candidates\":[]}]",
    ));
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((at, size, bytes)) = parts(bytes) else { return };
    let protocol = Protocol::ALL[usize::from(at) % Protocol::ALL.len()];
    let mut options = DecodeOptions::new(speakers(protocol)[0]);
    options.protocol = Some(protocol);
    options.stream = true;
    let read = |bytes: Vec<u8>, size: u8| -> Decoded {
        let length = bytes.len();
        let read = decode(&options, HttpResponse::new(bytes).cut(usize::from(size)));
        read.keeps_the_laws(length);
        read
    };
    let shown = |read: &Decoded| {
        let (events, error) = read.shown();
        // If a stream is truncated in the middle of a line, the end of that line cannot be known.
        (events, error.is_some())
    };
    let plain = shown(&read(bytes.to_vec(), u8::MAX));
    assert_eq!(plain, shown(&read(bytes.to_vec(), size)));
    // A carriage return alone ends a line. Input that is not a stream of events has no lines.
    let events = bytes.starts_with(b"data:") || bytes.starts_with(b"event:");
    if bytes.contains(&b'\r') || !events || !bytes.ends_with(b"\n\n") {
        return;
    }
    for end in ["\r\n", "\r", "\n: a comment\n"] {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let other = lines.join(end.as_bytes());
        assert_eq!(plain, shown(&read(other, size)), "lines that end in {end:?}");
    }
}
