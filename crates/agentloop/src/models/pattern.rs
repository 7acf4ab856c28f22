//! Patterns of model names.

/// Returns whether `name` matches `pattern`: `*` matches any text, other characters match themselves in either case.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    // The usual two-pointer walk: on a mismatch, let the last star eat one byte more.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if byte.eq_ignore_ascii_case(&name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, eaten)) => {
                    star = Some((at, eaten + 1));
                    p = at + 1;
                    n = eaten + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}
