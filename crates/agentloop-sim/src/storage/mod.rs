//! Files and batches that a simulator stores.

mod batch;
mod behaviour;
mod file;
mod write;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agentloop::internal::lock;
use agentloop::{Error, ErrorKind, Protocol, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use serde_json::{Value, json};

use self::batch::StoredBatch;
pub use self::behaviour::SimBatches;
use self::file::StoredContent;
use crate::reply::Reply;
use crate::simulator::Simulator;
use crate::usage_style::UsageStyle;

/// The most bytes of files that a simulator stores. A further file gets the status 400.
pub const MAX_STORED_BYTES: usize = 256 << 20;

/// The most files, and the most batches, that a simulator stores.
pub const MAX_STORED: usize = 10_000;

/// When the first file or batch was created, in seconds since 1970. Each further one is a second later.
const FIRST_MOMENT: u64 = 4_000_000_000;

/// What a simulator stores.
#[derive(Debug, Default)]
pub(crate) struct Storage(Mutex<Stored>);

#[derive(Debug, Default)]
pub(crate) struct Stored {
    files: BTreeMap<u64, StoredContent>,
    batches: BTreeMap<u64, StoredBatch>,
    /// Uploads that have begun, by the number that their content names.
    uploads: BTreeMap<u64, (String, String)>,
    bytes: usize,
    number: u64,
}

impl Stored {
    /// Returns the next number.
    fn count(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}

impl Storage {
    fn lock(&self) -> MutexGuard<'_, Stored> {
        lock(&self.0)
    }
}

/// How a provider names its files and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's, and that of its compatible providers.
    Purpose,
    /// Mistral's batches. Its files are like OpenAI's.
    Jobs,
    Messages,
    Operations,
}

/// A call about files or batches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    UploadForm,
    UploadStart,
    UploadContent(u64),
    Files,
    File(String),
    DeleteFile(String),
    Content(String),
    CreateBatch,
    Batches,
    Batch(String),
    CancelBatch(String),
    BatchResults(String),
}

/// Returns the dialect of a request, by its path, its headers and the protocol that it probably has.
fn dialect(protocol: Protocol, path: &str, headers: &HeaderMap) -> Dialect {
    let is_google = headers.keys().any(|name| name.as_str().starts_with("x-goog-"));
    if path.contains("/batch/jobs") {
        Dialect::Jobs
    } else if path.contains("/messages/batches") || headers.contains_key("anthropic-version") {
        Dialect::Messages
    } else if is_google || path.contains("/v1beta/") || protocol == Protocol::Gemini {
        Dialect::Operations
    } else if protocol == Protocol::Anthropic {
        Dialect::Messages
    } else {
        Dialect::Purpose
    }
}

/// Returns the call of a request, or `None` if it is about neither files nor batches.
pub(crate) fn route(
    protocol: Protocol,
    method: &Method,
    uri: &http::Uri,
    headers: &HeaderMap,
) -> Option<(Dialect, Call)> {
    let path = uri.path().trim_end_matches('/');
    let dialect = dialect(protocol, path, headers);
    if *method == Method::POST && path.ends_with(":batchGenerateContent") {
        return Some((Dialect::Operations, Call::CreateBatch));
    }
    if path.contains("/upload/") && path.ends_with("/files") && *method == Method::POST {
        let number = uri.query().and_then(|query| query.strip_prefix("upload_id="));
        let call = match number.and_then(|number| number.parse().ok()) {
            Some(number) => Call::UploadContent(number),
            None => Call::UploadStart,
        };
        return Some((Dialect::Operations, call));
    }
    let places = ["/messages/batches", "/batch/jobs", "/batches", "/files"];
    let (at, place) = places.iter().find_map(|place| Some((path.rfind(place)?, *place)))?;
    let rest = path.get(at + place.len()..)?;
    let is_files = place == "/files";
    let (get, post) = (*method == Method::GET, *method == Method::POST);
    let call = match rest.strip_prefix('/') {
        None if !rest.is_empty() => return None,
        None if is_files && get => Call::Files,
        None if is_files && post => Call::UploadForm,
        None if get => Call::Batches,
        None if post => Call::CreateBatch,
        None => return None,
        Some(rest) => {
            let cut = rest.find(['/', ':']).unwrap_or(rest.len());
            let (id, action) = rest.split_at(cut);
            let id = id.to_owned();
            match (is_files, action, method.as_str()) {
                (true, "", "GET") => Call::File(id),
                (true, "", "DELETE") => Call::DeleteFile(id),
                (true, "/content" | ":download", "GET") => Call::Content(id),
                (false, "", "GET") => Call::Batch(id),
                (false, "/cancel" | ":cancel", "POST") => Call::CancelBatch(id),
                (false, "/results", "GET") => Call::BatchResults(id),
                _ => return None,
            }
        }
    };
    Some((dialect, call))
}

/// Returns the protocol whose errors a request about files or batches gets.
pub(crate) fn protocol_of(uri: &http::Uri, headers: &HeaderMap) -> Option<Protocol> {
    let (dialect, _) = route(Protocol::OpenAiChat, &Method::GET, uri, headers)
        .or_else(|| route(Protocol::OpenAiChat, &Method::POST, uri, headers))?;
    Some(match dialect {
        Dialect::Purpose | Dialect::Jobs => Protocol::OpenAiChat,
        Dialect::Messages => Protocol::Anthropic,
        Dialect::Operations => Protocol::Gemini,
    })
}

/// Returns the error of something that is not there.
fn not_found(what: &str, id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no {what} {id}")).with_status(404)
}

/// Returns the error of a request that cannot be read.
fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message.into()).with_status(400)
}

/// Returns the start of the URLs that a reply has: the scheme and the host that the request was sent to.
fn origin(request: &Request<Bytes>) -> String {
    let uri = request.uri();
    match (uri.scheme_str(), uri.authority(), request.headers().get(http::header::HOST)) {
        (Some(scheme), Some(authority), _) => format!("{scheme}://{authority}"),
        (_, _, Some(host)) => format!("http://{}", host.to_str().unwrap_or_default()),
        _ => String::new(),
    }
}

/// Returns a parameter of the query.
fn query_value<'a>(uri: &'a http::Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

impl Simulator {
    /// Responds to a call about files or batches.
    pub(crate) fn reply_storage(
        &self,
        protocol: Protocol,
        (dialect, call): (Dialect, Call),
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Result<Reply> {
        let uri = request.uri();
        let json = |value: Value| Reply::json(protocol, value.to_string().into(), &[]);
        Ok(match call {
            Call::UploadForm => json(self.storage.upload_form(dialect, request)?),
            Call::UploadStart => {
                let number = self.storage.start_upload(request)?;
                let mut reply = json(json!({}));
                let url = format!("{}{}?upload_id={number}", origin(request), uri.path());
                reply.insert(http::HeaderName::from_static("x-goog-upload-url"), &url);
                reply.insert(http::HeaderName::from_static("x-goog-upload-status"), "active");
                reply
            }
            Call::UploadContent(number) => {
                let mut reply = json(self.storage.finish_upload(number, request)?);
                reply.insert(http::HeaderName::from_static("x-goog-upload-status"), "final");
                reply
            }
            Call::Files => json(self.storage.list_files(dialect, uri)),
            Call::File(id) => json(self.storage.describe_file(dialect, &id)?),
            Call::DeleteFile(id) => json(self.storage.delete_file(dialect, &id)?),
            Call::Content(id) => Reply::content(protocol, self.storage.content(&id)?),
            Call::CreateBatch => json(self.create_batch(dialect, request, style)?),
            Call::Batches => json(self.storage.list_batches(dialect, uri)),
            Call::Batch(id) => json(self.storage.describe_batch(dialect, &id)?),
            Call::CancelBatch(id) => json(self.storage.cancel_batch(dialect, &id)?),
            Call::BatchResults(id) => Reply::content(protocol, self.storage.results(dialect, &id)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: &Method, path: &str) -> Option<(Dialect, Call)> {
        let uri = path.parse().unwrap();
        route(Protocol::OpenAiChat, method, &uri, &HeaderMap::new())
    }

    #[test]
    fn paths_lead_to_their_calls() {
        let id = || "x".to_owned();
        for (method, path, dialect, call) in [
            (Method::GET, "/v1/files", Dialect::Purpose, Call::Files),
            (Method::POST, "/v1/files", Dialect::Purpose, Call::UploadForm),
            (Method::GET, "/v1/files/x", Dialect::Purpose, Call::File(id())),
            (Method::DELETE, "/v1/files/x", Dialect::Purpose, Call::DeleteFile(id())),
            (Method::GET, "/v1/files/x/content", Dialect::Purpose, Call::Content(id())),
            (Method::GET, "/v1beta/files/x:download", Dialect::Operations, Call::Content(id())),
            (Method::POST, "/v1/batches", Dialect::Purpose, Call::CreateBatch),
            (Method::POST, "/v1/batch/jobs", Dialect::Jobs, Call::CreateBatch),
            (Method::POST, "/v1/messages/batches", Dialect::Messages, Call::CreateBatch),
            (
                Method::GET,
                "/v1/messages/batches/x/results",
                Dialect::Messages,
                Call::BatchResults(id()),
            ),
            (
                Method::POST,
                "/v1beta/batches/x:cancel",
                Dialect::Operations,
                Call::CancelBatch(id()),
            ),
            (
                Method::POST,
                "/v1beta/models/m:batchGenerateContent",
                Dialect::Operations,
                Call::CreateBatch,
            ),
            (Method::POST, "/upload/v1beta/files", Dialect::Operations, Call::UploadStart),
            (
                Method::POST,
                "/upload/v1beta/files?upload_id=7",
                Dialect::Operations,
                Call::UploadContent(7),
            ),
        ] {
            assert_eq!(routed(&method, path), Some((dialect, call)), "{method} {path}");
        }
        for path in ["/v1/chat/completions", "/v1/models", "/v1/filesystem", "/v1/files/x/y/z"] {
            assert_eq!(routed(&Method::GET, path), None, "{path}");
        }
    }
}
