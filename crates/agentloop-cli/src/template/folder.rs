//! The folder with the user's templates.

use std::fs;
use std::path::PathBuf;

use super::Template;
use crate::failure::Failure;
use crate::files::read_regular_text;
use crate::printable;
use crate::user_config::user_path;

/// The largest template, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The most templates that are listed.
const MAX_TEMPLATES: usize = 1_000;

/// Returns the folder with the templates, which need not exist; `None` if the user has no home folder.
pub(crate) fn templates_folder() -> Option<PathBuf> {
    user_path("templates")
}

/// Reads the template with this name.
pub(crate) fn find(name: &str) -> Result<Template, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Failure::input_with_hint(
            format!("`{}` cannot be the name of a template", printable::escape_name(name)),
            "a name has letters, digits, `-`, `_` and `.` only",
        ));
    }
    let folder = templates_folder().ok_or_else(|| {
        Failure::input_with_hint(
            "there is no folder for templates",
            "set HOME or XDG_CONFIG_HOME to an absolute path",
        )
    })?;
    let path = folder.join(format!("{name}.md"));
    match read_regular_text(&path, MAX_BYTES) {
        Ok(text) => Template::parse(name, &path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(describe_unknown(name, &path))
        }
        Err(error) => Err(Failure::file(&path, error)),
    }
}

/// Returns the names of all templates, sorted.
pub(crate) fn list() -> Vec<String> {
    let entries = templates_folder().and_then(|folder| fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().take(MAX_TEMPLATES).filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(".md").filter(|name| !name.starts_with('.')).map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn describe_unknown(name: &str, path: &std::path::Path) -> Failure {
    let known = list();
    let hint = if known.is_empty() {
        format!("write it to {}", path.display())
    } else {
        format!("the templates are: {}; write a new one to {}", known.join(", "), path.display())
    };
    Failure::input_with_hint(format!("there is no template `{name}`"), hint)
}
