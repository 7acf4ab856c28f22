//! Loads models and gives them work: one thread for each loaded model.

mod chat;
mod embed;
mod processor;
mod sampler;
mod scheduler;
mod slot;
mod template;
mod text;
mod worker;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Instant;

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::LogOptions;
use llama_cpp_2::llama_backend::LlamaBackend;

use crate::job::{Busy, Job};
use crate::limits::{MAX_WAITING_JOBS, MODEL_STACK_BYTES};
use crate::local::Options;
use worker::Work;

/// The loaded models.
#[derive(Debug)]
pub(crate) struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: Options,
    workers: Mutex<Workers>,
}

#[derive(Debug, Default)]
struct Workers {
    by_path: HashMap<PathBuf, Worker>,
    /// How many workers were started, which identifies each.
    started: u64,
}

#[derive(Debug)]
struct Worker {
    id: u64,
    jobs: SyncSender<(Job, Busy)>,
    busy: Arc<AtomicUsize>,
    /// Set to end the thread after the step in progress.
    stop: Arc<AtomicBool>,
    last_used: Instant,
    thread: JoinHandle<()>,
}

/// Wakes the thread of a model, which may wait for the reader of a response.
#[derive(Clone, Debug)]
pub(crate) struct Wake(Thread);

impl Wake {
    pub(crate) fn wake(&self) {
        self.0.unpark();
    }
}

impl Engine {
    pub(crate) fn new(options: Options) -> Self {
        let workers = Mutex::new(Workers::default());
        Self { inner: Arc::new(Inner { options, workers }) }
    }

    /// Gives a job to the model of a file, which is loaded if it is not.
    pub(crate) fn submit(&self, path: &Path, job: Job) -> Result<Wake> {
        let mut workers = self.inner.lock();
        let worker = match workers.by_path.get_mut(path) {
            Some(worker) if !worker.thread.is_finished() => worker,
            _ => self.start(&mut workers, path)?,
        };
        worker.last_used = Instant::now();
        let busy = Busy::new(&worker.busy);
        match worker.jobs.try_send((job, busy)) {
            Ok(()) => Ok(Wake(worker.thread.thread().clone())),
            Err(TrySendError::Full(_)) => Err(Error::new(
                ErrorKind::Overloaded,
                format!("{MAX_WAITING_JOBS} calls already wait for this model"),
            )),
            Err(TrySendError::Disconnected(_)) => {
                Err(Error::new(ErrorKind::Server, "the thread of the model has ended"))
            }
        }
    }

    /// Starts the thread of a model. If as many models are loaded as may be, the one that was not used for the longest time is
    /// unloaded first.
    fn start<'a>(&self, workers: &'a mut Workers, path: &Path) -> Result<&'a mut Worker> {
        workers.by_path.retain(|_, worker| !worker.thread.is_finished());
        let mut before = None;
        if workers.by_path.len() >= self.inner.options.max_models {
            let idle = workers.by_path.iter();
            let idle = idle.filter(|(_, worker)| worker.busy.load(Ordering::SeqCst) == 0);
            let oldest = idle.min_by_key(|(_, worker)| worker.last_used);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else {
                return Err(Error::new(
                    ErrorKind::Overloaded,
                    format!(
                        "{} other local models are in use, which is the maximum",
                        self.inner.options.max_models
                    ),
                ));
            };
            // Dropping the sender ends the thread, and the new one waits for it, so both models are never in memory.
            before = workers.by_path.remove(&oldest).map(|worker| worker.thread);
        }
        let (jobs, received) = sync_channel(MAX_WAITING_JOBS);
        let id = workers.started;
        workers.started += 1;
        let stop = Arc::new(AtomicBool::new(false));
        let work = Work::new(path, id, &self.inner, received, before, &stop);
        let thread = std::thread::Builder::new()
            .name("agentloop-local".to_owned())
            .stack_size(MODEL_STACK_BYTES)
            .spawn(move || work.run())
            .map_err(|error| {
                let message = "the thread of the model cannot be started";
                Error::new(ErrorKind::Other, message).with_source(error)
            })?;
        let busy = Arc::new(AtomicUsize::new(0));
        let worker = Worker { id, jobs, busy, stop, last_used: Instant::now(), thread };
        Ok(workers.by_path.entry(path.to_owned()).insert_entry(worker).into_mut())
    }
}

/// Waits for the threads, each of which ends after the step in progress. A thread inside the engine while the process ends could crash it.
impl Drop for Engine {
    fn drop(&mut self) {
        let workers = std::mem::take(&mut self.inner.lock().by_path);
        for worker in workers.values() {
            worker.stop.store(true, Ordering::SeqCst);
        }
        for (_, Worker { jobs, thread, .. }) in workers {
            drop(jobs);
            thread.thread().unpark();
            // A panic of the thread has been reported to its callers.
            drop(thread.join());
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Workers> {
        // The map is valid after every statement, so a panic elsewhere does not matter.
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the engine's state that all models share. It exists until the process ends.
fn backend() -> Result<&'static LlamaBackend> {
    static BACKEND: OnceLock<std::result::Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        processor::check()?;
        // The engine writes to stderr otherwise.
        llama_cpp_2::send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init().map_err(|error| error.to_string())
    });
    backend.as_ref().map_err(|why| {
        Error::new(ErrorKind::Other, format!("the engine for local models cannot start: {why}"))
    })
}
