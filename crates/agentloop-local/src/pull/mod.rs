//! Downloads models.

mod download;
mod hub;
mod part;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentloop::transport::{HttpTransport, Transport};
use agentloop::{Error, ErrorKind, Result, Secret};

use crate::gguf;
use crate::limits::{MAX_PULL_ATTEMPTS, MAX_PULL_BYTES, PULL_STALL_TIME};
use download::Download;
use hub::Target;
use source::Source;

/// The environment variable that names a mirror of Hugging Face.
const MIRROR_VARIABLE: &str = "AGENTLOOP_MODEL_MIRROR";

/// How many bytes an attempt must add so that the ones before it do not count.
const PROGRESS_BYTES: u64 = 1 << 20;

/// Downloads a GGUF file into a folder, or all files of a model that is split into several.
///
/// - A download that was cut off continues where it ended, if the server still has the same file.
/// - The file is compared with the checksum of [`sha256`](Self::sha256), else with that of Hugging Face's list of files, and its head is
///   checked. It gets its name only then.
/// - A token is sent to the server that is named, not to those to which it redirects.
///
/// ```no_run
/// use agentloop_local::{Folders, Pull};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let folders = Folders::from_env();
/// let folder = folders.models_folder().expect("a home folder");
/// let pulled = Pull::new("HuggingFaceTB/SmolLM2-360M-Instruct-GGUF", folder)?
///     .run(|progress| println!("{} of {:?} bytes", progress.bytes, progress.total))
///     .await?;
/// println!("local/{}", pulled.name);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pull {
    source: Source,
    folder: PathBuf,
    mirror: String,
    token: Option<Secret>,
    sha256: Option<String>,
    max_bytes: u64,
    stall: Duration,
    transport: Arc<dyn Transport>,
}

/// How far a download is.
///
/// ```
/// use agentloop_local::Progress;
///
/// let progress = Progress::new(512, Some(1_024));
/// assert_eq!(progress.total, Some(1_024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The bytes that are on the disk, with those of earlier attempts.
    pub bytes: u64,
    /// The bytes of all files of the model, if the server reports them.
    pub total: Option<u64>,
}

impl Progress {
    /// Creates a progress.
    pub fn new(bytes: u64, total: Option<u64>) -> Self {
        Self { bytes, total }
    }
}

/// A model that was downloaded.
///
/// ```
/// # fn show(pulled: &agentloop_local::Pulled) {
/// println!("agentloop chat -m local/{}", pulled.name);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pulled {
    /// The name of the model, which follows `local/`.
    pub name: String,
    /// The file; the first one of a model that is split.
    pub path: PathBuf,
    /// The size of all its files in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file in hexadecimal digits; absent if the file was there before and was not read, and if there are several.
    pub sha256: Option<String>,
    /// Whether the checksum of every file was compared with one that the caller or the server named.
    pub is_verified: bool,
    /// Whether all files were there before, so that nothing was downloaded.
    pub was_present: bool,
}

impl Pull {
    /// Creates a download into a folder, from one of these sources:
    ///
    /// - `OWNER/REPOSITORY` or `OWNER/REPOSITORY:QUANT`: a GGUF file of a repository of Hugging Face. Without a quantization it is
    ///   `Q4_K_M` if there is one, else the smallest of the usual ones.
    /// - `hf:OWNER/REPOSITORY/FILE.gguf`: this file of the repository. If it is one of several (`NAME-00001-of-00003.gguf`), all of them.
    /// - `https://…/FILE.gguf`: this URL. `http` is accepted for this machine only.
    ///
    /// The mirror is that of `AGENTLOOP_MODEL_MIRROR` or `HF_ENDPOINT`, and the token that of `HF_TOKEN`.
    ///
    /// ```
    /// use agentloop_local::Pull;
    ///
    /// assert!(Pull::new("owner/repository:Q8_0", "models").is_ok());
    /// assert!(Pull::new("https://example.com/../../etc/passwd", "models").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the source is none of these, or its file name is not a plain name that ends in `.gguf`.
    pub fn new(source: &str, folder: impl Into<PathBuf>) -> Result<Self> {
        let variable =
            |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let mirror = variable(MIRROR_VARIABLE).or_else(|| variable("HF_ENDPOINT"));
        let pull = Self {
            source: Source::parse(source)?,
            folder: folder.into(),
            mirror: hub::ENDPOINT.to_owned(),
            token: variable("HF_TOKEN").map(Secret::new),
            sha256: None,
            max_bytes: MAX_PULL_BYTES,
            stall: PULL_STALL_TIME,
            transport: Arc::new(HttpTransport::new()),
        };
        match mirror {
            Some(mirror) => pull.mirror(&mirror),
            None => Ok(pull),
        }
    }

    /// Sets the URL of a mirror of Hugging Face, with the same paths.
    ///
    /// ```
    /// use agentloop_local::Pull;
    ///
    /// let pull = Pull::new("owner/repository", "models")?.mirror("https://mirror.example")?;
    /// assert!(pull.mirror("ftp://mirror.example").is_err());
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if it is not an `https` URL, or an `http` URL of this machine.
    pub fn mirror(mut self, url: &str) -> Result<Self> {
        let url = url.trim().trim_end_matches('/');
        source::check_url(url)?;
        self.mirror = url.to_owned();
        Ok(self)
    }

    /// Sets the SHA-256 of the file, in 64 hexadecimal digits.
    ///
    /// ```
    /// use agentloop_local::Pull;
    ///
    /// assert!(Pull::new("owner/repository", "models")?.sha256("abc").is_err());
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if it is anything else.
    pub fn sha256(mut self, digits: &str) -> Result<Self> {
        let digits = digits.trim().to_ascii_lowercase();
        if !is_sha256(&digits) {
            let message = format!("{digits:?} is not a SHA-256 in 64 hexadecimal digits");
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        self.sha256 = Some(digits);
        Ok(self)
    }

    /// Sets the token that is sent to Hugging Face or its mirror; none is sent with an `https://` source.
    ///
    /// ```
    /// let pull = agentloop_local::Pull::new("owner/repository", "models")?.token("hf_secret");
    /// assert!(!format!("{pull:?}").contains("hf_secret"));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Secret::new(token));
        self
    }

    /// Sets how large a model may be, in bytes of all its files; [`MAX_PULL_BYTES`] unless set.
    ///
    /// ```
    /// let pull = agentloop_local::Pull::new("owner/repository", "models")?.max_bytes(1 << 30);
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how long the server may send nothing; [`PULL_STALL_TIME`] unless set.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pull = agentloop_local::Pull::new("owner/repository", "models")?.stall_time(Duration::from_secs(5));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[must_use]
    pub fn stall_time(mut self, time: Duration) -> Self {
        self.stall = time;
        self
    }

    /// Sets the transport of the requests.
    ///
    /// ```
    /// use agentloop::transport::HttpTransport;
    ///
    /// let pull = agentloop_local::Pull::new("owner/repository", "models")?.transport(HttpTransport::new());
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Arc::new(transport);
        self
    }

    /// Downloads the file, or all files of a model that is split. `progress` is called after every piece.
    ///
    /// Dropping the future leaves what was downloaded, for the next run to continue.
    ///
    /// # Errors
    ///
    /// Returns an error if the server fails five times in a row, if the file is larger than allowed or than the disk has room for, and if it
    /// is not the file with this checksum, or not a GGUF file.
    pub async fn run(&self, mut progress: impl FnMut(Progress)) -> Result<Pulled> {
        let targets = hub::resolve(self).await?;
        let files = targets.len() as u64;
        // Sizes are what a server claims. A sum that is too large for a number is too large for everything else.
        let all =
            targets.iter().try_fold(0_u64, |all, target| Some(all.saturating_add(target.bytes?)));
        if let Some(all) = all.filter(|all| *all > self.max_bytes) {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the model has {all} bytes, but at most {} are allowed", self.max_bytes),
            ));
        }
        let (mut done, mut pulled) = (0, None);
        // The first file is the last one that is downloaded. Models are listed by it, so a model is found only when it is complete.
        for target in targets.into_iter().rev() {
            let pull = Self { max_bytes: self.max_bytes.saturating_sub(done), ..self.clone() };
            let report = |one: Progress| {
                let total = all.or(one.total.filter(|_| files == 1));
                progress(Progress::new(done + one.bytes, total));
            };
            let next = pull.run_one(target, files, report).await?;
            done += next.bytes;
            pulled = Some(match pulled {
                None => next,
                Some(before) => join(&before, next),
            });
        }
        pulled.ok_or_else(|| Error::new(ErrorKind::NotFound, "the source has no file"))
    }

    /// Downloads one file of a model that has so many.
    async fn run_one(
        &self,
        target: Target,
        files: u64,
        mut progress: impl FnMut(Progress),
    ) -> Result<Pulled> {
        let path = self.folder.join(&target.file_name);
        if let Some(present) = present(&path, &target, files).await? {
            return Ok(present);
        }
        let folder = self.folder.clone();
        blocking(move || {
            std::fs::create_dir_all(&folder).map_err(|error| on_disk(&folder, &error))
        })
        .await?;
        let mut download = Download::open(target, files, &path).await?;
        let mut failures = 0;
        // Only bytes that were never there before are progress, else a server that starts again and again would never fail.
        let mut most = download.bytes();
        loop {
            match download.attempt(self, &mut progress).await {
                Ok(()) => break,
                Err(error) if !error.is_retryable() => return Err(error),
                Err(error) => {
                    let has_progress = download.bytes() >= most.saturating_add(PROGRESS_BYTES);
                    most = most.max(download.bytes());
                    failures = if has_progress { 1 } else { failures + 1 };
                    if failures >= MAX_PULL_ATTEMPTS {
                        return Err(
                            error.with_hint("run the command again to continue the download")
                        );
                    }
                    let wait = (self.stall / 120) * u32::try_from(failures).unwrap_or(1);
                    tokio::time::sleep(wait).await;
                }
            }
        }
        download.finish(path).await
    }
}

/// Joins the results of two files of a model; `first` is the one in front.
fn join(later: &Pulled, first: Pulled) -> Pulled {
    Pulled {
        bytes: later.bytes + first.bytes,
        sha256: None,
        is_verified: later.is_verified && first.is_verified,
        was_present: later.was_present && first.was_present,
        ..first
    }
}

/// Returns a file that is there already, if it is whole and has the expected size and checksum. Files of several repositories can have
/// the same name, and those of the same architecture the same size.
async fn present(path: &Path, target: &Target, files: u64) -> Result<Option<Pulled>> {
    let (path, bytes, expected) = (path.to_owned(), target.bytes, target.sha256.clone());
    blocking(move || {
        let Some(metadata) = path.metadata().ok().filter(std::fs::Metadata::is_file) else {
            return Ok(None);
        };
        let is_wrong = bytes.is_some_and(|bytes| bytes != metadata.len());
        if is_wrong || gguf::check_file(&path, files).is_err() {
            return Ok(None);
        }
        let sha256 = expected.as_ref().map(|_| part::sha256_of(&path)).transpose()?;
        if sha256 != expected {
            return Ok(None);
        }
        let is_verified = expected.is_some();
        let (name, bytes) = (model_name(&path), metadata.len());
        Ok(Some(Pulled { name, path, bytes, sha256, is_verified, was_present: true }))
    })
    .await
}

fn model_name(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    gguf::split::model_name(stem).to_owned()
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Runs what reads or writes files on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::new(ErrorKind::Other, "a thread has ended early").with_source(error))
    })
}

fn on_disk(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Other, format!("{} cannot be written: {error}", path.display()))
}
