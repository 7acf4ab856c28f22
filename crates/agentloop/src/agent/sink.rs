//! The queue between a run and the reader of its events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use super::event::RunEvent;
use super::tool::ToolContext;
use crate::limits::MAX_WAITING_PROGRESS;
use crate::lock::lock;

/// The queue of events between a run and its reader. Clones share the queue.
///
/// The run emits one event at a time and continues when the reader has taken it. Only progress events of tools may
/// accumulate.
#[derive(Clone, Default)]
pub(super) struct Sink(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    events: VecDeque<RunEvent>,
    /// Wakes the reader.
    reader: Option<Waker>,
    /// The running calls, by step and index. Only they may report progress.
    running: Vec<(u32, usize)>,
    /// The number of progress events in the queue.
    progress: usize,
}

impl Sink {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.0)
    }

    /// Adds an event and waits until the reader has taken it.
    pub(super) async fn emit(&self, event: RunEvent) {
        let mut event = Some(event);
        std::future::poll_fn(|_| match event.take() {
            Some(event) => {
                self.push(event);
                // The reader takes it and polls again, so no other task needs to be woken.
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
        .await;
    }

    /// Adds an event.
    pub(super) fn push(&self, event: RunEvent) {
        let mut queue = self.lock();
        match &event {
            RunEvent::ToolRunning { step, index, .. } => queue.running.push((*step, *index)),
            RunEvent::ToolCompleted { step, result }
            | RunEvent::ToolFailed { step, result }
            | RunEvent::ToolCanceled { step, result } => {
                queue.running.retain(|call| *call != (*step, result.index));
            }
            _ => {}
        }
        queue.events.push_back(event);
    }

    /// Adds a progress event of a call. If the queue is full, the event replaces the last one of the call or is dropped.
    pub(super) fn push_progress(
        &self,
        call: &ToolContext,
        message: Option<String>,
        fraction: Option<f64>,
    ) {
        let mut queue = self.lock();
        if !queue.running.contains(&(call.step, call.index)) {
            return;
        }
        let event = RunEvent::ToolProgress {
            step: call.step,
            index: call.index,
            call_id: (*call.call_id).to_owned(),
            tool: (*call.tool).to_owned(),
            message,
            fraction,
        };
        if queue.progress < MAX_WAITING_PROGRESS {
            queue.progress += 1;
            queue.events.push_back(event);
        } else {
            let last = queue.events.iter_mut().rev().find(|event| {
                matches!(event, RunEvent::ToolProgress { step, index, .. }
                    if (*step, *index) == (call.step, call.index))
            });
            if let Some(last) = last {
                *last = event;
            }
        }
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Returns the next event. If there is none, wakes `reader` when one is added.
    pub(super) fn take(&self, reader: &Waker) -> Option<RunEvent> {
        let mut queue = self.lock();
        let event = queue.events.pop_front();
        match &event {
            Some(RunEvent::ToolProgress { .. }) => queue.progress -= 1,
            Some(_) => {}
            None => queue.reader = Some(reader.clone()),
        }
        event
    }
}

shown! { Sink: self { } }
