//! `agentloop keys` and `agentloop teams`, for the clients of the gateway.

use crate::common;

use common::folder::Folder;
use common::{Outcome, agentloop};

/// Runs the command with this folder as the user's folder.
fn run(home: &Folder, args: &[&str]) -> Outcome {
    let run = agentloop(args.iter().copied()).within(home.path());
    run.env("HOME", home.path().to_str().unwrap()).run()
}

fn config(home: &Folder, text: &str) {
    home.write(".config/agentloop/agentloop.toml", text);
}

/// Returns the keys of the gateway's clients.
fn listed(home: &Folder) -> serde_json::Value {
    run(home, &["keys", "list", "--json"]).json()["gateway"].take()
}

#[test]
fn a_key_is_created_changed_and_revoked() {
    let home = Folder::with([]);
    assert_eq!(listed(&home), serde_json::json!([]));
    assert!(!home.path().join(".local").exists(), "a list creates no file");
    assert_eq!(run(&home, &["teams", "create", "web", "--budget", "100/month"]).code, Some(0));
    let words = "keys create ci --team web --model openai/* --model fast --budget 5/day --budget 50/month \
                 --rpm 60 --tpm 100000 --concurrency 4 --expires 2999-12-31 --tag eu --tag nightly --strict";
    let created = run(&home, &words.split_whitespace().collect::<Vec<_>>()).exits(0);
    let key = created.stdout.trim();
    assert!(key.starts_with("al-") && created.stdout.lines().count() == 1, "{created}");
    assert!(!created.stderr.contains(key), "{created}");
    let database = home.path().join(".local/share/agentloop/gateway.db");
    let bytes = std::fs::read(database).unwrap();
    assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()));
    let mut list = listed(&home);
    let created = list[0].as_object_mut().unwrap().remove("created").unwrap();
    assert!(created.as_str().unwrap().ends_with('Z'));
    let expected = serde_json::json!([{
        "name": "ci",
        "state": "active",
        "source": "database",
        "team": "web",
        "models": ["openai/*", "fast"],
        "strict": true,
        "tags": ["eu", "nightly"],
        "budgets": ["5/day", "50/month"],
        "requestsPerMinute": 60,
        "tokensPerMinute": 100_000,
        "concurrency": 4,
        "expires": "2999-12-31",
    }]);
    assert_eq!(list, expected);
    let words = "keys update ci --budget 9/day --no-rpm --no-tpm --no-concurrency --all-models --no-team \
                 --no-expires --no-tags --strict false";
    run(&home, &words.split_whitespace().collect::<Vec<_>>()).prints("");
    let list = run(&home, &["keys"]);
    assert_eq!(
        list.stdout, "gateway\tci\tactive\t-\t$9/day, $50/month\t-\tall\t-\t-\tdatabase\n",
        "{list}"
    );
    run(&home, &["keys", "update", "ci", "--budget", "9/day"]).exits(0).reports("nothing");
    assert_eq!(run(&home, &["keys", "update", "ci", "--no-budget"]).code, Some(0));
    assert_eq!(listed(&home)[0].get("budgets"), None);
    assert_eq!(run(&home, &["keys", "revoke", "ci"]).code, Some(0));
    assert_eq!(listed(&home)[0]["state"], "revoked");
    // The name is free again.
    let again = run(&home, &["keys", "create", "ci", "--json"]);
    assert_eq!(again.json()["name"], "ci");
    assert_ne!(again.json()["key"], key);
    assert_eq!(listed(&home).as_array().unwrap().len(), 2);
}

#[test]
fn mistakes_at_keys_are_named_with_what_to_do() {
    let home = Folder::with([]);
    config(&home, "[gateway.keys.legacy]\nsha256='00'\n[gateway.teams.ops]\nbudget='5/day'\n");
    assert_eq!(run(&home, &["keys", "create", "build-server", "--team", "ops"]).code, Some(0));
    assert_eq!(run(&home, &["teams", "create", "website"]).code, Some(0));
    for (words, expected) in [
        ("keys create build-server", "there is a key with the name `build-server` already"),
        ("keys create legacy", "a configuration file has a key with the name `legacy` already"),
        ("keys create ../x", "`../x` cannot be a name"),
        ("keys create x --team opz", "did you mean `ops`?"),
        ("keys create x --team none", "`agentloop teams create none` creates it"),
        ("keys create x --budget 5/year", "`year` is not a period"),
        ("keys create x --budget 5/day --budget 6/day", "twice per day"),
        ("keys create x --budget=-5/day", "below 0"),
        ("keys create x --rpm 0", "requests per minute must be between"),
        ("keys create x --rpm many", "invalid value 'many'"),
        ("keys create x --expires 2026-02-30", "there is no day 2026-02-30"),
        ("keys create x --expires 2001-01-01", "is over"),
        ("keys create x --tag a,b", "tags"),
        ("keys update build-servr --rpm 5", "did you mean `build-server`?"),
        ("keys update legacy --rpm 5", "change [gateway.keys.legacy] in agentloop.toml"),
        ("keys update none --rpm 5", "`agentloop keys list` lists the keys"),
        ("keys update build-server --rpm 5 --no-rpm", "cannot be used with"),
        ("keys revoke Build-Server", "did you mean `build-server`?"),
        ("keys revoke legacy", "change [gateway.keys.legacy]"),
        ("keys remove build-server", "agentloop keys revoke build-server"),
        ("keys forget build-server", "agentloop keys revoke build-server"),
        ("keys forget nothing", "there is no key with the name `nothing`"),
        ("teams create ops", "change [gateway.teams.ops] in agentloop.toml"),
        ("teams create website", "agentloop teams update website"),
        ("teams update webside --rpm 5", "did you mean `website`?"),
        ("teams remove none", "`agentloop teams list` lists the teams"),
    ] {
        let run = run(&home, &words.split_whitespace().collect::<Vec<_>>());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{words}: {run}");
        assert!(run.stderr.contains(expected), "{words}: {run}");
    }
    assert_eq!(listed(&home).as_array().unwrap().len(), 2, "nothing was created");
}

#[test]
fn teams_are_listed_with_their_keys() {
    let home = Folder::with([]);
    run(&home, &["teams"]).exits(0).reports("teams create");
    config(
        &home,
        "[gateway.teams.ops]\nbudget='5/day'\n[gateway.keys.legacy]\nsha256='00'\nteam='ops'\n",
    );
    assert_eq!(run(&home, &["teams", "create", "web", "--budget", "100/month"]).code, Some(0));
    assert_eq!(run(&home, &["keys", "create", "ci", "--team", "web"]).code, Some(0));
    run(&home, &["teams", "remove", "web"]).fails(2, "`ci` belongs");
    assert_eq!(run(&home, &["teams", "update", "web", "--rpm", "9"]).code, Some(0));
    let list = run(&home, &["teams", "list"]);
    assert_eq!(
        list.stdout,
        "ops\t$5/day\t-\tlegacy\tconfiguration\nweb\t$100/month\t9 rpm\tci\tdatabase\n",
        "{list}"
    );
    assert_eq!(run(&home, &["keys", "update", "ci", "--no-team"]).code, Some(0));
    assert_eq!(run(&home, &["teams", "remove", "web"]).code, Some(0));
    assert_eq!(run(&home, &["teams", "--json"]).json()[0]["name"], "ops");
}

#[test]
fn a_database_that_cannot_be_used_is_reported_and_left_as_it_is() {
    let home = Folder::with([("broken.db", &"not a database ".repeat(500))]);
    let path = home.path().join("broken.db");
    config(&home, &format!("[gateway.store]\npath={:?}\n", path.to_str().unwrap()));
    let created = run(&home, &["keys", "create", "ci"]);
    assert!(created.code == Some(1) && created.stdout.is_empty(), "{created}");
    assert!(created.stderr.contains("damaged"), "{created}");
    // The keys of providers are listed nevertheless.
    let list = run(&home, &["keys", "--json"]);
    assert_eq!(list.json()["gateway"], serde_json::Value::Null);
    assert!(list.stderr.contains("cannot be listed"), "{list}");
    assert_eq!(home.read("broken.db").unwrap(), "not a database ".repeat(500));
    config(&home, "[gateway.store]\nurl_env='NOT_SET_4711'\n");
    run(&home, &["keys", "create", "ci"]).fails(2, "NOT_SET_4711 is not set");
    // Without a data folder.
    agentloop(["keys", "create", "ci"]).env("HOME", "relative").run().fails(2, "AGENTLOOP_DATA");
    let list = agentloop(["keys", "--json"]).env("HOME", "relative").run();
    assert_eq!(list.json()["gateway"], serde_json::json!([]), "{list}");
}
