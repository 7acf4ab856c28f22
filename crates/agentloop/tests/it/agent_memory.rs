//! A thousand runs, a hundred at the same time, free all of their memory.
//!
//! The allocations of one thread, on which everything runs, are counted to the byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::agent::{Agent, StopReason, Tool};
use agentloop::transport::Body;
use agentloop::{AgentLoop, ChatRequest, Provider};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::support::canned::{self, Canned};

const RUNS: usize = 1_000;
const AT_ONCE: usize = 100;
const STEPS: usize = 10;
const TOOLS: usize = 3;

/// The bytes that may stay allocated, for tables that have grown. One byte per call would be more.
const SLACK: i64 = 16 << 10;

/// The bytes that all parallel runs may use: about three times what they need.
const MOST: u64 = 20 << 20;

/// Responds at once: with three calls before the last step, then with text. The simulator could do this too, but would take
/// most of the time.
fn respond(request: &Request<Bytes>) -> Response<Body> {
    let asked = std::str::from_utf8(request.body()).unwrap();
    let step = asked.matches(r#""role":"assistant""#).count() + 1;
    let streamed = asked.contains(r#""stream":true"#);
    let call = |at| {
        json!({ "index": at, "id": format!("c{step}_{at}"), "type": "function",
                "function": { "name": "look", "arguments": "{}" } })
    };
    let (said, reason) = match step {
        STEPS => (json!({ "role": "assistant", "content": "Done." }), "stop"),
        _ => {
            let calls: Vec<Value> = (0..TOOLS).map(call).collect();
            (json!({ "role": "assistant", "tool_calls": calls }), "tool_calls")
        }
    };
    let name = if streamed { "delta" } else { "message" };
    let mut body = json!({ "id": "a", "model": "m", "choices": [
            { "index": 0, "finish_reason": reason }
        ] });
    body["choices"][0][name] = said;
    let (body, kind) = if streamed {
        (format!("data: {body}\n\ndata: [DONE]\n\n"), "text/event-stream")
    } else {
        (body.to_string(), "application/json")
    };
    canned::response(kind, Body::whole(body))
}

fn agent(begun: &Arc<AtomicUsize>, gone: &Arc<AtomicUsize>) -> Agent {
    let provider = Provider::openai_compatible("lab", "http://lab.invalid/v1");
    let provider = provider.transport(Canned(respond));
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let (begun, gone) = (Arc::clone(begun), Arc::clone(gone));
    let look =
        Tool::dynamic("look", "Looks", json!({ "type": "object" }), move |_: Value, context| {
            begun.fetch_add(1, Ordering::Relaxed);
            let gone = Arc::clone(&gone);
            async move {
                context.data().update(|data| data.insert("last".into(), json!(context.call_id())));
                context.progress("looking");
                // The task holds the context until its token is cancelled, which must happen when the call ends.
                tokio::spawn(async move {
                    context.cancel_token().cancelled().await;
                    gone.fetch_add(1, Ordering::Relaxed);
                });
                // More often than there is news of the tools beside it: a run that has news is asked again at once.
                for _ in 0..2 * TOOLS {
                    tokio::task::yield_now().await;
                }
                Ok("nothing new")
            }
        });
    Agent::new(ai).tool(look)
}

/// Runs an agent this many times, a hundred at the same time, half of them streamed.
async fn runs(agent: &Agent, count: usize) {
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move {
                for number in 0..count / AT_ONCE {
                    let request = ChatRequest::new("lab/m").user("Look around.");
                    let outcome = match number % 2 {
                        0 => agent.run(request).await.unwrap(),
                        _ => agent.stream(request).outcome().await.unwrap(),
                    };
                    assert_eq!((outcome.stop, outcome.steps.len()), (StopReason::Finished, STEPS));
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
}

/// Waits until all tasks of the tools have ended, which requires that their tokens are cancelled.
async fn wait_for_tasks(begun: &AtomicUsize, gone: &AtomicUsize) {
    for _ in 0..1_000_000 {
        if gone.load(Ordering::Relaxed) == begun.load(Ordering::Relaxed) {
            break;
        }
        tokio::task::yield_now().await;
    }
    // The last of them is still on its way out.
    tokio::task::yield_now().await;
}

#[test]
fn a_thousand_runs_of_ten_steps_with_three_parallel_tools_free_their_memory() {
    let (begun, gone) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let agent = agent(&begun, &gone);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = |count: usize| {
        runtime.block_on(async {
            runs(&agent, count).await;
            wait_for_tasks(&begun, &gone).await;
        });
    };
    // Pools, caches and tables take their place in the first round.
    all(AT_ONCE);
    let held = allocation_counter::measure(|| all(RUNS));
    println!("{held:?}");
    assert!(held.bytes_current.abs() < SLACK, "{} bytes stay", held.bytes_current);
    assert!(held.bytes_max < MOST, "{} bytes at once", held.bytes_max);
    let calls = (RUNS + AT_ONCE) * (STEPS - 1) * TOOLS;
    assert_eq!(begun.load(Ordering::Relaxed), calls);
    assert_eq!(gone.load(Ordering::Relaxed), calls, "tokens that were never cancelled");
}

#[test]
fn runs_that_are_dropped_half_way_free_their_memory() {
    let (begun, gone) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let agent = agent(&begun, &gone);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dropped = |count: usize| {
        runtime.block_on(async {
            for number in 0..count {
                let mut run = agent.stream(ChatRequest::new("lab/m").user("Look around."));
                for _ in 0..number % 60 {
                    run.next().await.unwrap();
                }
                drop(run);
            }
            wait_for_tasks(&begun, &gone).await;
        });
    };
    dropped(AT_ONCE);
    let held = allocation_counter::measure(|| dropped(RUNS));
    assert!(held.bytes_current.abs() < SLACK, "{} bytes stay", held.bytes_current);
    assert_eq!(begun.load(Ordering::Relaxed), gone.load(Ordering::Relaxed));
    assert!(gone.load(Ordering::Relaxed) > 0);
}
