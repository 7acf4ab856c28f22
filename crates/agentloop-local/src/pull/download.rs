//! Downloads one file, in one or several attempts.

use std::path::{Path, PathBuf};

use agentloop::{Error, ErrorKind, Result};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, RANGE};
use http::{HeaderMap, StatusCode};

use super::hub::{Target, check_status, send};
use super::part::{Origin, Part};
use super::{Progress, Pull, Pulled, blocking, is_sha256, model_name};
use crate::gguf;

/// A file while it is downloaded.
#[derive(Debug)]
pub(super) struct Download {
    target: Target,
    /// How many files the model has.
    files: u64,
    /// Absent while another thread writes.
    part: Option<Part>,
}

/// What a response contains.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    /// Where in the file it begins.
    start: u64,
    total: Option<u64>,
    etag: Option<String>,
}

impl Download {
    pub(super) async fn open(target: Target, files: u64, path: &Path) -> Result<Self> {
        let path = path.to_owned();
        let part = blocking(move || Part::open(&path)).await?;
        Ok(Self { target, files, part: Some(part) })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.bytes)
    }

    /// Downloads what is missing. An error that [is retryable](Error::is_retryable) leaves what has arrived.
    pub(super) async fn attempt(
        &mut self,
        pull: &Pull,
        progress: &mut impl FnMut(Progress),
    ) -> Result<()> {
        let url = self.target.url.clone();
        let headers = self.range_headers();
        let response = send(pull, &url, self.target.is_hub, &headers).await?;
        let response = check_status(response, &url).await?;
        let content = self.accept(pull, response.status(), response.headers()).await?;
        let total = content.total.or(self.target.bytes);
        let limit = total.unwrap_or(pull.max_bytes);
        let mut body = response.into_body();
        if self.part()?.bytes == limit && content.start == limit {
            return Ok(());
        }
        loop {
            let next = tokio::time::timeout(pull.stall, body.next()).await;
            let next = next.map_err(|_| {
                let message = format!("{url} sent nothing for {:?}", pull.stall);
                Error::new(ErrorKind::Timeout, message).with_retryable(true)
            })?;
            let Some(bytes) = next.transpose().map_err(|error| error.with_retryable(true))? else {
                break;
            };
            let mut part = self.part.take().ok_or_else(lost)?;
            if part.bytes + bytes.len() as u64 > limit {
                part.remove();
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "{url} sends more than the {limit} bytes that it announced or that are allowed"
                    ),
                ));
            }
            let (part, written) = blocking(move || {
                let written = part.write(&bytes, total);
                Ok((part, written))
            })
            .await?;
            progress(Progress::new(part.bytes, total));
            self.part = Some(part);
            written?;
        }
        match total {
            Some(total) if self.bytes() < total => Err(Error::new(
                ErrorKind::Connection,
                format!("the download ended after {} of {total} bytes", self.bytes()),
            )
            .with_retryable(true)),
            _ => Ok(()),
        }
    }

    fn part(&mut self) -> Result<&mut Part> {
        self.part.as_mut().ok_or_else(lost)
    }

    /// Returns the headers that ask for the rest of a file, if a part of the same file is there.
    ///
    /// Without an ETag the server cannot compare the files. Then only a checksum shows at the end whether both parts belong together.
    fn range_headers(&self) -> Vec<(http::HeaderName, String)> {
        let Some(part) = &self.part else { return Vec::new() };
        let etag = part.origin.etag.as_ref().filter(|etag| etag.starts_with('"'));
        let is_known = etag.is_some() || self.target.sha256.is_some();
        if part.bytes == 0 || part.origin.url != self.target.url || !is_known {
            return Vec::new();
        }
        let mut headers = vec![(RANGE, format!("bytes={}-", part.bytes))];
        headers.extend(etag.map(|etag| (IF_RANGE, etag.clone())));
        headers
    }

    /// Compares a response with what is there. A response with the whole file starts again.
    async fn accept(
        &mut self,
        pull: &Pull,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Content> {
        let content = read_content(status, headers)?;
        let mut part = self.part.take().ok_or_else(lost)?;
        let expected = self.target.bytes;
        // A server may ignore `if-range` and send a part of another version.
        let is_same = match (&content.etag, &part.origin.etag) {
            (Some(sent), Some(known)) => sent == known,
            _ => true,
        };
        let is_continued = status == StatusCode::PARTIAL_CONTENT
            && is_same
            && content.start == part.bytes
            && (content.total.is_none()
                || part.origin.total.is_none()
                || content.total == part.origin.total);
        if status == StatusCode::PARTIAL_CONTENT && !is_continued
            || status == StatusCode::RANGE_NOT_SATISFIABLE && content.total != Some(part.bytes)
        {
            // The next attempt asks for the whole file.
            let (part, restarted) = blocking(move || {
                let restarted = part.restart(Origin::default());
                Ok((part, restarted))
            })
            .await?;
            self.part = Some(part);
            restarted?;
            let message = "the server sent another part of the file than was asked for";
            return Err(Error::new(ErrorKind::Protocol, message).with_retryable(true));
        }
        if let (Some(total), Some(expected)) = (content.total, expected)
            && total != expected
        {
            part.remove();
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("the file has {total} bytes, but the list of files states {expected}"),
            )
            .with_retryable(false));
        }
        let total = content.total.or(expected);
        if let Some(total) = total.filter(|total| *total > pull.max_bytes) {
            part.remove();
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the file has {total} bytes, but at most {} are allowed", pull.max_bytes),
            ));
        }
        if self.target.is_hub && self.target.sha256.is_none() {
            self.target.sha256 = linked_etag(headers);
        }
        let origin = Origin { url: self.target.url.clone(), etag: content.etag.clone(), total };
        let is_whole =
            status != StatusCode::PARTIAL_CONTENT && status != StatusCode::RANGE_NOT_SATISFIABLE;
        let (part, prepared) = blocking(move || {
            let prepared = match is_whole {
                true => part.restart(origin),
                false => Ok(()),
            };
            let prepared =
                prepared.and_then(|()| total.map_or(Ok(()), |total| part.check_room(total)));
            Ok((part, prepared))
        })
        .await?;
        self.part = Some(part);
        prepared?;
        Ok(content)
    }

    /// Checks the file, and gives it its name.
    pub(super) async fn finish(mut self, path: PathBuf) -> Result<Pulled> {
        let part = self.part.take().ok_or_else(lost)?;
        let (expected, files) = (self.target.sha256.clone(), self.files);
        blocking(move || {
            let sha256 = part.sha256();
            if let Some(expected) = expected.as_ref().filter(|expected| **expected != sha256) {
                part.remove();
                return Err(Error::new(
                    ErrorKind::Protocol,
                    format!("the SHA-256 of the file is {sha256}, but {expected} was expected"),
                )
                .with_retryable(false)
                .with_hint("the file was removed; the server sent another file, or the transfer changed it"));
            }
            if let Err(error) = gguf::check_file(&part.path, files) {
                part.remove();
                return Err(error);
            }
            let bytes = part.bytes;
            part.rename(&path)?;
            Ok(Pulled {
                name: model_name(&path),
                path,
                bytes,
                sha256: Some(sha256),
                is_verified: expected.is_some(),
                was_present: false,
            })
        })
        .await
    }
}

/// Reads what a response contains.
fn read_content(status: StatusCode, headers: &HeaderMap) -> Result<Content> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let etag = text(ETAG).map(str::to_owned);
    if matches!(status, StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE) {
        // `bytes 100-199/200`, or `bytes */200` if there is nothing left.
        let range = text(CONTENT_RANGE).and_then(|range| range.strip_prefix("bytes "));
        let parsed = range.and_then(|range| range.split_once('/')).and_then(|(range, total)| {
            let total = match total.trim() {
                "*" => None,
                total => Some(total.parse().ok()?),
            };
            let start = match range.split_once('-') {
                Some((start, _)) => start.trim().parse().ok()?,
                None => total?,
            };
            Some(Content { start, total, etag })
        });
        return parsed.ok_or_else(|| {
            let message = "the server sent a part of the file without a valid content-range";
            Error::new(ErrorKind::Protocol, message).with_retryable(true)
        });
    }
    let total = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    Ok(Content { start: 0, total, etag })
}

/// Returns the checksum that Hugging Face sends with large files.
fn linked_etag(headers: &HeaderMap) -> Option<String> {
    let etag = headers.get("x-linked-etag")?.to_str().ok()?.trim_matches('"').to_ascii_lowercase();
    is_sha256(&etag).then_some(etag)
}

/// Returns the error of a file that a thread has lost, which happens if the runtime is shutting down.
fn lost() -> Error {
    Error::new(ErrorKind::Other, "the download was cancelled")
}
