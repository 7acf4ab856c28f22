//! Laws of a run, checked for generated scripts of responses, tool results, decisions and cancellations.

mod history;
mod order;
mod plan;
mod sum;
mod tools;

use agentloop::agent::{Outcome, RunEvent, RunRequest, StopReason, Suspended};
use plan::Plan;
use proptest::prelude::*;

/// A run from its start to its end, including all suspensions.
struct Ran {
    /// The events between two suspensions.
    stretches: Vec<Vec<RunEvent>>,
    outcome: Outcome,
    tools: tools::Tools,
}

fn clock() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Runs to the end. A suspended run is stored, read again, decided and resumed with a new agent.
fn ran(plan: &Plan, streamed: bool) -> Ran {
    clock().block_on(async {
        let tools = tools::Tools::default();
        let mut stretches = Vec::new();
        let mut request = RunRequest::new(plan.request());
        loop {
            let agent = plan.agent(&tools);
            let (events, outcome) = if streamed {
                plan.read(agent.stream(request), stretches.is_empty(), &tools).await
            } else {
                tools.run_with(&request);
                let outcome = match agent.run(request).await {
                    Ok(outcome) => outcome,
                    Err(failed) => *failed.outcome,
                };
                (Vec::new(), outcome)
            };
            stretches.push(events);
            let waits = outcome.stop == StopReason::Waiting;
            assert_eq!(outcome.suspended.is_some(), waits);
            match &outcome.suspended {
                Some(run) => {
                    let stored = serde_json::to_string(run).unwrap();
                    let mut run: Suspended = serde_json::from_str(&stored).unwrap();
                    plan.settle(&mut run, stretches.len());
                    request = run.into();
                }
                None => return Ran { stretches, outcome, tools },
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_run_obeys_its_laws(plan in plan::any_plan()) {
        let run = ran(&plan, true);
        order::check(&run.stretches);
        history::check(&plan.request(), &run.outcome);
        sum::check(&plan.request(), &run.stretches, &run.outcome);
        run.tools.check_once(&run.outcome);
        for event in run.stretches.iter().flatten() {
            let json = serde_json::to_string(event).unwrap();
            let read: RunEvent = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&read, event);
        }
    }

    #[test]
    fn a_complete_and_a_streamed_run_have_the_same_outcome(plan in plan::any_plan().prop_map(Plan::undisturbed)) {
        let whole = ran(&plan, false);
        let streamed = ran(&plan, true);
        history::check(&plan.request(), &whole.outcome);
        whole.tools.check_once(&whole.outcome);
        sum::check_same(&whole.outcome, &streamed.outcome);
    }
}
