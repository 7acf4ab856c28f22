//! Shapes of Bedrock's protocol: frames with checksums, and bodies.

use bytes::Bytes;

use super::bodies::{Sent, Shape, same};
use crate::support::frames;

/// A stream of such events, each in a frame of its own.
fn stream(events: impl Iterator<Item = String>) -> Sent {
    let start = "messageStart {\"role\":\"assistant\"}".to_owned();
    let ends = [
        "messageStop {\"stopReason\":\"end_turn\"}".to_owned(),
        "metadata {\"usage\":{\"inputTokens\":1,\"outputTokens\":1}}".to_owned(),
    ];
    let events = [start].into_iter().chain(events).chain(ends);
    let pieces = events.map(|event| Bytes::from(frames(&event))).collect();
    Sent { stream: true, pieces, ..Sent::whole("bedrock", "") }
}

/// A stream of the deltas of blocks.
fn deltas(count: usize, delta: impl Fn(usize) -> (usize, String)) -> Sent {
    stream((0..count).map(|at| {
        let (index, delta) = delta(at);
        format!(r#"contentBlockDelta {{"contentBlockIndex":{index},"delta":{delta}}}"#)
    }))
}

/// A complete body with this content.
fn body(content: &str) -> Sent {
    let body = format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":{content}}}}},"stopReason":"end_turn","usage":{{"inputTokens":1,"outputTokens":1}}}}"#
    );
    Sent::whole("bedrock", body)
}

/// One call, then this.
fn call(at: usize, id: &str) -> String {
    format!(
        r#"contentBlockStart {{"contentBlockIndex":{at},"start":{{"toolUse":{{"toolUseId":"{id}","name":"f"}}}}}}"#
    )
}

const fn shape(name: &'static str, elements: usize, make: fn(usize) -> Sent) -> Shape {
    Shape { name, elements, make }
}

/// All of them.
pub(super) const SHAPES: &[Shape] = &[
    shape("bedrock: words one by one", 400, |n| deltas(n, |_| (0, r#"{"text":"a "}"#.to_owned()))),
    shape("bedrock: empty deltas", 400, |n| deltas(n, |_| (0, "{}".to_owned()))),
    shape("bedrock: deltas of new blocks", 200, |n| {
        deltas(n, |at| (at, r#"{"text":"a"}"#.to_owned()))
    }),
    shape("bedrock: deltas of two blocks in turn", 200, |n| {
        deltas(n, |at| (at % 2, r#"{"text":"a"}"#.to_owned()))
    }),
    shape("bedrock: calls that stay open", 200, |n| {
        stream((0..n).map(|at| call(at, &format!("c{at}"))))
    }),
    shape("bedrock: calls of one id", 200, |n| stream((0..n).map(|at| call(at, "c")))),
    shape("bedrock: calls of one index", 200, |n| {
        stream((0..n).map(|at| call(0, &format!("c{at}"))))
    }),
    shape("bedrock: calls that grow in turn", 200, |n| {
        let begun = (0..20).map(|at| call(at, &format!("c{at}")));
        stream(begun.chain((0..n).map(|at| {
            let index = at % 20;
            format!(r#"contentBlockDelta {{"contentBlockIndex":{index},"delta":{{"toolUse":{{"input":" "}}}}}}"#)
        })))
    }),
    shape("bedrock: stops of blocks that never began", 400, |n| {
        stream((0..n).map(|at| format!(r#"contentBlockStop {{"contentBlockIndex":{at}}}"#)))
    }),
    shape("bedrock: thinking in pieces with signatures", 200, |n| {
        deltas(n, |at| match at % 2 {
            0 => (0, r#"{"reasoningContent":{"text":"a"}}"#.to_owned()),
            _ => (0, r#"{"reasoningContent":{"signature":"s"}}"#.to_owned()),
        })
    }),
    shape("bedrock: redacted thinking in pieces", 200, |n| {
        deltas(n, |_| (0, r#"{"reasoningContent":{"redactedContent":"AAAA"}}"#.to_owned()))
    }),
    shape("bedrock: streamed citations", 200, |n| {
        deltas(n, |at| {
            let citation = format!(
                r#"{{"citation":{{"title":"t","location":{{"documentChar":{{"documentIndex":{at},"start":0,"end":999999999}}}},"sourceContent":[{{"text":"a"}}]}}}}"#
            );
            (0, citation)
        })
    }),
    shape("bedrock: unknown events and blocks", 200, |n| {
        stream((0..n).map(|at| match at % 2 {
            0 => "of_tomorrow {\"a\":[1,2,3]}".to_owned(),
            _ => format!(r#"contentBlockStart {{"contentBlockIndex":{at},"start":{{"of_tomorrow":{{"a":1}}}}}}"#),
        }))
    }),
    shape("bedrock: starts of messages", 200, |n| {
        stream((0..n).map(|_| "messageStart {\"role\":\"assistant\"}".to_owned()))
    }),
    shape("bedrock: texts", 250, |n| body(&same(n, r#"{"text":"a"}"#))),
    shape("bedrock: empty blocks", 250, |n| body(&same(n, "{}"))),
    shape("bedrock: calls", 250, |n| {
        body(&same(n, r#"{"toolUse":{"toolUseId":"c","name":"f","input":{}}}"#))
    }),
    shape("bedrock: unknown blocks", 250, |n| body(&same(n, r#"{"x":{}}"#))),
    shape("bedrock: thoughts", 250, |n| {
        body(&same(n, r#"{"reasoningContent":{"reasoningText":{"text":"a","signature":"s"}}}"#))
    }),
    shape("bedrock: citations of one text", 250, |n| {
        let citation =
            r#"{"title":"t","location":{"web":{"url":"u"}},"sourceContent":[{"text":"a"}]}"#;
        body(&format!(
            r#"[{{"citationsContent":{{"content":[{{"text":"a"}}],"citations":{}}}}}]"#,
            same(n, citation)
        ))
    }),
    shape("bedrock: sources of one citation", 250, |n| {
        body(&format!(
            r#"[{{"citationsContent":{{"content":[{{"text":"a"}}],"citations":[{{"title":"t","sourceContent":{}}}]}}}}]"#,
            same(n, r#"{"text":"a"}"#)
        ))
    }),
];
