//! Patterns for paths, bounded before they are parsed.

use globset::{Error, GlobBuilder, GlobSet};

/// The longest pattern, in bytes: the longest path.
const MAX_BYTES: usize = 4096;

/// How deep `{a,b}` may be nested in a pattern. The parser of regular expressions gives up at some depth.
const MAX_NESTED: usize = 16;

/// Returns whether a pattern is short and flat enough to be parsed.
pub(super) fn is_bounded(pattern: &str) -> bool {
    let opened = pattern.bytes().try_fold(0_usize, |opened, byte| match byte {
        b'{' if opened == MAX_NESTED => None,
        b'{' => Some(opened + 1),
        b'}' => Some(opened.saturating_sub(1)),
        _ => Some(opened),
    });
    pattern.len() <= MAX_BYTES && opened.is_some()
}

/// Returns what matches a pattern. `*` and `?` do not match `/`; `**` matches folders.
pub(crate) fn parse(pattern: &str) -> Result<GlobSet, String> {
    if !is_bounded(pattern) {
        return Err(format!(
            "longer than {MAX_BYTES} bytes, or more than {MAX_NESTED} `{{` in each other"
        ));
    }
    let describe = |error: Error| error.kind().to_string();
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(describe)?;
    GlobSet::builder().add(glob).build().map_err(describe)
}
