//! Datasets: files that belong to an account, whose content is at signed URLs. All functions are pure.
//!
//! A dataset and a job are named by a path of four segments, such as `accounts/ACCOUNT/datasets/ID`. That name is their id here, so a call about
//! one of them needs no other account than its own.
//!
//! Sources, read on 2026-11-18: fireworks-ai 1.2.30 (`resources/datasets.py`, `resources/accounts.py`, `lib/dataset_upload.py`), and published
//! transcripts of 2026-08-30, which ADR 23 describes: `exampleCount` is required, and the call for URLs has no body.

use std::collections::BTreeMap;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use super::Encoded;
use super::files::{call, read_object, segment, unreadable};
use super::multipart::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_DATASET_BYTES, MAX_DATASET_FILES};
use crate::media::FileUpload;
use crate::provider::Provider;

/// Where accounts are, from the base URL of requests (`https://api.fireworks.ai/inference/v1`).
const ROOT: &str = "/../../v1/accounts";

/// The segment of datasets in their names.
pub(crate) const DATASETS: &str = "datasets";

/// The segment of jobs in their names.
pub(crate) const JOBS: &str = "batchInferenceJobs";

/// The most bytes of a dataset's id that come from the name of its file.
const MAX_NAME_BYTES: usize = 40;

/// Writes the call that returns the accounts of the key. Two are enough to see that there are several.
pub(crate) fn encode_accounts(provider: &Provider) -> Result<Encoded> {
    call(provider, Method::GET, format!("{ROOT}?pageSize=2"))
}

/// Reads the account of the key.
///
/// # Errors
///
/// Fails if there is none or more than one.
pub(crate) fn decode_accounts(provider: &Provider, body: &[u8]) -> Result<String> {
    let value = read_object(provider, body, "a list of accounts")?;
    let accounts = value.get("accounts").and_then(Value::as_array);
    let names = accounts.into_iter().flatten().filter_map(|account| account.get("name")?.as_str());
    let names: Vec<&str> =
        names.map(|name| name.strip_prefix("accounts/").unwrap_or(name)).take(10).collect();
    let message = match names.as_slice() {
        [one] if !one.is_empty() => return Ok((*one).to_owned()),
        [] | [_] => "the provider does not report the account of the key".to_owned(),
        several => format!("the key has several accounts: {}", several.join(", ")),
    };
    Err(Error::new(ErrorKind::Config, message).with_provider(provider.name.as_ref()))
}

/// Returns the path of all resources of a kind.
pub(crate) fn list_path(account: &str, kind: &str) -> Result<String> {
    Ok(format!("{ROOT}/{}/{kind}", segment(account)?))
}

/// Returns the path of a resource.
///
/// # Errors
///
/// Fails if the id is not the name of a resource of that kind.
pub(crate) fn path(kind: &str, id: &str) -> Result<String> {
    let (account, own) = split(kind, id)?;
    Ok(format!("{}/{}", list_path(account, kind)?, segment(own)?))
}

/// Returns the account of a resource.
pub(crate) fn account_of<'a>(kind: &str, id: &'a str) -> Result<&'a str> {
    Ok(split(kind, id)?.0)
}

fn split<'a>(kind: &str, id: &'a str) -> Result<(&'a str, &'a str)> {
    let parts = id.strip_prefix("accounts/").and_then(|rest| {
        let (account, rest) = rest.split_once('/')?;
        Some((account, rest.strip_prefix(kind)?.strip_prefix('/')?))
    });
    parts.ok_or_else(|| {
        let id: String = id.chars().take(200).collect();
        Error::new(ErrorKind::InvalidRequest, format!("{id:?} is not an id"))
            .with_hint(format!("it has the form accounts/ACCOUNT/{kind}/ID"))
    })
}

/// Returns the id of a new dataset: what is allowed of the file's name, and a number.
pub(crate) fn new_id(file_name: &str, number: u64) -> String {
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
    let mut id = String::new();
    for c in stem.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => id.push(c),
            _ if !id.is_empty() && !id.ends_with('-') => id.push('-'),
            _ => {}
        }
        if id.len() >= MAX_NAME_BYTES {
            break;
        }
    }
    let id = id.trim_end_matches('-');
    // An id begins with a letter.
    let start = if id.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "file-" };
    let joint = if id.is_empty() { "" } else { "-" };
    format!("{start}{id}{joint}{number:016x}")
}

/// Writes the call that creates a dataset for an upload.
pub(crate) fn encode_create(
    provider: &Provider,
    account: &str,
    id: &str,
    upload: &FileUpload,
) -> Result<Encoded> {
    if upload.content.len() > MAX_DATASET_BYTES {
        let message = format!("the file is larger than {MAX_DATASET_BYTES} bytes");
        return Err(Error::new(ErrorKind::TooLarge, message)
            .with_provider(provider.name.as_ref())
            .with_hint("divide it into several files"));
    }
    let lines = upload.content.split(|byte| *byte == b'\n');
    let examples = lines.filter(|line| !line.trim_ascii().is_empty()).count();
    let mut encoded = call(provider, Method::POST, list_path(account, DATASETS)?)?;
    // Numbers of 64 bits are text in this API.
    let dataset = json!({ "userUploaded": {}, "exampleCount": examples.to_string() });
    encoded.body = json!({ "datasetId": id, "dataset": dataset }).to_string().into();
    encoded.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(encoded)
}

/// Writes the call that sends the content of a dataset.
pub(crate) fn encode_upload(
    provider: &Provider,
    account: &str,
    id: &str,
    upload: &FileUpload,
) -> Result<Encoded> {
    let path = format!("{}/{}:upload", list_path(account, DATASETS)?, segment(id)?);
    let form = Form::new().file("file", &upload.name, &upload.mime_type, &upload.content)?;
    let (kind, body) = form.finish()?;
    let mut encoded = call(provider, Method::POST, path)?;
    encoded.headers.insert(CONTENT_TYPE, kind);
    encoded.body = body;
    Ok(encoded)
}

/// Writes the call that returns the signed URLs of a dataset's files. It has no body: the API refuses one.
pub(crate) fn encode_urls(provider: &Provider, id: &str) -> Result<Encoded> {
    let path = format!("{}:getDownloadEndpoint", path(DATASETS, id)?);
    call(provider, Method::GET, path)
}

/// Reads the signed URLs, by the names of the files.
pub(crate) fn decode_urls(provider: &Provider, body: &[u8]) -> Result<BTreeMap<String, String>> {
    let what = "the files of a dataset";
    let value = read_object(provider, body, what)?;
    let urls = match value.get("filenameToSignedUrls") {
        Some(Value::Object(urls)) => urls,
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(_) => return Err(unreadable(provider, body, what)),
    };
    if urls.len() > MAX_DATASET_FILES {
        let message = format!("the dataset has more than {MAX_DATASET_FILES} files");
        return Err(Error::new(ErrorKind::TooLarge, message).with_provider(provider.name.as_ref()));
    }
    let url = |(name, url): (&String, &Value)| Some((name.clone(), url.as_str()?.to_owned()));
    let read: Option<BTreeMap<String, String>> = urls.iter().map(url).collect();
    read.ok_or_else(|| unreadable(provider, body, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_resource_is_an_id_and_its_segments_stay_segments() {
        let name = "accounts/me/datasets/a-1";
        assert_eq!(path(DATASETS, name).unwrap(), "/../../v1/accounts/me/datasets/a-1");
        assert_eq!(account_of(DATASETS, name).unwrap(), "me");
        let odd = "accounts/me?x#/datasets/../../models:y\n";
        let encoded = "/../../v1/accounts/me%3Fx%23/datasets/..%2F..%2Fmodels%3Ay%0A";
        assert_eq!(path(DATASETS, odd).unwrap(), encoded);
        for id in [
            "",
            "a-1",
            "accounts/me",
            "accounts/me/datasets",
            "accounts/me/datasets/",
            "accounts/me/datasets/..",
            "accounts/../datasets/a",
            "accounts//datasets/a",
            "accounts/me/batchInferenceJobs/a",
            "/accounts/me/datasets/a",
        ] {
            assert_eq!(path(DATASETS, id).unwrap_err().kind(), ErrorKind::InvalidRequest, "{id:?}");
        }
    }

    #[test]
    fn the_id_of_a_dataset_has_only_what_is_allowed_in_one() {
        for (name, id) in [
            ("agentloop-0123.jsonl", "agentloop-0123-00000000000000ff"),
            ("nötes \"1\".txt", "n-tes-1-00000000000000ff"),
            ("2026.jsonl", "file-2026-00000000000000ff"),
            ("", "file-00000000000000ff"),
            ("../../é", "file-00000000000000ff"),
        ] {
            assert_eq!(new_id(name, 255), id, "{name}");
        }
        assert!(new_id(&"x".repeat(10_000), u64::MAX).len() <= 63);
    }

    #[test]
    fn the_account_of_a_key_is_the_only_one() {
        let provider = Provider::openai_compatible("p", "http://p.invalid/inference/v1");
        let read = |body: &str| decode_accounts(&provider, body.as_bytes());
        assert_eq!(read(r#"{"accounts":[{"name":"accounts/me"}]}"#).unwrap(), "me");
        for none in [
            "{}",
            r#"{"accounts":7}"#,
            r#"{"accounts":[{"name":""}]}"#,
            r#"{"accounts":[{"name":"accounts/"}]}"#,
            r#"{"accounts":[{"name":"accounts/a"},{"name":"accounts/b"}]}"#,
        ] {
            assert_eq!(read(none).unwrap_err().kind(), ErrorKind::Config, "{none}");
        }
        assert_eq!(read("[").unwrap_err().kind(), ErrorKind::Protocol);
    }

    #[test]
    fn signed_urls_are_read_by_name_and_nothing_else_is_one() {
        let provider = Provider::openai_compatible("p", "http://p.invalid/inference/v1");
        let read = |body: &str| decode_urls(&provider, body.as_bytes());
        let two = r#"{"filenameToSignedUrls":{"b":"https://x/b","a":"https://x/a"}}"#;
        let names: Vec<String> = read(two).unwrap().into_keys().collect();
        assert_eq!(names, ["a", "b"]);
        assert!(read("{}").unwrap().is_empty());
        for wrong in [
            r#"{"filenameToSignedUrls":[]}"#,
            r#"{"filenameToSignedUrls":{"a":7}}"#,
            r#"{"filenameToSignedUrls":{"a":null}}"#,
            "",
            "3",
        ] {
            assert_eq!(read(wrong).unwrap_err().kind(), ErrorKind::Protocol, "{wrong}");
        }
        let many: BTreeMap<String, &str> =
            (0..=MAX_DATASET_FILES).map(|number| (number.to_string(), "https://x")).collect();
        let many = json!({ "filenameToSignedUrls": many }).to_string();
        assert_eq!(read(&many).unwrap_err().kind(), ErrorKind::TooLarge);
    }
}
