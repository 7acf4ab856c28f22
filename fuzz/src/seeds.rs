//! The library's own fixtures.

use std::path::Path;

use agentloop::Protocol;

/// The files of a protocol: whether it is a stream, and its bytes; in the order of their names.
pub(crate) fn fixtures(protocol: Protocol) -> Vec<(bool, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/agentloop/tests/fixtures")
        .join(protocol.name());
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let stream = path.extension().is_some_and(|end| end == "sse" || end == "ndjson");
        let is_frames = path.extension().is_some_and(|end| end == "frames");
        let bytes = std::fs::read(path).unwrap();
        (stream || is_frames, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// Returns the bytes of a stream. Binary frames have checksums, so they are changed as text, of which the frames are made here. A frame begins with
/// the first byte of its length, which no text begins with.
pub(crate) fn stream_of(protocol: Protocol, bytes: &[u8]) -> Vec<u8> {
    if protocol == Protocol::Bedrock && bytes.first().is_some_and(|first| *first != 0) {
        frames(&String::from_utf8_lossy(bytes))
    } else {
        bytes.to_vec()
    }
}

/// Returns a stream of Amazon's binary frames from its text: on each line the name of an event and its content. A name after `!` is that of an
/// exception, after `?` the code of an error.
fn frames(text: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    for (name, content) in text.lines().filter_map(|line| line.split_once(' ')) {
        let (header, name, kind) = match name.as_bytes().first() {
            Some(b'!') => (":exception-type", &name[1..], "exception"),
            Some(b'?') => (":error-code", &name[1..], "error"),
            _ => (":event-type", name, "event"),
        };
        // The value of a header has at most 32,767 bytes.
        let name = name.get(..name.len().min(32_767)).unwrap_or_default();
        let mut head = Vec::new();
        for (header, value) in [(header, name), (":message-type", kind)] {
            head.push(u8::try_from(header.len()).unwrap());
            head.extend_from_slice(header.as_bytes());
            head.push(7);
            head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let number = |number: usize| u32::try_from(number).unwrap().to_be_bytes();
        let length = 16 + head.len() + content.len();
        let mut frame = [number(length), number(head.len())].concat();
        frame.extend(checksum(&frame).to_be_bytes());
        frame.extend(head);
        frame.extend_from_slice(content.as_bytes());
        frame.extend(checksum(&frame).to_be_bytes());
        stream.extend(frame);
    }
    stream
}

/// CRC-32, bit by bit.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    })
}

/// An input: how it is to be read, in two bytes, and what.
pub(crate) fn input(first: u8, second: u8, rest: impl AsRef<[u8]>) -> Vec<u8> {
    [&[first, second], rest.as_ref()].concat()
}

/// The parts of an input.
pub(crate) fn parts(input: &[u8]) -> Option<(u8, u8, &[u8])> {
    match input {
        [first, second, rest @ ..] => Some((*first, *second, rest)),
        _ => None,
    }
}
