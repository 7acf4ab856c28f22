//! Laws that the events of every run obey.

use std::collections::BTreeMap;

use agentloop::ChatStreamEvent;
use agentloop::agent::{Outcome, RunEvent, Step, StopReason, ToolResult, ToolStatus};

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Preparing,
    Running,
    Ended,
}

#[derive(Default)]
struct Seen {
    step: u32,
    /// The calls of the current step.
    calls: BTreeMap<usize, State>,
    results: Vec<ToolResult>,
    steps: Vec<Step>,
    waits: bool,
}

impl Seen {
    fn state(&self, index: usize) -> Option<State> {
        self.calls.get(&index).copied()
    }

    fn end_call(&mut self, step: u32, result: &ToolResult) {
        assert_eq!(step, self.step);
        // A call that was resumed or repaired need not have been prepared in this run.
        assert_ne!(self.state(result.index), Some(State::Ended), "ended twice: {result:?}");
        self.calls.insert(result.index, State::Ended);
        self.results.push(result.clone());
    }

    fn observe(&mut self, event: &RunEvent) {
        match event {
            RunEvent::StepStart { step, .. } => {
                assert!(*step > self.step, "{event:?} after step {}", self.step);
                assert!(self.calls.values().all(|state| *state == State::Ended));
                (self.step, self.calls, self.results) = (*step, BTreeMap::new(), Vec::new());
            }
            RunEvent::ToolPreparing { step, index, .. } => {
                assert_eq!(*step, self.step);
                assert!(matches!(self.state(*index), None | Some(State::Preparing)), "{event:?}");
                self.calls.insert(*index, State::Preparing);
            }
            RunEvent::ToolRunning { step, index, .. } => {
                // This may be the first event of a resumed run.
                self.step = self.step.max(*step);
                assert_eq!(*step, self.step);
                assert!(matches!(self.state(*index), None | Some(State::Preparing)), "{event:?}");
                self.calls.insert(*index, State::Running);
            }
            RunEvent::ToolProgress { step, index, .. } => {
                assert_eq!(*step, self.step);
                assert_eq!(self.state(*index), Some(State::Running), "{event:?}");
            }
            RunEvent::ToolCompleted { step, result } => {
                assert_eq!(result.status, ToolStatus::Completed);
                self.step = self.step.max(*step);
                self.end_call(*step, result);
            }
            RunEvent::ToolFailed { step, result } => {
                assert!(!result.status.is_success());
                self.step = self.step.max(*step);
                self.end_call(*step, result);
            }
            RunEvent::ToolCanceled { step, result } => {
                assert!(matches!(result.status, ToolStatus::Canceled | ToolStatus::Skipped));
                self.step = self.step.max(*step);
                self.end_call(*step, result);
            }
            RunEvent::ApprovalNeeded { calls, .. } => {
                assert!(!calls.is_empty());
                self.waits = true;
            }
            RunEvent::StepDone { step } => {
                self.step = self.step.max(step.number);
                assert_eq!(step.number, self.step);
                assert!(self.calls.values().all(|state| *state == State::Ended), "{event:?}");
                for result in &self.results {
                    assert_eq!(&step.results[result.index], result);
                }
                self.steps.push(Step::clone(step));
            }
            _ => {}
        }
    }
}

/// Checks all events of a run and returns its outcome.
pub(crate) fn check(events: &[RunEvent]) -> Outcome {
    let mut seen = Seen::default();
    for event in events {
        let json = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<RunEvent>(&json).unwrap(), event, "{json}");
        seen.observe(event);
    }
    let done = events.iter().filter(|event| matches!(event, RunEvent::RunDone { .. })).count();
    assert_eq!(done, 1, "`run.done` comes exactly once");
    let Some(RunEvent::RunDone { outcome }) = events.last() else {
        panic!("ends with {:?}", events.last())
    };
    let waits = outcome.stop == StopReason::Waiting;
    assert_eq!(outcome.suspended.is_some(), waits);
    assert!(seen.waits || !waits);
    // A resumed run emits only its own steps, but its outcome also contains the earlier ones.
    let reported = &outcome.steps[outcome.steps.len() - seen.steps.len() - usize::from(waits)..];
    assert_eq!(
        &reported[..reported.len() - usize::from(waits)],
        seen.steps,
        "a step was not reported"
    );
    for step in &outcome.steps {
        let place = |at: usize| step.results[at].index;
        assert!((0..step.results.len()).all(|at| place(at) == at), "not in the order of the calls");
    }
    let errors = events
        .iter()
        .filter(|event| matches!(event, RunEvent::Model(ChatStreamEvent::Error { .. })))
        .count();
    assert!(errors <= 1);
    Outcome::clone(outcome)
}
