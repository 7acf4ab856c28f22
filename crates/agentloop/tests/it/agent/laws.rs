//! What holds of the events of every run.

use std::collections::BTreeMap;

use agentloop::ChatStreamEvent;
use agentloop::agent::{Outcome, RunEvent, Step, StopReason, ToolResult, ToolStatus};

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Preparing,
    Running,
    Ended,
}

#[derive(Default)]
struct Seen {
    step: u32,
    /// The calls of the step under way.
    calls: BTreeMap<usize, State>,
    results: Vec<ToolResult>,
    steps: Vec<Step>,
    waits: bool,
}

impl Seen {
    fn state(&self, index: usize) -> Option<State> {
        self.calls.get(&index).copied()
    }

    fn ended(&mut self, step: u32, result: &ToolResult) {
        assert_eq!(step, self.step);
        // A call that was waited for, or was repaired or written by another, need not have been prepared here.
        assert_ne!(self.state(result.index), Some(State::Ended), "ended twice: {result:?}");
        self.calls.insert(result.index, State::Ended);
        self.results.push(result.clone());
    }

    fn look(&mut self, event: &RunEvent) {
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
                // The first event of a resumed run may be this one.
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
                self.ended(*step, result);
            }
            RunEvent::ToolFailed { step, result } => {
                assert!(!result.status.is_success());
                self.step = self.step.max(*step);
                self.ended(*step, result);
            }
            RunEvent::ToolCanceled { step, result } => {
                assert!(matches!(result.status, ToolStatus::Canceled | ToolStatus::Skipped));
                self.step = self.step.max(*step);
                self.ended(*step, result);
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

/// Checks the events of a run, all of them, and gives its outcome.
pub(crate) fn check(events: &[RunEvent]) -> Outcome {
    let mut seen = Seen::default();
    for event in events {
        let json = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<RunEvent>(&json).unwrap(), event, "{json}");
        seen.look(event);
    }
    let done = events.iter().filter(|event| matches!(event, RunEvent::RunDone { .. })).count();
    assert_eq!(done, 1, "the run is told to be over once");
    let Some(RunEvent::RunDone { outcome }) = events.last() else {
        panic!("ends with {:?}", events.last())
    };
    let waits = outcome.stop == StopReason::Waiting;
    assert_eq!(outcome.suspended.is_some(), waits);
    assert!(seen.waits || !waits);
    // A resumed run tells of its own steps; those before it are in its outcome all the same.
    let told = &outcome.steps[outcome.steps.len() - seen.steps.len() - usize::from(waits)..];
    assert_eq!(&told[..told.len() - usize::from(waits)], seen.steps, "a step was not told");
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
