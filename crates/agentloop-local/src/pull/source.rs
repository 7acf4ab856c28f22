//! Where a model comes from.

use agentloop::{Error, ErrorKind, Result};
use http::Uri;

use crate::limits::MAX_FILE_NAME_BYTES;

/// A source of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A file of a repository of Hugging Face: one that is named, or one with this quantization.
    Hub { repository: String, file: Option<String>, quant: Option<String> },
    /// A URL.
    Url(String),
}

impl Source {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.contains("://") {
            check_url(text)?;
            file_name_of(text)?;
            return Ok(Self::Url(text.to_owned()));
        }
        let (is_file, rest) = match text.strip_prefix("hf:") {
            Some(rest) => (rest.matches('/').count() >= 2, rest),
            None => (false, text),
        };
        if is_file {
            let mut parts = rest.splitn(3, '/');
            if let (Some(owner), Some(name), Some(file)) =
                (parts.next(), parts.next(), parts.next())
                && is_plain(owner)
                && is_plain(name)
                && file.split('/').all(is_plain)
            {
                file_name_of(file)?;
                let repository = format!("{owner}/{name}");
                return Ok(Self::Hub { repository, file: Some(file.to_owned()), quant: None });
            }
        } else {
            let (repository, quant) = match rest.split_once(':') {
                Some((repository, quant)) => (repository, Some(quant)),
                None => (rest, None),
            };
            if let Some((owner, name)) = repository.split_once('/')
                && [Some(owner), Some(name), quant].into_iter().flatten().all(is_plain)
            {
                let (repository, quant) = (repository.to_owned(), quant.map(str::to_owned));
                return Ok(Self::Hub { repository, file: None, quant });
            }
        }
        Err(Error::new(ErrorKind::InvalidRequest, format!("{text:?} does not name a model to pull"))
            .with_hint(
                "name a repository of Hugging Face with GGUF files (OWNER/REPOSITORY or OWNER/REPOSITORY:Q4_K_M), a file of it \
                 (hf:OWNER/REPOSITORY/FILE.gguf), or an https URL that ends in .gguf",
            ))
    }
}

/// Returns whether a part of a path is a plain name: it can be put in a URL and in a path without a change of meaning.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_FILE_NAME_BYTES
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
}

/// Returns the file name at the end of a URL or a path.
pub(super) fn file_name_of(path: &str) -> Result<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let has_dots = path.split('/').any(|part| part == "..");
    let is_model = name.len() > ".gguf".len() && name.to_ascii_lowercase().ends_with(".gguf");
    if has_dots || !is_plain(name) || !is_model {
        return Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("{name:?} is not a plain file name that ends in .gguf"),
        )
        .with_hint("only models in the format GGUF can be pulled; name a file whose name has letters, digits and `._-+` only"));
    }
    let stem = &name[..name.len() - ".gguf".len()];
    Ok(format!("{stem}.gguf"))
}

/// Checks that a URL is encrypted, or that of a server on this machine.
pub(super) fn check_url(url: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown = agentloop::inspect::shown_url(url);
        Err(Error::new(ErrorKind::InvalidRequest, format!("{shown} cannot be used: {why}")))
    };
    let Ok(uri) = url.parse::<Uri>() else { return refuse("it is not a URL") };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return refuse("it contains a user name");
    }
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(()),
        Some("http") if matches!(host, "localhost" | "127.0.0.1" | "::1") => Ok(()),
        Some("http") => refuse("it is not encrypted; use https"),
        _ => refuse("it is not an https URL"),
    }
}
