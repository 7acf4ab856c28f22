//! Files and batches without `async`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::stream::{Driven, Once, debug_as};
use super::{AgentLoop, Driver};
use crate::chat::{Batch, BatchStatus, ChatRequest, ChatResponse, Warning};
use crate::client;
use crate::client::{BatchResult, PreparedBatch, WaitOptions};
use crate::error::Result;
use crate::media::{FileUpload, StoredFile};

impl AgentLoop {
    /// Returns the files that a provider stores: see [`files`](crate::AgentLoop::files).
    ///
    /// ```
    /// use agentloop::media::FileUpload;
    /// # fn main() -> agentloop::Result<()> {
    /// # let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
    /// # let ai = agentloop::blocking::AgentLoop::new(builder.build()?)?;
    /// let files = ai.files("sim")?;
    /// let file = files.upload(FileUpload::new("notes.txt", "Oslo is the capital of Norway."))?;
    /// assert_eq!(files.get(&file.id)?.name.as_deref(), Some("notes.txt"));
    /// files.delete(&file.id)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or stores no files.
    pub fn files(&self, provider: &str) -> Result<Files> {
        Ok(Files { files: self.client.files(provider)?, driver: Arc::clone(&self.driver) })
    }

    /// Returns the batches of all providers: see [`batches`](crate::AgentLoop::batches).
    ///
    /// ```
    /// use agentloop::ChatRequest;
    /// # fn main() -> agentloop::Result<()> {
    /// # let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
    /// # let ai = agentloop::blocking::AgentLoop::new(builder.build()?)?;
    /// let batches = ai.batches();
    /// let prepared = batches.prepare(&[ChatRequest::new("sim/echo").user("Hello")])?;
    /// let batch = batches.submit(prepared)?;
    /// batches.wait(&batch, Default::default())?;
    /// for result in batches.read(&batch)? {
    ///     println!("{}", result?.response?.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn batches(&self) -> Batches {
        Batches { batches: self.client.batches(), driver: Arc::clone(&self.driver) }
    }
}

/// The files that one provider stores: see [`Files`](crate::Files). Every method also fails if blocking is
/// [not possible](super#inside-of-an-async-runtime).
#[derive(Clone)]
pub struct Files {
    files: client::Files,
    driver: Arc<Driver>,
}

debug_as!(Files);

impl Files {
    /// Uploads a file: see [`upload`](crate::Files::upload).
    ///
    /// # Errors
    ///
    /// Fails if the file is too large, or if the call fails.
    pub fn upload(&self, upload: FileUpload) -> Result<StoredFile> {
        self.driver.wait(self.files.upload(upload))?
    }

    /// Returns all files: see [`list`](crate::Files::list).
    ///
    /// # Errors
    ///
    /// Fails if a call fails or the list is too large.
    pub fn list(&self) -> Result<Vec<StoredFile>> {
        self.driver.wait(self.files.list())?
    }

    /// Returns what the provider reports about a file: see [`get`](crate::Files::get).
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if the call fails.
    pub fn get(&self, id: &str) -> Result<StoredFile> {
        self.driver.wait(self.files.get(id))?
    }

    /// Deletes a file: see [`delete`](crate::Files::delete).
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if the call fails.
    pub fn delete(&self, id: &str) -> Result<()> {
        self.driver.wait(self.files.delete(id))?
    }

    /// Returns the content of a file: see [`content`](crate::Files::content).
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, if it is too large, or if the call fails.
    pub fn content(&self, id: &str) -> Result<Bytes> {
        self.driver.wait(self.files.content(id))?
    }

    /// Writes the content of a file to a new file: see [`download`](crate::Files::download).
    ///
    /// # Errors
    ///
    /// Fails if a file with that path exists, if the content is too large, if a call fails, or if the file cannot be written.
    pub fn download(&self, id: &str, path: impl AsRef<Path>) -> Result<u64> {
        self.driver.wait(self.files.download(id, path.as_ref()))?
    }

    /// Waits until the provider has processed a file: see [`wait`](crate::Files::wait).
    ///
    /// # Errors
    ///
    /// Fails if a call fails, if the provider cannot process the file, or if that takes too long.
    pub fn wait(&self, id: &str) -> Result<StoredFile> {
        self.driver.wait(self.files.wait(id))?
    }
}

/// Batches of requests: see [`Batches`](crate::Batches). Every method also fails if blocking is
/// [not possible](super#inside-of-an-async-runtime).
#[derive(Clone)]
pub struct Batches {
    batches: client::Batches,
    driver: Arc<Driver>,
}

debug_as!(Batches);

impl Batches {
    /// Encodes requests as a batch, without submitting it: see [`prepare`](crate::Batches::prepare).
    ///
    /// # Errors
    ///
    /// Fails if a request cannot be encoded, or if the requests cannot be in one batch.
    pub fn prepare(&self, requests: &[ChatRequest]) -> Result<PreparedBatch> {
        self.driver.wait(self.batches.prepare(requests))?
    }

    /// Submits a batch, and returns it with the provider's id: see [`submit`](crate::Batches::submit).
    ///
    /// # Errors
    ///
    /// Fails if the provider refuses the batch, or if a call fails.
    pub fn submit(&self, prepared: PreparedBatch) -> Result<Batch> {
        self.driver.wait(self.batches.submit(prepared))?
    }

    /// Looks for a batch whose id was lost: see [`find`](crate::Batches::find).
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read, or if several batches match.
    pub fn find(&self, batch: &Batch) -> Result<Option<Batch>> {
        self.driver.wait(self.batches.find(batch))?
    }

    /// Returns what the provider reports about a batch: see [`status`](crate::Batches::status).
    ///
    /// # Errors
    ///
    /// Fails if the batch has no id, or if the call fails.
    pub fn status(&self, batch: &Batch) -> Result<BatchStatus> {
        self.driver.wait(self.batches.status(batch))?
    }

    /// Cancels a batch: see [`cancel`](crate::Batches::cancel).
    ///
    /// # Errors
    ///
    /// Fails if the batch has no id or has ended, or if the call fails.
    pub fn cancel(&self, batch: &Batch) -> Result<BatchStatus> {
        self.driver.wait(self.batches.cancel(batch))?
    }

    /// Returns all batches of a provider: see [`list`](crate::Batches::list).
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or has no batches, if a call fails, or if the list is too large.
    pub fn list(&self, provider: &str) -> Result<Vec<BatchStatus>> {
        self.driver.wait(self.batches.list(provider))?
    }

    /// Waits until a batch has ended: see [`wait`](crate::Batches::wait).
    ///
    /// # Errors
    ///
    /// Fails if a call fails, or after [`WaitOptions::timeout`].
    pub fn wait(&self, batch: &Batch, options: WaitOptions) -> Result<BatchStatus> {
        self.driver.wait(self.batches.wait(batch, options))?
    }

    /// Waits until a batch has ended, and calls `each` with every status: see [`watch`](crate::Batches::watch).
    ///
    /// # Errors
    ///
    /// Fails as [`wait`](Self::wait) does.
    pub fn watch(
        &self,
        batch: &Batch,
        options: WaitOptions,
        each: impl FnMut(&BatchStatus) + Send,
    ) -> Result<BatchStatus> {
        self.driver.wait(self.batches.watch(batch, options, each))?
    }

    /// Returns the result of every request, in the order of the requests: see [`results`](crate::Batches::results).
    ///
    /// # Errors
    ///
    /// Fails if the batch has not ended, if a call fails, or if the results are too large for memory.
    pub fn results(&self, batch: &Batch) -> Result<Vec<Result<ChatResponse>>> {
        self.driver.wait(self.batches.results(batch))?
    }

    /// Reads the results of a batch that has ended, as an iterator: see [`read`](crate::Batches::read).
    ///
    /// # Errors
    ///
    /// Fails if the batch has not ended, or if a call fails.
    pub fn read(&self, batch: &Batch) -> Result<BatchResults> {
        let results = self.driver.wait(self.batches.read(batch))??;
        let status = results.status().clone();
        let driven = Driven::new(results, Arc::clone(&self.driver));
        Ok(BatchResults { driven, status, ended: Once::default() })
    }
}

/// The results of a batch as an iterator: see [`BatchResults`](crate::BatchResults). Nothing follows an error.
pub struct BatchResults {
    driven: Driven<client::BatchResults>,
    status: BatchStatus,
    ended: Once,
}

debug_as!(BatchResults);

impl BatchResults {
    /// Returns the status of the batch.
    pub fn status(&self) -> &BatchStatus {
        &self.status
    }

    /// Returns what is wrong with the results that have been read: see [`warnings`](crate::BatchResults::warnings).
    pub fn warnings(&self) -> &[Warning] {
        self.driven.get().map_or(&[], client::BatchResults::warnings)
    }

    /// Returns how many bytes of results have been read.
    pub fn bytes(&self) -> u64 {
        self.driven.get().map_or(0, client::BatchResults::bytes)
    }
}

impl Iterator for BatchResults {
    type Item = Result<BatchResult>;

    fn next(&mut self) -> Option<Self::Item> {
        let item =
            self.driven.next(|results| results.next()).map(|item| item.and_then(|item| item));
        self.ended.guard(item)
    }
}
