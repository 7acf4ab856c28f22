//! What a name after `local/` means.

use std::path::Path;

use agentloop::{Error, ErrorKind, LocalConfig, Result};

use super::Reach;
use super::folders;

/// The longest name, in bytes.
const MAX_NAME: usize = 1_024;

/// How many models an error names.
const MAX_NAMED: usize = 20;

/// How names are written.
const FORMS: &str = "name a file as local/./model.gguf, a repository of Hugging Face as local/OWNER/REPO or local/OWNER/REPO:QUANT, or \
                     one of `agentloop models local`";

/// The option of the server that names a file.
pub(super) const FILE: &str = "model";

/// The option of the server that names a repository.
pub(super) const REPOSITORY: &str = "hf-repo";

/// The option that the server needs for what a model is used for.
pub(super) type Task = Option<&'static str>;

/// What to run, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The option of the server that names it.
    pub(super) option: &'static str,
    /// The absolute path of a file that exists, or `OWNER/REPO` or `OWNER/REPO:QUANT`. Neither begins with a hyphen.
    pub(super) value: String,
    pub(super) task: Task,
}

/// Finds what a name means.
pub(super) fn find(name: &str, task: Task, config: &LocalConfig, reach: Reach) -> Result<Wanted> {
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(refuse("a name has control characters or is too long"));
    }
    let (mut option, mut value) = (FILE, name.to_owned());
    let models = folders::scan(&config.folders);
    let plain = name.strip_suffix(".gguf").unwrap_or(name);
    if reach == Reach::All && (name.starts_with("./") || Path::new(name).is_absolute()) {
        value = open(Path::new(name))?;
    } else if let Some(model) = models.iter().find(|it| it.name.eq_ignore_ascii_case(plain)) {
        value = open(&model.path)?;
    } else if is_repository(name) {
        option = REPOSITORY;
    } else {
        let known: Vec<String> = models.into_iter().take(MAX_NAMED).map(|it| it.name).collect();
        let known = known.join(", ");
        return Err(refuse(&format!("there is no model local/{name} in the folders ({known})")));
    }
    Ok(Wanted { option, value, task })
}

fn is_repository(name: &str) -> bool {
    let is_word = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && word.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    let (path, quant) = name.split_once(':').unwrap_or((name, "Q8_0"));
    is_word(quant) && path.split_once('/').is_some_and(|(it, repo)| is_word(it) && is_word(repo))
}

/// Returns the whole path of a file. A pipe or a device would make the server wait for ever.
fn open(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path).ok().filter(|whole| whole.is_file());
    let text = whole.and_then(|whole| whole.into_os_string().into_string().ok());
    text.ok_or_else(|| refuse(&format!("{} is not a file", path.display())))
}

fn refuse(message: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, message).with_hint(FORMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, reach: Reach) -> Result<Wanted> {
        super::find(name, None, &LocalConfig::default(), reach)
    }

    #[test]
    fn only_repositories_are_repositories() {
        for name in ["ggml-org/gemma-3-1b-it-GGUF", "a/b:Q4_K_M", "A.b/c_d-1:q8_0"] {
            let wanted = find(name, Reach::Listed).unwrap();
            assert_eq!((wanted.option, wanted.value.as_str()), (REPOSITORY, name));
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
        let wanted = find(name, Reach::All).unwrap();
        assert_eq!((wanted.option, wanted.value.as_str()), (FILE, name));
        assert!(find(name, Reach::Listed).is_err());
        std::fs::remove_file(file).unwrap();
    }
}
