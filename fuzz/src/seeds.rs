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
        (stream, std::fs::read(path).unwrap())
    };
    paths.into_iter().map(read).collect()
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
