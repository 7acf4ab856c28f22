//! What a tool knows of the run that it is called in.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::cancel::CancelToken;
use super::super::sink::Sink;

/// What a tool is given beside its arguments.
///
/// It can be cloned and moved into tasks of the tool's own.
#[derive(Clone)]
pub struct ToolContext {
    pub(in crate::agent) step: u32,
    pub(in crate::agent) index: usize,
    pub(in crate::agent) call_id: Arc<str>,
    pub(in crate::agent) tool: Arc<str>,
    pub(in crate::agent) attempt: u32,
    pub(in crate::agent) cancel: CancelToken,
    pub(in crate::agent) data: RunData,
    pub(in crate::agent) resources: Resources,
    pub(in crate::agent) sink: Sink,
}

impl ToolContext {
    /// The id of the call.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The step of the run, from 1.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Which of the calls of its step, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Which try it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Thrown when the run is cancelled, the call takes too long, or the run is dropped. A tool's own future is dropped
    /// then too; what it started elsewhere must look here.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Tells how far the tool is, as a `tool.progress` event. Never waits.
    pub fn progress(&self, message: impl Into<String>) {
        self.report(Some(message.into()), None);
    }

    /// The same, with what share is done: 0 to 1.
    pub fn progress_at(&self, fraction: f64, message: impl Into<String>) {
        self.report(Some(message.into()), Some(fraction.clamp(0.0, 1.0)));
    }

    fn report(&self, message: Option<String>, fraction: Option<f64>) {
        // A task that lives on after its call has nothing more to say.
        if !self.cancel.is_cancelled() {
            self.sink.progress(self, message, fraction);
        }
    }

    /// What the tools of a run share and keep: it goes with the run when it waits and is stored.
    pub fn data(&self) -> &RunData {
        &self.data
    }

    /// What the [agent](crate::agent::Agent::resource) was given for its tools: a pool of connections, for example.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.resources.of()
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("step", &self.step)
            .field("call_id", &self.call_id)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// What the tools of a run share: values by name. Clones are the same.
///
/// ```
/// use agentloop::agent::RunData;
///
/// let data = RunData::default();
/// data.set("visited", &["a", "b"])?;
/// let visited: Option<Vec<String>> = data.get("visited")?;
/// assert_eq!(visited.unwrap().len(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunData(Arc<Mutex<Map<String, Value>>>);

impl RunData {
    pub(in crate::agent) fn new(values: Map<String, Value>) -> Self {
        Self(Arc::new(Mutex::new(values)))
    }

    fn lock(&self) -> MutexGuard<'_, Map<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of that name; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When it is of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, serde_json::Error> {
        let value = self.lock().get(name).cloned();
        value.map(serde_json::from_value).transpose()
    }

    /// Sets the value of that name.
    ///
    /// # Errors
    ///
    /// When it cannot be written as JSON.
    pub fn set<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        let value = serde_json::to_value(value)?;
        self.lock().insert(name.to_owned(), value);
        Ok(())
    }

    /// Changes values, with no other tool between.
    pub fn update<T>(&self, change: impl FnOnce(&mut Map<String, Value>) -> T) -> T {
        change(&mut self.lock())
    }

    /// All values.
    pub fn values(&self) -> Map<String, Value> {
        self.lock().clone()
    }
}

/// What an agent was given for its tools, by type.
#[derive(Clone, Default)]
pub(in crate::agent) struct Resources(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Resources {
    pub(in crate::agent) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), value);
    }

    fn of<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.0.get(&TypeId::of::<T>())?).downcast().ok()
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} resources", self.0.len())
    }
}
