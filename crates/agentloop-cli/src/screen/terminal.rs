//! What the terminal supports, according to the environment.

/// The size (columns, rows) that is assumed if the terminal does not report one.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// Returns whether the terminal understands escape sequences. If `TERM` is not set, it probably does not.
pub(crate) fn has_escapes() -> bool {
    match std::env::var_os("TERM") {
        Some(term) => !term.is_empty() && term != "dumb",
        None => cfg!(windows),
    }
}

/// Returns whether colours may be used: `NO_COLOR` is not set or empty.
pub(crate) fn has_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the current size of the terminal: columns and rows.
#[cfg(unix)]
pub(crate) fn size() -> (usize, usize) {
    let known = |size: rustix::termios::Winsize| {
        (size.ws_col > 0 && size.ws_row > 0)
            .then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
    };
    let of_stderr = rustix::termios::tcgetwinsize(std::io::stderr()).ok().and_then(known);
    let of_stdout = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().and_then(known);
    of_stderr.or_else(of_stdout).unwrap_or(DEFAULT_SIZE)
}

/// Returns the size that is assumed of a terminal: columns and rows.
#[cfg(not(unix))]
pub(crate) fn size() -> (usize, usize) {
    DEFAULT_SIZE
}
