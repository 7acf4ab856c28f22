//! Memory and work grow with the bytes that were received, whatever their content.

use agentloop::ErrorKind;
use agentloop::limits::{MAX_HELD_FREE_BYTES, MAX_HELD_PER_BYTE, MAX_RESPONSE_BYTES};

use super::{frames, hostile, read};

/// How often what a response holds is in memory while it is decoded: in the response, in the deltas and finished parts
/// that wait to be taken, as the tree that was read, and what buffers set aside to grow.
const COPIES: usize = 6;

/// The fixed part: the client's tables, the decoder, the JSON reader's buffers.
const BESIDE: usize = 1 << 20;

/// How much more an element may cost where there are sixteen times as many: what buffers set aside when they grow.
const SLACK: f64 = 1.6;

/// The most bytes that decoding may have in memory at once.
fn most(sent: usize) -> usize {
    COPIES * (sent * MAX_HELD_PER_BYTE + MAX_HELD_FREE_BYTES).min(MAX_RESPONSE_BYTES) + BESIDE
}

#[test]
fn memory_and_allocations_grow_with_the_received_bytes_and_elements_and_no_faster() {
    for shape in hostile::SHAPES.iter().chain(frames::SHAPES) {
        let cost = |times: usize| {
            let sent = (shape.make)(shape.elements * times);
            let (outcome, counted) = read(&sent);
            let (bytes, peak) = (sent.bytes(), counted.bytes_max);
            assert!(peak <= most(bytes) as u64, "{}: {bytes} bytes took {peak}", shape.name);
            if let Err(error) = outcome {
                let expected =
                    [ErrorKind::TooLarge, ErrorKind::Protocol, ErrorKind::IncompleteStream];
                assert!(expected.contains(&error.kind()), "{}: {error}", shape.name);
            }
            let elements = (shape.elements * times) as f64;
            (counted.count_total as f64 / elements, counted.bytes_total as f64 / elements)
        };
        let [few, _, many] = [1, 4, 16].map(cost);
        assert!(many.0 <= few.0 * SLACK + 1.0, "{}: allocations {few:?} {many:?}", shape.name);
        assert!(many.1 <= few.1 * SLACK + 64.0, "{}: bytes {few:?} {many:?}", shape.name);
    }
}
