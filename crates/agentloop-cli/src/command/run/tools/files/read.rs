//! The tool `read_file` returns the text of a file.

use std::fs::File;
use std::io::Read;

use agentloop::agent::{Policy, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Root, describe_io_error, run_blocking};

/// The largest file that is read, in bytes.
pub(super) const MAX_BYTES: u64 = 10 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) from_line: Option<usize>,
    pub(super) to_line: Option<usize>,
}

pub(in crate::command::run::tools) fn tool(root: Root) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The path of the file, relative to the user's folder",
                "examples": ["README.md"],
            },
            "from_line": { "type": "integer", "minimum": 1, "description": "The first line to read, counted from 1" },
            "to_line": { "type": "integer", "minimum": 1, "description": "The last line to read" },
        },
        "required": ["path"],
    });
    let about = "Reads a text file of the user's folder, completely or some of its lines.";
    Tool::dynamic("read_file", about, parameters, move |arguments: Value, _| {
        let root = root.clone();
        async move {
            let asked: Asked = serde_json::from_value(arguments)?;
            run_blocking(move || read(&root, &asked)).await
        }
    })
    // The result is sent to the model's provider.
    .policy(Policy::Ask)
    .status(|arguments| Some(format!("Reading {}", arguments.get("path")?.as_str()?)))
}

pub(super) fn read(root: &Root, asked: &Asked) -> Result<String, ToolError> {
    let path = &asked.path;
    let place = root.find(path)?;
    let about = place.metadata().map_err(|error| describe_io_error(path, &error))?;
    // Reading a pipe or a device could block.
    if !about.is_file() {
        let what = if about.is_dir() { "a folder; use list_files" } else { "not a file" };
        return Err(ToolError::new(format!("`{path}` is {what}")));
    }
    let file = File::open(&place).map_err(|error| describe_io_error(path, &error))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ToolError::new(format!(
            "`{path}` is larger than the limit of {MAX_BYTES} bytes"
        )));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| ToolError::new(format!("`{path}` is not UTF-8 text")))?;
    match (asked.from_line, asked.to_line) {
        (None, None) if text.is_empty() => Ok(format!("[`{path}` is empty]")),
        (None, None) => Ok(text),
        (from, to) => select_lines(&text, from.unwrap_or(1).max(1), to.unwrap_or(usize::MAX)),
    }
}

/// Returns the lines `from` to `to`, followed by their numbers.
fn select_lines(text: &str, from: usize, to: usize) -> Result<String, ToolError> {
    let count = text.lines().count();
    let last = to.min(count);
    if from > last {
        let message = format!("lines {from} to {to} do not exist: the file has {count} lines");
        return Err(ToolError::new(message));
    }
    let chosen: Vec<&str> = text.lines().skip(from - 1).take(last - from + 1).collect();
    Ok(format!("{}\n[lines {from} to {last} of {count}]", chosen.join("\n")))
}
