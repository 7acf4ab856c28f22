//! Batches of requests that a provider processes later.

mod lines;
mod prepare;
mod read;
mod wait;

use std::sync::Arc;

pub use prepare::PreparedBatch;
pub use read::{BatchResult, BatchResults};
pub use wait::WaitOptions;

use super::exchange::{Bounds, Exchanged};
use super::files::{Pages, status};
use super::{AgentLoop, Inner};
use crate::chat::{Batch, BatchStatus, ChatRequest, ChatResponse};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_BATCH_COLLECTED_BYTES, MAX_BODY_BYTES, MAX_STATUS_BYTES, UPLOAD_TIMEOUT};
use crate::pace;
use crate::protocol::{Encoded, batches};
use crate::provider::Provider;
use crate::provider::quirks::BatchApi;

/// How much earlier than its handle a batch may have been created, in seconds: the clocks of two machines differ.
const CLOCK_DIFFERENCE: i64 = 300;

/// Batches of requests, which providers process within a day for a lower price. [`AgentLoop::batches`] returns it.
///
/// Middleware does not see these calls, and they are not retried; only [`wait`](Self::wait) continues after temporary errors. See [`Batch`]
/// for an example.
#[derive(Clone, Debug)]
pub struct Batches {
    client: AgentLoop,
}

impl AgentLoop {
    /// Returns the batches of all providers. Nothing is sent.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// for batch in ai.batches().list("sim").await? {
    ///     println!("{} {}", batch.id, batch.state.as_str());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn batches(&self) -> Batches {
        Batches { client: self.clone() }
    }
}

impl Batches {
    fn inner(&self) -> &Inner {
        &self.client.0
    }

    /// Encodes requests as a batch, without submitting it. All must have the same provider and the same protocol.
    ///
    /// Remote media are downloaded as for a chat. What was changed or left out of a request is a [warning](Batch::warnings), which its response
    /// has too. Timeouts, cache modes and tags of the requests have no effect.
    ///
    /// Save [`PreparedBatch::batch`] before you [submit](Self::submit) it: with it, [`find`](Self::find) finds a batch whose id was lost.
    ///
    /// # Errors
    ///
    /// Fails if a request cannot be encoded, or if the requests cannot be in one batch. The error names the request.
    pub async fn prepare(&self, requests: &[ChatRequest]) -> Result<PreparedBatch> {
        self.inner().prepare_batch(requests).await
    }

    /// Submits a batch, and returns it with the provider's id. Save it again after that.
    ///
    /// If this fails after the request was sent, the provider may have created the batch. [`find`](Self::find) finds out.
    ///
    /// # Errors
    ///
    /// Fails if the provider refuses the batch, or if a call fails.
    pub async fn submit(&self, prepared: PreparedBatch) -> Result<Batch> {
        let PreparedBatch { mut batch, mut input } = prepared;
        let provider = self.provider(&batch)?;
        if input.is_file() {
            let upload = input.take_file(&batch.label);
            let file = self.inner().upload(&provider, &upload).await?;
            batch.input_file = Some(file.id);
        }
        let encoded = input.encode_create(&provider, &batch)?;
        let bounds =
            Bounds { stage: "the batch", time: Some(UPLOAD_TIMEOUT), bytes: MAX_STATUS_BYTES };
        let exchanged = self.inner().exchange(&provider, encoded, bounds).await?;
        batch.id = Some(exchanged.read(|body| batches::decode(&provider, body))?.id);
        Ok(batch)
    }

    /// Looks for a batch that was submitted, but whose id was lost. Returns it with its id, or `None` if there is none.
    ///
    /// Most providers store the [label](Batch::label) of a batch. For one that does not (Anthropic), it is the only batch that was created since
    /// the handle was prepared and has as many requests.
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read, or if several batches match.
    pub async fn find(&self, batch: &Batch) -> Result<Option<Batch>> {
        if batch.id.is_some() {
            return Ok(Some(batch.clone()));
        }
        let provider = self.provider(batch)?;
        let all = self.list(&provider.name).await?;
        let is_labelled = |status: &&BatchStatus| status.label.as_ref() == Some(&batch.label);
        let by_label: Vec<&BatchStatus> = all.iter().filter(is_labelled).collect();
        let is_alike = |status: &&BatchStatus| {
            let is_new = |at: i64| at.saturating_add(CLOCK_DIFFERENCE) >= batch.created;
            status.counts.total == Some(batch.len() as u64) && status.created.is_some_and(is_new)
        };
        let found = match provider.quirks.storage.batches {
            _ if !by_label.is_empty() => by_label,
            BatchApi::Messages => all.iter().filter(is_alike).collect(),
            // It would have its label.
            _ => Vec::new(),
        };
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(Batch { id: Some(one.id.clone()), ..batch.clone() })),
            several => {
                let ids: Vec<&str> = several.iter().map(|status| status.id.as_str()).collect();
                let message = format!("several batches match: {}", ids.join(", "));
                Err(Error::new(ErrorKind::InvalidRequest, message)
                    .with_provider(provider.name.as_ref())
                    .with_hint("set the id of the batch to the right one"))
            }
        }
    }

    /// Returns what the provider reports about a batch.
    ///
    /// # Errors
    ///
    /// Fails if the batch has no id, or if the call fails.
    pub async fn status(&self, batch: &Batch) -> Result<BatchStatus> {
        let provider = self.provider(batch)?;
        let encoded = batches::encode_status(&provider, id_of(batch)?)?;
        let exchanged = self.exchange_status(&provider, encoded).await?;
        exchanged.read(|body| batches::decode(&provider, body))
    }

    /// Cancels a batch. Requests that were processed before have results.
    ///
    /// # Errors
    ///
    /// Fails if the batch has no id or has ended, or if the call fails.
    pub async fn cancel(&self, batch: &Batch) -> Result<BatchStatus> {
        let provider = self.provider(batch)?;
        let encoded = batches::encode_cancel(&provider, id_of(batch)?)?;
        let exchanged = self.exchange_status(&provider, encoded).await?;
        match exchanged.read(|body| batches::decode(&provider, body)) {
            Ok(status) => Ok(status),
            // Some providers return an empty object.
            Err(_) => self.status(batch).await,
        }
    }

    /// Returns all batches of a provider, from all pages of the list.
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or has no batches, if a call fails, or if the list is too large
    /// ([`MAX_LISTED`](crate::limits::MAX_LISTED), [`MAX_LIST_BYTES`](crate::limits::MAX_LIST_BYTES),
    /// [`MAX_LIST_PAGES`](crate::limits::MAX_LIST_PAGES)).
    pub async fn list(&self, provider: &str) -> Result<Vec<BatchStatus>> {
        let provider = self.inner().registry.provider(provider)?;
        batches::check(&provider)?;
        let mut pages = Pages::new("batches");
        let mut all = Vec::new();
        loop {
            let encoded = batches::encode_list(&provider, pages.next.as_deref())?;
            let response = self.inner().exchange(&provider, encoded, pages.bounds()).await?;
            let query = pages.next.clone().unwrap_or_default();
            let (page, next) =
                response.read(|body| batches::decode_list(&provider, &query, body))?;
            all.extend(page);
            if !pages.turn(response.body.len(), all.len(), next)? {
                return Ok(all);
            }
            pace::pause().await;
        }
    }

    /// Returns the result of every request, in the order of the requests. A request without a result has an error.
    ///
    /// # Errors
    ///
    /// Fails if the batch has not ended, if a call fails, or if the results have more than [`MAX_BATCH_COLLECTED_BYTES`]
    /// together; [`read`](Self::read) returns one at a time.
    pub async fn results(&self, batch: &Batch) -> Result<Vec<Result<ChatResponse>>> {
        let mut results = self.read(batch).await?;
        let mut all: Vec<Option<Result<ChatResponse>>> = Vec::new();
        all.resize_with(batch.len(), || None);
        while let Some(result) = results.next().await {
            let result = result?;
            if results.bytes() > MAX_BATCH_COLLECTED_BYTES {
                let message =
                    format!("the results have more than {MAX_BATCH_COLLECTED_BYTES} bytes");
                return Err(Error::new(ErrorKind::TooLarge, message)
                    .with_hint("read them one at a time with `read`"));
            }
            if let Some(place) = all.get_mut(result.index) {
                *place = Some(result.response);
            }
        }
        let missing = || Err(Error::new(ErrorKind::Other, "the result is missing"));
        Ok(all.into_iter().map(|result| result.unwrap_or_else(missing)).collect())
    }

    /// Returns the provider of a batch.
    fn provider(&self, batch: &Batch) -> Result<Arc<Provider>> {
        let provider = self.inner().registry.provider(&batch.provider)?;
        batches::check(&provider)?;
        Ok(provider)
    }

    async fn exchange_status(
        &self,
        provider: &Arc<Provider>,
        encoded: Encoded,
    ) -> Result<Exchanged> {
        // Some providers put the results into it.
        let bounds = Bounds { bytes: MAX_BODY_BYTES, ..status("the batch") };
        self.inner().exchange(provider, encoded, bounds).await
    }
}

fn id_of(batch: &Batch) -> Result<&str> {
    batch.id.as_deref().ok_or_else(|| {
        Error::new(ErrorKind::InvalidRequest, "the batch was not submitted, or its id was lost")
            .with_provider(batch.provider.as_str())
            .with_hint("`find` finds it if it was submitted")
    })
}
