//! Reads what a provider reports about a batch.

use serde_json::Value;

use super::LABEL;
use crate::chat::{BatchCounts, BatchState, BatchStatus};
use crate::error::Result;
use crate::protocol::files::{
    moment, next_cursor, next_number, next_pagination, next_token, number, read_object, unreadable,
};
use crate::provider::Provider;
use crate::provider::quirks::BatchApi;

/// The most messages that are kept of a batch that failed.
const MAX_ERRORS: usize = 20;

/// The longest of these messages, in bytes.
const MAX_ERROR_BYTES: usize = 1_000;

/// Reads the description of a batch.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<BatchStatus> {
    let value = read_object(provider, body, "a batch")?;
    // One that was created may be beside a warning.
    let batch = value.get("job").filter(|job| job.is_object()).unwrap_or(&value);
    read(provider, batch).ok_or_else(|| unreadable(provider, body, "a batch"))
}

/// Returns what a provider warns of when it has created a batch.
pub(crate) fn creation_warning(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let warning = value.get("warning")?.as_str().filter(|warning| !warning.is_empty())?;
    Some(shortened(warning.to_owned()))
}

/// Reads a page of the list of batches, and the query for the next page. `query` is the query of this page.
pub(crate) fn decode_list(
    provider: &Provider,
    query: &str,
    body: &[u8],
) -> Result<(Vec<BatchStatus>, Option<String>)> {
    let value = read_object(provider, body, "a list of batches")?;
    let list = value.as_array();
    let names = ["data", "operations", "batchInferenceJobs", "batches"];
    let list = list.or_else(|| names.iter().find_map(|name| value.get(name)?.as_array()));
    let Some(list) = list else {
        return match value.as_object().is_some_and(|fields| fields.is_empty()) {
            true => Ok((Vec::new(), None)),
            false => Err(unreadable(provider, body, "a list of batches")),
        };
    };
    let batches = list.iter().filter_map(|batch| read(provider, batch)).collect();
    let last_id = list.last().and_then(|batch| batch.get("id")).and_then(Value::as_str);
    let next = match provider.quirks.storage.batches {
        BatchApi::Operation | BatchApi::DatasetJob => next_token(&value, "?pageSize=100"),
        BatchApi::Job => next_number(query, list.len()),
        BatchApi::Messages => next_cursor(&value, last_id, "?limit=100&after_id="),
        BatchApi::UnlabelledFile => None,
        BatchApi::CountedFile => next_pagination(&value),
        BatchApi::InputFile | BatchApi::None => next_cursor(&value, last_id, "?limit=100&after="),
    };
    Ok((batches, next))
}

/// Reads a batch in every known form.
fn read(provider: &Provider, batch: &Value) -> Option<BatchStatus> {
    // An operation has most fields in its metadata.
    let metadata = batch.get("metadata").filter(|metadata| metadata.get("state").is_some());
    let any = |names: &[&str]| {
        let place = metadata.unwrap_or(batch);
        names.iter().find_map(|name| place.get(name).filter(|value| !value.is_null()))
    };
    let text = |names: &[&str]| {
        let place = metadata.unwrap_or(batch);
        names.iter().find_map(|name| place.get(name)?.as_str().map(str::to_owned))
    };
    let own = |name: &str| batch.get(name)?.as_str().map(str::to_owned);
    // An empty id could not be used in any call, and would hide that the id is not known.
    let id = own("id")
        .or_else(|| own("batch_id"))
        .or_else(|| own("name"))
        .filter(|id| !id.is_empty())?;
    let id = id.strip_prefix("batches/").unwrap_or(&id).to_owned();
    let counts = counts(batch, metadata);
    let word = text(&["status", "state", "processing_status"]).unwrap_or_default();
    let state = counted_state(batch).unwrap_or_else(|| state(&word, batch, &counts));
    let files = ["output_file_id", "error_file_id", "output_file", "error_file", "outputDatasetId"];
    let files = files.iter().filter_map(|name| any(&[name])?.as_str());
    let files: Vec<&str> = files.chain(responses_file(batch, metadata)).collect();
    let labelled = batch.get("metadata").and_then(|metadata| metadata.get(LABEL)?.as_str());
    // A batch with an id beside its name is named by its label.
    let named = || batch.get("batch_id").and_then(|_| own("name"));
    Some(BatchStatus {
        provider: provider.name.to_string(),
        id,
        state,
        counts,
        model: text(&["model", "model_id"]),
        label: labelled.map(str::to_owned).or_else(|| text(&["displayName"])).or_else(named),
        created: any(&["created_at", "createTime", "create_time"]).and_then(moment),
        ended: any(&[
            "completed_at",
            "ended_at",
            "endTime",
            "failed_at",
            "expired_at",
            "cancelled_at",
            "cancel_time",
        ])
        .or_else(|| batch.pointer("/lifecycle/endTime"))
        .and_then(moment),
        expires: any(&["expires_at", "job_deadline", "expireTime", "expire_time"]).and_then(moment),
        errors: errors(batch),
        input_file: input_file(batch, metadata),
        result_files: files.into_iter().filter(|id| !id.is_empty()).map(str::to_owned).collect(),
    })
}

/// Returns the file with the requests.
fn input_file(batch: &Value, metadata: Option<&Value>) -> Option<String> {
    let id = batch.get("input_file_id").or_else(|| batch.pointer("/input_files/0"));
    let id = id.or_else(|| metadata?.pointer("/inputConfig/fileName"));
    let id = id.or_else(|| batch.get("inputDatasetId"))?.as_str()?;
    Some(id.strip_prefix("files/").unwrap_or(id).to_owned())
}

/// Returns the file with the results of an operation.
fn responses_file<'a>(batch: &'a Value, metadata: Option<&'a Value>) -> Option<&'a str> {
    let response = batch.get("response");
    // A provider repeats it in the metadata and in the response.
    let mut holders = [response, response.and_then(|all| all.get("output")), metadata]
        .into_iter()
        .chain([metadata.and_then(|metadata| metadata.get("output"))]);
    holders.find_map(|holder| holder?.get("responsesFile")?.as_str())
}

fn counts(batch: &Value, metadata: Option<&Value>) -> BatchCounts {
    let of = |place: Option<&Value>, name: &str| number(place?.get(name)?);
    if let Some(counts) = batch.get("request_counts").filter(|counts| counts.is_object()) {
        let names = ["processing", "succeeded", "errored", "canceled", "expired"];
        let all = names.map(|name| of(Some(counts), name));
        if all.iter().any(Option::is_some) {
            let [processing, succeeded, errored, canceled, expired] =
                all.map(|count| count.unwrap_or(0));
            let failed = errored.saturating_add(canceled).saturating_add(expired);
            let total = processing.saturating_add(succeeded).saturating_add(failed);
            return BatchCounts {
                total: Some(total),
                succeeded: Some(succeeded),
                failed: Some(failed),
            };
        }
        return BatchCounts {
            total: of(Some(counts), "total"),
            succeeded: of(Some(counts), "completed"),
            failed: of(Some(counts), "failed"),
        };
    }
    if let Some(stats) = metadata.and_then(|metadata| metadata.get("batchStats")) {
        return BatchCounts {
            total: of(Some(stats), "requestCount"),
            succeeded: of(Some(stats), "successfulRequestCount"),
            failed: of(Some(stats), "failedRequestCount"),
        };
    }
    if let Some(state) = batch.get("state").filter(|state| state.is_object()) {
        let failed = ["num_error", "num_cancelled"].map(|name| of(Some(state), name));
        let failed = failed.into_iter().flatten().reduce(u64::saturating_add);
        return BatchCounts {
            total: of(Some(state), "num_requests").filter(|total| *total > 0),
            succeeded: of(Some(state), "num_success"),
            failed,
        };
    }
    if let Some(progress) = batch.get("jobProgress").filter(|progress| progress.is_object()) {
        // The number of requests is what the dataset declared, or nothing before they are processed.
        let totals = ["totalInputRequests", "totalProcessedRequests"];
        let total = totals.iter().filter_map(|name| of(Some(progress), name)).max();
        return BatchCounts {
            total: total.filter(|total| *total > 0),
            succeeded: of(Some(progress), "successfullyProcessedRequests"),
            failed: of(Some(progress), "failedRequests"),
        };
    }
    BatchCounts {
        total: of(Some(batch), "total_requests"),
        succeeded: of(Some(batch), "succeeded_requests"),
        failed: of(Some(batch), "failed_requests"),
    }
}

/// Returns the state of a batch that has only counts. One that the provider ended itself was refused.
fn counted_state(batch: &Value) -> Option<BatchState> {
    let state = batch.get("state").filter(|state| state.is_object())?;
    let count = |name: &str| state.get(name).and_then(number).unwrap_or(0);
    let is_set = |name: &str| batch.get(name).is_some_and(|value| !value.is_null());
    Some(match () {
        () if is_set("cancel_time") && refusal(batch).is_some() => BatchState::Failed,
        () if is_set("cancel_time") => BatchState::Cancelled,
        // The requests in the file are counted after it was checked.
        () if count("num_requests") == 0 => BatchState::Waiting,
        () if count("num_pending") > 0 => BatchState::Running,
        () => BatchState::Completed,
    })
}

/// Returns why the provider ended a batch itself.
fn refusal(batch: &Value) -> Option<&str> {
    batch.get("cancel_by_xai_message")?.as_str().filter(|message| !message.is_empty())
}

fn state(word: &str, batch: &Value, counts: &BatchCounts) -> BatchState {
    let word = word.to_ascii_lowercase();
    let word = word
        .strip_prefix("batch_state_")
        .or_else(|| word.strip_prefix("job_state_"))
        .unwrap_or(&word);
    match word {
        // Names of states: OpenAI (SDK 3.51), Anthropic (2.10), Mistral (3.7), Groq (1.7), Together (3.1), Gemini (google-genai 3.3) and
        // Fireworks (fireworks-ai 1.2.30), read on 2026-11-18.
        "validating"
        | "queued"
        | "pending"
        | "creating"
        | "creating_input_dataset"
        | "re_queueing"
        | "idle" => BatchState::Waiting,
        "in_progress" | "running" | "finalizing" | "writing_results" | "paused" | "updating" => {
            BatchState::Running
        }
        "cancelling" | "canceling" | "cancellation_requested" => BatchState::Cancelling,
        "completed" | "success" | "succeeded" | "partially_succeeded" => BatchState::Completed,
        "failed" => BatchState::Failed,
        // A job of Fireworks ends by being deleted.
        "cancelled" | "canceled" | "deleting" | "deleting_cleaning_up" => BatchState::Cancelled,
        "expired" | "timeout_exceeded" | "early_stopped" => BatchState::Expired,
        // Only the counts show how it ended.
        "ended" => {
            let of = |name: &str| {
                let counts = batch.get("request_counts")?;
                number(counts.get(name)?)
            };
            let is_all = |name: &str| of(name).is_some_and(|n| n > 0 && Some(n) == counts.total);
            match () {
                () if is_all("canceled") => BatchState::Cancelled,
                () if is_all("expired") => BatchState::Expired,
                () => BatchState::Completed,
            }
        }
        // An operation also reports whether it has ended. One that has cannot change any more.
        _ if batch.get("done").and_then(Value::as_bool) == Some(true) => {
            match batch.get("error").is_some_and(|error| !error.is_null()) {
                true => BatchState::Failed,
                false => BatchState::Completed,
            }
        }
        _ => BatchState::Unknown,
    }
}

/// Returns why a batch failed.
fn errors(batch: &Value) -> Vec<String> {
    let errors = batch.get("errors");
    let list =
        errors.and_then(|errors| errors.as_array().or_else(|| errors.get("data")?.as_array()));
    let mut all: Vec<String> = list
        .into_iter()
        .flatten()
        .filter_map(|error| {
            let message = error.get("message")?.as_str()?;
            Some(match error.get("line").and_then(Value::as_u64) {
                Some(line) => format!("line {line}: {message}"),
                None => message.to_owned(),
            })
        })
        .take(MAX_ERRORS)
        .collect();
    let own = batch.get("error");
    let own = own.and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
    all.extend(own.map(str::to_owned));
    all.extend(refusal(batch).map(str::to_owned));
    let status = batch.pointer("/status/message").and_then(Value::as_str);
    all.extend(status.filter(|message| !message.is_empty()).map(str::to_owned));
    all.into_iter().map(shortened).collect()
}

fn shortened(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_ERROR_BYTES));
    message
}
