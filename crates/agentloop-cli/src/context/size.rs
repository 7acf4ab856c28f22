//! Formats sizes.

/// How many bytes of text a token has on average. Text in English has about four, code about three and a half.
const BYTES_PER_TOKEN: usize = 4;

/// Formats a number of bytes, for example `1.5 kB`.
pub(super) fn format_bytes(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats the estimated number of tokens of a text, rounded to two digits, because it is not known exactly.
pub(super) fn format_tokens(bytes: usize) -> String {
    let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
    let unit = 10_usize.pow(tokens.max(1).ilog10().saturating_sub(1));
    let rounded = (tokens + unit / 2) / unit * unit;
    match rounded {
        1 => "1 token".to_owned(),
        _ => format!("{rounded} tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(format_bytes(999), "999 bytes");
        assert_eq!(format_bytes(1_500), "1.5 kB");
        assert_eq!(format_bytes(96 << 20), "100.7 MB");
        assert_eq!(format_tokens(0), "0 tokens");
        assert_eq!(format_tokens(3), "1 token");
        assert_eq!(format_tokens(49_500), "12000 tokens");
    }
}
