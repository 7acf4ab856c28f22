//! Deeply nested JSON: from a provider it is kept and sent back, from a caller it is refused. It never crashes the client.

mod answers;
#[cfg(feature = "agent")]
mod requests;
#[cfg(feature = "agent")]
mod runs;
mod within;

/// JSON text of so many levels.
fn nested(levels: usize) -> String {
    let open = |level: usize| if level.is_multiple_of(2) { "{\"a\":" } else { "[" };
    let close = |level: usize| if level.is_multiple_of(2) { "}" } else { "]" };
    let begin: String = (0..levels).map(open).collect();
    let end: String = (0..levels).rev().map(close).collect();
    format!("{begin}7{end}")
}
