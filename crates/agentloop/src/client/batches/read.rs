//! Reads the results of a batch.

use std::collections::VecDeque;
use std::sync::Arc;

use super::lines::{Line, Lines};
use super::{Batches, id_of};
use crate::chat::{Batch, BatchEntry, BatchState, BatchStatus, ChatResponse, Warning};
use crate::client::limit::Limit;
use crate::client::reply::{Reading, Reply};
use crate::client::secrets::RequestSecrets;
use crate::client::{AgentLoop, Inner};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_BATCH_PROBLEMS, MAX_BATCH_RESULT_BYTES, UPLOAD_TIMEOUT};
use crate::protocol::{
    ChatDecoder, DecodeContext, Emitter, Encoded, OutputForm, ToolNames, batches, files,
};
use crate::provider::quirks::BatchApi;
use crate::provider::{Provider, Target};
use crate::transport::Body;

/// The result of one request of a batch.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchResult {
    /// The place of the request in the list.
    pub index: usize,
    /// Its response, or why there is none.
    pub response: Result<ChatResponse>,
}

/// The results of a batch, one at a time. [`Batches::read`] returns it.
///
/// Every request has exactly one result: those that the provider sent come first, in its order, then an error for each request without one.
/// What could not be assigned to a request is a [warning](Self::warnings).
///
/// ```
/// use agentloop::ChatRequest;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// # let batches = ai.batches();
/// # let prepared = batches.prepare(&[ChatRequest::new("sim/echo").user("Hello")]).await?;
/// # let batch = batches.submit(prepared).await?;
/// # batches.wait(&batch, Default::default()).await?;
/// let mut results = batches.read(&batch).await?;
/// while let Some(result) = results.next().await {
///     let result = result?;
///     println!("{}: {}", result.index, result.response?.text());
/// }
/// assert!(results.warnings().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct BatchResults {
    client: AgentLoop,
    provider: Arc<Provider>,
    batch: Batch,
    status: BatchStatus,
    /// The calls whose bodies have the lines, in order.
    sources: VecDeque<Encoded>,
    /// The body that is being read.
    body: Option<Body>,
    /// What errors must not show.
    secrets: RequestSecrets,
    lines: Lines,
    /// Results that were part of the status, with their places in the list, which those without an id have.
    inline: VecDeque<(usize, String)>,
    seen: Vec<bool>,
    bytes: u64,
    /// From where on requests are checked for a missing result.
    checked: usize,
    warnings: Vec<Warning>,
    /// How many problems there are, kept or not.
    problems: u64,
    has_failed: bool,
}

impl Batches {
    /// Reads the results of a batch that has ended, one at a time. Only one of them is in memory.
    ///
    /// # Errors
    ///
    /// Fails with kind [`Conflict`](ErrorKind::Conflict) if the batch has not ended, or if a call fails.
    pub async fn read(&self, batch: &Batch) -> Result<BatchResults> {
        let provider = self.provider(batch)?;
        let id = id_of(batch)?;
        let encoded = batches::encode_status(&provider, id)?;
        let exchanged = self.exchange_status(&provider, encoded).await?;
        let status = exchanged.read(|body| batches::decode(&provider, body))?;
        if !status.state.is_final() {
            let message = format!("the batch has not ended, it is {}", status.state.as_str());
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_provider(provider.name.as_ref())
                .with_hint("wait for it with `wait`"));
        }
        let (mut sources, mut inline) = (VecDeque::new(), VecDeque::new());
        match provider.quirks.storage.batches {
            BatchApi::Messages => sources.push_back(batches::encode_results(&provider, id)?),
            BatchApi::Operation => {
                let results = exchanged.read(|body| {
                    let results = batches::inline_results(body)?;
                    Ok(results.into_iter().map(str::to_owned).collect::<Vec<String>>())
                })?;
                inline.extend(results.into_iter().enumerate());
            }
            _ => {}
        }
        for file in &status.result_files {
            sources.push_back(files::encode_content(&provider, file)?);
        }
        Ok(BatchResults {
            client: self.client.clone(),
            // The results are in the protocol of the requests.
            provider: self.inner().registry.speaking(&provider, batch.protocol),
            seen: vec![false; batch.len()],
            batch: batch.clone(),
            status,
            sources,
            body: None,
            secrets: exchanged.secrets,
            lines: Lines::default(),
            inline,
            bytes: 0,
            checked: 0,
            warnings: Vec::new(),
            problems: 0,
            has_failed: false,
        })
    }
}

impl BatchResults {
    /// Returns the status of the batch.
    pub fn status(&self) -> &BatchStatus {
        &self.status
    }

    /// Returns what is wrong with the results: lines that are not results, that are too long, that belong to no request or that repeat
    /// one. At most [`MAX_BATCH_PROBLEMS`] are kept; the last one then has the number of all.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns how many bytes of results have been read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next result, or `None` at the end.
    ///
    /// # Errors
    ///
    /// The outer error is of the whole batch, for example a connection that breaks. Nothing follows it; read the batch again. The error of a
    /// single request is in its [`BatchResult`].
    pub async fn next(&mut self) -> Option<Result<BatchResult>> {
        if self.has_failed {
            return None;
        }
        let result = self.read_next().await;
        self.has_failed = result.is_err();
        result.transpose()
    }

    async fn read_next(&mut self) -> Result<Option<BatchResult>> {
        loop {
            if let Some((place, text)) = self.inline.pop_front() {
                self.count(text.len())?;
                if let Some(result) = self.assign(text.as_bytes(), Some(place)).await {
                    return Ok(Some(result));
                }
                continue;
            }
            let Some(line) = self.next_line().await? else {
                return Ok(self.next_missing());
            };
            match line {
                Line::TooLong => self.warn("a line is too long".to_owned()),
                Line::Text(text) => {
                    if let Some(result) = self.assign(&text, None).await {
                        return Ok(Some(result));
                    }
                }
            }
        }
    }

    /// Returns the next line of all bodies, or `None` at the end.
    async fn next_line(&mut self) -> Result<Option<Line>> {
        loop {
            if let Some(line) = self.lines.next(false) {
                return Ok(Some(line));
            }
            let Some(body) = &mut self.body else {
                if !self.open_next().await? {
                    return Ok(None);
                }
                continue;
            };
            let idle = self.client.0.timeouts.idle;
            let limit = Limit::new("the results of the batch", idle);
            let piece = limit.within(async { body.next().await.transpose() }).await;
            let piece = piece.map_err(|error| self.secrets.hide(error));
            match piece.map_err(|error| error.with_provider(self.provider.name.as_ref()))? {
                Some(piece) => {
                    self.lines.push(&piece);
                    self.count(piece.len())?;
                }
                None => {
                    self.body = None;
                    if let Some(line) = self.lines.next(true) {
                        return Ok(Some(line));
                    }
                }
            }
        }
    }

    /// Opens the next body. Returns whether there is one.
    async fn open_next(&mut self) -> Result<bool> {
        let Some(encoded) = self.sources.pop_front() else { return Ok(false) };
        let inner: &Inner = &self.client.0;
        // Files and results are found at the provider's own URL, whatever the protocol of the requests is.
        let target = Target::new(inner.registry.provider(&self.batch.provider)?, "");
        let limit = Limit::new("the results of the batch", Some(UPLOAD_TIMEOUT));
        let opened = limit.within(inner.open(&target, encoded, None, limit)).await;
        let (response, secrets) =
            opened.map_err(|error| error.with_provider(target.provider.name.as_ref()))?;
        (self.body, self.secrets) = (Some(response.into_body()), secrets);
        Ok(true)
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes <= MAX_BATCH_RESULT_BYTES {
            return Ok(());
        }
        let message = format!("the results have more than {MAX_BATCH_RESULT_BYTES} bytes");
        Err(Error::new(ErrorKind::TooLarge, message).with_provider(self.provider.name.as_ref()))
    }

    /// Assigns a line to its request. Returns `None` if it belongs to none, which is a warning.
    async fn assign(&mut self, line: &[u8], place: Option<usize>) -> Option<BatchResult> {
        let row = match batches::read_line(&self.provider, line) {
            Ok(row) => row,
            Err(error) => {
                self.warn(format!("a line is not a result: {}", error.message()));
                return None;
            }
        };
        let index = match &row.custom_id {
            Some(id) => self.batch.index_of(id),
            None => place.filter(|place| *place < self.seen.len()),
        };
        let Some(index) = index else {
            let id = row.custom_id.unwrap_or_default();
            let id: String = id.chars().take(80).collect();
            self.warn(format!("a result belongs to no request of the batch: {id:?}"));
            return None;
        };
        let seen = self.seen.get_mut(index)?;
        if std::mem::replace(seen, true) {
            self.warn(format!("request {index} has more than one result; the first one counts"));
            return None;
        }
        let response = match row.body {
            Ok(body) => self.decode(index, body).await,
            Err(error) => Err(error),
        };
        Some(BatchResult { index, response: response.map_err(|error| self.named(index, error)) })
    }

    /// Decodes a response as if it had arrived alone. It borrows exclusively, because a shared reference to a body is not `Send`.
    async fn decode(&mut self, index: usize, body: &str) -> Result<ChatResponse> {
        let none = BatchEntry::default();
        let entry = self.batch.requests.get(index).unwrap_or(&none);
        let target = Arc::new(Target::new(Arc::clone(&self.provider), entry.model.as_str()));
        let mut names = ToolNames::default();
        entry.tool_names.iter().for_each(|(original, sent)| names.replace(original, sent));
        let form = OutputForm {
            strategy: entry.output_strategy,
            tool: entry.output_tool.clone(),
            wrapped: entry.output_wrapped,
        };
        // The price of the batch, or none if it is not known: the usual price would be wrong.
        let mut pricing = self.client.0.pricing(&target, None, Some("batch"));
        pricing.is_certain = true;
        let emitter =
            Box::new(Emitter::new(self.provider.name.clone(), None, entry.warnings.clone()))
                .quietly(true)
                .with_names(names)
                .with_pricing(pricing)
                .with_form(form);
        let decoder = ChatDecoder::new(DecodeContext {
            provider: Arc::clone(&self.provider),
            target: Some(target),
            audio_format: entry.audio_format.clone(),
        });
        let reading = Reading::of("application/json", false);
        let body = Body::whole(body.to_owned());
        let mut reply = Box::new(Reply::new(body, reading, decoder, emitter));
        reply.read_ahead(true).await?;
        reply.into_response()
    }

    /// Returns the error of the next request without a result.
    fn next_missing(&mut self) -> Option<BatchResult> {
        let rest = self.seen.get(self.checked..)?;
        let index = self.checked + rest.iter().position(|seen| !seen)?;
        self.checked = index + 1;
        let why = match self.status.errors.first() {
            Some(why) => format!(": {why}"),
            None => String::new(),
        };
        let error = match self.status.state {
            BatchState::Failed => {
                Error::new(ErrorKind::InvalidRequest, format!("the batch failed{why}"))
                    .with_code("batch_failed")
                    // The provider refused it, so it was sent.
                    .with_status(400)
            }
            BatchState::Cancelled => Error::new(
                ErrorKind::Cancelled,
                "the batch was cancelled before this request was processed",
            ),
            BatchState::Expired => Error::new(
                ErrorKind::Timeout,
                "the batch expired before this request was processed",
            )
            .with_code("batch_expired")
            .with_retryable(true),
            _ => Error::new(
                ErrorKind::Protocol,
                format!("the batch has no result for this request{why}"),
            ),
        };
        Some(BatchResult { index, response: Err(self.named(index, error)) })
    }

    fn named(&self, index: usize, error: Error) -> Error {
        // A provider may repeat the key in the error of a request.
        let error = self.secrets.hide(error).with_provider(self.provider.name.as_ref());
        match self.batch.requests.get(index) {
            Some(entry) => error.with_model(entry.model.as_str()),
            None => error,
        }
    }

    fn warn(&mut self, problem: String) {
        self.problems += 1;
        if self.warnings.len() < MAX_BATCH_PROBLEMS {
            self.warnings.push(Warning::about_response(problem));
        } else if let Some(last) = self.warnings.last_mut() {
            *last = Warning::about_response(format!("{} lines have problems", self.problems));
        }
    }
}

shown! { BatchResults: self { status: self.status } }
