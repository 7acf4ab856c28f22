//! How much memory the lists of a JSON text may take while it is read.
//!
//! The elements of a list are read into structs of several hundred bytes, and `{}` is one. Lists are in lists, so a
//! bound for each is not enough: all lists of one text share it. Reading is not interrupted, so the bound of the text
//! that is being read is with the thread.

use std::cell::Cell;

use crate::limits::{MAX_HELD_FREE_BYTES, MAX_HELD_PER_BYTE, MAX_RESPONSE_BYTES};

thread_local! {
    static ROOM: Cell<usize> = const { Cell::new(MAX_HELD_FREE_BYTES) };
}

/// The start of the error if a text was not read for this reason.
pub(super) const TOO_LARGE: &str = "its lists are too large";

/// Reads a text of so many bytes. One that is read inside of another has a bound of its own.
pub(super) fn within<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    let most = bytes.saturating_mul(MAX_HELD_PER_BYTE).saturating_add(MAX_HELD_FREE_BYTES);
    let outer = ROOM.replace(most.min(MAX_RESPONSE_BYTES));
    let value = read();
    ROOM.set(outer);
    value
}

/// Takes room for one more element of a list.
pub(super) fn take<E: serde::de::Error>(bytes: usize) -> Result<(), E> {
    let left = ROOM.get().checked_sub(bytes).ok_or_else(|| E::custom(TOO_LARGE))?;
    ROOM.set(left);
    Ok(())
}
