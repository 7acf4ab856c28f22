//! Files that a provider stores: how they are uploaded, listed and deleted. All functions are pure.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use super::multipart::Form;
use super::{Encoded, ToolNames, codec, headers, json};
use crate::calendar::read_rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::media::{FileState, FileUpload, StoredFile};
use crate::percent;
use crate::provider::quirks::FileApi;
use crate::provider::{Feature, Provider};

/// The header of Anthropic's beta features, and the feature that stores files.
const BETA: (HeaderName, &str) =
    (HeaderName::from_static("anthropic-beta"), "files-api-2025-04-14");

/// The header with the URL that the content of a resumable upload is sent to.
pub(crate) const UPLOAD_URL: HeaderName = HeaderName::from_static("x-goog-upload-url");

/// The header with the state of a resumable upload.
pub(crate) const UPLOAD_STATUS: HeaderName = HeaderName::from_static("x-goog-upload-status");

/// A page of a list of files.
#[derive(Debug, Default)]
pub(crate) struct FilePage {
    pub(crate) files: Vec<StoredFile>,
    /// The query for the next page, if there is one.
    pub(crate) next: Option<String>,
}

/// Returns a call to the provider with an empty body.
pub(crate) fn call(provider: &Provider, method: Method, path: String) -> Result<Encoded> {
    let mut warnings = Vec::new();
    let headers = headers::build(provider, &BTreeMap::new(), &mut warnings)?;
    let (body, names) = (Bytes::new(), ToolNames::default());
    Ok(Encoded { method, path: path.into(), headers, body, warnings, names })
}

/// Returns a call about files.
fn file_call(provider: &Provider, method: Method, path: String) -> Result<Encoded> {
    let mut encoded = call(provider, method, path)?;
    if provider.quirks.storage.files == FileApi::BetaForm {
        headers::add_to_list(&mut encoded.headers, &BETA.0, BETA.1);
    }
    Ok(encoded)
}

/// Fails if the provider stores no files.
pub(crate) fn check(provider: &Provider) -> Result<()> {
    match provider.quirks.storage.files {
        FileApi::None => Err(unsupported(provider, "files", Feature::FileStorage)),
        _ => Ok(()),
    }
}

/// Returns the error of a call about `what` to a provider whose API for it does not exist or is not known. It names the providers that have
/// one.
pub(crate) fn unsupported(provider: &Provider, what: &str, feature: Feature) -> Error {
    let all = Provider::all();
    let others: Vec<&str> = all
        .iter()
        .filter(|other| other.supports(feature))
        .map(|other| other.name.as_ref())
        .collect();
    Error::new(
        ErrorKind::Unsupported,
        format!("{} has no API for {what} that is known", provider.name),
    )
    .with_provider(provider.name.as_ref())
    .with_hint(format!("providers with an API for {what}: {}", others.join(", ")))
}

/// Writes an upload as a form.
pub(crate) fn encode_upload(provider: &Provider, upload: &FileUpload) -> Result<Encoded> {
    let storage = &provider.quirks.storage;
    let mut form = Form::new();
    if storage.files != FileApi::BetaForm {
        let usual = storage.purpose.as_deref();
        let Some(purpose) = upload.purpose.as_deref().or(usual) else {
            return Err(Error::new(ErrorKind::InvalidRequest, "the upload has no purpose")
                .with_hint("set it with `purpose`"));
        };
        form = form.text("purpose", purpose);
    }
    form = form.file("file", &upload.name, &upload.mime_type, &upload.content)?;
    let (kind, body) = form.finish()?;
    let mut encoded = file_call(provider, Method::POST, "/files".to_owned())?;
    encoded.headers.insert(CONTENT_TYPE, kind);
    encoded.body = body;
    Ok(encoded)
}

/// Writes the call that begins a resumable upload. `version` is the last segment of the base URL.
pub(crate) fn encode_upload_start(
    provider: &Provider,
    version: &str,
    upload: &FileUpload,
) -> Result<Encoded> {
    let path = format!("/../upload/{version}/files");
    let mut encoded = file_call(provider, Method::POST, path)?;
    put(&mut encoded.headers, "x-goog-upload-protocol", "resumable")?;
    put(&mut encoded.headers, "x-goog-upload-command", "start")?;
    let size = upload.content.len().to_string();
    put(&mut encoded.headers, "x-goog-upload-header-content-length", &size)?;
    put(&mut encoded.headers, "x-goog-upload-header-content-type", &upload.mime_type)?;
    let body = json!({ "file": { "displayName": upload.name } });
    encoded.body = body.to_string().into();
    Ok(encoded)
}

/// Writes the call that sends all content of a resumable upload. Its URL is the one that the first call returned.
pub(crate) fn encode_upload_content(provider: &Provider, upload: &FileUpload) -> Result<Encoded> {
    let mut encoded = file_call(provider, Method::POST, String::new())?;
    put(&mut encoded.headers, "x-goog-upload-command", "upload, finalize")?;
    put(&mut encoded.headers, "x-goog-upload-offset", "0")?;
    put(&mut encoded.headers, "content-type", &upload.mime_type)?;
    encoded.body = upload.content.clone();
    Ok(encoded)
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) -> Result<()> {
    let value = HeaderValue::from_str(value).map_err(|error| {
        let message = format!("{value:?} is not valid in the header {name}");
        Error::new(ErrorKind::InvalidRequest, message).with_source(error)
    })?;
    headers.insert(name, value);
    Ok(())
}

/// Writes the call for the first page of the list or for the one whose query is `next`.
pub(crate) fn encode_list(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    let first = match provider.quirks.storage.files {
        FileApi::Resumable => "?pageSize=100",
        FileApi::NumberedForm => "?page=0&page_size=100",
        FileApi::BetaForm => "?limit=1000",
        FileApi::PurposeForm | FileApi::None => "",
    };
    file_call(provider, Method::GET, format!("/files{}", next.unwrap_or(first)))
}

/// Writes the call that describes a file.
pub(crate) fn encode_get(provider: &Provider, id: &str) -> Result<Encoded> {
    file_call(provider, Method::GET, file_path(id)?)
}

/// Writes the call that deletes a file.
pub(crate) fn encode_delete(provider: &Provider, id: &str) -> Result<Encoded> {
    file_call(provider, Method::DELETE, file_path(id)?)
}

/// Writes the call that returns the content of a file.
pub(crate) fn encode_content(provider: &Provider, id: &str) -> Result<Encoded> {
    let path = file_path(id)?;
    let path = match provider.quirks.storage.files {
        FileApi::Resumable => format!("{path}:download?alt=media"),
        _ => format!("{path}/content"),
    };
    let mut encoded = file_call(provider, Method::GET, path)?;
    encoded.headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    Ok(encoded)
}

fn file_path(id: &str) -> Result<String> {
    let id = id.strip_prefix("files/").unwrap_or(id);
    Ok(format!("/files/{}", segment(id)?))
}

/// Returns an id as one segment of a path. It cannot lead anywhere else.
pub(crate) fn segment(id: &str) -> Result<String> {
    match id {
        "" | "." | ".." => {
            Err(Error::new(ErrorKind::InvalidRequest, format!("{id:?} is not an id")))
        }
        _ => Ok(percent::encode_query_value(id).into_owned()),
    }
}

/// Reads the description of a file.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<StoredFile> {
    let value = read_object(provider, body, "a file")?;
    let file = value.get("file").filter(|file| file.is_object()).unwrap_or(&value);
    read(provider, file).ok_or_else(|| unreadable(provider, body, "a file"))
}

/// Reads a page of the list. `query` is the query of this page.
pub(crate) fn decode_list(provider: &Provider, query: &str, body: &[u8]) -> Result<FilePage> {
    let value = read_object(provider, body, "a list of files")?;
    let list = ["data", "files"].iter().find_map(|name| value.get(name)?.as_array());
    let Some(list) = list else {
        // A list without files has no field.
        return if value.as_object().is_some_and(|fields| fields.is_empty()) {
            Ok(FilePage::default())
        } else {
            Err(unreadable(provider, body, "a list of files"))
        };
    };
    let files = list.iter().filter_map(|file| read(provider, file)).collect();
    let last_id = list.last().and_then(|file| file.get("id")).and_then(Value::as_str);
    let next = match provider.quirks.storage.files {
        FileApi::Resumable => next_token(&value, "?pageSize=100"),
        FileApi::NumberedForm => next_number(query, list.len()),
        // Since SDK 2.10 a page names the next one; before, the last id did.
        FileApi::BetaForm => next_page(&value, "?limit=1000&page=")
            .or_else(|| next_cursor(&value, last_id, "?limit=1000&after_id=")),
        FileApi::PurposeForm | FileApi::None => next_cursor(&value, last_id, "?after="),
    };
    Ok(FilePage { files, next })
}

/// Returns the query for the page that a page names.
fn next_page(page: &Value, query: &str) -> Option<String> {
    let next = page.get("next_page")?.as_str().filter(|next| !next.is_empty())?;
    Some(format!("{query}{}", percent::encode_query_value(next)))
}

/// Returns the query for the page after a token.
pub(crate) fn next_token(page: &Value, query: &str) -> Option<String> {
    let token = page.get("nextPageToken")?.as_str().filter(|token| !token.is_empty())?;
    Some(format!("{query}&pageToken={}", percent::encode_query_value(token)))
}

/// Returns the query for the page after an id.
pub(crate) fn next_cursor(page: &Value, last_id: Option<&str>, query: &str) -> Option<String> {
    if page.get("has_more")?.as_bool() != Some(true) {
        return None;
    }
    let last = page.get("last_id").and_then(Value::as_str).or(last_id)?;
    Some(format!("{query}{}", percent::encode_query_value(last)))
}

/// Returns the query for the page after a full one.
pub(crate) fn next_number(query: &str, items: usize) -> Option<String> {
    if items < 100 {
        return None;
    }
    let number = query.strip_prefix("?page=").and_then(|rest| rest.split('&').next());
    let number: u64 = number.and_then(|number| number.parse().ok()).unwrap_or(0);
    Some(format!("?page={}&page_size=100", number.checked_add(1)?))
}

/// Reads a body that is an object and does not report an error.
pub(crate) fn read_object(provider: &Provider, body: &[u8], what: &str) -> Result<Value> {
    let value = json::read_value(body).map_err(|_| unreadable(provider, body, what))?;
    // A batch and an operation have errors of their own beside their id.
    let is_error = value.get("error").is_some_and(|error| !error.is_null())
        && value.get("id").is_none()
        && value.get("name").is_none();
    match value {
        Value::Object(_) if is_error => {
            Err(codec(provider.protocol).decode_error_in_response(&provider.name, body))
        }
        Value::Object(_) | Value::Array(_) => Ok(value),
        _ => Err(unreadable(provider, body, what)),
    }
}

/// Returns the error of a body that is not what was requested.
pub(crate) fn unreadable(provider: &Provider, body: &[u8], what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the response does not describe {what}"))
        .with_provider(provider.name.as_ref())
        .with_raw(body)
}

/// Returns a number, which Google writes as text.
pub(crate) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns a moment in seconds since 1970, from a number or from text.
pub(crate) fn moment(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| read_rfc3339(value.as_str()?))
}

fn read(provider: &Provider, file: &Value) -> Option<StoredFile> {
    let any = |names: &[&str]| {
        names.iter().find_map(|name| file.get(name).filter(|value| !value.is_null()))
    };
    let text =
        |names: &[&str]| names.iter().find_map(|name| file.get(name)?.as_str().map(str::to_owned));
    // An empty id could not be used in any call.
    let id = text(&["id", "name"]).filter(|id| !id.is_empty())?;
    let state = text(&["state", "status", "processing_status"]).unwrap_or_default();
    Some(StoredFile {
        provider: provider.name.to_string(),
        id: id.strip_prefix("files/").unwrap_or(&id).to_owned(),
        uri: text(&["uri"]),
        name: text(&["filename", "displayName"]),
        mime_type: text(&["mime_type", "mimeType", "mimetype"]),
        bytes: any(&["bytes", "size_bytes", "sizeBytes"]).and_then(number),
        created: any(&["created_at", "createTime"]).and_then(moment),
        expires: any(&["expires_at", "expirationTime"]).and_then(moment),
        purpose: text(&["purpose"]),
        state: match state.to_ascii_uppercase().as_str() {
            "PROCESSING" | "PENDING" | "QUEUED" | "RUNNING" | "UPLOADING" => FileState::Processing,
            "FAILED" | "ERROR" | "INVALID_FORMAT" => FileState::Failed,
            _ => FileState::Ready,
        },
        downloadable: file.get("downloadable").and_then(Value::as_bool),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(form: FileApi) -> Provider {
        Provider::openai_compatible("p", "http://p.invalid/v1").quirks(|q| q.storage.files = form)
    }

    #[test]
    fn an_id_stays_one_segment_of_the_path() {
        let provider = provider(FileApi::PurposeForm);
        let path = |id: &str| encode_get(&provider, id).map(|encoded| encoded.path.into_owned());
        assert_eq!(path("file-1").unwrap(), "/files/file-1");
        assert_eq!(path("files/abc").unwrap(), "/files/abc");
        assert_eq!(path("../models?x=1#y").unwrap(), "/files/..%2Fmodels%3Fx%3D1%23y");
        for id in ["", "..", ".", "files/.."] {
            assert_eq!(path(id).unwrap_err().kind(), ErrorKind::InvalidRequest, "{id:?}");
        }
    }

    #[test]
    fn a_file_is_read_in_every_known_form() {
        let provider = provider(FileApi::PurposeForm);
        let read = |json: &str| decode(&provider, json.as_bytes());
        let openai = r#"{"id":"file-1","object":"file","bytes":12,"created_at":1700000000,"filename":"a.pdf","purpose":"user_data","status":"processed"}"#;
        let file = read(openai).unwrap();
        assert_eq!(
            (file.id.as_str(), file.bytes, file.created),
            ("file-1", Some(12), Some(1_700_000_000))
        );
        let google = r#"{"file":{"name":"files/x-1","displayName":"a","mimeType":"video/mp4","sizeBytes":"5","createTime":"2026-11-18T00:00:00Z","uri":"https://g/v1beta/files/x-1","state":"PROCESSING"}}"#;
        let file = read(google).unwrap();
        assert_eq!(
            (file.id.as_str(), file.bytes, file.state),
            ("x-1", Some(5), FileState::Processing)
        );
        assert_eq!(file.uri.as_deref(), Some("https://g/v1beta/files/x-1"));
        for wrong in ["", "[]", "{}", "3", r#"{"id":7}"#, r#"{"id":""}"#, "<html>"] {
            assert_eq!(read(wrong).unwrap_err().kind(), ErrorKind::Protocol, "{wrong}");
        }
        let error = read(r#"{"error":{"message":"no","type":"invalid_request_error"}}"#);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidRequest);
    }

    #[test]
    fn a_page_names_the_next_one() {
        let next = |form, query: &str, body: &str| {
            decode_list(&provider(form), query, body.as_bytes()).unwrap().next
        };
        let more = r#"{"data":[{"id":"a"}],"has_more":true}"#;
        assert_eq!(next(FileApi::PurposeForm, "", more).as_deref(), Some("?after=a"));
        assert_eq!(next(FileApi::PurposeForm, "", r#"{"data":[],"has_more":true}"#), None);
        assert_eq!(next(FileApi::PurposeForm, "", r#"{"data":[{"id":"a"}]}"#), None);
        let beta = |body: &str| next(FileApi::BetaForm, "", body);
        let named = r#"{"data":[{"id":"a"}],"next_page":"page_x&y"}"#;
        assert_eq!(beta(named).as_deref(), Some("?limit=1000&page=page_x%26y"));
        assert_eq!(beta(more).as_deref(), Some("?limit=1000&after_id=a"));
        assert_eq!(beta(r#"{"data":[{"id":"a"}],"next_page":null}"#), None);
        let token = r#"{"files":[],"nextPageToken":"x/y"}"#;
        let query = "?pageSize=100&pageToken=x%2Fy";
        assert_eq!(next(FileApi::Resumable, "", token).as_deref(), Some(query));
        let full: Vec<Value> = (0..100).map(|n| json!({ "id": n.to_string() })).collect();
        let full = json!({ "data": full }).to_string();
        let query = "?page=3&page_size=100";
        assert_eq!(
            next(FileApi::NumberedForm, "?page=2&page_size=100", &full).as_deref(),
            Some(query)
        );
        let last = format!("?page={}&page_size=100", u64::MAX);
        assert_eq!(next(FileApi::NumberedForm, &last, &full), None);
    }

    #[test]
    fn a_hostile_media_type_cannot_add_a_header() {
        let upload = FileUpload::new("a", "x").mime_type("text/plain\r\nx-evil: 1");
        for form in [FileApi::PurposeForm, FileApi::BetaForm] {
            let mut provider = provider(form);
            provider.quirks.storage.purpose = Some("p".into());
            assert!(encode_upload(&provider, &upload).is_err());
        }
        assert!(encode_upload_start(&provider(FileApi::Resumable), "v1", &upload).is_err());
    }

    #[test]
    fn an_upload_without_a_purpose_is_refused_where_one_is_needed() {
        let upload = FileUpload::new("a.txt", "x");
        let refused = encode_upload(&provider(FileApi::PurposeForm), &upload).unwrap_err();
        assert_eq!(refused.message(), "the upload has no purpose");
        let encoded = encode_upload(&provider(FileApi::BetaForm), &upload).unwrap();
        assert_eq!(encoded.headers["anthropic-beta"], "files-api-2025-04-14");
        assert!(!String::from_utf8_lossy(&encoded.body).contains("purpose"));
    }
}
