//! Records the traffic of a client to a file, and replays it.

mod difference;
mod file;
mod frames;
mod mask;
mod record;
mod replay;
mod secret;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use agentloop::internal::lock;
use agentloop::provider::KeySource;
use agentloop::transport::{Body, HttpTransport, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, Error, ErrorKind, Provider, Result, Secret,
};
use bytes::Bytes;
use http::{Request, Response};

use self::file::Exchange;
use self::mask::Secrets;

/// The variable that turns replaying into recording.
pub const RECORD_VARIABLE: &str = "AGENTLOOP_RECORD";

/// The largest file that is read, in bytes.
pub const MAX_RECORDING_BYTES: usize = 256 << 20;

/// The most requests of one recording.
pub const MAX_EXCHANGES: usize = 10_000;

/// The largest body that is recorded, in bytes.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// The key of providers while a recording is replayed.
const REPLAY_KEY: &str = "agentloop-replay-key";

/// A file with the traffic of a test: recorded once with a real key, replayed by every later run without key and network.
///
/// [`Recording::open`] replays the file. With the variable `AGENTLOOP_RECORD=1` it sends the requests to the providers, and writes
/// the file again. Commit the file with the test.
///
/// ```no_run
/// use agentloop::ChatRequest;
/// use agentloop_sim::Recording;
///
/// # async fn test() -> agentloop::Result<()> {
/// let ai = Recording::open("tests/recorded/capital.json")?.client()?;
/// let response = ai.chat(ChatRequest::new("openai/gpt-4.1-mini").user("The capital of France?")).await?;
/// assert!(response.text().contains("Paris"));
/// # Ok(())
/// # }
/// ```
///
/// - Replaying is strict: a request must equal a recorded one that was not replayed yet, in method, URL and body. The order of the fields
///   of a JSON object does not matter, nor does the order of requests that differ. Any other request is an error which names the first
///   difference. [`unused`](Self::unused) returns what the code did not send.
/// - Streams arrive in the pieces in which they were received, without pauses. Errors of the connection are replayed where they happened.
/// - Keys are not written: neither headers with credentials nor the key in a URL, and a key that occurs anywhere else is replaced by `***`, also
///   with escapes, in hexadecimal digits and in base64. Read the file before you commit it all the same: prompts and responses are in it, and
///   so is what they contain.
///
/// Clones share the recording.
#[derive(Clone, Debug)]
pub struct Recording(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The file. Absent while recording in memory.
    path: Option<PathBuf>,
    /// Sends the requests while recording. Absent while replaying.
    network: Option<Arc<dyn Transport>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    exchanges: Vec<Exchange>,
    /// How many exchanges were forgotten.
    forgotten: usize,
    /// The secrets of all requests: a provider can repeat one in the response to another request.
    secrets: Secrets,
    /// Which of them were replayed.
    used: Vec<bool>,
}

impl Recording {
    /// Replays the file at `path`, or records it if the variable `AGENTLOOP_RECORD` is set to anything but `0` and the empty text.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it is not a recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let value = std::env::var_os(RECORD_VARIABLE);
        if value.is_some_and(|value| !value.is_empty() && value != "0") {
            Self::record(path, HttpTransport::new())
        } else {
            Self::replay(path)
        }
    }

    /// Records what is sent through `network`. The file is written after every response; one that exists is replaced.
    ///
    /// ```
    /// use agentloop::{ChatRequest, Protocol};
    /// use agentloop_sim::{Recording, SimTransport, Simulator};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// let path = std::env::temp_dir().join(format!("agentloop-recording-{}.json", std::process::id()));
    /// let network = SimTransport::new(Simulator::new(), Protocol::OpenAiChat);
    /// let ai = Recording::record(&path, network)?.builder().key("openai", "sk-secret").build()?;
    /// let request = ChatRequest::new("openai/echo").user("Hello");
    /// let recorded = ai.chat(request.clone()).await?;
    ///
    /// let recording = Recording::replay(&path)?;
    /// assert_eq!(recording.client()?.chat(request).await?.text(), recorded.text());
    /// assert!(recording.unused().is_empty());
    /// # std::fs::remove_file(path).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the folder of the file cannot be created.
    pub fn record(path: impl AsRef<Path>, network: impl Transport + 'static) -> Result<Self> {
        let path = path.as_ref();
        create_folder(path)?;
        Ok(Self::new(Some(path), Some(Arc::new(network)), Vec::new()))
    }

    /// Records what is sent through `network` in memory, until it is [saved](Self::save).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use agentloop::{ChatRequest, Protocol};
    /// use agentloop_sim::{Recording, SimTransport, Simulator};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let folder = std::env::temp_dir().join(format!("agentloop-recorded-{}", std::process::id()));
    /// let network = SimTransport::new(Simulator::new(), Protocol::OpenAiChat);
    /// let recording = Recording::in_memory(Arc::new(network));
    /// let ai = recording.builder().key("openai", "sk-secret").build()?;
    /// ai.chat(ChatRequest::new("openai/echo").user("Hello")).await?;
    /// assert_eq!(recording.hide("with sk-secret"), "with ***");
    /// recording.save(folder.join("hello.json"))?;
    /// assert_eq!(Recording::replay(folder.join("hello.json"))?.unused().len(), 1);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_memory(network: Arc<dyn Transport>) -> Self {
        Self::new(None, Some(network), Vec::new())
    }

    /// Writes what was recorded since the last call to a file, which is replaced, and forgets it. The folder is created.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        create_folder(path)?;
        file::write(path, &self.forget())
    }

    /// Forgets what was recorded, but not its secrets.
    pub fn clear(&self) {
        drop(self.forget());
    }

    fn forget(&self) -> Vec<Exchange> {
        let mut state = self.lock();
        state.forgotten += state.exchanges.len();
        std::mem::take(&mut state.exchanges)
    }

    /// Returns a text without the secrets of the requests that were sent.
    pub fn hide(&self, text: &str) -> String {
        self.lock().secrets.hide(text)
    }

    /// Replays the file at `path`, whatever the environment says.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it is not a recording.
    pub fn replay(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(Self::new(Some(path), None, file::read(path)?))
    }

    fn new(
        path: Option<&Path>,
        network: Option<Arc<dyn Transport>>,
        exchanges: Vec<Exchange>,
    ) -> Self {
        let used = vec![false; exchanges.len()];
        let state = Mutex::new(State { exchanges, used, ..State::default() });
        Self(Arc::new(Inner { path: path.map(Path::to_owned), network, state }))
    }

    /// Returns whether requests are sent to the providers.
    pub fn is_recording(&self) -> bool {
        self.0.network.is_some()
    }

    /// Returns a client whose requests are recorded or replayed. It has all built-in providers; while replaying, none of them needs a key.
    ///
    /// # Errors
    ///
    /// When the client cannot be built.
    pub fn client(&self) -> Result<AgentLoop> {
        self.builder().build()
    }

    /// Returns a builder of such a client, to which middleware and aliases can be added.
    pub fn builder(&self) -> AgentLoopBuilder {
        let mut builder = AgentLoop::builder().transport(self.clone());
        if !self.is_recording() {
            for provider in Provider::all() {
                builder = builder.provider(self.provider(provider));
            }
        }
        builder
    }

    /// Connects a provider to this recording. While replaying, it needs no key.
    pub fn provider(&self, mut provider: Provider) -> Provider {
        let has_key = matches!(provider.key, KeySource::None | KeySource::Value(_));
        if !self.is_recording() && !has_key {
            provider.key = KeySource::Value(Secret::new(REPLAY_KEY));
        }
        provider.transport(self.clone())
    }

    /// Returns the recorded requests that were not replayed yet, as their method and URL, in their order.
    pub fn unused(&self) -> Vec<String> {
        let state = self.lock();
        let unused = state.exchanges.iter().zip(&state.used).filter(|(_, used)| !**used);
        if self.is_recording() {
            Vec::new()
        } else {
            unused.map(|(exchange, _)| exchange.request.line()).collect()
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl Transport for Recording {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        match &self.0.network {
            Some(network) => Box::pin(self.record_exchange(network.as_ref(), request, options)),
            None => Box::pin(std::future::ready(self.replay_exchange(&request))),
        }
    }
}

/// Creates the folder of a file.
fn create_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("the folder {} cannot be created: {error}", folder.display());
        Error::new(ErrorKind::Config, message)
    })
}
