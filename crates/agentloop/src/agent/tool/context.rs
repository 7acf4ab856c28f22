//! The context that a tool receives with each call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::cancel::CancelToken;
use super::super::sink::Sink;
use crate::lock::lock;

/// The context of a call, which a tool receives with its arguments.
///
/// It can be cloned and moved into tasks that the tool starts.
///
/// ```
/// use agentloop::agent::{Tool, ToolContext};
/// use serde_json::{Value, json};
///
/// let search = Tool::dynamic("search", "Searches the archive", json!({"type": "object"}), |_: Value, context: ToolContext| async move {
///     context.progress_at(0.5, "half of the archive is searched");
///     context.data().update(|data| data.insert("searched".to_owned(), true.into()));
///     Ok(format!("attempt {} found nothing", context.attempt()))
/// });
/// ```
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
    /// Returns the id of the call.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the number of the step, from 1.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Returns the index of the call in its step, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the token that is cancelled when the run is cancelled or dropped, or when the call exceeds its timeout.
    ///
    /// The future of the tool is dropped as well. Work that the tool started elsewhere must watch this token.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Reports progress as a `tool.progress` event, without waiting.
    pub fn progress(&self, message: impl Into<String>) {
        self.report(Some(message.into()), None);
    }

    /// Reports progress as a `tool.progress` event with the fraction that is done, from 0 to 1.
    pub fn progress_at(&self, fraction: f64, message: impl Into<String>) {
        self.report(Some(message.into()), Some(fraction.clamp(0.0, 1.0)));
    }

    fn report(&self, message: Option<String>, fraction: Option<f64>) {
        // A task that outlives its call can no longer report progress.
        if !self.cancel.is_cancelled() {
            self.sink.push_progress(self, message, fraction);
        }
    }

    /// Returns the data that the tools of the run share. It is stored with a suspended run.
    pub fn data(&self) -> &RunData {
        &self.data
    }

    /// Returns the [resource](crate::agent::Agent::resource) of this type, such as a pool of connections; `None` if the agent
    /// has none.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.resources.get()
    }
}

shown! { ToolContext: self { step: self.step, call_id: self.call_id, tool: self.tool } }

/// The data that the tools of a run share: JSON values by name. Clones share the data.
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
        lock(&self.0)
    }

    /// Returns the value with this name; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the value has another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, serde_json::Error> {
        let value = self.lock().get(name).cloned();
        value.map(serde_json::from_value).transpose()
    }

    /// Sets the value with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be serialized as JSON.
    pub fn set<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        let value = serde_json::to_value(value)?;
        self.lock().insert(name.to_owned(), value);
        Ok(())
    }

    /// Changes the values atomically: no other tool can access them until `change` returns.
    pub fn update<T>(&self, change: impl FnOnce(&mut Map<String, Value>) -> T) -> T {
        change(&mut self.lock())
    }

    /// Returns a copy of all values.
    pub fn values(&self) -> Map<String, Value> {
        self.lock().clone()
    }
}

/// The resources of an agent, by type.
#[derive(Clone, Default)]
pub(in crate::agent) struct Resources(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Resources {
    pub(in crate::agent) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), value);
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.0.get(&TypeId::of::<T>())?).downcast().ok()
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} resources", self.0.len())
    }
}
