//! The tool `search_files` finds lines in the files of a folder.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use agentloop::agent::{Policy, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Root, run_blocking};
use crate::walk::Walk;

/// The most lines of a result.
const MAX_FOUND: usize = 200;

/// How much of a line is shown, in characters.
const MAX_LINE: usize = 300;

/// The largest file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The most bytes and entries that one search reads.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
const MAX_ENTRIES: usize = 100_000;

#[derive(Debug, Deserialize)]
pub(super) struct Search {
    pub(super) text: String,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) ignore_case: bool,
}

pub(in crate::command::run::tools) fn tool(root: Root) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "The text to find. It is not a pattern." },
            "path": {
                "type": "string",
                "description": "The folder to search, relative to the user's folder. Default: the user's folder itself.",
            },
            "ignore_case": { "type": "boolean", "description": "Whether upper and lower case are the same" },
        },
        "required": ["text"],
    });
    let about = "Finds a text in the files of the user's folder. Returns path, line number and line. Hidden files and files that \
                 .gitignore excludes are not searched.";
    Tool::dynamic("search_files", about, parameters, move |arguments: Value, _| {
        let root = root.clone();
        async move {
            let search: Search = serde_json::from_value(arguments)?;
            run_blocking(move || find(&root, &search)).await
        }
    })
    // The result is sent to the model's provider.
    .policy(Policy::Ask)
    .status(|arguments| Some(format!("Searching for {}", arguments.get("text")?.as_str()?)))
}

pub(super) fn find(root: &Root, search: &Search) -> Result<String, ToolError> {
    if search.text.trim().is_empty() {
        return Err(ToolError::new("the text to find is empty"));
    }
    let path = search.path.as_deref().filter(|path| !path.trim().is_empty()).unwrap_or(".");
    let place = root.find(path)?;
    let wanted = if search.ignore_case { search.text.to_lowercase() } else { search.text.clone() };
    let mut found = Vec::new();
    let mut bytes_left = MAX_TOTAL_BYTES;
    let files =
        Walk::new(&place, MAX_ENTRIES).map_err(|error| ToolError::new(error.to_string()))?;
    let within = |path: &Path| path.strip_prefix(&root.0).unwrap_or(path).display().to_string();
    for file in files {
        if bytes_left == 0 {
            found.push("[the folder is too large; search a smaller one]".to_owned());
            break;
        }
        let path = match file {
            Ok(path) => path,
            Err(error) => {
                found.push(format!("[not searched: {error}]"));
                continue;
            }
        };
        let Some(text) = read_text(&path, &mut bytes_left) else { continue };
        let name = within(&path);
        for (number, line) in text.lines().enumerate() {
            let is_match = if search.ignore_case {
                line.to_lowercase().contains(&wanted)
            } else {
                line.contains(&wanted)
            };
            if !is_match {
                continue;
            }
            if found.len() >= MAX_FOUND {
                found
                    .push(format!("[more than {MAX_FOUND} lines match; search for a longer text]"));
                return Ok(found.join("\n"));
            }
            let line: String = line.trim().chars().take(MAX_LINE).collect();
            found.push(format!("{name}:{}: {line}", number + 1));
        }
    }
    if found.is_empty() {
        Ok(format!("[`{}` does not occur in any file]", search.text))
    } else {
        Ok(found.join("\n"))
    }
}

/// Returns the text of a file; `None` if it is not text or too large.
fn read_text(path: &Path, bytes_left: &mut u64) -> Option<String> {
    let file = File::open(path).ok()?;
    let limit = MAX_FILE_BYTES.min(*bytes_left);
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    *bytes_left = bytes_left.saturating_sub(bytes.len() as u64);
    if bytes.len() as u64 > limit {
        return None;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
