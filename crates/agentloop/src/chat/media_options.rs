//! Whether and how remote media are fetched.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_MEDIA_BYTES;

/// How long fetching one medium may take, until told otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// When the client fetches media that a request names by address.
///
/// ```
/// use agentloop::{Download, MediaOptions};
///
/// assert_eq!(MediaOptions::when_needed().download, Download::WhenNeeded);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Download {
    /// Never. A host that needs bytes refuses the part.
    #[default]
    Never,
    /// Where the host takes no address for that kind of medium, or would not know its media type.
    WhenNeeded,
    /// Always, so that the host fetches nothing by itself.
    Always,
}

/// Whether and how the client fetches media that a request names by address, and sends their bytes instead.
///
/// Nothing is fetched unless this says so. What is fetched:
///
/// - comes by `http` or `https`, without any key, cookie or password, and through at most five redirects;
/// - comes from public addresses only, unless [`allow_private`](Self::allow_private) is set: the name is looked up once,
///   what it leads to is checked, and the connection goes to the very address that was checked, at every redirect. The
///   environment's proxies are not used for it, since a proxy looks names up by itself; with `allow_private` they are;
/// - is at most [`max_bytes`](Self::max_bytes) large and comes within [`timeout`](Self::timeout);
/// - is what the part says (an image for an image), by its first bytes and by what the server calls it.
///
/// Each medium that was fetched is a [`Converted`](crate::WarningKind::Converted) warning on the response. It is fetched anew
/// for every call. In `agentloop.toml` the same names stand under `[media]`, the timeout in seconds.
///
/// ```
/// use agentloop::{AgentLoop, MediaOptions};
///
/// let ai = AgentLoop::builder().media(MediaOptions::when_needed().with_max_bytes(5 << 20)).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaOptions {
    /// When to fetch.
    pub download: Download,
    /// The most bytes of one medium. All media of one request together are at most
    /// [`MAX_MEDIA_TOTAL_BYTES`](crate::limits::MAX_MEDIA_TOTAL_BYTES).
    pub max_bytes: usize,
    /// Whether addresses of private networks and of this machine may be reached.
    pub allow_private: bool,
    /// How long one medium may take.
    pub timeout: Duration,
}

impl Default for MediaOptions {
    /// Nothing is fetched.
    fn default() -> Self {
        Self {
            download: Download::Never,
            max_bytes: MAX_MEDIA_BYTES,
            allow_private: false,
            timeout: USUAL_TIMEOUT,
        }
    }
}

impl MediaOptions {
    /// Fetches what the host cannot fetch.
    pub fn when_needed() -> Self {
        Self { download: Download::WhenNeeded, ..Self::default() }
    }

    /// Fetches everything.
    pub fn always() -> Self {
        Self { download: Download::Always, ..Self::default() }
    }

    /// Sets the most bytes of one medium.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Reaches private addresses too.
    #[must_use]
    pub fn with_private(mut self) -> Self {
        self.allow_private = true;
        self
    }

    /// Sets how long one medium may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}
