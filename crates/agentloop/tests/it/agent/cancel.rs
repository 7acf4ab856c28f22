//! G.6: cancelling stops the model or the tool at once, is reported once, keeps what was done, and leaves a history that can
//! be sent again. Dropping a run does the same without a report.

use std::sync::Arc;

use agentloop::agent::{
    CancelToken, Decision, Policy, RunEvent, RunRequest, StopReason, Tool, ToolError, ToolStatus,
};
use agentloop::{BoxFuture, ErrorKind};
use agentloop_sim::Turn;
use tokio::sync::Notify;

use crate::agent::lab::{City, Count, Lab, asks, everywhere, says, streamed, text, weather};

/// Cancels after this many requests to the model.
async fn cancel_at_call(lab: &Lab, cancel: &CancelToken, calls: usize) {
    while lab.calls() < calls {
        lab.recorder.sent.notified().await;
    }
    cancel.cancel();
}

#[tokio::test]
async fn cancelling_stops_the_model_and_keeps_the_usage_so_far() {
    let stalled = Turn::text("never comes").with_fault("stall-events=0".parse().unwrap());
    everywhere([asks(&["A"]), stalled], async |lab| {
        let cancel = CancelToken::new();
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let agent = lab.agent().tool(weather(&Count::default()));
        let (outcome, ()) = tokio::join!(lab.run(&agent, request), cancel_at_call(lab, &cancel, 2));
        assert_eq!((outcome.stop.clone(), outcome.error.clone()), (StopReason::Cancelled, None));
        assert_eq!(outcome.usage, outcome.steps[0].response.usage);
        assert!(outcome.usage.total_tokens.is_some());
        assert_eq!(outcome.messages.len(), 2);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn cancelling_keeps_the_part_of_the_response_that_arrived() {
    let long = Turn::text("one two three four five six seven eight nine ten");
    streamed([long.with_fault("stall-events=6".parse().unwrap())], async |lab| {
        let mut stream = lab.agent().stream(lab.question());
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            let delta =
                matches!(&event, RunEvent::Model(event) if format!("{event:?}").contains("two"));
            seen.push(event);
            if delta {
                stream.cancel_token().cancel();
            }
        }
        let outcome = crate::agent::laws::check(&seen);
        assert_eq!(outcome.stop, StopReason::Cancelled);
        assert!(outcome.steps[0].partial);
        assert!(outcome.messages[0].text().starts_with("one two"));
        lab.check_history(&outcome);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn calls_that_arrived_before_the_response_was_cancelled_do_not_run() {
    let turn = asks(&["A", "B"]).with_fault("stall-events=5".parse().unwrap());
    streamed([turn], async |lab| {
        let ran = Count::default();
        let mut stream = lab.agent().tool(weather(&ran)).stream(lab.question());
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            if matches!(event, RunEvent::ToolPreparing { .. }) {
                stream.cancel_token().cancel();
            }
            seen.push(event);
        }
        let outcome = crate::agent::laws::check(&seen);
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Cancelled, 0));
        let canceled = seen.iter().filter(|event| matches!(event, RunEvent::ToolCanceled { .. }));
        assert_eq!(canceled.count(), outcome.steps[0].results.len());
        lab.check_history(&outcome);
        lab.send_history(&outcome).await;
    })
    .await;
}

/// Notifies when it is dropped.
struct Dropped(Count);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.more();
    }
}

/// Returns a tool that reports its start and never ends, with its token once it has started.
fn endless_tool(
    begun: &Arc<Notify>,
    dropped: &Count,
    token: &Arc<std::sync::Mutex<Option<CancelToken>>>,
) -> Tool {
    let (begun, dropped, token) = (Arc::clone(begun), dropped.clone(), Arc::clone(token));
    Tool::new("weather", "The weather of a city", move |at: City, context| {
        let (begun, held) = (Arc::clone(&begun), Dropped(dropped.clone()));
        if at.city == "Rome" {
            *token.lock().unwrap() = Some(context.cancel_token().clone());
        }
        async move {
            if at.city != "Rome" {
                return Ok("quick".to_owned());
            }
            begun.notify_one();
            std::future::pending::<()>().await;
            drop(held);
            Ok(at.city)
        }
    })
}

#[tokio::test]
async fn cancelling_stops_the_tools_at_once_and_reports_each_once() {
    everywhere([asks(&["Oslo", "Rome"]), says("unused")], async |lab| {
        let (begun, dropped, token) = (Arc::new(Notify::new()), Count::default(), Arc::default());
        let cancel = CancelToken::new();
        let agent = lab.agent().tool(endless_tool(&begun, &dropped, &token));
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let (outcome, ()) = tokio::join!(lab.run(&agent, request), async {
            begun.notified().await;
            cancel.cancel();
        });
        assert_eq!((outcome.stop.clone(), lab.calls()), (StopReason::Cancelled, 1));
        let results = &outcome.steps[0].results;
        let statuses: Vec<ToolStatus> = results.iter().map(|result| result.status).collect();
        assert_eq!(statuses, [ToolStatus::Completed, ToolStatus::Canceled]);
        assert_eq!(dropped.get(), 2);
        assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn dropping_a_run_stops_its_tools_and_cancels_their_tokens() {
    everywhere([asks(&["Rome"]), says("unused")], async |lab| {
        let (begun, dropped, token) = (Arc::new(Notify::new()), Count::default(), Arc::default());
        let agent = lab.agent().tool(endless_tool(&begun, &dropped, &token));
        if lab.streamed {
            let mut stream = agent.stream(lab.question());
            loop {
                tokio::select! {
                    event = stream.next() => assert!(event.is_some()),
                    () = begun.notified() => break,
                }
            }
        } else {
            tokio::select! {
                outcome = agent.run(lab.question()) => panic!("{outcome:?}"),
                () = begun.notified() => {}
            }
        }
        assert_eq!(dropped.get(), 1);
        assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_starts_sends_nothing() {
    everywhere([says("unused")], async |lab| {
        let cancel = CancelToken::new();
        cancel.cancel();
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let outcome = lab.run(&lab.agent(), request).await;
        assert_eq!((outcome.stop, lab.calls()), (StopReason::Cancelled, 0));
        assert!(outcome.messages.is_empty());
    })
    .await;
}

/// An approver that never decides.
struct Asleep(Arc<Notify>);

impl agentloop::agent::Approver for Asleep {
    fn decide<'a>(&'a self, _: &'a agentloop::agent::Pending) -> BoxFuture<'a, Decision> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_a_decision() {
    everywhere([asks(&["A", "B"]), says("unused")], async |lab| {
        let (asked, ran, cancel) = (Arc::new(Notify::new()), Count::default(), CancelToken::new());
        let tool = weather(&ran).policy(Policy::Ask);
        let agent = lab.agent().tool(tool).approver(Asleep(Arc::clone(&asked)));
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let (outcome, ()) = tokio::join!(lab.run(&agent, request), async {
            asked.notified().await;
            cancel.cancel();
        });
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Cancelled, 0));
        assert_eq!(outcome.steps[0].results.len(), 2);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn cancelling_ends_the_wait_of_a_hook() {
    everywhere([says("unused")], async |lab| {
        let (asked, cancel) = (Arc::new(Notify::new()), CancelToken::new());
        let notify = Arc::clone(&asked);
        let agent = lab.agent().before_step_async(move |_| {
            notify.notify_one();
            Box::pin(std::future::pending())
        });
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let (outcome, ()) = tokio::join!(lab.run(&agent, request), async {
            asked.notified().await;
            cancel.cancel();
        });
        assert_eq!((outcome.stop, lab.calls()), (StopReason::Cancelled, 0));
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_cancels_its_own_run_ends_it() {
    let turn = Turn::new([text("Hm."), crate::agent::lab::call("c1", "stop", "{}")]);
    everywhere([turn, says("unused")], async |lab| {
        let cancel = CancelToken::new();
        let switch = cancel.clone();
        let schema = serde_json::json!({ "type": "object" });
        let stop = Tool::dynamic("stop", "Stops", schema, move |_, _| {
            switch.cancel();
            async { Err::<(), _>(ToolError::new("too late")) }
        });
        let request = RunRequest::new(lab.question()).cancel_token(&cancel);
        let outcome = lab.run(&lab.agent().tool(stop), request).await;
        assert_eq!((outcome.stop.clone(), lab.calls()), (StopReason::Cancelled, 1));
        assert!(outcome.error.as_ref().is_none_or(|error| error.kind() == ErrorKind::Cancelled));
        lab.send_history(&outcome).await;
    })
    .await;
}
