//! Edits of files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call of the tool that edits text files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextEditorCall {
    /// Shows a file with the numbers of its lines, or what a directory holds.
    View {
        /// The file or the directory.
        path: String,
        /// The first and the last line to show; -1 stands for the end of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view_range: Option<Vec<i64>>,
    },
    /// Writes a file.
    Create {
        /// The file.
        path: String,
        /// What it is to hold.
        #[serde(default)]
        file_text: String,
    },
    /// Replaces a text that stands in the file exactly once.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace.
        old_str: String,
        /// What to put in its place.
        #[serde(default)]
        new_str: String,
    },
    /// Inserts a text behind a line.
    Insert {
        /// The file.
        path: String,
        /// The line behind which it is inserted; 0 is the beginning of the file.
        insert_line: u64,
        /// The text.
        #[serde(alias = "new_str")]
        insert_text: String,
    },
    /// Takes the last edit of the file back.
    UndoEdit {
        /// The file.
        path: String,
    },
}

/// A call of the tool that applies patches: one file each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PatchCall {
    /// Writes a new file.
    CreateFile {
        /// The file.
        path: String,
        /// Its lines, each with `+` before it.
        diff: String,
    },
    /// Changes a file.
    UpdateFile {
        /// The file.
        path: String,
        /// The changes.
        diff: String,
    },
    /// Deletes a file.
    DeleteFile {
        /// The file.
        path: String,
    },
}

/// A call of the tool that keeps files between conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryCall {
    /// Shows a file, or what a directory holds.
    View {
        /// The file or the directory.
        path: String,
        /// The first and the last line to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view_range: Option<Vec<i64>>,
    },
    /// Writes a file.
    Create {
        /// The file.
        path: String,
        /// What it is to hold.
        file_text: String,
    },
    /// Replaces a text.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace.
        old_str: String,
        /// What to put in its place.
        #[serde(default)]
        new_str: String,
    },
    /// Inserts a text behind a line.
    Insert {
        /// The file.
        path: String,
        /// The line behind which it is inserted; 0 is the beginning of the file.
        insert_line: u64,
        /// The text.
        insert_text: String,
    },
    /// Deletes a file or a directory.
    Delete {
        /// The file or the directory.
        path: String,
    },
    /// Renames or moves a file or a directory.
    Rename {
        /// Its path.
        old_path: String,
        /// Its new path.
        new_path: String,
    },
}
