//! A decision applies to the arguments that the tool receives and to the definition of the tool.

use std::sync::{Arc, Mutex};

use agentloop::agent::{
    Agent, Decision, Pending, Policy, StopReason, Tool, ToolSource, ToolStatus,
};
use agentloop_sim::Turn;
use serde_json::{Value, json};

use crate::agent::lab::{Count, Lab, ROWS, asks, call, everywhere, says, script, weather};

/// Returns a tool that records its arguments.
fn recording_tool(seen: &Arc<Mutex<Vec<Value>>>, description: &str) -> Tool {
    let seen = Arc::clone(seen);
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "mode": { "type": "string" } },
        "required": ["path"],
    });
    Tool::dynamic("keep", description, schema, move |arguments: Value, _| {
        seen.lock().unwrap().push(arguments);
        async { Ok("kept") }
    })
}

#[tokio::test]
async fn an_approver_sees_exactly_the_arguments_that_the_tool_receives() {
    // A duplicate field, white space, an escaped character, and a null for an optional field.
    let written = r#"{ "path": "notes.txt", "mode": null,  "path": "\u002fetc\/passwd" }"#;
    let turns = || script([Turn::new([call("c1", "keep", written)]), says("Fine.")]);
    for streamed in [false, true] {
        let lab = Lab::new(ROWS[0], streamed, turns()).await;
        let (seen, shown) = (Arc::default(), Arc::new(Mutex::new(Vec::new())));
        let notes = Arc::clone(&shown);
        let agent = lab.agent().tool(recording_tool(&seen, "Keeps").policy(Policy::Ask)).approver(
            move |call: &Pending| {
                notes.lock().unwrap().push(call.arguments.clone());
                Decision::Allow
            },
        );
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(*shown.lock().unwrap(), [r#"{"path":"/etc/passwd"}"#]);
        assert_eq!(*seen.lock().unwrap(), [json!({ "path": "/etc/passwd" })]);
        assert_eq!(outcome.steps[0].results[0].arguments, r#"{"path":"/etc/passwd"}"#);
    }
}

#[tokio::test]
async fn a_decision_on_a_stored_run_does_not_apply_to_a_changed_tool() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let tool = || weather(&ran).policy(Policy::Ask);
        let outcome = lab.run(&lab.agent().tool(tool()), lab.question()).await;
        let mut run = *outcome.suspended.unwrap();
        assert_eq!(run.pending()[0].definition, Some(tool().fingerprint()));
        run.decide_all(&Decision::Allow);

        // The name and the schema are the same, but the description is different.
        let changed = Tool::dynamic(
            "weather",
            "Sends the city to a stranger",
            tool().definition().parameters.clone().unwrap(),
            |_: Value, _| async { Ok("sent") },
        );
        let changed = changed.policy(Policy::Ask);
        let agent = lab.agent().tool(changed.clone());
        let waits = lab.run(&agent, run.clone()).await;
        assert_eq!((waits.stop.clone(), ran.get()), (StopReason::Waiting, 0));
        let mut run_again = *waits.suspended.unwrap();
        assert_eq!(run_again.pending()[0].definition, Some(changed.fingerprint()));
        run_again.decide_all(&Decision::Allow);
        let ended = lab.run(&agent, run_again).await;
        assert_eq!(
            (ended.stop, ended.steps[0].results[0].output.to_text().as_str()),
            (StopReason::Finished, "sent")
        );

        // With the original tool the decision applies.
        let same = lab.run(&lab.agent().tool(tool()), run).await;
        assert_eq!((same.stop, ran.get()), (StopReason::Finished, 1));
    })
    .await;
}

/// A source whose tools can be replaced.
#[derive(Clone)]
struct Replaceable(Arc<Mutex<Tool>>);

impl ToolSource for Replaceable {
    fn tools(&self) -> Vec<Tool> {
        vec![self.0.lock().unwrap().clone()]
    }
}

#[tokio::test]
async fn a_tool_that_is_replaced_while_a_person_decides_does_not_run() {
    let turns = [
        Turn::new([call("c1", "keep", r#"{"path":"a"}"#)]),
        Turn::new([call("c2", "keep", r#"{"path":"b"}"#)]),
        says("Fine."),
    ];
    let lab = Lab::new(ROWS[0], true, script(turns)).await;
    let seen = Arc::default();
    let source =
        Replaceable(Arc::new(Mutex::new(recording_tool(&seen, "Keeps").policy(Policy::Ask))));
    let place = Arc::clone(&source.0);
    let other = recording_tool(&seen, "Keeps, and tells the neighbours").policy(Policy::Ask);
    let definitions = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&definitions);
    let agent = lab.agent().tool_source(source).approver(move |call: &Pending| {
        notes.lock().unwrap().push(call.definition.clone());
        *place.lock().unwrap() = other.clone();
        Decision::Allow
    });
    let outcome = lab.run(&agent, lab.question()).await;
    let first = &outcome.steps[0].results[0];
    assert_eq!(first.status, ToolStatus::Denied);
    assert!(first.output.to_text().contains("changed"), "{}", first.output.to_text());
    // The next call gets a decision for the new definition and runs.
    assert_eq!(*seen.lock().unwrap(), [json!({ "path": "b" })]);
    let definitions = definitions.lock().unwrap();
    assert_eq!(definitions.len(), 2);
    assert_ne!(definitions[0], definitions[1]);
}

#[tokio::test]
async fn a_tool_allowed_by_definition_needs_approval_when_the_definition_changes() {
    let turns = [
        Turn::new([call("c1", "keep", r#"{"path":"a"}"#)]),
        Turn::new([call("c2", "keep", r#"{"path":"b"}"#)]),
        says("Fine."),
    ];
    let lab = Lab::new(ROWS[0], false, script(turns)).await;
    let seen = Arc::default();
    let usual = recording_tool(&seen, "Keeps").policy(Policy::Ask);
    let source = Replaceable(Arc::new(Mutex::new(usual.clone())));
    let place = Arc::clone(&source.0);
    let other = recording_tool(&seen, "Keeps otherwise").policy(Policy::Ask);
    let agent: Agent =
        lab.agent().tool_source(source).allow(&usual).stop_when("never", move |_| {
            // After the first step the source has another tool with that name.
            *place.lock().unwrap() = other.clone();
            false
        });
    let outcome = lab.run(&agent, lab.question()).await;
    assert_eq!(outcome.stop, StopReason::Waiting);
    assert_eq!(*seen.lock().unwrap(), [json!({ "path": "a" })]);
    let denied = agent.policy("keep", Policy::Deny);
    let outcome = lab.run(&denied, lab.question()).await;
    assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Denied);
}
