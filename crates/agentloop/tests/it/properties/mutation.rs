//! Bytes that went wrong on the way, and what must hold for them all the same.

use agentloop::{ChatStreamEvent, Fold};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::Decoded;

/// A fixture with a few places changed: pieces cut out, and `words` or any bytes put in.
pub(crate) fn mutated(
    fixtures: Vec<(bool, Vec<u8>)>,
    words: &'static [&'static str],
) -> impl Strategy<Value = (bool, Vec<u8>)> {
    let change = (
        any::<Index>(),
        0usize..12,
        prop_oneof![
            select(words).prop_map(|word| word.as_bytes().to_vec()),
            vec(any::<u8>(), 0..4),
        ],
    );
    (select(fixtures), vec(change, 0..4)).prop_map(|((stream, mut bytes), changes)| {
        for (at, removed, added) in changes {
            let at = at.index(bytes.len() + 1);
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, added);
        }
        (stream, bytes)
    })
}

/// The events follow the grammar and end once.
pub(crate) fn keeps_the_grammar(decoded: &Decoded) {
    let mut fold = Fold::new();
    for event in &decoded.events {
        fold.push(event).unwrap();
    }
    let done = matches!(decoded.events.last(), Some(ChatStreamEvent::MessageDone { .. }));
    assert_ne!(done, decoded.error.is_some(), "one end, a response or an error");
    if let Some(ChatStreamEvent::MessageDone { response }) = decoded.events.last() {
        assert_eq!(fold.finish().unwrap(), **response);
    }
}
