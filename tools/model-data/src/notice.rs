//! Whose the sources are, and which state of them was used.

use std::path::Path;
use std::process::Command;

use crate::write::Source;

const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and \
associated documentation files (the \"Software\"), to deal in the Software without restriction, including without \
limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, \
and to permit persons to whom the Software is furnished to do so, subject to the following conditions: The above \
copyright notice and this permission notice shall be included in all copies or substantial portions of the Software. \
THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE \
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR \
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR \
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.";

pub(crate) fn litellm(version: Option<&str>) -> Source {
    source("litellm", version.unwrap_or("not named").to_owned(), "Copyright (c) 2023 Berri AI")
}

/// Without a version, the commit that is checked out.
pub(crate) fn models_dev(folder: &Path, version: Option<&str>) -> Source {
    let version = version.map(str::to_owned).or_else(|| commit(folder));
    let version = version.unwrap_or_else(|| "not named".to_owned());
    source("models.dev", version, "Copyright (c) 2025 models.dev")
}

fn source(name: &str, version: String, owner: &str) -> Source {
    Source { name: name.to_owned(), version, notice: format!("MIT License. {owner}. {MIT}") }
}

fn commit(folder: &Path) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["log", "-1", "--format=%H %cs"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
