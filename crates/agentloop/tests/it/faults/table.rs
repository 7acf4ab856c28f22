//! Faults, and their effects on complete and on streamed responses.

use agentloop::ErrorKind::{self, *};

use crate::faults::server::Length::*;
use crate::faults::server::Step::{self, *};

pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step],
    /// Chats, embeddings, and runs of an agent.
    pub(crate) whole: Fate,
    /// Streams, and runs that are streamed.
    pub(crate) streamed: Fate,
    /// Streams that end with their body alone, if that is another.
    pub(crate) without_end: Option<Fate>,
    /// Whether one attempt may be several requests.
    pub(crate) follows: bool,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It succeeds.
    Well,
    /// It fails, and is tried again.
    Again(ErrorKind),
    /// It fails, and is not.
    Fails(ErrorKind),
}

use Fate::{Again, Fails, Well};

const fn line(name: &'static str, steps: &'static [Step], whole: Fate, streamed: Fate) -> Line {
    Line { name, steps, whole, streamed, without_end: None, follows: false }
}

/// The same for all calls.
const fn all(name: &'static str, steps: &'static [Step], fate: Fate) -> Line {
    line(name, steps, fate, fate)
}

const OK: &str = "HTTP/1.1 200 OK\r\n";
const GZIP: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n";

#[rustfmt::skip]
pub(crate) const LINES: &[Line] = &[
    // Before the response.
    all("a reset before the answer", &[Reset], Again(Connection)),
    all("an end before the answer", &[], Again(Connection)),
    all("half an end before the answer", &[HalfClose], Again(Connection)),
    all("a stall before the answer", &[Stall], Again(Timeout)),
    // In its head.
    all("a stall in the status line", &[Raw("HTTP/1.1 2"), Stall], Again(Timeout)),
    all("a reset after the status line", &[Raw(OK), Reset], Again(Connection)),
    all("an end after the status line", &[Raw(OK)], Again(Connection)),
    all("a stall after the status line", &[Raw(OK), Stall], Again(Timeout)),
    all("a reset in the headers", &[Raw(OK), Raw("content-ty"), Reset], Again(Connection)),
    all("an end in the headers", &[Raw(OK), Raw("content-ty")], Again(Connection)),
    all("a stall in the headers", &[Raw(OK), Raw("content-ty"), Stall], Again(Timeout)),
    all("not HTTP", &[Raw("SSH-2.0-OpenSSH_9.6\r\n\r\n")], Fails(Protocol)),
    all("a length that is not a number", &[Raw(OK), Raw("content-length: many\r\n\r\n")], Fails(Protocol)),
    all("two lengths", &[Raw(OK), Raw("content-length: 5\r\ncontent-length: 7\r\n\r\n12345")], Fails(Protocol)),
    all("a header without an end", &[Raw(OK), Raw("x-long: "), Many(b'x', 1 << 20), Raw("\r\n\r\n")], Fails(Protocol)),
    all("a word before the answer", &[Raw("HTTP/1.1 100 Continue\r\n\r\n"), Head(True), Rest, HalfClose], Well),
    // After its head.
    all("a reset after the headers", &[Head(Chunked), Reset], Again(Connection)),
    all("an end after the headers", &[Head(Chunked)], Again(Connection)),
    all("a stall after the headers", &[Head(Chunked), Stall], Again(Timeout)),
    all("an empty body", &[Head(Untold)], Again(IncompleteStream)),
    // In its body.
    line("a reset in the body", &[Head(Chunked), Part, Reset], Again(Connection), Fails(Connection)),
    line("an end in the body", &[Head(Chunked), Part], Again(Connection), Fails(Connection)),
    line("a stall in the body", &[Head(Chunked), Part, Stall], Again(Timeout), Fails(Timeout)),
    line("an end that is none, in the body", &[Head(Untold), Part], Again(IncompleteStream), Fails(IncompleteStream)),
    line("a reset in a chunk", &[Head(Chunked), Part, Raw("ff\r\ndata: {"), Reset], Again(Connection), Fails(Connection)),
    line("a stall in a chunk", &[Head(Chunked), Part, Raw("ff\r\ndata: {"), Stall], Again(Timeout), Fails(Timeout)),
    line("a chunk of no size", &[Head(Chunked), Part, Raw("many\r\n")], Again(Connection), Fails(Connection)),
    Line { without_end: Some(Fails(Connection)), ..line("a length that is too long", &[Head(Longer), Rest], Again(Connection), Well) },
    Line { without_end: Some(Fails(Timeout)), ..line("a length that is too long, and a stall", &[Head(Longer), Rest, Stall], Again(Timeout), Well) },
    line("a length that is too short", &[Head(Shorter), Rest], Again(IncompleteStream), Fails(IncompleteStream)),
    all("a byte at a time", &[Head(True), Drip, HalfClose], Well),
    all("half an end after the answer", &[Head(Untold), Rest, HalfClose], Well),
    // Wrong content types.
    all("a content type of no kind", &[Raw(OK), Raw("content-type: application/octet-stream\r\n\r\n"), Rest], Well),
    all("no content type", &[Raw(OK), Raw("\r\n"), Rest], Well),
    all("a web page", &[Raw(OK), Raw("content-type: text/html\r\n\r\n<html><body>Sign in</body></html>")], Fails(Protocol)),
    all("no gzip", &[Raw(GZIP), Raw("\r\nthis is not gzip, despite the header")], Fails(Protocol)),
    all("the beginning of a gzip", &[Raw(GZIP), Raw("\r\n\x1f"), Reset], Again(Connection)),
    // Errors that are cut.
    all("an error whose body breaks", &[Raw("HTTP/1.1 503 No\r\ncontent-length: 99\r\n\r\n{\"error\":"), Reset], Again(Overloaded)),
    all("an error whose body stalls", &[Raw("HTTP/1.1 429 No\r\ncontent-length: 99\r\n\r\n{\"error\":"), Stall], Again(RateLimit)),
    all("an error whose body ends", &[Raw("HTTP/1.1 400 No\r\ncontent-length: 99\r\n\r\n{\"error\":")], Fails(InvalidRequest)),
    // Redirects.
    Line { follows: true, ..all("redirects without an end", &[Raw("HTTP/1.1 307 There\r\nlocation: /v1/again\r\ncontent-length: 0\r\n\r\n")], Fails(Protocol)) },
    all("a redirect to no URL", &[Raw("HTTP/1.1 307 There\r\nlocation: gopher://x\r\ncontent-length: 0\r\n\r\n")], Fails(Protocol)),
];
