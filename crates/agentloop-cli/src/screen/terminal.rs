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
pub(crate) fn size() -> (usize, usize) {
    let stdout = || reported_size(std::io::stdout());
    reported_size(std::io::stderr()).or_else(stdout).unwrap_or(DEFAULT_SIZE)
}

/// Returns the current size of one terminal: columns and rows.
#[cfg(unix)]
pub(crate) fn size_of(terminal: impl std::os::fd::AsFd) -> (usize, usize) {
    reported_size(terminal).unwrap_or(DEFAULT_SIZE)
}

#[cfg(unix)]
fn reported_size(terminal: impl std::os::fd::AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0)
        .then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Returns the size that is assumed of a terminal: columns and rows.
#[cfg(not(unix))]
pub(crate) fn size_of<T>(_: T) -> (usize, usize) {
    DEFAULT_SIZE
}

#[cfg(not(unix))]
fn reported_size<T>(_: T) -> Option<(usize, usize)> {
    None
}
