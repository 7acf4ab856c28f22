//! Batches of requests: how they are written, and how their states and results are read. All functions are pure.

mod results;
mod status;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, Method};
use serde_json::value::RawValue;
use serde_json::{Map, json};

pub(crate) use results::{inline_results, read_line};
pub(crate) use status::{decode, decode_list};

use super::files::{call, segment, unsupported};
use super::{Encoded, headers, json};
use crate::chat::Batch;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_BATCH_INPUT_BYTES;
use crate::media::FileUpload;
use crate::provider::quirks::BatchApi;
use crate::provider::{Feature, Provider};

/// The name of the metadata field that has the label.
pub(crate) const LABEL: &str = "agentloop_batch";

/// The most bytes of requests in the body of an operation; more are uploaded as a file. Gemini (ai.google.dev, Batch API: "under 20 MB").
const MAX_OPERATION_BYTES: usize = 19_500_000;

/// How many bytes a request has more in the body of an operation than in a line of a file, at most.
const INLINED_BYTES: usize = 16;

/// The header of features that a request needs.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// The requests of a batch, as they are sent.
#[derive(Debug)]
pub(crate) struct Input {
    form: BatchApi,
    bytes: Vec<u8>,
    requests: usize,
    /// What all requests have in common: the path that each would be sent to alone.
    path: Option<String>,
    /// The model of all requests, where the batch names it.
    model: Option<String>,
    betas: Vec<String>,
}

impl Input {
    pub(crate) fn new(form: BatchApi) -> Self {
        let bytes = match form {
            BatchApi::Messages => br#"{"requests":["#.to_vec(),
            _ => Vec::new(),
        };
        Self { form, bytes, requests: 0, path: None, model: None, betas: Vec::new() }
    }

    /// Adds a request.
    ///
    /// # Errors
    ///
    /// Fails if the request cannot be in one batch with those before it.
    pub(crate) fn push(&mut self, custom_id: &str, model: &str, encoded: &Encoded) -> Result<()> {
        let refuse = |message: String| Err(Error::new(ErrorKind::InvalidRequest, message));
        match &self.path {
            Some(path) if *path != encoded.path && self.form != BatchApi::Operation => {
                return refuse(format!(
                    "a batch has one kind of request, not {path} and {}",
                    encoded.path
                ));
            }
            _ => self.path = Some(encoded.path.to_string()),
        }
        if matches!(self.form, BatchApi::Operation | BatchApi::Job) {
            match &self.model {
                Some(first) if first != model => {
                    return refuse(format!(
                        "the requests of a batch have one model, not {first} and {model}"
                    ));
                }
                _ => self.model = Some(model.to_owned()),
            }
        }
        for beta in encoded.headers.get_all(&BETA) {
            let list = beta.to_str().unwrap_or_default().split(',');
            for beta in list.map(str::trim).filter(|beta| !beta.is_empty()) {
                if !self.betas.iter().any(|known| known == beta) {
                    self.betas.push(beta.to_owned());
                }
            }
        }
        let body: &RawValue = json::read_json(&encoded.body)?;
        self.write(custom_id, body)?;
        self.requests += 1;
        if self.bytes.len() <= MAX_BATCH_INPUT_BYTES {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::TooLarge,
                format!("the requests of the batch have more than {MAX_BATCH_INPUT_BYTES} bytes"),
            )
            .with_hint("send them as several batches"))
        }
    }

    fn write(&mut self, custom_id: &str, body: &RawValue) -> Result<()> {
        let line = match self.form {
            BatchApi::Messages => {
                if self.requests > 0 {
                    self.bytes.push(b',');
                }
                serde_json::to_vec(&Named { custom_id, params: body })
            }
            BatchApi::Operation => {
                serde_json::to_vec(&Keyed { key: custom_id.into(), request: body })
            }
            BatchApi::Job => {
                // The batch names the model, and the lines of the API description have none.
                let mut fields: Map<String, serde_json::Value> = serde_json::from_str(body.get())
                    .map_err(|error| {
                    Error::new(ErrorKind::InvalidRequest, "the body is not an object")
                        .with_source(error)
                })?;
                fields.remove("model");
                serde_json::to_vec(&json!({ "custom_id": custom_id, "body": fields }))
            }
            BatchApi::InputFile | BatchApi::None => {
                let url = self.endpoint();
                serde_json::to_vec(&Line { custom_id, method: "POST", url: &url, body })
            }
        };
        self.bytes.extend_from_slice(&line.map_err(unwritable)?);
        if self.form != BatchApi::Messages {
            self.bytes.push(b'\n');
        }
        Ok(())
    }

    /// Returns the path of the requests, as batches name it.
    fn endpoint(&self) -> String {
        format!("/v1{}", self.path.as_deref().unwrap_or_default())
    }

    /// Returns whether the requests are uploaded as a file before the batch is created.
    pub(crate) fn is_file(&self) -> bool {
        match self.form {
            BatchApi::InputFile | BatchApi::Job => true,
            BatchApi::Operation => {
                let inlined = self.bytes.len().saturating_add(self.requests * INLINED_BYTES);
                inlined > MAX_OPERATION_BYTES
            }
            BatchApi::Messages | BatchApi::None => false,
        }
    }

    /// Returns the file with the requests, which has the label of the batch as its name.
    pub(crate) fn take_file(&mut self, label: &str) -> FileUpload {
        FileUpload::new(format!("{label}.jsonl"), std::mem::take(&mut self.bytes))
            .mime_type("application/jsonl")
            .purpose("batch")
    }

    /// Writes the call that creates the batch.
    pub(crate) fn encode_create(mut self, provider: &Provider, batch: &Batch) -> Result<Encoded> {
        let no_file = || Error::new(ErrorKind::Other, "the requests were not uploaded");
        let (path, body) = match self.form {
            BatchApi::InputFile | BatchApi::None => {
                let file = batch.input_file.as_deref().ok_or_else(no_file)?;
                let body = json!({
                    "input_file_id": file,
                    "endpoint": self.endpoint(),
                    "completion_window": "24h",
                    "metadata": { LABEL: batch.label },
                });
                ("/batches".to_owned(), Bytes::from(body.to_string()))
            }
            BatchApi::Job => {
                let file = batch.input_file.as_deref().ok_or_else(no_file)?;
                let body = json!({
                    "input_files": [file],
                    "endpoint": self.endpoint(),
                    "model": self.model,
                    "metadata": { LABEL: batch.label },
                });
                ("/batch/jobs".to_owned(), Bytes::from(body.to_string()))
            }
            BatchApi::Messages => {
                self.bytes.extend_from_slice(b"]}");
                ("/messages/batches".to_owned(), self.bytes.into())
            }
            BatchApi::Operation => {
                let path = self.path.as_deref().unwrap_or_default();
                let path = path.strip_suffix(":generateContent").ok_or_else(|| {
                    Error::new(ErrorKind::Unsupported, "the requests cannot be in a batch")
                })?;
                let body = match &batch.input_file {
                    Some(file) => {
                        let config = json!({ "fileName": format!("files/{file}") });
                        let batch = json!({ "displayName": batch.label, "inputConfig": config });
                        Bytes::from(json!({ "batch": batch }).to_string())
                    }
                    None => inlined(&batch.label, &self.bytes)?,
                };
                (format!("{path}:batchGenerateContent"), body)
            }
        };
        let mut encoded = call(provider, Method::POST, path)?;
        for beta in &self.betas {
            headers::add_to_list(&mut encoded.headers, &BETA, beta);
        }
        encoded.body = body;
        Ok(encoded)
    }
}

#[derive(serde::Serialize)]
struct Line<'a> {
    custom_id: &'a str,
    method: &'a str,
    url: &'a str,
    body: &'a RawValue,
}

#[derive(serde::Serialize)]
struct Named<'a> {
    custom_id: &'a str,
    params: &'a RawValue,
}

#[derive(serde::Serialize)]
struct Inlined<'a> {
    request: &'a RawValue,
    metadata: Key<'a>,
}

#[derive(serde::Serialize)]
struct Key<'a> {
    key: &'a str,
}

/// A line of a file of requests that have keys.
#[derive(serde::Serialize, serde::Deserialize)]
struct Keyed<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    request: &'a RawValue,
}

/// Writes an operation with its requests, which are lines of [`Keyed`].
fn inlined(label: &str, lines: &[u8]) -> Result<Bytes> {
    let mut body = json!({ "displayName": label }).to_string();
    body.truncate(body.len() - 1);
    let mut body =
        format!(r#"{{"batch":{body},"inputConfig":{{"requests":{{"requests":["#).into_bytes();
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (index, line) in lines.enumerate() {
        let Keyed { key, request } = json::read_json(line)?;
        if index > 0 {
            body.push(b',');
        }
        let line = Inlined { request, metadata: Key { key: &key } };
        serde_json::to_writer(&mut body, &line).map_err(unwritable)?;
    }
    body.extend_from_slice(b"]}}}}");
    Ok(body.into())
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::InvalidRequest, "the request cannot be written").with_source(error)
}

/// Fails if the provider has no batches.
pub(crate) fn check(provider: &Provider) -> Result<()> {
    match provider.quirks.storage.batches {
        BatchApi::None => Err(unsupported(provider, "batches", Feature::Batches)),
        _ => Ok(()),
    }
}

/// Returns the path of all batches.
fn place(provider: &Provider) -> &'static str {
    match provider.quirks.storage.batches {
        BatchApi::Messages => "/messages/batches",
        BatchApi::Job => "/batch/jobs",
        _ => "/batches",
    }
}

/// Returns the path of a batch.
fn batch_path(provider: &Provider, id: &str) -> Result<String> {
    let id = id.strip_prefix("batches/").unwrap_or(id);
    Ok(format!("{}/{}", place(provider), segment(id)?))
}

/// Writes the call that describes a batch.
pub(crate) fn encode_status(provider: &Provider, id: &str) -> Result<Encoded> {
    call(provider, Method::GET, batch_path(provider, id)?)
}

/// Writes the call that cancels a batch.
pub(crate) fn encode_cancel(provider: &Provider, id: &str) -> Result<Encoded> {
    let path = batch_path(provider, id)?;
    let path = match provider.quirks.storage.batches {
        BatchApi::Operation => format!("{path}:cancel"),
        _ => format!("{path}/cancel"),
    };
    call(provider, Method::POST, path)
}

/// Writes the call for the first page of the list or for the one whose query is `next`.
pub(crate) fn encode_list(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    let first = match provider.quirks.storage.batches {
        BatchApi::Operation => "?pageSize=100",
        BatchApi::Job => "?page=0&page_size=100",
        BatchApi::InputFile | BatchApi::Messages | BatchApi::None => "?limit=100",
    };
    call(provider, Method::GET, format!("{}{}", place(provider), next.unwrap_or(first)))
}

/// Writes the call that returns the results, where they are neither files nor part of the status.
pub(crate) fn encode_results(provider: &Provider, id: &str) -> Result<Encoded> {
    call(provider, Method::GET, format!("{}/results", batch_path(provider, id)?))
}

#[cfg(test)]
mod tests;
