//! Shortens names, with the same result on every machine and in every version.

use crate::hash::{FNV128, fnv128};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns `length` letters and digits that identify `text`. `attempt` counts the attempts if earlier results are
/// already used.
pub(super) fn short(text: &str, attempt: usize, length: usize) -> String {
    let mut hash = fnv128(FNV128, text.as_bytes());
    if attempt > 0 {
        hash = fnv128(hash, format!("\u{0}{attempt}").as_bytes());
    }
    let mut short = String::with_capacity(length);
    for _ in 0..length {
        short.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    short
}

/// Returns `text` with `_` for every character that is not allowed, cut so that the text and its hash are at most
/// `longest` bytes.
pub(super) fn tidy(
    text: &str,
    attempt: usize,
    longest: usize,
    allowed: impl Fn(char) -> bool,
) -> String {
    const HASH: usize = 8;
    let kept = longest.saturating_sub(HASH + 1);
    let mut tidy: String =
        text.chars().map(|c| if allowed(c) { c } else { '_' }).take(kept).collect();
    tidy.push('_');
    tidy.push_str(&short(text, attempt, HASH));
    tidy
}
