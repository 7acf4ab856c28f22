//! Configurations that are damaged, too large or made to do harm.

use super::{import, import_and_check};

/// Levels of a billion laughs.
fn laughs(first: &str, level: impl Fn(usize, String) -> String) -> String {
    let mut text = format!("a0: &a0 {first}\n");
    for at in 1..40 {
        text.push_str(&format!("a{at}: &a{at} {}\n", level(at, format!("*a{}", at - 1))));
    }
    text
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_with_its_line() {
    let long = "y".repeat(500_000);
    let copies = vec!["*a"; 90_000].join(", ");
    for (yaml, expected) in [
        ("", "there is no `model_list`"),
        ("just a text", "there is no `model_list`"),
        ("- a\n- b\n", "there is no `model_list`"),
        ("router_settings: {}\n", "there is no `model_list`"),
        ("model_list: 7\n", "no model can be translated"),
        ("model_list: []\n", "no model can be translated"),
        ("model_list: [{litellm_params: {model: sagemaker/x}}]", "no model can be translated"),
        ("a: 1\nb: [\n", "line 3: the file is not YAML"),
        ("a: 1\n\tb: 2\n", "line 2: the file is not YAML"),
        ("a: 'open", "line 1: the file is not YAML"),
        ("a: *nowhere", "line 1: the file is not YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: the file is not YAML"),
        ("a: 1\nb: !!python/object/apply:os.system [id]\n", "line 2: tags"),
        ("a: !secret x", "line 1: tags"),
        ("!secret a: x", "line 1: tags"),
        ("a: !!binary aGk=", "line 1: tags"),
        ("? [a, b]\n: c\n", "line 1: the name of a setting must be a text"),
        ("<<: 1", "line 1: `<<` must be followed by settings"),
        ("a: &x [*x]", "nested more than 32 deep"),
        ("a: &x {<<: *x}", "nested more than 32 deep"),
        ("a: \"\\ud83d\"", "line 1: half of a character"),
        ("a: \u{1b}", "unacceptable character"),
        (
            &laughs("[x, x]", |_, last| format!("[{last}, {last}]")),
            "the copies that its aliases make",
        ),
        (
            &laughs("{x: 1}", |at, last| format!("{{x{at}: {last}, y: {last}}}")),
            "the copies that its aliases make",
        ),
        (
            &laughs("{x: 1}", |at, last| format!("{{x{at}: 1, <<: [{last}, {last}]}}")),
            "the copies that its aliases make",
        ),
        // Few values, but long ones.
        (&format!("a: &a {long}\nb: [{copies}]"), "the copies that its aliases make"),
        (&"[".repeat(100_000), "nested too deep"),
        (&format!("{}x", "- ".repeat(100)), "nested more than 32 deep"),
        (&"#".repeat(10 << 20), "more than 1048576 bytes"),
        (&format!("model_list:\n{}", "  - model_name: x\n".repeat(2_001)), "more than 2000 models"),
    ] {
        let Some(run) = import(yaml) else { return };
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{expected}: {run}");
        let is_one_line = run.stderr.trim_end().lines().count() == 1;
        assert!(is_one_line && run.stderr.starts_with("import-litellm: litellm.yaml: "), "{run}");
        assert!(run.stderr.contains(expected), "{expected}: {run}");
    }
    let Some(run) = import(b"a: \xff\n") else { return };
    assert!(run.code == Some(1) && run.stderr.contains("invalid start byte"), "{run}");
}

#[test]
fn what_fallbacks_and_aliases_repeat_is_bounded() {
    let name = "y".repeat(100_000);
    let aliases: Vec<String> = (0..10_000).map(|at| format!("a{at}: g")).collect();
    let aliases = aliases.join(", ");
    let yaml = format!(
        "model_list: [{{model_name: g, litellm_params: {{model: openai/{name}}}}}]\nrouter_settings: {{model_group_alias: {{{aliases}}}}}"
    );
    let Some(run) = import(yaml) else { return };
    assert!(run.code == Some(1) && run.stderr.contains("the file is too long"), "{}", run.stderr);
}

#[test]
fn names_cannot_break_out_of_the_settings_or_control_a_terminal() {
    let yaml = r#"
model_list:
  - model_name: "x\"]\n[providers.openai]\nbase_url = \"http://evil.example/v1\"\n#\u001b[2J\u2028\0\\"
    litellm_params: {model: "openai/a\"]\nb'''", api_base: "http://a\".b/v1", api_key: "a\nb"}
  - model_name: ok
    litellm_params: {model: "openai/gpt-4o", api_key: "os.environ/A B"}
    "bad\u001b[31m\n[providers.openai]": 1
    'a"b\': 1
"#;
    let Some(run) = import_and_check(yaml, &[]) else { return };
    assert!(!run.stdout.contains("\n[providers.openai]\nbase_url"), "{run}");
    let is_plain = |letter: char| letter == '\n' || !letter.is_control() && letter != '\u{2028}';
    assert!(run.to_string().chars().all(is_plain), "{run}");
    let settings: toml::Table = run.stdout.parse().unwrap();
    let routes = settings["gateway"]["routes"].as_table().unwrap();
    let evil =
        "x\"]\n[providers.openai]\nbase_url = \"http://evil.example/v1\"\n#\u{1b}[2J\u{2028}\0\\";
    assert_eq!(routes[evil]["models"][0].as_str(), Some("a--b/a\"]\nb'''"), "{run}");
}

#[test]
fn the_last_of_repeated_settings_counts_and_merged_settings_are_those_of_the_first() {
    let yaml = r"
a: &a {model: openai/first, api_key: os.environ/A, weight: 1}
b: &b {model: openai/second, order: 1, weight: 2}
model_list:
- model_name: lost
  model_name: kept
  litellm_params: {<<: [*a, *b], weight: 20_000, weight: 3_000}
- model_name: kept
  litellm_params: {<<: *b}
- model_name: kept
  litellm_params: *b
";
    let Some(run) = import_and_check(yaml, &["A", "OPENAI_API_KEY"]) else { return };
    for expected in [
        "model_list[0].model_name (line 6): it is repeated; the last one counts",
        "model_list[0].litellm_params.weight (line 7): it is repeated; the last one counts",
        "key_env = [\"A\", \"OPENAI_API_KEY\"]",
        "[gateway.routes.kept]\nmodels = [\n    \"openai/first\",\n    \"openai/second\",\n]",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {run}");
    }
    assert!(!run.stdout.contains("lost"), "{run}");
}

#[test]
fn values_of_wrong_kinds_are_reported_and_left_out() {
    let yaml = r"
model_list:
  - 7
  - model_name: [a]
    litellm_params: {model: openai/a}
  - model_name: a
    litellm_params: {model: {x: 1}}
  - model_name: a
    litellm_params: {model: openai/a, weight: heavy, order: [1], api_key: [k], timeout: 5}
  - model_name: a
    litellm_params: {model: openai/b, weight: -1, custom_llm_provider: [x], rpm: {a: 1}}
  - model_name: b
    litellm_params: {model: xai/grok-4, weight: .inf, order: .nan}
  - model_name: c
    litellm_params: {model: bedrock/x, aws_region_name: [], aws_profile_name: {a: 1}, aws_access_key_id: 7}
router_settings:
  fallbacks: {a: b}
  num_retries: many
  timeout: -3
  model_group_alias: [a]
  redis_url: [1]
  routing_strategy: [x]
litellm_settings: {cache: true, cache_params: [x], drop_params: [1], fallbacks: [1, {a: 7, b: [[1]]}]}
general_settings: {master_key: [1], database_url: [2], coordination_redis: 7}
environment_variables: no
";
    let Some(run) = import_and_check(yaml, &[]) else { return };
    for expected in [
        "model_list[0] (line 3): it has no `litellm_params`",
        "model_list[1] (line 4): it has no `model_name`",
        "model_list[2].litellm_params (line 7): it has no `model`",
        "model_list[3].litellm_params.weight (line 9): it is not a weight above 0",
        "model_list[3].litellm_params.order (line 9): it is not a number",
        "model_list[3].litellm_params.api_key (line 9): it is not a key or the name of a variable",
        "model_list[3].litellm_params.timeout (line 9): a timeout of one model is not supported",
        "model_list[5].litellm_params.order (line 13): it is not a number",
        "model_list[6].litellm_params.aws_profile_name (line 15): it is not a name",
        "router_settings.fallbacks (line 17): it is not a list",
        "router_settings.num_retries (line 18): it is not a number",
        "router_settings.timeout (line 19): it is not a time in seconds",
        "router_settings.model_group_alias (line 20): it is not a table of settings",
        "router_settings.routing_strategy (line 22): this strategy is not supported",
        "litellm_settings.cache_params (line 23): it is not a table of settings",
        "litellm_settings.drop_params (line 23): it is not true or false",
        "litellm_settings.fallbacks[0] (line 23): it is not a table of settings",
        "litellm_settings.fallbacks[1].a (line 23): it is not a list",
        "litellm_settings.fallbacks[1].b[0] (line 23): a fallback with settings of its own",
        "general_settings.master_key (line 24): it is not a key",
        "environment_variables (line 25): it is not a table of settings",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {run}");
    }
}
