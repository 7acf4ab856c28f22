//! Whether and how remote media are downloaded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_MEDIA_BYTES;

/// The default time limit for downloading one medium.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// When the client downloads media that a request names by URL.
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
    /// Never. A provider that needs the bytes refuses the part.
    #[default]
    Never,
    /// If the provider takes no URL for this kind of medium, or cannot determine its media type.
    WhenNeeded,
    /// Always, so the provider downloads nothing itself.
    Always,
}

/// Whether and how the client downloads media that a request names by URL, and sends their bytes instead.
///
/// By default nothing is downloaded. A download:
///
/// - uses `http` or `https`, without any key, cookie or password, and follows at most five redirects;
/// - connects to public IP addresses only, unless [`allow_private`](Self::allow_private) is set. The name is resolved
///   once, the result is checked, and the connection uses the address that was checked, for every redirect. Proxies of
///   the environment are not used, because a proxy resolves names itself; with `allow_private` they are used;
/// - is at most [`max_bytes`](Self::max_bytes) large and takes at most [`timeout`](Self::timeout);
/// - must be of the kind of its part (an image for an image), by its first bytes and by the media type that the server
///   reports.
///
/// Each downloaded medium is a [`Converted`](crate::WarningKind::Converted) warning on the response. It is downloaded
/// again for every call. In `agentloop.toml` the settings have the same names under `[media]`, with the timeout in
/// seconds.
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
    /// When to download.
    pub download: Download,
    /// The most bytes of one medium. All media of one request together are at most
    /// [`MAX_MEDIA_TOTAL_BYTES`](crate::limits::MAX_MEDIA_TOTAL_BYTES).
    pub max_bytes: usize,
    /// Whether private networks and this machine may be connected to.
    pub allow_private: bool,
    /// The time limit of one medium.
    pub timeout: Duration,
}

impl Default for MediaOptions {
    /// Downloads nothing.
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
    /// Downloads media that the provider cannot download itself.
    pub fn when_needed() -> Self {
        Self { download: Download::WhenNeeded, ..Self::default() }
    }

    /// Downloads all media.
    pub fn always() -> Self {
        Self { download: Download::Always, ..Self::default() }
    }

    setters! {
        /// Sets the most bytes of one medium.
        with_max_bytes(self, max_bytes: usize) => self.max_bytes = max_bytes;

        /// Allows private networks and this machine.
        with_private(self) => self.allow_private = true;

        /// Sets the time limit of one medium.
        with_timeout(self, timeout: Duration) => self.timeout = timeout;
    }
}
