//! Batches of requests that a provider processes later.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::{OutputStrategy, Protocol, Warning};
use crate::limits::MAX_BATCH_REQUESTS;

/// A batch of requests at a provider.
///
/// It has everything that another process needs to continue: save it as JSON before [`submit`](crate::Batches::submit) and again after it, and
/// read it back to wait and to fetch the results. It does not contain the requests.
///
/// ```
/// use agentloop::{Batch, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let requests = ["Hello", "Goodbye"].map(|text| ChatRequest::new("sim/echo").user(text));
/// let batches = ai.batches();
/// let prepared = batches.prepare(&requests).await?;
/// let saved = serde_json::to_string(prepared.batch()).expect("it is plain data");
/// let batch = batches.submit(prepared).await?;
///
/// batches.wait(&batch, Default::default()).await?;
/// let results = batches.results(&batch).await?;
/// assert!(results[1].as_ref().unwrap().text().starts_with("Goodbye"));
///
/// // A process that ended before it saved the id finds the batch again.
/// let lost: Batch = serde_json::from_str(&saved).expect("it was saved");
/// assert_eq!(batches.find(&lost).await?.and_then(|found| found.id), batch.id);
/// # Ok(())
/// # }
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Batch {
    /// The provider.
    pub provider: String,
    /// The protocol of the requests.
    pub protocol: Protocol,
    /// A random name, which the provider stores where it can. The ids of the requests begin with it.
    pub label: String,
    /// The provider's id; absent before the batch is submitted.
    pub id: Option<String>,
    /// The provider's id of the file with the requests, where they are a file.
    pub input_file: Option<String>,
    /// When it was prepared, in seconds since 1970.
    pub created: i64,
    /// What is needed to read each response.
    #[serde(deserialize_with = "read_requests")]
    pub(crate) requests: Vec<BatchEntry>,
}

/// Reads a list of bounded length. A handle that was changed could otherwise need a hundred times its own size in memory.
fn read_requests<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<BatchEntry>, D::Error> {
    struct Requests;

    impl<'de> Visitor<'de> for Requests {
        type Value = Vec<BatchEntry>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MAX_BATCH_REQUESTS} requests")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(entry) = list.next_element()? {
                if all.len() >= MAX_BATCH_REQUESTS {
                    return Err(serde::de::Error::invalid_length(all.len() + 1, &self));
                }
                all.push(entry);
            }
            Ok(all)
        }
    }

    reader.deserialize_seq(Requests)
}

/// What is needed to read the response to one request.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BatchEntry {
    /// The model, as the provider names it.
    pub(crate) model: String,
    /// The names of tools that were replaced, with those that were sent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tool_names: BTreeMap<String, String>,
    pub(crate) output_strategy: Option<OutputStrategy>,
    /// The tool whose arguments are the response.
    pub(crate) output_tool: Option<String>,
    /// Whether the response is in an object of our own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) output_wrapped: bool,
    pub(crate) audio_format: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Warning>,
}

impl Batch {
    /// Returns how many requests it has.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns whether it has no requests.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the id of a request, by its place in the list.
    pub fn custom_id(&self, index: usize) -> String {
        format!("{}-{index}", self.label)
    }

    /// Returns the place of the request with this id.
    pub fn index_of(&self, custom_id: &str) -> Option<usize> {
        let number = custom_id.strip_prefix(&self.label)?.strip_prefix('-')?;
        let index = number.parse().ok().filter(|index| *index < self.requests.len())?;
        // `+1` and `01` are other ids.
        (self.custom_id(index) == custom_id).then_some(index)
    }

    /// Returns what was changed or left out of a request.
    pub fn warnings(&self, index: usize) -> &[Warning] {
        self.requests.get(index).map_or(&[], |entry| &entry.warnings)
    }
}

/// What a provider reports about a batch.
///
/// ```
/// use agentloop::{BatchState, BatchStatus};
///
/// let status: BatchStatus = serde_json::from_str(r#"{"provider":"openai","id":"batch_1","state":"running"}"#)?;
/// assert!(!status.state.is_final());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct BatchStatus {
    /// The provider.
    pub provider: String,
    /// The provider's id.
    pub id: String,
    /// What happens to the batch.
    pub state: BatchState,
    /// How many requests it has, by what happened to them.
    pub counts: BatchCounts,
    /// The model, where the batch has one.
    pub model: Option<String>,
    /// The [label](Batch::label), where the provider stores it.
    pub label: Option<String>,
    /// When it was created, in seconds since 1970.
    pub created: Option<i64>,
    /// When it ended, in seconds since 1970.
    pub ended: Option<i64>,
    /// Until when the provider processes it, in seconds since 1970.
    pub expires: Option<i64>,
    /// Why the batch failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The file with the requests.
    pub input_file: Option<String>,
    /// The files with the results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub result_files: Vec<String>,
}

/// What happens to a batch.
///
/// ```
/// use agentloop::BatchState;
///
/// assert!(BatchState::Expired.is_final());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BatchState {
    /// The provider checks the requests, or has not begun.
    Waiting,
    /// The requests are processed.
    Running,
    /// It is being cancelled. Requests that have begun are finished.
    Cancelling,
    /// All requests were processed. Some may have failed.
    Completed,
    /// The provider refused the batch, or could not process it.
    Failed,
    /// It was cancelled. Some requests may have results.
    Cancelled,
    /// It took too long. Some requests may have results.
    Expired,
    /// The provider reports a state that is not known here.
    #[default]
    Unknown,
}

impl BatchState {
    /// Returns whether the state does not change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Expired)
    }

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }
}

/// How many requests a batch has. Absent means that the provider does not report it.
///
/// ```
/// use agentloop::BatchCounts;
///
/// assert_eq!(BatchCounts::default().total, None);
/// ```
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct BatchCounts {
    /// All requests.
    pub total: Option<u64>,
    /// Requests that have a response.
    pub succeeded: Option<u64>,
    /// Requests that failed, expired or were cancelled.
    pub failed: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(requests: usize) -> Batch {
        Batch {
            provider: "p".to_owned(),
            protocol: Protocol::OpenAiChat,
            label: "agentloop-1".to_owned(),
            id: None,
            input_file: None,
            created: 0,
            requests: vec![BatchEntry::default(); requests],
        }
    }

    #[test]
    fn only_the_exact_id_of_a_request_finds_it() {
        let batch = batch(12);
        for index in 0..12 {
            assert_eq!(batch.index_of(&batch.custom_id(index)), Some(index));
        }
        for id in [
            "",
            "11",
            "agentloop-1",
            "agentloop-1-",
            "agentloop-1-12",
            "agentloop-1-01",
            "agentloop-1-+1",
        ] {
            assert_eq!(batch.index_of(id), None, "{id}");
        }
        assert_eq!(batch.index_of("agentloop-1-99999999999999999999999"), None);
    }

    #[test]
    fn a_batch_is_read_back_from_its_json() {
        let mut batch = batch(2);
        batch.requests[1].output_wrapped = true;
        batch.requests[1].tool_names.insert("a b".to_owned(), "a_b".to_owned());
        let json = serde_json::to_string(&batch).unwrap();
        assert_eq!(serde_json::from_str::<Batch>(&json).unwrap(), batch);
    }

    #[test]
    fn a_handle_with_more_requests_than_a_batch_can_have_is_refused() {
        let mut json = serde_json::to_value(batch(0)).unwrap();
        json["requests"] = vec![serde_json::json!({}); MAX_BATCH_REQUESTS].into();
        assert_eq!(Batch::deserialize(&json).unwrap().len(), MAX_BATCH_REQUESTS);
        json["requests"].as_array_mut().unwrap().push(serde_json::json!({}));
        let error = Batch::deserialize(&json).unwrap_err().to_string();
        assert!(error.contains("at most 100000 requests"), "{error}");
    }
}
