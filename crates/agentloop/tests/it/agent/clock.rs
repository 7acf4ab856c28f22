//! Timeouts and retries, with a paused clock and the model in process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::agent::{Agent, Outcome, StopReason, Tool, ToolContext, ToolError, ToolStatus};
use agentloop::{AgentLoop, ChatRequest, Provider};
use agentloop_sim::{Model, Script, Simulator};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::agent::lab::{Count, ROWS, asks, says};

/// Runs one call of this tool with every provider, with complete and with streamed responses.
async fn everywhere(tool: impl Fn() -> Tool, test: impl Fn(Outcome)) {
    for row in ROWS {
        let model = Model::from_script(Script::new([asks(&["A"]), says("Fine.")]));
        let simulator = Simulator::new().with_model(model);
        let provider = simulator.simulate(Provider::builtin(row.provider).unwrap());
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let agent = Agent::new(ai).tool(tool());
        let request = ChatRequest::new(format!("{}/{}", row.provider, row.model)).user("Hello");
        test(agent.run(request.clone()).await.unwrap());
        test(agent.stream(request).outcome().await.unwrap());
    }
}

fn tool<F, Fut>(run: F) -> Tool
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    Tool::dynamic("weather", "The weather", json!({"type":"object"}), move |_: Value, context| {
        run(context)
    })
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_stopped_at_its_own_timeout() {
    let began = Arc::new(Mutex::new(Instant::now()));
    let start = Arc::clone(&began);
    let slow = move || {
        let start = Arc::clone(&start);
        tool(move |_| {
            *start.lock().unwrap() = Instant::now();
            async {
                sleep(Duration::from_secs(40)).await;
                Ok("late".to_owned())
            }
        })
    };
    everywhere(
        || slow().timeout(Duration::from_secs(30)),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.elapsed_ms), (ToolStatus::TimedOut, 30_000));
            assert_eq!(began.lock().unwrap().elapsed(), Duration::from_secs(30));
            assert_eq!(outcome.stop, StopReason::Finished);
        },
    )
    .await;
    everywhere(
        || slow().timeout(Duration::from_secs(41)),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.elapsed_ms), (ToolStatus::Completed, 40_000));
            assert_eq!((outcome.steps[0].tools_ms, outcome.elapsed_ms), (40_000, 40_000));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_timeout_of_five_minutes_unless_it_is_removed() {
    let endless = || {
        tool(|_| async {
            sleep(Duration::from_secs(301)).await;
            Ok("at last".to_owned())
        })
    };
    everywhere(endless, |outcome| {
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::TimedOut);
    })
    .await;
    everywhere(
        || endless().no_timeout(),
        |outcome| {
            assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_cancels_the_token_of_the_call() {
    let stopped = Count::default();
    let counter = stopped.clone();
    let starts = move || {
        let counter = counter.clone();
        tool(move |context| {
            let counter = counter.clone();
            async move {
                let token = context.cancel_token().clone();
                tokio::spawn(async move {
                    token.cancelled().await;
                    counter.more();
                });
                std::future::pending().await
            }
        })
        .timeout(Duration::from_secs(1))
    };
    everywhere(starts, |outcome| {
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::TimedOut);
    })
    .await;
    tokio::task::yield_now().await;
    assert_eq!(stopped.get(), 2 * ROWS.len());
}

/// Returns a tool that fails this many times with this error.
fn failing(times: u32, error: fn(&str) -> ToolError) -> Tool {
    tool(move |context| async move {
        if context.attempt() <= times {
            Err(error("busy"))
        } else {
            Ok(format!("try {}", context.attempt()))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_retried_as_often_as_the_tool_allows() {
    let transient: fn(&str) -> ToolError = |text| ToolError::transient(text);
    everywhere(
        || failing(2, transient).retries(2),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.attempts), (ToolStatus::Completed, 3));
            assert_eq!(result.output.to_text(), "try 3");
            // 200 ms before the second attempt, 400 ms before the third.
            assert_eq!(result.elapsed_ms, 600);
        },
    )
    .await;
    everywhere(
        || failing(u32::MAX, transient).retries(u32::MAX),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.attempts), (ToolStatus::Failed, 11));
            assert_eq!(result.elapsed_ms, 200 + 400 + 800 + 1_600 + 3_200 + 5 * 5_000);
        },
    )
    .await;
    everywhere(
        || failing(2, transient).retries(1),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.attempts), (ToolStatus::Failed, 2));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn other_failures_are_not_retried() {
    let plain: fn(&str) -> ToolError = |text| ToolError::new(text);
    everywhere(
        || failing(1, plain).retries(5),
        |outcome| {
            let result = &outcome.steps[0].results[0];
            assert_eq!((result.status, result.attempts), (ToolStatus::Failed, 1));
        },
    )
    .await;
    let hangs = || tool(|_| std::future::pending()).timeout(Duration::from_secs(1)).retries(5);
    everywhere(hangs, |outcome| {
        let result = &outcome.steps[0].results[0];
        assert_eq!((result.status, result.attempts), (ToolStatus::TimedOut, 1));
    })
    .await;
}
