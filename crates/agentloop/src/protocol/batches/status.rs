//! Reads what a provider reports about a batch.

use serde_json::Value;

use super::LABEL;
use crate::chat::{BatchCounts, BatchState, BatchStatus};
use crate::error::Result;
use crate::protocol::files::{
    moment, next_cursor, next_number, next_token, number, read_object, unreadable,
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
    read(provider, &value).ok_or_else(|| unreadable(provider, body, "a batch"))
}

/// Reads a page of the list of batches, and the query for the next page. `query` is the query of this page.
pub(crate) fn decode_list(
    provider: &Provider,
    query: &str,
    body: &[u8],
) -> Result<(Vec<BatchStatus>, Option<String>)> {
    let value = read_object(provider, body, "a list of batches")?;
    let list = ["data", "operations"].iter().find_map(|name| value.get(name)?.as_array());
    let Some(list) = list else {
        return if value.as_object().is_some_and(|fields| fields.is_empty()) {
            Ok((Vec::new(), None))
        } else {
            Err(unreadable(provider, body, "a list of batches"))
        };
    };
    let batches = list.iter().filter_map(|batch| read(provider, batch)).collect();
    let last_id = list.last().and_then(|batch| batch.get("id")).and_then(Value::as_str);
    let next = match provider.quirks.storage.batches {
        BatchApi::Operation => next_token(&value, "?pageSize=100"),
        BatchApi::Job => next_number(query, list.len()),
        BatchApi::Messages => next_cursor(&value, last_id, "?limit=100&after_id="),
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
    let id = own("id").or_else(|| own("name")).filter(|id| !id.is_empty())?;
    let id = id.strip_prefix("batches/").unwrap_or(&id).to_owned();
    let counts = counts(batch, metadata);
    let word = text(&["status", "state", "processing_status"]).unwrap_or_default();
    let state = state(&word, batch, &counts);
    let files = ["output_file_id", "error_file_id", "output_file", "error_file"];
    let files = files.iter().filter_map(|name| any(&[name])?.as_str());
    let files: Vec<&str> = files.chain(responses_file(batch, metadata)).collect();
    let labelled = batch.get("metadata").and_then(|metadata| metadata.get(LABEL)?.as_str());
    Some(BatchStatus {
        provider: provider.name.to_string(),
        id,
        state,
        counts,
        model: text(&["model"]),
        label: labelled.map(str::to_owned).or_else(|| text(&["displayName"])),
        created: any(&["created_at", "createTime"]).and_then(moment),
        ended: any(&[
            "completed_at",
            "ended_at",
            "endTime",
            "failed_at",
            "expired_at",
            "cancelled_at",
        ])
        .and_then(moment),
        expires: any(&["expires_at", "expireTime"]).and_then(moment),
        errors: errors(batch),
        input_file: input_file(batch, metadata),
        result_files: files.into_iter().filter(|id| !id.is_empty()).map(str::to_owned).collect(),
    })
}

/// Returns the file with the requests.
fn input_file(batch: &Value, metadata: Option<&Value>) -> Option<String> {
    let id = batch.get("input_file_id").or_else(|| batch.pointer("/input_files/0"));
    let id = id.or_else(|| metadata?.pointer("/inputConfig/fileName"))?.as_str()?;
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
    BatchCounts {
        total: of(Some(batch), "total_requests"),
        succeeded: of(Some(batch), "succeeded_requests"),
        failed: of(Some(batch), "failed_requests"),
    }
}

fn state(word: &str, batch: &Value, counts: &BatchCounts) -> BatchState {
    let word = word.to_ascii_lowercase();
    let word = word
        .strip_prefix("batch_state_")
        .or_else(|| word.strip_prefix("job_state_"))
        .unwrap_or(&word);
    match word {
        // Names of states: OpenAI (SDK 3.51), Anthropic (2.10), Mistral (3.7), Groq (1.7) and Gemini (google-genai 3.3), read on 2026-11-18.
        "validating" | "queued" | "pending" => BatchState::Waiting,
        "in_progress" | "running" | "finalizing" | "paused" | "updating" => BatchState::Running,
        "cancelling" | "canceling" | "cancellation_requested" => BatchState::Cancelling,
        "completed" | "success" | "succeeded" | "partially_succeeded" => BatchState::Completed,
        "failed" => BatchState::Failed,
        "cancelled" | "canceled" => BatchState::Cancelled,
        "expired" | "timeout_exceeded" => BatchState::Expired,
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
            if batch.get("error").is_some_and(|error| !error.is_null()) {
                BatchState::Failed
            } else {
                BatchState::Completed
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
    all.into_iter().map(shortened).collect()
}

fn shortened(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_ERROR_BYTES));
    message
}
