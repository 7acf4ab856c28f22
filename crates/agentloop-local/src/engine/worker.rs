//! The thread of a loaded model.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::scheduler::Scheduler;
use super::{Inner, backend};
use crate::gguf::{self, Head};
use crate::job::{Busy, Job};
use crate::limits::UNLOAD_AFTER;
use crate::local::Options;

/// What a thread needs to load a model and to work with it.
#[derive(Debug)]
pub(super) struct Work {
    path: PathBuf,
    id: u64,
    engine: Weak<Inner>,
    options: Options,
    jobs: Receiver<(Job, Busy)>,
    /// The thread of a model that is unloaded first.
    before: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Work {
    pub(super) fn new(
        path: &Path,
        id: u64,
        engine: &Arc<Inner>,
        jobs: Receiver<(Job, Busy)>,
        before: Option<JoinHandle<()>>,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        let (options, stop) = (engine.options.clone(), Arc::clone(stop));
        let engine = Arc::downgrade(engine);
        Self { path: path.to_owned(), id, engine, options, jobs, before, stop }
    }

    /// Loads the model, works until nothing is left to do for some time, and unloads it.
    pub(super) fn run(mut self) {
        if let Some(before) = self.before.take() {
            // A panic of the other thread has been reported to its callers.
            drop(before.join());
        }
        let loaded = self.load();
        let (head, model) = match &loaded {
            Ok((head, model)) => (head, model),
            Err(error) => return self.fail_all(error),
        };
        match Scheduler::new(model, head, &self.options) {
            Ok(mut scheduler) => self.serve(&mut scheduler),
            Err(error) => self.fail_all(&error),
        }
    }

    fn load(&self) -> Result<(Head, LlamaModel)> {
        let head = gguf::check(&self.path)?;
        let stop = Arc::clone(&self.stop);
        let params = LlamaModelParams::default()
            .with_n_gpu_layers(0)
            .with_progress_callback(move |_| !stop.load(Ordering::SeqCst));
        let model = LlamaModel::load_from_file(backend()?, &self.path, &params);
        let model = model.map_err(|error| {
            Error::new(
                ErrorKind::InvalidRequest,
                format!("the engine cannot load {}: {error}", self.path.display()),
            )
            .with_hint("the file may be damaged, or its architecture may be newer than the engine")
        })?;
        Ok((head, model))
    }

    fn serve(&self, scheduler: &mut Scheduler<'_>) {
        while !self.stop.load(Ordering::SeqCst) {
            if scheduler.is_idle() {
                match self.jobs.recv_timeout(UNLOAD_AFTER) {
                    Ok((job, busy)) => scheduler.take(job, busy),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => match self.retire() {
                        Some((job, busy)) => scheduler.take(job, busy),
                        None => return,
                    },
                }
            }
            while scheduler.has_room() {
                match self.jobs.try_recv() {
                    Ok((job, busy)) => scheduler.take(job, busy),
                    Err(_) => break,
                }
            }
            scheduler.step();
        }
    }

    /// Removes this worker from the engine, unless a job has arrived in the meantime.
    fn retire(&self) -> Option<(Job, Busy)> {
        let engine = self.engine.upgrade()?;
        // Jobs are sent with this lock held, so none can arrive between the check and the removal.
        let mut workers = engine.lock();
        if let Ok(job) = self.jobs.try_recv() {
            return Some(job);
        }
        if workers.by_path.get(&self.path).is_some_and(|worker| worker.id == self.id) {
            workers.by_path.remove(&self.path);
        }
        None
    }

    /// Ends the jobs that wait for a model that cannot be loaded.
    fn fail_all(&self, error: &Error) {
        while let Some((job, busy)) = self.jobs.try_recv().ok().or_else(|| self.retire()) {
            job.fail(error.clone());
            drop(busy);
        }
    }
}
