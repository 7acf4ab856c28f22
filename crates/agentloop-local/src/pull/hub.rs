//! Finds a file on Hugging Face or a mirror of it.

use agentloop::transport::{Body, SendOptions};
use agentloop::{Error, ErrorKind, Result};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, USER_AGENT};
use http::{Request, Response, StatusCode};
use serde::Deserialize;

use super::source::{Source, file_name_of, is_plain};
use super::{Pull, is_sha256};
use crate::gguf::split::SplitName;
use crate::limits::{MAX_GGUF_SPLITS, MAX_TREE_BYTES};

/// The URL of Hugging Face.
pub(super) const ENDPOINT: &str = "https://huggingface.co";

/// The quantizations that are chosen if none is named, the best choice first: small, with little loss.
const PREFERRED: [&str; 10] =
    ["Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q5_K_S", "Q6_K", "Q8_0", "IQ4_XS", "Q3_K_M", "F16"];

/// A file to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) url: String,
    pub(super) file_name: String,
    pub(super) bytes: Option<u64>,
    pub(super) sha256: Option<String>,
    /// Whether the token may be sent.
    pub(super) is_hub: bool,
}

/// An entry of the list of a repository's files: `GET /api/models/OWNER/NAME/tree/main`, as huggingface_hub 2.4.0 reads it (`hf_api.py`:
/// `list_repo_tree`, `RepoFile`; read on 2026-11-18): `lfs.oid` is the SHA-256 of the file. A long list has further pages, named by the header
/// `Link`; only the first page is read.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    path: String,
    size: Option<u64>,
    lfs: Option<Lfs>,
}

#[derive(Debug, Deserialize)]
struct Lfs {
    oid: Option<String>,
    size: Option<u64>,
}

/// Finds the files of a source, with their sizes and checksums if the server has them. A model that is split has several.
pub(super) async fn resolve(pull: &Pull) -> Result<Vec<Target>> {
    let mut targets = match &pull.source {
        Source::Url(url) => split_paths(url)?
            .into_iter()
            .map(|url| {
                let file_name = file_name_of(&url)?;
                Ok(Target { url, file_name, bytes: None, sha256: None, is_hub: false })
            })
            .collect::<Result<Vec<_>>>()?,
        Source::Hub { repository, file, quant } => {
            let url = format!("{}/api/models/{repository}/tree/main?recursive=true", pull.mirror);
            let (entries, path) = match (list(pull, &url).await, file) {
                (Ok(entries), Some(file)) => (Some(entries), file.clone()),
                (Ok(entries), None) => {
                    let path = choose(&entries, quant.as_deref(), repository)?;
                    (Some(entries), path)
                }
                // A mirror may have files without a list. Then there is no checksum to compare with.
                (Err(error), Some(file)) if error.kind() == ErrorKind::NotFound => {
                    (None, file.clone())
                }
                (Err(error), _) => return Err(error),
            };
            let paths = split_paths(&path)?;
            let find = |path: &String| match &entries {
                Some(entries) => entries.iter().find(|entry| entry.path == *path),
                None => None,
            };
            if let (true, Some(missing)) = (
                paths.len() > 1 && entries.is_some(),
                paths.iter().find(|path| find(path).is_none()),
            ) {
                let message =
                    format!("{repository} does not have {missing}, which is a part of the model");
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            paths
                .iter()
                .map(|path| target_of(pull, repository, path, find(path)))
                .collect::<Result<Vec<_>>>()?
        }
    };
    match (&pull.sha256, &mut targets[..]) {
        (None, _) => {}
        (Some(sha256), [target]) => target.sha256 = Some(sha256.clone()),
        (Some(_), several) => {
            let message = format!("the model has {} files, but one SHA-256 is set", several.len());
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
    }
    Ok(targets)
}

fn target_of(pull: &Pull, repository: &str, path: &str, entry: Option<&Entry>) -> Result<Target> {
    let lfs = entry.and_then(|entry| entry.lfs.as_ref());
    let sha256 = lfs.and_then(|lfs| lfs.oid.clone()).map(|oid| oid.to_ascii_lowercase());
    Ok(Target {
        url: format!("{}/{repository}/resolve/main/{path}", pull.mirror),
        file_name: file_name_of(path)?,
        bytes: lfs.and_then(|lfs| lfs.size).or(entry.and_then(|entry| entry.size)),
        sha256: sha256.filter(|digits| is_sha256(digits)),
        is_hub: true,
    })
}

/// Returns the paths or URLs of all files of a model, from one of them.
fn split_paths(path: &str) -> Result<Vec<String>> {
    let file_name = file_name_of(path)?;
    let stem = file_name.strip_suffix(".gguf").unwrap_or(&file_name);
    let Some(split) = SplitName::of(stem).filter(|split| split.count > 1) else {
        return Ok(vec![path.to_owned()]);
    };
    if split.count > MAX_GGUF_SPLITS {
        let message = format!("{file_name} claims to be one of {} files", split.count);
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let (before, after) = path.split_at(end);
    let folder = before.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    Ok(split.files().map(|name| format!("{folder}{name}{after}")).collect())
}

async fn list(pull: &Pull, url: &str) -> Result<Vec<Entry>> {
    let response = send(pull, url, true, &[]).await?;
    let response = check_status(response, url).await?;
    let body = response.into_body().collect(MAX_TREE_BYTES).await?;
    serde_json::from_slice(&body).map_err(|error| {
        let message = format!("{url} does not return a list of files");
        Error::new(ErrorKind::Protocol, message).with_source(error)
    })
}

/// Chooses the file of a quantization: the first one of a model that is split. Files that read images are left out.
fn choose(entries: &[Entry], quant: Option<&str>, repository: &str) -> Result<String> {
    let split = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        SplitName::of(name.strip_suffix(".gguf").unwrap_or_default()).map_or(0, |it| it.number)
    };
    let mut files: Vec<&str> = entries
        .iter()
        .map(|entry| entry.path.as_str())
        .filter(|path| {
            let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            path.split('/').all(is_plain)
                && name.ends_with(".gguf")
                && !name.starts_with("mmproj")
                && split(path) <= 1
        })
        .collect();
    // A model in one file comes before the same in several.
    files.sort_by_key(|path| split(path));
    let has = |path: &str, quant: &str| {
        let name = path.to_ascii_lowercase();
        let quant = quant.to_ascii_lowercase();
        // `Q4_K` must not choose `Q4_K_M`.
        name.match_indices(&quant).any(|(at, _)| {
            let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| b".-/".contains(byte));
            let bytes = name.as_bytes();
            is_edge(at.checked_sub(1).and_then(|at| bytes.get(at)))
                && is_edge(bytes.get(at + quant.len()))
        })
    };
    let wanted: Vec<&str> = quant.map_or(PREFERRED.to_vec(), |quant| vec![quant]);
    let found = wanted.iter().find_map(|quant| files.iter().position(|path| has(path, quant)));
    match (found, &files[..]) {
        (Some(at), files) => Ok(files[at].to_owned()),
        (None, [only]) if quant.is_none() => Ok((*only).to_owned()),
        (None, files) => {
            let names: Vec<&str> = files.iter().copied().take(20).collect();
            let known = match names.is_empty() {
                true => "it has no GGUF file that can be pulled".to_owned(),
                false => format!("its files are {}", names.join(", ")),
            };
            let what = quant.map(|quant| format!(" with {quant}")).unwrap_or_default();
            Err(Error::new(ErrorKind::NotFound, format!("{repository} has no file{what}; {known}"))
                .with_hint(format!("name a file with hf:{repository}/FILE.gguf")))
        }
    }
}

/// Sends a GET request. The token is sent to Hugging Face or its mirror only; the transport does not repeat it to other servers.
pub(super) async fn send(
    pull: &Pull,
    url: &str,
    is_hub: bool,
    headers: &[(http::HeaderName, String)],
) -> Result<Response<Body>> {
    let bad = |error: http::Error| {
        Error::new(ErrorKind::InvalidRequest, format!("{url} is not a URL: {error}"))
    };
    let mut request = Request::get(url)
        .header(ACCEPT, "*/*")
        .header(USER_AGENT, concat!("agentloop/", env!("CARGO_PKG_VERSION")));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let (true, Some(token)) = (is_hub, &pull.token) {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut value = value.map_err(|error| bad(error.into()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let request = request.body(Bytes::new()).map_err(bad)?;
    let sent = pull.transport.send(request, SendOptions::default());
    tokio::time::timeout(pull.stall, sent)
        .await
        .map_err(|_| Error::new(ErrorKind::Timeout, format!("{url} does not respond")))?
}

/// Returns the response, or the error of its status.
pub(super) async fn check_status(response: Response<Body>, url: &str) -> Result<Response<Body>> {
    let status = response.status();
    if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
        return Ok(response);
    }
    let (kind, hint) = match status.as_u16() {
        401 | 403 => (
            ErrorKind::Auth,
            Some(
                "check the names of the owner and the repository: Hugging Face responds like this if there is no such repository; if there is, \
                 accept the model's licence on its page, and set HF_TOKEN to a token that may read it",
            ),
        ),
        404 | 410 => {
            (ErrorKind::NotFound, Some("check the names of the owner, the repository and the file"))
        }
        429 => (ErrorKind::RateLimit, None),
        500.. => (ErrorKind::Server, None),
        _ => (ErrorKind::InvalidRequest, None),
    };
    let error = Error::new(kind, format!("{url} responded with status {status}"));
    let error = error.with_status(status.as_u16());
    Err(match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}
