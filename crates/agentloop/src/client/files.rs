//! Files that a provider stores.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use tokio::time::{Instant, sleep};

use super::exchange::{Bounds, Exchanged};
use super::limit::{Limit, shorter, timed_out};
use super::secrets::RequestSecrets;
use super::{AgentLoop, Inner};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{
    FILE_READY_INTERVAL, FILE_READY_TIMEOUT, MAX_DOWNLOAD_BYTES, MAX_LIST_BYTES, MAX_LIST_PAGES,
    MAX_LISTED, MAX_STATUS_BYTES, MAX_UPLOAD_BYTES, UPLOAD_TIMEOUT,
};
use crate::media::{FileState, FileUpload, StoredFile};
use crate::pace;
use crate::protocol::{Encoded, files};
use crate::provider::quirks::FileApi;
use crate::provider::{Provider, Target};
use crate::transport::Body;

/// The files that one provider stores. [`AgentLoop::files`] returns it.
///
/// Middleware does not see these calls, and they are not retried. See [`StoredFile`] for an example.
#[derive(Clone, Debug)]
pub struct Files {
    client: AgentLoop,
    provider: Arc<Provider>,
}

impl AgentLoop {
    /// Returns the files that a provider stores. Nothing is sent.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// for file in ai.files("sim")?.list().await? {
    ///     println!("{} {:?}", file.id, file.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or stores no files.
    pub fn files(&self, provider: &str) -> Result<Files> {
        let provider = self.0.registry.provider(provider)?;
        files::check(&provider)?;
        Ok(Files { client: self.clone(), provider })
    }
}

impl Files {
    fn inner(&self) -> &Inner {
        &self.client.0
    }

    /// Uploads a file.
    ///
    /// A provider may process it before it can be used; [`wait`](Self::wait) waits for that.
    ///
    /// # Errors
    ///
    /// Fails if the file is larger than [`MAX_UPLOAD_BYTES`], or if the call fails.
    pub async fn upload(&self, upload: FileUpload) -> Result<StoredFile> {
        self.inner().upload(&self.provider, &upload).await
    }

    /// Returns all files, from all pages of the list.
    ///
    /// # Errors
    ///
    /// Fails if a call fails or the list is too large ([`MAX_LISTED`], [`MAX_LIST_BYTES`], [`MAX_LIST_PAGES`]).
    pub async fn list(&self) -> Result<Vec<StoredFile>> {
        let provider = &self.provider;
        let mut pages = Pages::new("files");
        let mut all = Vec::new();
        loop {
            let encoded = files::encode_list(provider, pages.next.as_deref())?;
            let response = self.inner().exchange(provider, encoded, pages.bounds()).await?;
            let query = pages.next.clone().unwrap_or_default();
            let page = response.read(|body| files::decode_list(provider, &query, body))?;
            all.extend(page.files);
            if !pages.turn(response.body.len(), all.len(), page.next)? {
                return Ok(all);
            }
            pace::pause().await;
        }
    }

    /// Returns what the provider reports about a file.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if the call fails.
    pub async fn get(&self, id: &str) -> Result<StoredFile> {
        let encoded = files::encode_get(&self.provider, id)?;
        let exchanged = self.inner().exchange(&self.provider, encoded, status("the file")).await?;
        exchanged.read(|body| files::decode(&self.provider, body))
    }

    /// Deletes a file.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if the call fails.
    pub async fn delete(&self, id: &str) -> Result<()> {
        let encoded = files::encode_delete(&self.provider, id)?;
        self.inner().exchange(&self.provider, encoded, status("the file")).await.map(drop)
    }

    /// Returns the content of a file. Some providers return only the content of files that they made.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, if it is larger than [`MAX_UPLOAD_BYTES`], or if the call fails.
    pub async fn content(&self, id: &str) -> Result<Bytes> {
        let encoded = files::encode_content(&self.provider, id)?;
        let limit = self.limit();
        let collecting = async {
            let (body, secrets) = self.open(encoded, limit).await?;
            body.collect(MAX_UPLOAD_BYTES).await.map_err(|error| secrets.hide(error))
        };
        let content = limit.within(collecting).await;
        content.map_err(|error| error.with_provider(self.provider.name.as_ref()))
    }

    /// Sends a call for the content of a file.
    async fn open(&self, encoded: Encoded, limit: Limit) -> Result<(Body, RequestSecrets)> {
        let target = Target::new(Arc::clone(&self.provider), "");
        let (response, secrets) = self.inner().open(&target, encoded, None, limit).await?;
        Ok((response.into_body(), secrets))
    }

    /// Returns the time limit of reading a file.
    fn limit(&self) -> Limit {
        let total = self.inner().timeouts.total;
        Limit::new("the file", shorter(total, Some(UPLOAD_TIMEOUT)))
    }

    /// Writes the content of a file to a new file, and returns how many bytes it has. Only a piece of it is in memory.
    ///
    /// If the download fails or its future is dropped, the new file is removed.
    ///
    /// # Errors
    ///
    /// Fails if a file with that path exists, if the content is larger than [`MAX_DOWNLOAD_BYTES`], if a call fails, or if the file
    /// cannot be written.
    pub async fn download(&self, id: &str, path: impl AsRef<Path>) -> Result<u64> {
        let path = path.as_ref();
        let encoded = files::encode_content(&self.provider, id)?;
        let failed = |error: std::io::Error| {
            let message = format!("cannot write {}: {error}", path.display());
            Error::new(ErrorKind::InvalidRequest, message).with_source(error)
        };
        let mut file = File::create_new(path).map_err(failed)?;
        let unfinished = Unfinished(Some(path));
        let limit = self.limit();
        let copying = async {
            let mut bytes = 0_u64;
            let (mut body, secrets) = self.open(encoded, limit).await?;
            while let Some(piece) = body.next().await {
                let piece = piece.map_err(|error| secrets.hide(error))?;
                bytes = bytes.saturating_add(piece.len() as u64);
                if bytes > MAX_DOWNLOAD_BYTES {
                    let message = format!("the file is larger than {MAX_DOWNLOAD_BYTES} bytes");
                    return Err(Error::new(ErrorKind::TooLarge, message));
                }
                file.write_all(&piece).map_err(failed)?;
            }
            file.sync_all().map_err(failed)?;
            Ok(bytes)
        };
        let copied = limit.within(copying).await;
        let copied = copied.map_err(|error| error.with_provider(self.provider.name.as_ref()))?;
        unfinished.keep();
        Ok(copied)
    }

    /// Waits until the provider has processed a file, and returns it. Dropping the future stops waiting.
    ///
    /// # Errors
    ///
    /// Fails if a call fails, if the provider cannot process the file, or after [`FILE_READY_TIMEOUT`].
    pub async fn wait(&self, id: &str) -> Result<StoredFile> {
        let began = Instant::now();
        loop {
            let file = self.get(id).await?;
            let named = |error: Error| error.with_provider(self.provider.name.as_ref());
            match file.state {
                FileState::Ready => return Ok(file),
                FileState::Failed => {
                    let message = format!("the provider could not process the file {}", file.id);
                    return Err(named(Error::new(ErrorKind::InvalidRequest, message)));
                }
                FileState::Processing if began.elapsed() >= FILE_READY_TIMEOUT => {
                    return Err(named(timed_out("the file to be processed", FILE_READY_TIMEOUT)));
                }
                FileState::Processing => sleep(FILE_READY_INTERVAL).await,
            }
        }
    }
}

/// A new file, which is removed unless it is kept: half a download must not look like a whole one.
struct Unfinished<'a>(Option<&'a Path>);

impl Unfinished<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // The error of the download is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the limits of a call about one file or batch.
pub(super) fn status(stage: &'static str) -> Bounds {
    Bounds { stage, time: None, bytes: MAX_STATUS_BYTES }
}

impl Inner {
    pub(super) async fn upload(
        &self,
        provider: &Arc<Provider>,
        upload: &FileUpload,
    ) -> Result<StoredFile> {
        upload.check_size()?;
        let bounds =
            Bounds { stage: "the upload", time: Some(UPLOAD_TIMEOUT), bytes: MAX_STATUS_BYTES };
        let exchanged = match provider.quirks.storage.files {
            FileApi::Resumable => self.upload_in_steps(provider, upload, bounds).await?,
            _ => {
                let encoded = files::encode_upload(provider, upload)?;
                self.exchange(provider, encoded, bounds).await?
            }
        };
        let mut file = exchanged.read(|body| files::decode(provider, body))?;
        // Not every provider repeats it.
        file.name.get_or_insert_with(|| upload.name.clone());
        file.mime_type.get_or_insert_with(|| upload.mime_type.clone());
        Ok(file)
    }

    /// Requests a URL for the content, and sends the content there.
    async fn upload_in_steps(
        &self,
        provider: &Arc<Provider>,
        upload: &FileUpload,
        bounds: Bounds,
    ) -> Result<Exchanged> {
        let protocol = |message: &str| {
            Error::new(ErrorKind::Protocol, message.to_owned())
                .with_provider(provider.name.as_ref())
        };
        let base = self.registry.base_url(provider)?;
        let base = base.split('?').next().unwrap_or_default().trim_end_matches('/');
        let version = base.rsplit('/').next().unwrap_or_default();
        let encoded = files::encode_upload_start(provider, version, upload)?;
        let begun = self.exchange(provider, encoded, bounds).await?;
        let place = begun.headers.get(files::UPLOAD_URL).and_then(|url| url.to_str().ok());
        let place = place.and_then(|url| url.parse::<Uri>().ok());
        let place = place.ok_or_else(|| protocol("the provider returned no URL for the upload"))?;
        let encoded = files::encode_upload_content(provider, upload)?;
        let ended = self.exchange_at(provider, encoded, Some(&place), bounds).await?;
        match ended.headers.get(files::UPLOAD_STATUS).and_then(|status| status.to_str().ok()) {
            None | Some("final") => Ok(ended),
            Some(_) => Err(protocol("the provider did not finish the upload")),
        }
    }
}

/// The pages of a list, and their limits.
#[derive(Debug)]
pub(super) struct Pages {
    what: &'static str,
    pub(super) next: Option<String>,
    pages: usize,
    bytes: usize,
}

impl Pages {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, next: None, pages: 0, bytes: 0 }
    }

    pub(super) fn bounds(&self) -> Bounds {
        let bytes = MAX_LIST_BYTES.saturating_sub(self.bytes);
        Bounds { stage: "a page of the list", time: None, bytes }
    }

    /// Counts a page. Returns whether there is another one.
    pub(super) fn turn(
        &mut self,
        bytes: usize,
        items: usize,
        next: Option<String>,
    ) -> Result<bool> {
        self.pages += 1;
        self.bytes += bytes;
        let Some(next) = next else { return Ok(false) };
        let too_large = |limit: String| {
            let message = format!("the list of {} has more than {limit}", self.what);
            Error::new(ErrorKind::TooLarge, message)
        };
        if items > MAX_LISTED {
            return Err(too_large(format!("{MAX_LISTED} entries")));
        }
        if self.pages >= MAX_LIST_PAGES {
            return Err(too_large(format!("{MAX_LIST_PAGES} pages")));
        }
        if self.next.as_ref() == Some(&next) {
            let message = format!("the list of {} repeats a page", self.what);
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        self.next = Some(next);
        Ok(true)
    }
}
