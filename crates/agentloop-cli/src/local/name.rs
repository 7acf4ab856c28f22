//! What a name after `local/` means.

use std::path::{Path, PathBuf};

use agentloop::{Error, ErrorKind, LocalConfig, Result};

use super::Reach;
use super::folders::{self, Model};

/// The longest name, in bytes.
const MAX_NAME: usize = 1_024;

/// How many models an error names.
const MAX_NAMED: usize = 20;

/// How names are written.
const FORMS: &str = "name a file as local/./model.gguf, a repository of Hugging Face as local/OWNER/REPO or local/OWNER/REPO:QUANT, or \
                     one of `agentloop models local`";

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    File(Model),
    /// `OWNER/REPO` or `OWNER/REPO:QUANT`. Neither begins with a hyphen.
    Repository(String),
}

/// Finds what a name means. A file exists, and its path is absolute.
pub(super) fn find(name: &str, config: &LocalConfig, reach: Reach) -> Result<Wanted> {
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(refuse("a name has control characters or is too long".to_owned()));
    }
    let is_path = name.starts_with("./") || Path::new(name).is_absolute();
    if is_path && reach == Reach::All {
        return Ok(Wanted::File(open(name)?));
    }
    let models = folders::scan(&config.folders);
    let plain = name.strip_suffix(".gguf").unwrap_or(name);
    if let Some(model) = models.iter().find(|model| model.name.eq_ignore_ascii_case(plain)) {
        return Ok(Wanted::File(model.clone()));
    }
    if is_repository(name) {
        return Ok(Wanted::Repository(name.to_owned()));
    }
    let known: Vec<String> = models.into_iter().take(MAX_NAMED).map(|model| model.name).collect();
    Err(refuse(format!("there is no model local/{name} in the folders ({})", known.join(", "))))
}

fn is_repository(name: &str) -> bool {
    let is_word = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && word.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    let (path, quant) = name.split_once(':').unwrap_or((name, "Q8_0"));
    let is_path = path.split_once('/').is_some_and(|(owner, it)| is_word(owner) && is_word(it));
    is_path && is_word(quant)
}

/// Checks a file. A pipe or a device would make the server wait for ever.
fn open(path: &str) -> Result<Model> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    if !whole.is_file() {
        return Err(refuse(format!("{} is not a file", whole.display())));
    }
    let name = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Model { name, path: whole })
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidRequest, message).with_hint(FORMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, reach: Reach) -> Result<Wanted> {
        super::find(name, &LocalConfig::default(), reach)
    }

    #[test]
    fn only_repositories_are_repositories() {
        for name in ["ggml-org/gemma-3-1b-it-GGUF", "a/b:Q4_K_M", "A.b/c_d-1:q8_0"] {
            let wanted = find(name, Reach::Listed).unwrap();
            assert_eq!(wanted, Wanted::Repository(name.to_owned()));
        }
    }

    #[test]
    fn no_name_becomes_an_option_leaves_its_folder_or_adds_a_line() {
        let hostile = [
            "",
            "-m",
            "--port",
            "-m/x",
            "x/-m",
            "x/y:-m",
            "../x",
            "x/..",
            "x/../y",
            "..",
            ".",
            "/",
            "x/",
            "/x/",
            "a/b/c",
            "a/b:c:d",
            "a b/c",
            "x\ny",
            "x\u{0}",
            "a/b\n[c]",
            "[x]",
            "x]\nmodel = /etc/passwd",
            "a;b",
            "a#b",
            "https://example.com/x.gguf",
            "hf:a/b",
            "./missing.gguf",
            "/dev/zero",
            "/dev/stdin",
            "./-m",
            "\u{202e}fugg",
            "a/b:\u{202e}",
        ];
        for name in hostile {
            for reach in [Reach::All, Reach::Listed] {
                let error = find(name, reach).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{name:?}");
                assert!(error.hint().unwrap().contains("OWNER/REPO"));
            }
        }
        assert!(find(&"x".repeat(MAX_NAME + 1), Reach::All).is_err());
    }

    #[test]
    fn a_client_of_a_gateway_cannot_name_a_file() {
        let file = std::env::temp_dir().join(format!("agentloop-name-{}.gguf", std::process::id()));
        std::fs::write(&file, "GGUF").unwrap();
        let name = file.to_str().unwrap();
        assert!(matches!(find(name, Reach::All), Ok(Wanted::File(it)) if it.path == file));
        assert!(find(name, Reach::Listed).is_err());
        std::fs::remove_file(file).unwrap();
    }
}
