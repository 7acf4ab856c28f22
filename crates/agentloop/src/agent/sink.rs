//! Where the events of a run wait to be read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::event::RunEvent;
use super::tool::ToolContext;
use crate::limits::MAX_WAITING_PROGRESS;

/// Where the events of a run wait to be read. Clones are the same.
///
/// The run hands on one event at a time and goes on when that one is taken; only what tools tell of their progress may
/// wait in numbers.
#[derive(Clone, Default)]
pub(super) struct Sink(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    events: VecDeque<RunEvent>,
    /// Who reads.
    reader: Option<Waker>,
    /// The calls that run, by step and place: only they have progress.
    running: Vec<(u32, usize)>,
    /// How much progress waits.
    progress: usize,
}

impl Sink {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an event on, and waits until it is taken.
    pub(super) async fn emit(&self, event: RunEvent) {
        let mut event = Some(event);
        std::future::poll_fn(|_| match event.take() {
            Some(event) => {
                self.push(event);
                // The reader takes it and asks again: nobody else needs to be woken.
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
        .await;
    }

    /// Hands an event on.
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

    /// Tells of a call's progress. When too much of it waits, the news takes the place of the call's last, or is left out.
    pub(super) fn progress(
        &self,
        call: &ToolContext,
        message: Option<String>,
        fraction: Option<f64>,
    ) {
        let mut queue = self.lock();
        if !queue.running.contains(&(call.step, call.index)) {
            return;
        }
        let news = RunEvent::ToolProgress {
            step: call.step,
            index: call.index,
            call_id: (*call.call_id).to_owned(),
            tool: (*call.tool).to_owned(),
            message,
            fraction,
        };
        if queue.progress < MAX_WAITING_PROGRESS {
            queue.progress += 1;
            queue.events.push_back(news);
        } else {
            let last = queue.events.iter_mut().rev().find(|event| {
                matches!(event, RunEvent::ToolProgress { step, index, .. }
                    if (*step, *index) == (call.step, call.index))
            });
            if let Some(last) = last {
                *last = news;
            }
        }
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The next event, if one waits; else `reader` is woken when there is news.
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

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}
