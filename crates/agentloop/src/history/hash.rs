//! Shortens names in a way that is the same on every machine and in every version.

use crate::hash::{FNV128, fnv128};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns `length` letters and digits that identify `text`. `turn` counts the attempts if earlier results are taken
/// already.
pub(super) fn short(text: &str, turn: usize, length: usize) -> String {
    let mut hash = fnv128(FNV128, text.as_bytes());
    if turn > 0 {
        hash = fnv128(hash, format!("\u{0}{turn}").as_bytes());
    }
    let mut short = String::with_capacity(length);
    for _ in 0..length {
        short.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    short
}

/// `text` with `_` for every character that is not allowed, cut so it and its hash are at most `longest` bytes.
pub(super) fn tidy(
    text: &str,
    turn: usize,
    longest: usize,
    allowed: impl Fn(char) -> bool,
) -> String {
    const HASH: usize = 8;
    let kept = longest.saturating_sub(HASH + 1);
    let mut tidy: String =
        text.chars().map(|c| if allowed(c) { c } else { '_' }).take(kept).collect();
    tidy.push('_');
    tidy.push_str(&short(text, turn, HASH));
    tidy
}
