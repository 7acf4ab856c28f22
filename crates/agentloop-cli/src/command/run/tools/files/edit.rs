//! The tool `edit_file` replaces one passage of a file, or creates a file.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use agentloop::agent::{Policy, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff::{self, Change};
use super::read::{self, Asked};
use super::{Root, run_blocking};
use crate::files::Replacement;

/// The longest text that replaces a passage, in bytes.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct Edit {
    path: String,
    #[serde(default)]
    old_text: String,
    new_text: String,
}

pub(in crate::command::run) fn tool(root: Root) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The path of the file, relative to the user's folder" },
            "old_text": {
                "type": "string",
                "description": "The passage to replace, exactly as it is in the file, with enough text around it that it occurs only \
                                once. Empty to create a new file.",
            },
            "new_text": { "type": "string", "description": "The text that replaces it" },
        },
        "required": ["path", "old_text", "new_text"],
    });
    let about = "Replaces one passage of a text file of the user's folder, or creates a new file. Read the file first.";
    Tool::dynamic("edit_file", about, parameters, move |arguments: Value, _| {
        let root = root.clone();
        async move {
            let edit: Edit = serde_json::from_value(arguments)?;
            run_blocking(move || apply(&root, &edit)).await
        }
    })
    .policy(Policy::Ask)
    .status(|arguments| Some(format!("Editing {}", arguments.get("path")?.as_str()?)))
}

/// Formats the change that a call would make as a diff, for the user to approve. `None` if the call would fail.
pub(in crate::command::run) fn preview(root: &Root, arguments: &Value) -> Option<Vec<String>> {
    let edit: Edit = serde_json::from_value(arguments.clone()).ok()?;
    let plan = plan(root, &edit).ok()?;
    let change = Change { path: &edit.path, before: &plan.before, after: &plan.after };
    Some(diff::format(&change))
}

/// What an edit does to a file.
#[derive(Debug)]
struct Plan {
    place: PathBuf,
    is_new: bool,
    before: String,
    after: String,
}

fn plan(root: &Root, edit: &Edit) -> Result<Plan, ToolError> {
    let path = &edit.path;
    if edit.new_text.len() > MAX_BYTES {
        return Err(ToolError::new(format!("new_text is longer than {MAX_BYTES} bytes")));
    }
    if edit.old_text.is_empty() {
        let place = root.find_new(path)?;
        return Ok(Plan {
            place,
            is_new: true,
            before: String::new(),
            after: edit.new_text.clone(),
        });
    }
    let place = root.find(path)?;
    let asked = Asked { path: path.clone(), from_line: None, to_line: None };
    let before = read::read(root, &asked)?;
    let mut found = before.match_indices(edit.old_text.as_str());
    let Some((at, _)) = found.next() else {
        return Err(ToolError::new(format!(
            "old_text does not occur in `{path}`; read the file and copy the passage exactly"
        )));
    };
    if found.next().is_some() {
        let count = before.matches(edit.old_text.as_str()).count();
        return Err(ToolError::new(format!(
            "old_text occurs {count} times in `{path}`; add the lines around it, so that it occurs once"
        )));
    }
    let mut after = before.clone();
    after.replace_range(at..at + edit.old_text.len(), &edit.new_text);
    Ok(Plan { place, is_new: false, before, after })
}

pub(super) fn apply(root: &Root, edit: &Edit) -> Result<String, ToolError> {
    let plan = plan(root, edit)?;
    let path = &edit.path;
    if plan.is_new {
        if let Some(folder) = plan.place.parent() {
            fs::create_dir_all(folder)?;
        }
        // Fails if the file exists, also as a symbolic link.
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&plan.place)?;
        file.write_all(plan.after.as_bytes())?;
        return Ok(format!("created `{path}`"));
    }
    replace(&plan.place, plan.after.as_bytes())?;
    Ok(format!("edited `{path}`"))
}

/// Replaces the content of a file atomically, and keeps its permissions.
fn replace(place: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let permissions = fs::metadata(place)?.permissions();
    let mut file = Replacement::begin(place)?;
    file.set_permissions(permissions)?;
    file.write_all(bytes)?;
    file.commit()
}

#[cfg(test)]
pub(super) fn edit(path: &str, old_text: &str, new_text: &str) -> Edit {
    Edit { path: path.to_owned(), old_text: old_text.to_owned(), new_text: new_text.to_owned() }
}
