//! The simulator and its setup.

use std::sync::Arc;

use agentloop::Secret;

use crate::fault::Faults;
use crate::ledger::{Busy, Counters, Ledger};
use crate::model::Model;
use crate::received::{ReceivedRequest, Recorder};
use crate::script::{Script, Turn};
use crate::storage::{SimBatches, Storage};

/// The request header that simulates [faults](crate::Fault).
pub const FAULT_HEADER: &str = "x-sim-fault";

/// A simulated provider that speaks every protocol.
///
/// It returns the responses of its [`Model`], simulates faults, and keeps the requests that it received. It does no I/O:
/// [`provider`](Self::provider) and [`simulate`](Self::simulate) connect it to a client in the same process,
/// [`serve`](Self::serve) serves it over HTTP. Clones share everything: the responses, the requests and the [`Ledger`].
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
/// use agentloop_sim::{Fault, Faults, Simulator};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let simulator = Simulator::new().with_faults(Faults::first(1, Fault::status(500)));
/// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
/// assert!(ai.chat(ChatRequest::new("sim/echo").user("Hi")).await.is_err());
/// let response = ai.chat(ChatRequest::new("sim/echo").user("Hi")).await?;
/// assert_eq!(simulator.requests().len(), 2);
/// assert_eq!(simulator.ledger().calls, 2);
/// assert_eq!(response.usage.completion_tokens, Some(simulator.ledger().completion_tokens));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    pub(crate) model: Model,
    pub(crate) faults: Arc<Faults>,
    pub(crate) key: Option<Secret>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) batches: SimBatches,
}

impl Simulator {
    /// Creates a simulator without scheduled faults. The id of the model selects its behaviour; see [`Model`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns these responses in the order of the requests, whatever the requests contain.
    ///
    /// A response is text, a [`ResponsePart`](agentloop::ResponsePart), a list of parts, or a [`Turn`]. If a scheduled fault replaces the
    /// response, the next request gets it. A request after the last response fails with the code `script_exhausted`. Embeddings and model
    /// lists are not affected.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest};
    /// use agentloop_sim::Simulator;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// let simulator = Simulator::new().with_responses(["First.", "Second."]);
    /// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
    /// for expected in ["First.", "Second."] {
    ///     let response = ai.chat(ChatRequest::new("sim/any").user("Hi")).await?;
    ///     assert_eq!(response.text(), expected);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_responses<T: Into<Turn>>(self, responses: impl IntoIterator<Item = T>) -> Self {
        self.with_model(Model::from_responses(responses))
    }

    /// Responds with a script, which selects the response by the conversation.
    ///
    /// ```
    /// use agentloop_sim::{Script, Simulator, Turn};
    ///
    /// let script = Script::new([Turn::text("Hello.")])
    ///     .with_scene("weather", [Turn::text("It rains.")]);
    /// let simulator = Simulator::new().with_script(script);
    /// ```
    #[must_use]
    pub fn with_script(self, script: Script) -> Self {
        self.with_model(Model::from_script(script))
    }

    agentloop::setters! {
        /// Responds with another model.
        with_model(self, model: Model) => self.model = model;

        /// Simulates faults for certain requests, by their number.
        ///
        /// ```
        /// use agentloop_sim::{Fault, Faults, Simulator};
        ///
        /// let simulator = Simulator::new().with_faults(Faults::first(2, Fault::status(503)));
        /// ```
        with_faults(self, faults: Faults) => self.faults = Arc::new(faults);

        /// Sets when batches end and how. See [`SimBatches`] for an example.
        with_batches(self, batches: SimBatches) => self.batches = batches;

        /// Requires this key. A request without it fails with the status 401.
        with_key(key: impl Into<Secret>);
    }

    /// Returns counts of what was served so far.
    pub fn ledger(&self) -> Ledger {
        self.counters.read()
    }

    /// Returns the requests that were received, oldest first.
    ///
    /// Requests of all kinds are kept, also those that failed. The latest 1,000 requests are kept, and at most 16 MiB of them
    /// ([`MAX_KEPT_REQUESTS`](crate::MAX_KEPT_REQUESTS), [`MAX_KEPT_BYTES`](crate::MAX_KEPT_BYTES)). [`Ledger::calls`] counts all.
    ///
    /// See [`ReceivedRequest`] for an example.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.recorder.requests()
    }

    /// Returns the latest request. See [`requests`](Self::requests).
    pub fn last_request(&self) -> Option<ReceivedRequest> {
        self.recorder.last()
    }

    /// Forgets the requests that were received so far. The ledger still counts them.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest};
    /// use agentloop_sim::Simulator;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// let simulator = Simulator::new();
    /// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
    /// ai.chat(ChatRequest::new("sim/echo").user("Hello")).await?;
    /// simulator.clear_requests();
    /// assert!(simulator.requests().is_empty());
    /// assert_eq!(simulator.ledger().calls, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clear_requests(&self) {
        self.recorder.clear();
    }

    /// Counts a request as in progress until the returned guard is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.counters.begin()
    }
}
