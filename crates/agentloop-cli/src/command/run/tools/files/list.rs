//! The tool `list_files` lists a folder.

use std::fs::DirEntry;

use agentloop::agent::{Policy, Tool, ToolError};
use serde_json::{Value, json};

use super::{Root, describe_io_error, run_blocking};

/// The maximum number of entries in a result.
pub(super) const MAX_ENTRIES: usize = 1_000;

/// The maximum number of entries that are read from a folder.
const MAX_SCANNED: usize = 100_000;

pub(in crate::command::run::tools) fn tool(root: Root) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The path of the folder, relative to the user's folder. Default: the user's folder itself.",
                "examples": ["."],
            },
        },
    });
    let about = "Lists a folder of the user: one name per line, folders with a slash, files with their size in bytes.";
    Tool::dynamic("list_files", about, parameters, move |arguments: Value, _| {
        let root = root.clone();
        async move {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".").to_owned();
            run_blocking(move || list(&root, &path)).await
        }
    })
    // The result is sent to the model's provider.
    .policy(Policy::Ask)
    .status(|arguments| {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
        Some(format!("Listing {path}"))
    })
}

pub(super) fn list(root: &Root, path: &str) -> Result<String, ToolError> {
    // Some models send an empty path instead of leaving it out.
    let path = if path.trim().is_empty() { "." } else { path };
    let place = root.find(path)?;
    if !place.is_dir() {
        return Err(ToolError::new(format!("`{path}` is not a folder")));
    }
    let entries = place.read_dir().map_err(|error| describe_io_error(path, &error))?;
    let mut entries: Vec<DirEntry> = entries.flatten().take(MAX_SCANNED).collect();
    if entries.is_empty() {
        return Ok(format!("[`{path}` is empty]"));
    }
    entries.sort_by_key(DirEntry::file_name);
    let more = entries.len().saturating_sub(MAX_ENTRIES);
    let mut lines: Vec<String> =
        entries.iter().take(MAX_ENTRIES).map(|entry| format_entry(root, entry)).collect();
    if more > 0 {
        lines.push(format!("[{more} more entries are not shown]"));
    }
    Ok(lines.join("\n"))
}

fn format_entry(root: &Root, entry: &DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().replace(char::is_control, "\u{fffd}");
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    if is_link && root.is_outside(&entry.path()) {
        return format!("{name} (a link to a place outside the folder)");
    }
    match entry.path().metadata() {
        Ok(about) if about.is_dir() => format!("{name}/"),
        Ok(about) if about.is_file() => format!("{name} {}", about.len()),
        _ => name,
    }
}
