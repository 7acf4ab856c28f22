//! Short names for long ones: the same on every machine and in every version.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// FNV-1a over 128 bits. `turn` counts the attempts, where the first one was taken; the first is the plain hash.
fn fnv(text: &str, turn: usize) -> u128 {
    let salt = (turn > 0).then(|| format!("\u{0}{turn}"));
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.bytes().chain(salt.iter().flat_map(|salt| salt.bytes())) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash
}

/// So many letters and digits that stand for `text`.
pub(super) fn short(text: &str, turn: usize, length: usize) -> String {
    let mut hash = fnv(text, turn);
    let mut short = String::with_capacity(length);
    for _ in 0..length {
        short.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    short
}

/// `text` with `_` for every character that is not allowed, cut so that it and its hash are at most `longest` bytes.
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
