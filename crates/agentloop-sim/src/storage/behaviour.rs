//! How simulated batches end.

use agentloop::BatchState;

/// How the batches of a simulator end.
///
/// Without it, a batch has ended when its state is requested for the first time, and all of its requests are processed. A fault in the id of a
/// request's model fails that request.
///
/// ```
/// use agentloop::{AgentLoop, BatchState, ChatRequest, ErrorKind};
/// use agentloop_sim::{SimBatches, Simulator};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> agentloop::Result<()> {
/// // The first request is processed, then the batch expires.
/// let ends = SimBatches::new().polls(2).processed(1).state(BatchState::Expired);
/// let simulator = Simulator::new().with_batches(ends);
/// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
/// let requests = ["a", "b"].map(|text| ChatRequest::new("sim/echo").user(text));
/// let batches = ai.batches();
/// let batch = batches.submit(batches.prepare(&requests).await?).await?;
/// assert_eq!(batches.wait(&batch, Default::default()).await?.state, BatchState::Expired);
/// let results = batches.results(&batch).await?;
/// assert!(results[0].is_ok());
/// assert_eq!(results[1].as_ref().unwrap_err().kind(), ErrorKind::Timeout);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimBatches {
    pub(crate) polls: u64,
    pub(crate) processed: usize,
    pub(crate) state: BatchState,
}

impl Default for SimBatches {
    fn default() -> Self {
        Self { polls: 0, processed: usize::MAX, state: BatchState::Completed }
    }
}

impl SimBatches {
    /// Creates batches that end at once.
    pub fn new() -> Self {
        Self::default()
    }

    agentloop::setters! {
        /// Sets how often the state of a batch is reported as running before it ends.
        polls(self, polls: u64) => self.polls = polls;

        /// Sets how many requests are processed. The others have no response.
        processed(self, requests: usize) => self.processed = requests;

        /// Sets the state in which a batch ends.
        state(self, state: BatchState) => self.state = state;
    }
}
