//! `agentloop demo`.

use crate::common::agentloop;

#[test]
fn the_demo_runs_without_a_key_in_a_pipe() {
    let run = agentloop(["demo"]).run().exits(0);
    run.shows("the same text, thinking and sources").shows("error: bridge: ");
    assert!(run.stdout.contains("the figures are the same"), "{run}");
    assert!(!run.stdout.contains('\u{1b}'), "{run}");
}
