//! `[log]` of the configuration.

use serde_json::Value;

use crate::common::agentloop;

#[test]
fn a_configured_log_writes_one_line_of_json_per_call_to_stderr() {
    let chat = ["chat", "-m", "sim/echo", "Hello"];
    let run = agentloop(chat).config("[log]").run().exits(0);
    let entry: Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!((&entry["provider"], &entry["status"]), (&"sim".into(), &"ok".into()));
    assert_eq!((&entry["attempts"], entry.get("prompt")), (&1.into(), None));

    let run = agentloop(chat).config("[log]\ncontent = true").run();
    let entry: Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!(entry["prompt"][0]["content"], "Hello", "{run}");

    let run = agentloop(chat).config("").run();
    assert_eq!(run.stderr, "", "{run}");
}
