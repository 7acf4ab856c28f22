//! Where the file is.

use std::path::PathBuf;

use crate::files;

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
    files::user_folder("XDG_DATA_HOME", ".local/share").map(|folder| folder.join(FILE))
}
