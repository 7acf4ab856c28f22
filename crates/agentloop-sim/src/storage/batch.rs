//! Batches.

use agentloop::{BatchState, Protocol, Result};
use bytes::Bytes;
use http::{Request, Uri};
use serde_json::{Value, json};

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
    model: Option<String>,
    input: Option<String>,
    metadata: Value,
    /// The lines of results, in the order of the requests, with whether each succeeded.
    rows: Vec<(bool, Value)>,
    behaviour: SimBatches,
    /// How often its state was requested.
    polls: u64,
    cancelled: bool,
    /// The files with the results, once it has ended.
    files: Option<[Option<u64>; 2]>,
}

/// One request of a batch.
struct Row {
    custom_id: Value,
    path: String,
    body: Value,
}

impl StoredBatch {
    fn is_ended(&self) -> bool {
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
        let described = describe(dialect, number, &batch);
        stored.batches.insert(number, batch);
        Ok(described)
    }

    /// Processes a request as if it had arrived alone.
    fn process(&self, dialect: Dialect, row: &Row, style: UsageStyle) -> (bool, Value) {
        let protocol = match dialect {
            Dialect::Purpose if row.path.ends_with("/responses") => Protocol::OpenAiResponses,
            Dialect::Purpose | Dialect::Jobs => Protocol::OpenAiChat,
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
            Dialect::Messages if is_ok => {
                json!({ "custom_id": id, "result": { "type": "succeeded", "message": body } })
            }
            Dialect::Messages => {
                json!({ "custom_id": id, "result": { "type": "errored", "error": body } })
            }
            Dialect::Operations if is_ok => json!({ "response": body, "metadata": id }),
            Dialect::Operations => {
                let message = body.pointer("/error/message").cloned().unwrap_or_default();
                let code = grpc_code(status);
                json!({ "error": { "code": code, "message": message }, "metadata": id })
            }
        };
        (is_ok, line)
    }
}

fn batch(endpoint: &str, model: Option<&str>, metadata: Value) -> StoredBatch {
    StoredBatch {
        endpoint: endpoint.to_owned(),
        model: model.map(str::to_owned),
        input: None,
        metadata,
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
fn lines(content: &[u8]) -> impl Iterator<Item = Result<(usize, Value)>> {
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
    fn write_results(&mut self, dialect: Dialect, number: u64) -> Result<()> {
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
            let file = StoredContent {
                name: format!("batch_{number}_{kind}.jsonl"),
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
        let endpoint = body["endpoint"].as_str();
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
        let mut batch = batch(endpoint, model, body["metadata"].clone());
        batch.input = Some(input.to_owned());
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

    pub(super) fn results(&self, dialect: Dialect, id: &str) -> Result<Bytes> {
        let mut stored = self.lock();
        let (_, batch) = stored.batch(id)?;
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

fn describe(dialect: Dialect, number: u64, batch: &StoredBatch) -> Value {
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

/// Returns the number of a status in Google's errors (`google.rpc.Code`).
fn grpc_code(status: u16) -> u64 {
    match status {
        400 => 3,
        404 => 5,
        429 => 8,
        503 | 529 => 14,
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
