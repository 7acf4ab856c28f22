//! The command never prints a key, wherever the key is configured and whatever a server responds.

use crate::common;

use common::server::{Then, json, serve};
use common::{Outcome, agentloop};

fn assert_silent(what: &str, outcome: &Outcome) {
    let shown = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(!shown.contains("hush-"), "{what} shows a secret: {shown}");
    assert!(!shown.is_empty(), "{what} prints nothing");
}

#[test]
fn no_command_prints_a_key() {
    let echo =
        r#"{"error":{"message":"the key hush-environment-4711 of hush-query-4711 is wrong"}}"#;
    let url = serve(json("401 No", echo), Then::Close);
    let config = format!(
        "[providers.lab]\nbase_url = \"{}?api-key=hush-query-4711\"\nkey_env = \"LAB_KEY\"\n\
         headers = {{ x-lab-token = \"hush-header-4711\" }}\n",
        url.replace("http://", "http://me:hush-password-4711@")
    );
    let request = r#"{"model":"lab/m","messages":[{"role":"user","content":"Hi"}]}"#;
    let commands: [(&[&str], &str); 7] = [
        (&["chat", "-m", "lab/m", "Hi"], ""),
        (&["run", "-m", "lab/m", "Hi"], ""),
        (&["models", "lab"], ""),
        (&["embed", "-m", "lab/m", "Hi"], ""),
        (&["providers"], ""),
        (&["encode"], request),
        (&["encode", "--stream"], request),
    ];
    for (args, stdin) in commands {
        let run = agentloop(args.iter().copied()).config(&config).stdin(stdin);
        let outcome = run.env("LAB_KEY", "hush-environment-4711").run();
        assert_silent(&args.join(" "), &outcome);
    }
}
