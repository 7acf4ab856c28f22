//! Batches.

use agentloop::{BatchState, Protocol, Result};
use bytes::Bytes;
use http::{Request, Uri};
use serde_json::{Value, json};

use super::dataset::exists;
use super::file::StoredContent;
use super::{
    Dialect, FIRST_MOMENT, MAX_STORED, SimBatches, Storage, Stored, not_found, query_value,
    refused, write,
};
use crate::reply::Piece;
use crate::simulator::Simulator;
use crate::usage_style::UsageStyle;

/// The largest response of one request. A larger one fails the request.
const MAX_ROW_BYTES: usize = 16 << 20;

/// A batch.
#[derive(Debug)]
pub(super) struct StoredBatch {
    endpoint: String,
    pub(super) model: Option<String>,
    pub(super) input: Option<String>,
    pub(super) metadata: Value,
    form: Form,
    /// The lines of results, in the order of the requests, with whether each succeeded.
    rows: Vec<(bool, Value)>,
    behaviour: SimBatches,
    /// How often its state was requested.
    pub(super) polls: u64,
    pub(super) cancelled: bool,
    /// The files with the results, once it has ended.
    pub(super) files: Option<[Option<u64>; 2]>,
}

/// How a batch is described whose requests are a file of OpenAI's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Usual,
    /// With fewer fields, as Together does. The purpose of its input file shows it.
    Job,
    /// With counts instead of a state, as xAI does. It is created with a name, and without an endpoint.
    Counted,
}

/// One request of a batch.
pub(super) struct Row {
    pub(super) custom_id: Value,
    pub(super) path: String,
    pub(super) body: Value,
}

impl StoredBatch {
    pub(super) fn is_ended(&self) -> bool {
        self.cancelled || self.polls > self.behaviour.polls
    }

    fn state(&self) -> BatchState {
        match () {
            () if self.cancelled => BatchState::Cancelled,
            () if self.is_ended() => self.behaviour.state,
            () => BatchState::Running,
        }
    }

    /// Returns the rows that have results.
    fn processed(&self) -> &[(bool, Value)] {
        let most = match () {
            () if self.cancelled || self.behaviour.state == BatchState::Failed => 0,
            () => self.behaviour.processed.min(self.rows.len()),
        };
        self.rows.get(..most).unwrap_or_default()
    }
}

impl Simulator {
    pub(super) fn create_batch(
        &self,
        dialect: Dialect,
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Result<Value> {
        let body: Value = serde_json::from_slice(request.body())
            .map_err(|error| refused(format!("the body is not JSON: {error}")))?;
        let (mut batch, rows) = match dialect {
            Dialect::Purpose | Dialect::Jobs => self.storage.read_file_batch(dialect, &body)?,
            Dialect::Messages => read_messages(&body)?,
            Dialect::Operations => self.storage.read_operation(request.uri().path(), &body)?,
            Dialect::Datasets => self.storage.read_job(request.uri(), &body)?,
        };
        if rows.is_empty() {
            return Err(refused("the batch has no requests"));
        }
        batch.behaviour = self.batches;
        batch.rows = rows.iter().map(|row| self.process(dialect, row, style)).collect();
        let mut stored = self.storage.lock();
        if stored.batches.len() >= MAX_STORED {
            return Err(refused("the simulator stores no more batches"));
        }
        let number = stored.count();
        if dialect == Dialect::Datasets {
            let name = batch.metadata["name"].as_str().unwrap_or_default().to_owned();
            if stored.jobs.contains_key(&name) {
                return Err(exists(&name));
            }
            stored.jobs.insert(name, number);
        }
        let described = describe(dialect, number, &batch);
        let is_job = batch.form == Form::Job;
        stored.batches.insert(number, batch);
        Ok(match is_job {
            true => json!({ "job": described, "warning": null }),
            false => described,
        })
    }

    /// Processes a request as if it had arrived alone.
    fn process(&self, dialect: Dialect, row: &Row, style: UsageStyle) -> (bool, Value) {
        let protocol = match dialect {
            Dialect::Purpose if row.path.ends_with("/responses") => Protocol::OpenAiResponses,
            Dialect::Purpose | Dialect::Jobs | Dialect::Datasets => Protocol::OpenAiChat,
            Dialect::Messages => Protocol::Anthropic,
            Dialect::Operations => Protocol::Gemini,
        };
        let body = Bytes::from(row.body.to_string());
        let mut request = Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = row.path.parse().unwrap_or_default();
        let reply = self.respond_to_row(protocol, &request, style);
        let (status, body) = match reply {
            Some(reply) => {
                let mut bytes = Vec::new();
                for piece in reply.body {
                    // A response that is cut off or too large is not one.
                    match piece {
                        Piece::Bytes(more) if bytes.len() + more.len() <= MAX_ROW_BYTES => {
                            bytes.extend_from_slice(&more);
                        }
                        _ => {
                            bytes.clear();
                            break;
                        }
                    }
                }
                (reply.status.as_u16(), bytes)
            }
            None => (500, Vec::new()),
        };
        let body: Option<Value> = serde_json::from_slice(&body).ok();
        let is_ok = status == 200 && body.is_some();
        let broken = json!({ "error": { "message": "the simulated response was cut off", "type": "server_error" } });
        let body = body.unwrap_or(broken);
        let id = &row.custom_id;
        let line = match dialect {
            Dialect::Purpose | Dialect::Jobs => {
                let status = if is_ok || status != 200 { status } else { 500 };
                json!({
                    "id": format!("batch_req_{}", id.as_str().unwrap_or_default()),
                    "custom_id": id,
                    "response": { "status_code": status, "request_id": "sim", "body": body },
                    "error": null,
                })
            }
            Dialect::Datasets if is_ok => json!({ "custom_id": id, "response": body }),
            // No source shows the lines of requests that failed; these have the fields of the others.
            Dialect::Datasets => json!({ "custom_id": id, "error": body["error"] }),
            Dialect::Messages if is_ok => {
                json!({ "custom_id": id, "result": { "type": "succeeded", "message": body } })
            }
            Dialect::Messages => {
                json!({ "custom_id": id, "result": { "type": "errored", "error": body } })
            }
            Dialect::Operations if is_ok => json!({ "response": body, "metadata": id }),
            Dialect::Operations => {
                let message = body.pointer("/error/message").cloned().unwrap_or_default();
                let code = grpc_code(Some(status.into()));
                json!({ "error": { "code": code, "message": message }, "metadata": id })
            }
        };
        (is_ok, line)
    }
}

pub(super) fn batch(endpoint: &str, model: Option<&str>, metadata: Value) -> StoredBatch {
    StoredBatch {
        endpoint: endpoint.to_owned(),
        model: model.map(str::to_owned),
        input: None,
        metadata,
        form: Form::Usual,
        rows: Vec::new(),
        behaviour: SimBatches::default(),
        polls: 0,
        cancelled: false,
        files: None,
    }
}

fn read_messages(body: &Value) -> Result<(StoredBatch, Vec<Row>)> {
    let list = body.get("requests").and_then(Value::as_array);
    let list = list.ok_or_else(|| refused("`requests` is not a list"))?;
    let row = |row: &Value| Row {
        custom_id: row["custom_id"].clone(),
        path: "/v1/messages".to_owned(),
        body: row["params"].clone(),
    };
    let rows = list.iter().map(row).collect();
    Ok((batch("/v1/messages", None, Value::Null), rows))
}

/// Reads the lines of a file, each with its number.
pub(super) fn lines(content: &[u8]) -> impl Iterator<Item = Result<(usize, Value)>> {
    let lines = content.split(|byte| *byte == b'\n').zip(1..);
    lines.filter(|(line, _)| !line.trim_ascii().is_empty()).map(|(line, number)| {
        let line = serde_json::from_slice(line)
            .map_err(|error| refused(format!("line {number}: {error}")))?;
        Ok((number, line))
    })
}

impl Stored {
    fn batch(&mut self, id: &str) -> Result<(u64, &mut StoredBatch)> {
        let number = id.strip_prefix("batch_").and_then(|number| number.parse().ok());
        number
            .and_then(|number: u64| Some((number, self.batches.get_mut(&number)?)))
            .ok_or_else(|| not_found("batch", id))
    }

    /// Writes the files with the results of a batch that has ended.
    pub(super) fn write_results(&mut self, dialect: Dialect, number: u64) -> Result<()> {
        let Some(batch) = self.batches.get(&number) else { return Ok(()) };
        if batch.files.is_some() || !batch.is_ended() {
            return Ok(());
        }
        let mut files = [None, None];
        let in_one = dialect == Dialect::Operations;
        for (is_ok, place) in [(true, 0), (false, 1)] {
            let Some(batch) = self.batches.get(&number) else { return Ok(()) };
            let rows = batch.processed().iter();
            let rows = rows.filter(|(ok, _)| if in_one { is_ok } else { *ok == is_ok });
            let line = |line: &Value| match line.pointer("/metadata/key") {
                // In a file the key is beside the response.
                Some(key) if in_one => {
                    let mut line = line.clone();
                    line["metadata"] = Value::Null;
                    line["key"] = key.clone();
                    format!("{line}\n")
                }
                _ => format!("{line}\n"),
            };
            let lines: String = rows.map(|(_, row)| line(row)).collect();
            if lines.is_empty() {
                continue;
            }
            let kind = if is_ok { "output" } else { "error" };
            let name = match (dialect, is_ok) {
                (Dialect::Datasets, true) => "BIJOutputSet.jsonl".to_owned(),
                (Dialect::Datasets, false) => "error-data".to_owned(),
                _ => format!("batch_{number}_{kind}.jsonl"),
            };
            let file = StoredContent {
                name,
                mime_type: "application/jsonl".to_owned(),
                purpose: "batch_output".to_owned(),
                content: lines.into(),
            };
            if let Some(slot) = files.get_mut(place) {
                *slot = Some(self.store(file)?);
            }
        }
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.files = Some(files);
        }
        Ok(())
    }
}

impl Storage {
    fn read_file_batch(&self, dialect: Dialect, body: &Value) -> Result<(StoredBatch, Vec<Row>)> {
        let input = body.get("input_file_id").or_else(|| body.pointer("/input_files/0"));
        let input = input.and_then(Value::as_str).ok_or_else(|| refused("there is no file"))?;
        let content = self.content(input)?;
        let first = lines(&content).next().transpose()?.unwrap_or_default().1;
        let form = match () {
            () if self.lock().file(input)?.1.purpose == "batch-api" => Form::Job,
            () if body["name"].is_string() && body["endpoint"].is_null() => Form::Counted,
            () => Form::Usual,
        };
        let endpoint = match form {
            Form::Counted => first["url"].as_str(),
            Form::Usual | Form::Job => body["endpoint"].as_str(),
        };
        let endpoint = endpoint.ok_or_else(|| refused("there is no endpoint"))?;
        let model = body["model"].as_str();
        let mut rows = Vec::new();
        for line in lines(&content) {
            let (number, line) = line?;
            let mut row = Row {
                custom_id: line["custom_id"].clone(),
                path: line["url"].as_str().unwrap_or(endpoint).to_owned(),
                body: line["body"].clone(),
            };
            if row.path != endpoint {
                return Err(refused(format!("line {number}: the URL is not {endpoint}")));
            }
            if let (Dialect::Jobs, Some(model), Some(body)) =
                (dialect, model, row.body.as_object_mut())
            {
                body.insert("model".to_owned(), model.into());
            }
            rows.push(row);
        }
        let metadata = match form {
            Form::Counted => body["name"].clone(),
            Form::Usual | Form::Job => body["metadata"].clone(),
        };
        let mut batch = batch(endpoint, model, metadata);
        (batch.input, batch.form) = (Some(input.to_owned()), form);
        Ok((batch, rows))
    }

    fn read_operation(&self, path: &str, body: &Value) -> Result<(StoredBatch, Vec<Row>)> {
        let path = path.replace(":batchGenerateContent", ":generateContent");
        let model = path.rsplit('/').next().and_then(|name| name.split(':').next());
        let name = body.pointer("/batch/displayName").cloned().unwrap_or_default();
        let mut batch = batch(&path, model, name);
        let row = |custom_id: Value, request: &Value| Row {
            custom_id,
            path: path.clone(),
            body: request.clone(),
        };
        if let Some(file) = body.pointer("/batch/inputConfig/fileName").and_then(Value::as_str) {
            let file = file.strip_prefix("files/").unwrap_or(file);
            batch.input = Some(file.to_owned());
            let keyed = |line: Value| row(json!({ "key": line["key"] }), &line["request"]);
            let content = self.content(file)?;
            let rows = lines(&content).map(|line| Ok(keyed(line?.1))).collect::<Result<_>>()?;
            return Ok((batch, rows));
        }
        let list = body.pointer("/batch/inputConfig/requests/requests").and_then(Value::as_array);
        let list = list.ok_or_else(|| refused("`inputConfig` has no list of requests"))?;
        let rows = list.iter().map(|line| row(line["metadata"].clone(), &line["request"]));
        Ok((batch, rows.collect()))
    }

    pub(super) fn list_batches(&self, dialect: Dialect, uri: &Uri) -> Value {
        let stored = self.lock();
        let batches = stored.batches.iter().rev();
        let all = batches.map(|(number, batch)| describe(dialect, *number, batch)).collect();
        let is_all = |form| {
            let mut forms = stored.batches.values().map(|batch| batch.form);
            !stored.batches.is_empty() && forms.all(|other| other == form)
        };
        if is_all(Form::Job) {
            return Value::Array(all);
        }
        if is_all(Form::Counted) {
            return write::token_page("batches", all, |name| query_value(uri, name));
        }
        let name = if dialect == Dialect::Operations { "operations" } else { "data" };
        write::page(dialect, name, all, |name| query_value(uri, name))
    }

    pub(super) fn describe_batch(&self, dialect: Dialect, id: &str) -> Result<Value> {
        let mut stored = self.lock();
        let (number, batch) = stored.batch(id)?;
        batch.polls += 1;
        if batch.input.is_some() {
            stored.write_results(dialect, number)?;
        }
        let (number, batch) = stored.batch(id)?;
        Ok(describe(dialect, number, batch))
    }

    pub(super) fn cancel_batch(&self, dialect: Dialect, id: &str) -> Result<Value> {
        let mut stored = self.lock();
        let (number, batch) = stored.batch(id)?;
        if batch.is_ended() {
            return Err(refused("the batch has ended").with_status(409));
        }
        batch.cancelled = true;
        Ok(match dialect {
            Dialect::Operations => json!({}),
            _ => describe(dialect, number, batch),
        })
    }

    pub(super) fn results(&self, dialect: Dialect, id: &str, uri: &Uri) -> Result<Bytes> {
        let mut stored = self.lock();
        let (_, batch) = stored.batch(id)?;
        if batch.form == Form::Counted {
            let rows = batch.processed().iter().filter(|_| batch.is_ended());
            let all = rows.map(|(is_ok, line)| counted_result(*is_ok, line)).collect();
            let page = write::token_page("results", all, |name| query_value(uri, name));
            return Ok(page.to_string().into());
        }
        if dialect != Dialect::Messages || !batch.is_ended() {
            return Err(not_found("result of the batch", id));
        }
        let rest = batch.rows.iter().skip(batch.processed().len());
        let kind = if batch.cancelled { "canceled" } else { "expired" };
        let unprocessed = rest
            .map(|(_, line)| json!({ "custom_id": line["custom_id"], "result": { "type": kind } }));
        let lines = batch.processed().iter().map(|(_, line)| line.clone()).chain(unprocessed);
        Ok(lines.map(|line| format!("{line}\n")).collect::<String>().into())
    }
}

pub(super) fn describe(dialect: Dialect, number: u64, batch: &StoredBatch) -> Value {
    let id = format!("batch_{number}");
    let (state, moment, total) = (batch.state(), FIRST_MOMENT + number, batch.rows.len());
    let is_ended = batch.is_ended();
    let processed = if is_ended { batch.processed() } else { &[] };
    let succeeded = processed.iter().filter(|(is_ok, _)| *is_ok).count();
    let failed = processed.len() - succeeded;
    let file = |place: usize| {
        let number = batch.files.as_ref().and_then(|files| files.get(place).copied().flatten());
        number.map(|number| format!("file-{number}"))
    };
    match dialect {
        Dialect::Purpose if batch.form == Form::Counted => counted(&id, batch, moment),
        Dialect::Purpose if batch.form == Form::Job => json!({
            "id": id, "user_id": "sim", "endpoint": batch.endpoint, "input_file_id": batch.input,
            "created_at": write::time(moment), "job_deadline": write::time(moment + 86_400),
            "completed_at": is_ended.then(|| write::time(moment)),
            "status": if is_ended { state.as_str().to_ascii_uppercase() } else { "IN_PROGRESS".to_owned() },
            "progress": if is_ended { 100.0 } else { 0.0 },
            "output_file_id": file(0), "error_file_id": file(1),
            "error": (state == BatchState::Failed).then_some("the simulated batch is refused"),
        }),
        Dialect::Purpose => json!({
            "id": id, "object": "batch", "endpoint": batch.endpoint, "input_file_id": batch.input,
            "completion_window": "24h", "created_at": moment, "metadata": batch.metadata,
            "status": if is_ended { state.as_str() } else { "in_progress" },
            "output_file_id": file(0), "error_file_id": file(1),
            "errors": errors(state),
            "request_counts": { "total": total, "completed": succeeded, "failed": failed },
        }),
        Dialect::Jobs => json!({
            "id": id, "object": "batch", "endpoint": batch.endpoint, "input_files": [batch.input],
            "model": batch.model, "metadata": batch.metadata, "created_at": moment,
            "status": match state {
                BatchState::Completed => "SUCCESS",
                BatchState::Failed => "FAILED",
                BatchState::Expired => "TIMEOUT_EXCEEDED",
                BatchState::Cancelled => "CANCELLED",
                _ => "RUNNING",
            },
            "output_file": file(0), "error_file": file(1), "errors": [],
            "total_requests": total, "completed_requests": processed.len(),
            "succeeded_requests": succeeded, "failed_requests": failed,
        }),
        Dialect::Messages => {
            let rest = total - processed.len();
            let canceled = if batch.cancelled { rest } else { 0 };
            let expired = if is_ended && !batch.cancelled { rest } else { 0 };
            json!({
                "id": id, "type": "message_batch", "created_at": write::time(moment),
                "expires_at": write::time(moment + 86_400),
                "ended_at": is_ended.then(|| write::time(moment)),
                "cancel_initiated_at": batch.cancelled.then(|| write::time(moment)),
                "archived_at": null,
                "processing_status": if is_ended { "ended" } else { "in_progress" },
                "request_counts": {
                    "processing": if is_ended { 0 } else { total }, "succeeded": succeeded,
                    "errored": failed, "canceled": canceled, "expired": expired,
                },
                "results_url": is_ended.then(|| format!("sim://local/v1/messages/batches/{id}/results")),
            })
        }
        Dialect::Datasets => {
            let word = match batch.cancelled {
                true => "DELETING_CLEANING_UP".to_owned(),
                false => state.as_str().to_ascii_uppercase(),
            };
            let name = batch.metadata["name"].as_str().unwrap_or_default();
            let is_failed = state == BatchState::Failed;
            json!({
                "name": name, "displayName": batch.metadata["displayName"], "model": batch.model,
                "createTime": write::time(moment), "expireTime": write::time(moment + 86_400),
                "state": format!("JOB_STATE_{word}"), "inputDatasetId": batch.input,
                "outputDatasetId": super::dataset::output_name(name, number),
                "status": {
                    "code": if is_failed { "INVALID_ARGUMENT" } else { "OK" },
                    "message": if is_failed { "the simulated batch is refused" } else { "" },
                },
                "jobProgress": {
                    "totalInputRequests": total, "totalProcessedRequests": processed.len(),
                    "successfullyProcessedRequests": succeeded, "failedRequests": failed,
                },
            })
        }
        Dialect::Operations => {
            let word = state.as_str().to_ascii_uppercase();
            let word = if word == "COMPLETED" { "SUCCEEDED" } else { &word };
            let mut metadata = json!({
                "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
                "name": format!("batches/{id}"), "displayName": batch.metadata,
                "model": batch.model.as_ref().map(|model| format!("models/{model}")),
                "state": format!("BATCH_STATE_{word}"), "createTime": write::time(moment),
                "batchStats": {
                    "requestCount": total.to_string(),
                    "successfulRequestCount": succeeded.to_string(),
                    "failedRequestCount": failed.to_string(),
                },
            });
            if let Some(input) = &batch.input {
                metadata["inputConfig"] = json!({ "fileName": format!("files/{input}") });
            }
            match file(0) {
                Some(file) => {
                    metadata["output"] = json!({ "responsesFile": format!("files/{file}") });
                }
                None if is_ended && batch.input.is_none() => {
                    let lines: Vec<&Value> = processed.iter().map(|(_, line)| line).collect();
                    metadata["output"] =
                        json!({ "inlinedResponses": { "inlinedResponses": lines } });
                }
                None => {}
            }
            json!({ "name": format!("batches/{id}"), "metadata": metadata, "done": is_ended })
        }
    }
}

/// Describes a batch by its counts.
fn counted(id: &str, batch: &StoredBatch, moment: u64) -> Value {
    let (state, total) = (batch.state(), batch.rows.len());
    let is_ended = batch.is_ended();
    let processed = if is_ended { batch.processed() } else { &[] };
    let succeeded = processed.iter().filter(|(is_ok, _)| *is_ok).count();
    let rest = if is_ended { total - processed.len() } else { 0 };
    let is_failed = state == BatchState::Failed;
    json!({
        "batch_id": id, "name": batch.metadata, "input_file_id": batch.input,
        "create_time": write::time(moment), "expire_time": write::time(moment + 86_400),
        "create_api_key_id": "sim",
        "cancel_time": (batch.cancelled || is_failed).then(|| write::time(moment)),
        "cancel_by_xai_message": is_failed.then_some("the simulated batch is refused"),
        "state": {
            "num_requests": total, "num_pending": if is_ended { 0 } else { total },
            "num_success": succeeded, "num_error": processed.len() - succeeded,
            "num_cancelled": rest,
        },
    })
}

/// Writes a result whose body is named after its endpoint.
fn counted_result(is_ok: bool, line: &Value) -> Value {
    let body = &line["response"]["body"];
    let result = match is_ok {
        true => {
            let name = match body["object"].as_str() {
                Some("response") => "responses",
                _ => "chat_get_completion",
            };
            json!({ "response": { name: body } })
        }
        false => json!({ "error": {
            "code": grpc_code(line["response"]["status_code"].as_u64()),
            "message": body["error"]["message"],
        } }),
    };
    json!({ "batch_request_id": line["custom_id"], "batch_result": result })
}

/// Returns the number of a status in Google's errors (`google.rpc.Code`).
fn grpc_code(status: Option<u64>) -> u64 {
    match status {
        Some(400) => 3,
        Some(404) => 5,
        Some(429) => 8,
        Some(503 | 529) => 14,
        _ => 13,
    }
}

fn errors(state: BatchState) -> Value {
    match state {
        BatchState::Failed => json!({ "object": "list", "data": [
            { "code": "invalid", "message": "the simulated batch is refused", "line": 1 }
        ] }),
        _ => Value::Null,
    }
}
