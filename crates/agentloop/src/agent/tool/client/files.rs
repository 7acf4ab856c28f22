//! Calls of the tools that edit files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call of the text editor tool.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextEditorCall {
    /// Returns a file with line numbers, or the content of a directory.
    View {
        /// The file or the directory.
        path: String,
        /// The first and the last line to return; -1 is the end of the file.
        view_range: Option<Vec<i64>>,
    },
    /// Writes a file.
    Create {
        /// The file.
        path: String,
        /// The content of the file.
        #[serde(default)]
        file_text: String,
    },
    /// Replaces a text that occurs in the file exactly once.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace.
        old_str: String,
        /// The replacement.
        #[serde(default)]
        new_str: String,
    },
    /// Inserts a text after a line.
    Insert {
        /// The file.
        path: String,
        /// The line after which the text is inserted; 0 is the beginning of the file.
        insert_line: u64,
        /// The text.
        #[serde(alias = "new_str")]
        insert_text: String,
    },
    /// Reverts the last edit of the file.
    UndoEdit {
        /// The file.
        path: String,
    },
}

/// A call of the patch tool, which changes one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PatchCall {
    /// Writes a new file.
    CreateFile {
        /// The file.
        path: String,
        /// The lines of the file, each prefixed with `+`.
        diff: String,
    },
    /// Changes a file.
    UpdateFile {
        /// The file.
        path: String,
        /// The changes as a diff.
        diff: String,
    },
    /// Deletes a file.
    DeleteFile {
        /// The file.
        path: String,
    },
}

/// A call of the memory tool, which keeps files between conversations.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryCall {
    /// Returns a file, or the content of a directory.
    View {
        /// The file or the directory.
        path: String,
        /// The first and the last line to return.
        view_range: Option<Vec<i64>>,
    },
    /// Writes a file.
    Create {
        /// The file.
        path: String,
        /// The content of the file.
        file_text: String,
    },
    /// Replaces a text.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace.
        old_str: String,
        /// The replacement.
        #[serde(default)]
        new_str: String,
    },
    /// Inserts a text after a line.
    Insert {
        /// The file.
        path: String,
        /// The line after which the text is inserted; 0 is the beginning of the file.
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
        /// The current path.
        old_path: String,
        /// The new path.
        new_path: String,
    },
}
