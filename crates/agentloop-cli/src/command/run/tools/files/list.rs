//! `list_files`: what is in a folder.

use std::fs::DirEntry;

use agentloop::agent::{Policy, Tool, ToolError};
use serde_json::{Value, json};

use super::{Root, aside, missing};

/// How many entries are shown.
pub(super) const MAX_ENTRIES: usize = 1_000;

/// How many entries of a folder are looked at.
const MAX_LOOKED_AT: usize = 100_000;

pub(in crate::command::run::tools) fn tool(root: Root) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The folder, as its path within the user's; without it, the user's folder itself",
                "examples": ["."],
            },
        },
    });
    let about = "Lists a folder of the user's: a name a line, folders with a slash, files with their size in bytes";
    Tool::dynamic("list_files", about, parameters, move |arguments: Value, _| {
        let root = root.clone();
        async move {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".").to_owned();
            aside(move || list(&root, &path)).await
        }
    })
    // What it finds goes to the model's provider.
    .policy(Policy::Ask)
    .status(|arguments| {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
        Some(format!("Listing {path}"))
    })
}

pub(super) fn list(root: &Root, path: &str) -> Result<String, ToolError> {
    // Models leave out what they do not want to say in many ways.
    let path = if path.trim().is_empty() { "." } else { path };
    let place = root.find(path)?;
    if !place.is_dir() {
        return Err(ToolError::new(format!("`{path}` is not a folder")));
    }
    let entries = place.read_dir().map_err(|error| missing(path, &error))?;
    let mut entries: Vec<DirEntry> = entries.flatten().take(MAX_LOOKED_AT).collect();
    if entries.is_empty() {
        return Ok(format!("[`{path}` is empty]"));
    }
    entries.sort_by_key(DirEntry::file_name);
    let more = entries.len().saturating_sub(MAX_ENTRIES);
    let mut lines: Vec<String> =
        entries.iter().take(MAX_ENTRIES).map(|entry| line(root, entry)).collect();
    if more > 0 {
        lines.push(format!("[{more} more are left out]"));
    }
    Ok(lines.join("\n"))
}

fn line(root: &Root, entry: &DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().replace(char::is_control, "\u{fffd}");
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    if is_link && root.leads_out(&entry.path()) {
        return format!("{name} (a link that leads out of the folder)");
    }
    match entry.path().metadata() {
        Ok(about) if about.is_dir() => format!("{name}/"),
        Ok(about) if about.is_file() => format!("{name} {}", about.len()),
        _ => name,
    }
}
