//! Datasets and jobs of an account, as Fireworks has them (fireworks-ai 1.2.30).

use agentloop::{Error, ErrorKind, Result};
use bytes::Bytes;
use http::{Method, Request, Uri};
use serde_json::{Value, json};

use super::batch::{Row, StoredBatch, batch, describe, lines};
use super::file::read_file;
use super::{
    Dialect, FIRST_MOMENT, MAX_STORED, Storage, not_found, origin, query_value, refused, write,
};
use crate::simulator::Simulator;
use crate::usage_style::UsageStyle;

/// The account of every key.
const ACCOUNT: &str = "sim-account";

/// The path of signed URLs.
const SIGNED: &str = "/signed-files/";

/// A call about accounts, datasets or jobs. Resources are named as `accounts/ACCOUNT/datasets/ID`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DatasetCall {
    Accounts,
    Create(String),
    List(String),
    Upload(String),
    Get(String),
    Delete(String),
    Urls(String),
    Signed(u64),
    CreateJob(String),
    ListJobs(String),
    Job(String),
    DeleteJob(String),
}

/// Returns the call of a request.
pub(super) fn route(method: &Method, path: &str) -> Option<DatasetCall> {
    if let Some(number) = path.strip_prefix(SIGNED) {
        let number = number.parse().ok().filter(|_| *method == Method::GET)?;
        return Some(DatasetCall::Signed(number));
    }
    let path = path.strip_prefix("/v1/")?;
    if path == "accounts" && *method == Method::GET {
        return Some(DatasetCall::Accounts);
    }
    let mut parts = path.strip_prefix("accounts/")?.splitn(3, '/');
    let (account, kind, id) = (parts.next()?, parts.next()?, parts.next());
    let (id, action) = match id {
        Some(id) => id.split_once(':').map_or((Some(id), ""), |(id, action)| (Some(id), action)),
        None => (None, ""),
    };
    let name = match id {
        Some(id) => format!("accounts/{account}/{kind}/{id}"),
        None => format!("accounts/{account}"),
    };
    Some(match (kind, id.is_some(), action, method.as_str()) {
        ("datasets", false, "", "POST") => DatasetCall::Create(name),
        ("datasets", false, "", "GET") => DatasetCall::List(name),
        ("datasets", true, "upload", "POST") => DatasetCall::Upload(name),
        ("datasets", true, "", "GET") => DatasetCall::Get(name),
        ("datasets", true, "", "DELETE") => DatasetCall::Delete(name),
        ("datasets", true, "getDownloadEndpoint", "GET") => DatasetCall::Urls(name),
        ("batchInferenceJobs", false, "", "POST") => DatasetCall::CreateJob(name),
        ("batchInferenceJobs", false, "", "GET") => DatasetCall::ListJobs(name),
        ("batchInferenceJobs", true, "", "GET") => DatasetCall::Job(name),
        ("batchInferenceJobs", true, "", "DELETE") => DatasetCall::DeleteJob(name),
        _ => return None,
    })
}

/// Returns the name of the dataset with the results of a job.
pub(super) fn output_name(job: &str, number: u64) -> String {
    let account = job.split('/').nth(1).unwrap_or_default();
    format!("accounts/{account}/datasets/bij-{number}")
}

impl Simulator {
    pub(super) fn reply_dataset(
        &self,
        call: DatasetCall,
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Result<Value> {
        let storage = &self.storage;
        let query = |name: &str| query_value(request.uri(), name);
        match call {
            DatasetCall::Accounts => {
                Ok(json!({ "accounts": [{ "name": format!("accounts/{ACCOUNT}") }] }))
            }
            DatasetCall::Create(account) => storage.create_dataset(&account, request.body()),
            DatasetCall::List(account) => {
                let stored = storage.lock();
                let start = format!("{account}/");
                let own = stored.datasets.iter().filter(|(name, _)| name.starts_with(&start));
                let all = own.map(|(name, files)| describe_dataset(name, files)).collect();
                Ok(write::page(Dialect::Datasets, "datasets", all, query))
            }
            DatasetCall::Upload(name) => storage.upload_dataset(&name, request),
            DatasetCall::Get(name) => {
                let stored = storage.lock();
                let files = stored.datasets.get(&name).ok_or_else(|| not_found("dataset", &name));
                Ok(describe_dataset(&name, files?))
            }
            DatasetCall::Delete(name) => {
                let removed = storage.lock().datasets.remove(&name);
                removed.map(|_| json!({})).ok_or_else(|| not_found("dataset", &name))
            }
            DatasetCall::Urls(name) => {
                // The API refuses a body.
                if !request.body().is_empty() {
                    return Err(refused("the request has a body"));
                }
                storage.sign(&name, &origin(request))
            }
            DatasetCall::Signed(number) => Err(not_found("file", &number.to_string())),
            DatasetCall::CreateJob(_) => self.create_batch(Dialect::Datasets, request, style),
            DatasetCall::ListJobs(account) => {
                let stored = storage.lock();
                let start = format!("{account}/");
                let own = stored.jobs.iter().filter(|(name, _)| name.starts_with(&start));
                let jobs =
                    own.filter_map(|(_, number)| Some((number, stored.batches.get(number)?)));
                let all = jobs.map(|(number, job)| describe(Dialect::Datasets, *number, job));
                Ok(write::page(Dialect::Datasets, "batchInferenceJobs", all.collect(), query))
            }
            DatasetCall::Job(name) => storage.describe_job(&name),
            DatasetCall::DeleteJob(name) => storage.delete_job(&name),
        }
    }
}

/// Returns the error of a name that is in use.
pub(super) fn exists(name: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("{name} exists")).with_status(409)
}

fn describe_dataset(name: &str, files: &[u64]) -> Value {
    json!({
        "name": name, "displayName": "", "format": "FORMAT_UNSPECIFIED", "userUploaded": {},
        "createTime": write::time(FIRST_MOMENT), "status": { "code": "OK", "message": "" },
        "state": if files.is_empty() { "UPLOADING" } else { "READY" },
    })
}

impl Storage {
    fn create_dataset(&self, account: &str, body: &[u8]) -> Result<Value> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| refused(format!("the body is not JSON: {error}")))?;
        let id = body["datasetId"].as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| refused("the dataset has no id"))?;
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.len() > 63 || !id.chars().all(is_allowed) {
            return Err(refused(format!("{id:?} is not valid as an id")));
        }
        if body.pointer("/dataset/exampleCount").and_then(Value::as_str).is_none() {
            return Err(refused("example_count is required for uploaded datasets"));
        }
        let name = format!("{account}/datasets/{id}");
        let mut stored = self.lock();
        if stored.datasets.contains_key(&name) {
            return Err(exists(&name));
        }
        if stored.datasets.len() >= MAX_STORED {
            return Err(refused("the simulator stores no more datasets"));
        }
        let described = describe_dataset(&name, &[]);
        stored.datasets.insert(name, Vec::new());
        Ok(described)
    }

    fn upload_dataset(&self, name: &str, request: &Request<Bytes>) -> Result<Value> {
        let file = read_file(Dialect::Datasets, request)?;
        let mut stored = self.lock();
        if !stored.datasets.contains_key(name) {
            return Err(not_found("dataset", name));
        }
        let described = json!({
            "id": name, "object": "file", "purpose": "dataset", "filename": file.name,
            "bytes": file.content.len(), "created_at": FIRST_MOMENT,
        });
        let number = stored.store(file)?;
        stored.datasets.entry(name.to_owned()).or_default().push(number);
        Ok(described)
    }

    fn sign(&self, name: &str, origin: &str) -> Result<Value> {
        let stored = self.lock();
        let numbers = stored.datasets.get(name).ok_or_else(|| not_found("dataset", name))?;
        let files = numbers.iter().filter_map(|number| Some((number, stored.files.get(number)?)));
        let id = name.rsplit('/').next().unwrap_or_default();
        let urls: serde_json::Map<String, Value> = files
            .map(|(number, file)| {
                let url =
                    format!("{origin}{SIGNED}{number}?X-Goog-Expires=599&X-Goog-Signature=sim");
                (format!("dataset/{id}/{}", file.name), url.into())
            })
            .collect();
        Ok(json!({ "filenameToSignedUrls": urls }))
    }

    pub(super) fn signed_content(&self, number: u64) -> Result<Bytes> {
        let stored = self.lock();
        let file = stored.files.get(&number);
        file.map(|file| file.content.clone()).ok_or_else(|| not_found("file", &number.to_string()))
    }

    /// Reads a job. Its name is in the metadata.
    pub(super) fn read_job(&self, uri: &Uri, body: &Value) -> Result<(StoredBatch, Vec<Row>)> {
        let id = query_value(uri, "batchInferenceJobId");
        let id = id.ok_or_else(|| refused("the job has no id"))?;
        let place = uri.path().strip_prefix("/v1/").unwrap_or_default();
        let input =
            body["inputDatasetId"].as_str().ok_or_else(|| refused("there is no dataset"))?;
        let model = body["model"].as_str().ok_or_else(|| refused("there is no model"))?;
        let content = {
            let stored = self.lock();
            let files = stored.datasets.get(input).ok_or_else(|| not_found("dataset", input))?;
            let number = files.first().ok_or_else(|| refused("the dataset has no content"))?;
            stored.files.get(number).map(|file| file.content.clone()).unwrap_or_default()
        };
        let path = "/v1/chat/completions".to_owned();
        let mut rows = Vec::new();
        for line in lines(&content) {
            let (number, line) = line?;
            let mut body = line["body"].clone();
            let Some(fields) = body.as_object_mut() else {
                return Err(refused(format!("line {number}: the body is not an object")));
            };
            fields.insert("model".to_owned(), model.into());
            rows.push(Row { custom_id: line["custom_id"].clone(), path: path.clone(), body });
        }
        let name = format!("{place}/{id}");
        let metadata = json!({ "displayName": body["displayName"], "name": name });
        let mut job = batch(&path, Some(model), metadata);
        job.input = Some(input.to_owned());
        Ok((job, rows))
    }

    fn describe_job(&self, name: &str) -> Result<Value> {
        let mut stored = self.lock();
        let number = *stored.jobs.get(name).ok_or_else(|| not_found("job", name))?;
        if let Some(job) = stored.batches.get_mut(&number) {
            job.polls += 1;
        }
        stored.write_results(Dialect::Datasets, number)?;
        let job = stored.batches.get(&number).ok_or_else(|| not_found("job", name))?;
        let described = describe(Dialect::Datasets, number, job);
        // A job that failed has no dataset for its results.
        let files = job.files.into_iter().flatten().flatten().collect::<Vec<u64>>();
        if !files.is_empty() {
            let output = output_name(name, number);
            stored.datasets.insert(output, files);
        }
        Ok(described)
    }

    fn delete_job(&self, name: &str) -> Result<Value> {
        let mut stored = self.lock();
        let number = *stored.jobs.get(name).ok_or_else(|| not_found("job", name))?;
        if let Some(job) = stored.batches.get_mut(&number) {
            job.cancelled = true;
        }
        Ok(json!({}))
    }
}
