//! stdin.

use std::io::{self, IsTerminal, Read};

use crate::failure::Failure;

/// Whether something other than a person's keyboard is there to be read.
pub(crate) fn is_piped() -> bool {
    !io::stdin().is_terminal()
}

/// All bytes of stdin.
pub(crate) fn bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::input(format!("stdin cannot be read: {error}")))?;
    Ok(bytes)
}

/// All text of stdin.
pub(crate) fn text() -> Result<String, Failure> {
    String::from_utf8(bytes()?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input_with_hint(
            format!("stdin is not UTF-8 text (byte {at})"),
            "only text can be piped in",
        )
    })
}
