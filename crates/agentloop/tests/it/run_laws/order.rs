//! The order of events.

use std::collections::HashMap;

use agentloop::agent::RunEvent;
use agentloop::{ChatStreamEvent, Fold};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Preparing,
    Running,
    Ended,
}

pub(crate) fn check(stretches: &[Vec<RunEvent>]) {
    let mut calls: HashMap<(u32, usize), State> = HashMap::new();
    // The step that is open, and its message.
    let mut open: Option<u32> = None;
    let mut message: Option<Fold> = None;
    let mut last_step = 0;
    for events in stretches {
        let (last, before) = events.split_last().expect("a run has events");
        assert!(matches!(last, RunEvent::RunDone { .. }), "{last:?}");
        for event in before {
            let mut end = |step: u32, index: usize| {
                let state = calls.insert((step, index), State::Ended);
                assert!(
                    matches!(state, Some(State::Preparing | State::Running)),
                    "{event:?} after {state:?}"
                );
            };
            match event {
                RunEvent::StepStart { step, .. } => {
                    assert_eq!((open, *step), (None, last_step + 1));
                    last_step = *step;
                    open = Some(*step);
                    message = Some(Fold::new());
                }
                RunEvent::Model(ChatStreamEvent::Error { .. }) => message = None,
                RunEvent::Model(event) => {
                    let fold = message.as_mut().expect("a response in its step");
                    fold.push(event).unwrap();
                }
                RunEvent::ToolPreparing { step, index, .. } => {
                    assert_eq!(open, Some(*step));
                    let state = calls.insert((*step, *index), State::Preparing);
                    assert!(matches!(state, None | Some(State::Preparing)), "{state:?}");
                }
                RunEvent::ToolRunning { step, index, .. } => {
                    assert_eq!(open, Some(*step));
                    let state = calls.insert((*step, *index), State::Running);
                    assert_eq!(state, Some(State::Preparing), "{event:?}");
                }
                RunEvent::ToolProgress { step, index, .. } => {
                    assert_eq!(calls[&(*step, *index)], State::Running);
                }
                RunEvent::ToolCompleted { step, result }
                | RunEvent::ToolFailed { step, result }
                | RunEvent::ToolCanceled { step, result } => end(*step, result.index),
                RunEvent::ApprovalNeeded { step, calls: pending } => {
                    assert_eq!(open, Some(*step));
                    assert!(!pending.is_empty());
                }
                RunEvent::StepDone { step } => {
                    assert_eq!(open.take(), Some(step.number));
                    let ended = calls.iter().filter(|(call, _)| call.0 == step.number);
                    for (call, state) in ended {
                        assert_eq!(*state, State::Ended, "{call:?}");
                    }
                    assert_eq!(
                        calls.keys().filter(|call| call.0 == step.number).count(),
                        step.results.len()
                    );
                    let places: Vec<usize> =
                        step.results.iter().map(|result| result.index).collect();
                    assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
                }
                other => panic!("{other:?} in the middle"),
            }
        }
    }
    let left: Vec<_> = calls.iter().filter(|(_, state)| **state != State::Ended).collect();
    assert!(left.is_empty(), "{left:?}");
}
