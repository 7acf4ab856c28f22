//! `agentloop demo`.

use crate::common::agentloop;

#[test]
fn help_of_demo() {
    insta::assert_snapshot!(agentloop(["demo", "--help"]).run(), @r#"
    exit 0
    --- stdout
    Take a short tour with simulated providers, without a key and without a network.

    Shows a stream with thinking and sources over four protocols, a tool call with your approval, a truncated response and the model that takes over, and the tokens against the providers' bill.

    Usage: agentloop demo [OPTIONS]

    Options:
          --config <FILE>
              Use this configuration file instead of searching for agentloop.toml. The file is trusted

          --yes
              Do not wait for Enter between the parts, and approve the tool call

      -q, --quiet
              Do not print warnings and notes on stderr. Errors are still printed

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    "#);
}

#[test]
fn the_demo_runs_without_a_key_in_a_pipe() {
    let run = agentloop(["demo"]).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("the same text, thinking and sources"), "{run}");
    assert!(run.stdout.contains("error: bridge: "), "{run}");
    assert!(run.stdout.contains("the figures are the same"), "{run}");
    assert!(!run.stdout.contains('\u{1b}'), "{run}");
}
