//! Limits on the size of all results together, and on the memory for reading a saved run.

use agentloop::agent::{Agent, RunEvent, Saved, StopReason, Tool};
use agentloop::limits::{
    MAX_FULL_RESULT_BYTES, MAX_SAVED_BYTES, MAX_SAVED_VALUES, MAX_STEP_RESULT_BYTES,
};
use agentloop::{AgentLoop, ChatRequest, ErrorKind, Protocol};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::{Value, json};

use crate::agent::lab::{call, says};

const CALLS: usize = 100;

/// Returns an agent whose model reads a file of one megabyte a hundred times in one step.
fn agent(chars: Option<usize>) -> Agent {
    let calls = (0..CALLS).map(|at| call(&format!("call_{at}"), "read", "{}"));
    let script = Script::new([Turn::new(calls), says("Long.")]);
    let provider = Simulator::new()
        .with_model(Model::from_script(script))
        .provider_named("lab", Protocol::OpenAiChat);
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let mut read =
        Tool::dynamic("read", "Reads", json!({ "type": "object" }), |_: Value, _| async {
            Ok("x".repeat(1 << 20))
        });
    if let Some(chars) = chars {
        read = read.max_output_chars(chars);
    }
    Agent::new(ai).tool(read)
}

fn request() -> ChatRequest {
    ChatRequest::new("lab/m").user("Read it.")
}

/// A hundred calls that returned one large file each kept a complete copy of it, however many there were.
#[tokio::test]
async fn complete_results_are_kept_up_to_their_limit() {
    let outcome = agent(None).run(request()).await.unwrap();
    assert_eq!(outcome.stop, StopReason::Finished);
    let results = &outcome.steps[0].results;
    let kept: usize = results
        .iter()
        .filter_map(|result| result.full.as_ref())
        .map(|full| full.to_text().len())
        .sum();
    assert!(kept > MAX_FULL_RESULT_BYTES / 2 && kept <= MAX_FULL_RESULT_BYTES, "{kept}");
    for result in results {
        assert_eq!(result.full.is_none(), result.warnings.len() == 1, "{:?}", result.warnings);
        assert!(result.output.to_text().contains("characters left out"));
    }
    assert!(results.iter().any(|result| result.full.is_none()));
}

#[tokio::test]
async fn results_of_a_step_are_truncated_at_their_limit_and_the_run_continues() {
    let mut run = agent(Some(2 << 20)).stream(request());
    let (mut warned, mut outcome) = (0, None);
    while let Some(event) = run.next().await {
        match event {
            RunEvent::ToolCompleted { result, .. } => {
                warned += usize::from(!result.warnings.is_empty());
            }
            RunEvent::RunDone { outcome: done } => outcome = Some(done),
            _ => {}
        }
    }
    let outcome = outcome.unwrap();
    assert_eq!(outcome.stop, StopReason::Finished);
    assert_eq!(outcome.text(), "Long.");
    let results = &outcome.steps[0].results;
    let shown: usize = results.iter().map(|result| result.output.to_text().len()).sum();
    let notes = CALLS * 200;
    assert!(shown > MAX_STEP_RESULT_BYTES / 2 && shown < MAX_STEP_RESULT_BYTES + notes, "{shown}");
    let cut: Vec<_> = results.iter().filter(|result| !result.warnings.is_empty()).collect();
    assert_eq!(cut.len(), warned);
    assert!(cut.len() > CALLS / 2);
    for result in cut {
        assert!(
            result.output.to_text().contains("the results of this step are too large together")
        );
    }
    // The model receives the same text.
    let read: usize = outcome.messages.iter().map(|message| message.text().len()).sum();
    assert!(read < MAX_STEP_RESULT_BYTES + notes, "{read}");
}

#[test]
fn a_saved_run_that_is_too_large_is_rejected_before_it_uses_memory() {
    let values = "0,".repeat(MAX_SAVED_VALUES);
    let dense = format!(r#"{{"model":"m","messages":[],"extra_body":{{"list":[{values}0]}}}}"#);
    let long = format!(r#"{{"model":"m","messages":[],"user":"{}"}}"#, "x".repeat(MAX_SAVED_BYTES));
    for (text, why) in [(dense, "values"), (long, "bytes")] {
        let mut error = None;
        let used = allocation_counter::measure(|| error = Saved::from_json(&text).err());
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.message().contains(why), "{error}");
        assert!(used.bytes_max < 10_000, "{used:?}");
    }
}

#[test]
fn reading_a_saved_conversation_uses_limited_memory_per_value() {
    const VALUES: usize = 200_000;
    let values = "{},".repeat(VALUES);
    let text = format!(r#"{{"model":"m","messages":[],"extra_body":{{"list":[{values}0]}}}}"#);
    let used = allocation_counter::measure(|| drop(Saved::from_json(&text).unwrap()));
    let each = used.bytes_max / VALUES as u64;
    println!("{each} bytes for each value");
    assert!(each < 400, "{each} bytes for each value");
}

#[test]
fn json_that_is_neither_a_run_nor_a_conversation_is_rejected() {
    for text in ["", "{}", "[]", r#"{"run":1}"#, r#"{"messages":1}"#] {
        assert_eq!(Saved::from_json(text).unwrap_err().kind(), ErrorKind::InvalidRequest, "{text}");
    }
}
