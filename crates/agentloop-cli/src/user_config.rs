//! The user's configuration folder, and changes of the configuration file.

use std::fs;
use std::path::{Path, PathBuf};

use agentloop::limits::MAX_CONFIG_FILE_BYTES;
use agentloop::{ConfigReader, ErrorKind};
use toml_edit::{DocumentMut, Item, value};

use crate::failure::Failure;
use crate::files::{self, read_regular_text};
use crate::setup::Setup;

/// Returns a file in the user's configuration folder.
pub(crate) fn user_path(name: &str) -> Option<PathBuf> {
    files::user_folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join(name))
}

/// Returns a file in the user's configuration folder, or a failure if no such folder is known.
pub(crate) fn require_user_path(name: &str) -> Result<PathBuf, Failure> {
    user_path(name).ok_or_else(|| {
        Failure::input_with_hint(
            "no configuration folder is known",
            "set HOME or XDG_CONFIG_HOME to an absolute path",
        )
    })
}

/// Sets `default_model` in the user's configuration file, or in the file that --config or AGENTLOOP_CONFIG names. Comments and
/// the order of the settings are kept. Returns the path of the file.
pub(crate) fn set_default_model(model: &str, setup: &Setup) -> Result<PathBuf, Failure> {
    let path = match &setup.named_file {
        Some(path) => path.clone(),
        None => require_user_path("agentloop.toml")?,
    };
    let text = read(&path)?;
    let changed = with_default_model(&text, model).map_err(|why| Failure::file(&path, why))?;
    // A file that was valid stays valid.
    ConfigReader::restricted(&changed).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message());
        let named = agentloop::Error::new(ErrorKind::Config, message);
        Failure::Call(named.with_hint(error.hint().unwrap_or_default()))
    })?;
    write(&path, &changed)?;
    Ok(path)
}

fn with_default_model(text: &str, model: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        // The line itself is not shown, because it may hold a key.
        let line = error
            .span()
            .map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    let mut new = value(model);
    if let (Some(old), Some(new)) =
        (document.get("default_model").and_then(Item::as_value), new.as_value_mut())
    {
        // The comment at the end of the line belongs to the value.
        *new.decor_mut() = old.decor().clone();
    }
    document["default_model"] = new;
    Ok(document.to_string())
}

fn read(path: &Path) -> Result<String, Failure> {
    match read_regular_text(path, MAX_CONFIG_FILE_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| Failure::file(path, error)),
    }
}

/// Writes a configuration file atomically. A symbolic link stays, and the file keeps its permissions.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::file(path, error);
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        files::create_folder(folder).map_err(fail)?;
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions = fs::metadata(&target).ok().map(|about| about.permissions());
    files::replace(&target, text.as_bytes()).map_err(fail)?;
    match permissions {
        Some(permissions) => fs::set_permissions(&target, permissions).map_err(fail),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn comments_and_order_are_kept() {
        let text = "# mine\ndefault_model = 'a/b'  # fast\n\n[aliases] # short\nx = \"a/b\"\n";
        assert_eq!(
            with_default_model(text, "c/d").unwrap(),
            "# mine\ndefault_model = \"c/d\"  # fast\n\n[aliases] # short\nx = \"a/b\"\n"
        );
        let without = "# mine\n[aliases]\nx = 'a/b'\n";
        let changed = with_default_model(without, "c/d").unwrap();
        assert!(changed.contains("default_model = \"c/d\"\n"), "{changed}");
        assert!(changed.find("default_model").unwrap() < changed.find("[aliases]").unwrap());
        assert!(changed.contains("# mine"), "{changed}");
        assert_eq!(with_default_model("", "c/d").unwrap(), "default_model = \"c/d\"\n");
    }

    #[test]
    fn a_model_with_special_characters_is_quoted() {
        let changed = with_default_model("", "a/b\"\n[x]\\").unwrap();
        let read: DocumentMut = changed.parse().unwrap();
        assert_eq!(read["default_model"].as_str(), Some("a/b\"\n[x]\\"));
        assert_eq!(read.len(), 1);
    }

    #[test]
    fn a_file_that_is_not_toml_is_not_changed() {
        let error = with_default_model("a = 1\nb = [", "c/d").unwrap_err();
        assert!(error.starts_with("line "), "{error}");
    }
}
