//! `agentloop providers`, and the configuration that it shows.

use crate::common;

use common::agentloop;

#[test]
fn the_table_states_what_is_missing() {
    let run = agentloop(["providers"]).run();
    for provider in ::agentloop::Provider::all() {
        let start = format!("{}\t", provider.name);
        assert!(run.stdout.lines().any(|line| line.starts_with(&start)), "{run}");
    }
    // Some lines are enough: the list of providers is tested in the library.
    let is_shown = |line: &&str| {
        let name = line.split('\t').next().unwrap_or_default();
        ["NAME", "openai", "ollama", "azure", "sim"].contains(&name)
    };
    let lines: Vec<String> =
        run.stdout.lines().filter(is_shown).map(|line| line.replace('\t', " | ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    openai | key missing | OPENAI_API_KEY | https://api.openai.com/v1 | openai_chat
    ollama | no key needed | OLLAMA_API_KEY | http://localhost:11434/v1 | openai_chat
    azure | key missing | AZURE_OPENAI_API_KEY | https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1 | openai_chat
    sim | no key needed | - | in process | openai_chat
    ");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
}

#[test]
fn a_key_makes_a_provider_ready_and_is_not_shown() {
    let run = agentloop(["providers", "--json"])
        .env("GROQ_API_KEY", "gsk-very-secret")
        .env("AZURE_OPENAI_API_KEY", "azure-very-secret")
        .run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.to_string().contains("very-secret"));
    let rows = run.json();
    let row = |name: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap()
    };
    assert_eq!(row("groq")["state"], "ready");
    assert_eq!(row("openai")["state"], "key_missing");
    assert_eq!(row("openai")["hint"], "set OPENAI_API_KEY");
    assert_eq!(row("ollama")["state"], "no_key_needed");
    assert_eq!(row("azure")["state"], "address_missing");
    let hint = row("azure")["hint"].as_str().unwrap();
    assert!(hint.starts_with("set AZURE_RESOURCE_NAME"), "{hint}");
    assert_eq!(row("sim")["state"], "no_key_needed");
}

#[test]
fn an_unusable_key_is_distinguished_from_a_missing_one() {
    let run = agentloop(["providers"]).env("GROQ_API_KEY", "very secret").run();
    let line = run.stdout.lines().find(|line| line.starts_with("groq")).unwrap();
    assert!(line.contains("key unusable: "), "{line}");
    assert!(!run.to_string().contains("very secret"), "{run}");
}

#[test]
fn the_table_shows_the_urls_that_are_used() {
    let run = agentloop(["providers"])
        .env("AGENTLOOP_GROQ_BASE_URL", "http://proxy.example/groq/")
        .env("AZURE_RESOURCE_NAME", "team-blue")
        .run();
    run.shows("http://proxy.example/groq\t").shows("https://team-blue.openai.azure.com/openai/v1");
}

#[test]
fn configured_providers_are_listed_without_passwords() {
    let run = agentloop(["providers"])
        .config("[providers.lab]\nbase_url = 'https://me:very-secret@lab.example/v1'\n")
        .run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.to_string().contains("very-secret"), "{run}");
    assert!(run.stdout.contains("https://***@lab.example/v1"), "{run}");
}

#[test]
fn an_unknown_setting_is_reported_with_file_and_line() {
    let run = agentloop(["providers"])
        .folder_config("default_model = 'groq/m'\n[providers.groq]\nkey_evn = 'X'\n")
        .run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stdout.is_empty(), "{run}");
    for words in ["error: HOME/agentloop.toml", "line 3", "`key_evn`", "`key_env`"] {
        assert!(run.stderr.contains(words), "{words}: {run}");
    }
}

#[test]
fn invalid_toml_is_reported_with_file_and_line() {
    let run = agentloop(["providers"]).folder_config("[providers\n").run();
    run.fails(2, "HOME/agentloop.toml").reports("line 1");
}

/// A user may write the key itself into the file. It must not appear in an error.
#[test]
fn a_secret_in_an_invalid_configuration_is_not_shown() {
    let run = agentloop(["providers"]).config("[providers.groq]\nkey = 'gsk-very-secret'\n").run();
    run.fails(2, "line 2");
    assert!(!run.to_string().contains("very-secret"), "{run}");
}

#[test]
fn a_missing_configuration_file_is_an_error_with_its_name() {
    let run = agentloop(["--config", "nowhere.toml", "providers"]).run();
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: nowhere.toml: No such file or directory (os error 2)
    "#);
}

#[test]
fn an_alias_of_an_unknown_provider_is_an_error_with_its_name() {
    agentloop(["providers"]).config("[aliases]\nfast = 'unknown/m'\n").run().fails(2, "`fast`");
}
