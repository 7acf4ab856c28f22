//! Where the file is.

use std::path::PathBuf;

/// The name of the file in the user's data folder.
const FILE: &str = "history.sqlite3";

/// The environment variable that names another folder.
const VARIABLE: &str = "AGENTLOOP_DATA";

/// Returns the path of the file: in the folder that `AGENTLOOP_DATA` names, else in `agentloop` in the user's data folder. Returns
/// `None` if no such folder is known.
pub(crate) fn find_file() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if let Some(folder) = named {
        return std::path::absolute(folder).ok().map(|folder| folder.join(FILE));
    }
    let folder = |variable: &str, rest: &str| {
        // A relative path would depend on the current folder, which another user may control.
        let folder = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute())?;
        Some(folder.join(rest).join(FILE))
    };
    folder("XDG_DATA_HOME", "agentloop")
        .or_else(|| folder("LOCALAPPDATA", "agentloop").filter(|_| cfg!(windows)))
        .or_else(|| folder("HOME", ".local/share/agentloop"))
}
