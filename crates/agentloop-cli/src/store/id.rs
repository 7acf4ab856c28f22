//! Identifiers of conversations, which sort by the time at which they were created.

use ring::rand::{SecureRandom as _, SystemRandom};

/// Crockford's base 32, in lowercase: digits and letters without i, l, o and u, in the order of ASCII.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The characters for the time in milliseconds: enough until the year 37,000.
const TIME: u32 = 10;

/// The characters that tell conversations of the same millisecond apart.
const RANDOM: u32 = 4;

/// Creates an identifier for a conversation of this time, in milliseconds since 1970.
pub(super) fn create(now: i64) -> String {
    let mut random = [0; 4];
    // Without random numbers, two conversations of the same millisecond collide. The file refuses that, and another one is made.
    let _ = SystemRandom::new().fill(&mut random);
    let (now, random) = (now.max(0).unsigned_abs(), u64::from(u32::from_le_bytes(random)));
    let digits = |number: u64, count: u32| {
        (0..count).rev().map(move |place| {
            let digit = (number >> (5 * place)) & 31;
            char::from(ALPHABET.get(usize::try_from(digit).unwrap_or(0)).copied().unwrap_or(b'0'))
        })
    };
    digits(now, TIME).chain(digits(random, RANDOM)).collect()
}

/// Returns whether the text may be the beginning of an identifier.
pub(super) fn is_prefix(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= (TIME + RANDOM) as usize
        && text.bytes().all(|byte| ALPHABET.contains(&byte))
}
