//! `agentloop serve --import`: configurations of LiteLLM.

use crate::common;

use common::folder::Folder;
use common::{Outcome, agentloop};

/// Translates a configuration.
fn import(yaml: &str) -> Outcome {
    let folder = Folder::with([("litellm.yaml", yaml)]);
    agentloop(["serve", "--import", "litellm.yaml"]).within(folder.path()).run()
}

/// Translates a configuration, and checks that a gateway would start with it if the variables were set.
fn import_and_check(yaml: &str, variables: &[&str]) -> Outcome {
    let run = import(yaml);
    assert_eq!(run.code, Some(0), "{run}");
    let folder = Folder::with([("gateway.toml", run.stdout.as_str())]);
    let mut check =
        agentloop(["--config", "gateway.toml", "serve", "--check"]).within(folder.path());
    for name in variables {
        check = check.env(name, &format!("value-of-{name}"));
    }
    let check = check.run();
    assert_eq!(check.code, Some(0), "{check}\n{}", run.stdout);
    run
}

const SMALL_TEAM: &str = r#"
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
  - model_name: claude
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_key: "os.environ/TEAM_ANTHROPIC_KEY"
      max_tokens: 4096
  - model_name: gemini-flash
    litellm_params:
      model: gemini/gemini-2.5-flash
  - model_name: local
    litellm_params:
      model: ollama_chat/llama3.2
      api_base: http://localhost:11434
  - model_name: nova
    litellm_params:
      model: bedrock/us.amazon.nova-premier-v1:0
      aws_region_name: us-east-1

litellm_settings:
  drop_params: True
  num_retries: 3
  request_timeout: 600
  success_callback: ["langfuse"]
  fallbacks: [{"gpt-4o": ["claude", "nova"]}]

general_settings:
  master_key: sk-1234567890
  database_url: "postgresql://llm:hunter2@db:5432/litellm"

environment_variables:
  LANGFUSE_SECRET_KEY: lf-sk-very-secret
"#;

#[test]
fn the_configuration_of_a_small_team() {
    let variables = ["LITELLM_MASTER_KEY"];
    insta::assert_snapshot!(import_and_check(SMALL_TEAM, &variables), @r#"
    exit 0
    --- stdout
    [timeouts]
    total = 600

    [providers.anthropic]
    key_env = "TEAM_ANTHROPIC_KEY"

    [providers.google]
    key_env = "GEMINI_API_KEY"

    [providers.bedrock]
    base_url = "https://bedrock-runtime.us-east-1.amazonaws.com"

    [gateway.keys.master]
    key_env = "LITELLM_MASTER_KEY"

    [gateway.routes.gpt-4o]
    retries = 5
    models = [
        "openai/gpt-4o",
        # Fallbacks.
        "anthropic/claude-sonnet-4-5",
        "bedrock/us.amazon.nova-premier-v1:0",
    ]

    [gateway.routes.claude]
    retries = 3
    models = ["anthropic/claude-sonnet-4-5"]

    [gateway.routes.gemini-flash]
    retries = 3
    models = ["google/gemini-2.5-flash"]

    [gateway.routes.local]
    retries = 3
    models = ["ollama/llama3.2"]

    [gateway.routes.nova]
    retries = 3
    models = ["bedrock/us.amazon.nova-premier-v1:0"]
    --- stderr
    warning: model_list[1].litellm_params.max_tokens (line 11): parameters of one model cannot be preset; `defaults` of [providers] holds for all models of a provider
    warning: litellm_settings.success_callback (line 28): callbacks are not supported; metrics are on the admin listener, spans are exported over OTLP
    warning: general_settings.master_key (line 32): the key is not written; set LITELLM_MASTER_KEY to it
    warning: general_settings.database_url (line 33): keys and models are in the configuration, not in a database
    warning: environment_variables.LANGFUSE_SECRET_KEY (line 36): set it in the environment of the gateway
    "#);
}

const AMAZON: &str = r#"
model_list:
  - model_name: nova
    litellm_params:
      model: bedrock/converse/us.amazon.nova-lite-v1:0
      aws_region_name: os.environ/AWS_REGION
      aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID
      aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY
  - model_name: claude
    litellm_params:
      model: bedrock/eu-west-1/anthropic.claude-sonnet-4-5
      aws_access_key_id: AKIA-very-secret
      aws_role_name: arn:aws:iam::1:role/x
  - model_name: embed
    litellm_params:
      model: bedrock/amazon.titan-embed-text-v2:0
      aws_region_name: os.environ/EMBED_REGION
      aws_profile_name: work@lab
  - model_name: private
    litellm_params:
      model: bedrock/amazon.nova-pro-v1:0
      aws_bedrock_runtime_endpoint: https://vpce-1.example.com
  - model_name: agent
    litellm_params: {model: bedrock/agent/A/B}
"#;

#[test]
fn models_of_amazon_bedrock_with_their_regions_and_profiles() {
    let run = import_and_check(AMAZON, &["AWS_REGION", "EMBED_REGION"]);
    assert!(!run.to_string().contains("very-secret"), "{run}");
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    [providers.bedrock-eu-west-1]
    base_url = "https://bedrock-runtime.eu-west-1.amazonaws.com"
    protocol = "bedrock"
    credential = "aws"

    [providers.bedrock-embed-region-work-lab]
    base_url = "https://bedrock-runtime.${EMBED_REGION}.amazonaws.com"
    protocol = "bedrock"
    credential = { aws = { profile = "work@lab" } }

    [providers.vpce-1-example-com]
    base_url = "https://vpce-1.example.com"
    protocol = "bedrock"
    credential = "aws"

    [gateway.routes.nova]
    models = ["bedrock/us.amazon.nova-lite-v1:0"]

    [gateway.routes.claude]
    models = ["bedrock-eu-west-1/anthropic.claude-sonnet-4-5"]

    [gateway.routes.embed]
    models = ["bedrock-embed-region-work-lab/amazon.titan-embed-text-v2:0"]

    [gateway.routes.private]
    models = ["vpce-1-example-com/amazon.nova-pro-v1:0"]
    --- stderr
    warning: model_list[1].litellm_params.aws_access_key_id (line 12): the key is not written; set AWS_ACCESS_KEY_ID to it, for all models
    warning: model_list[1].litellm_params.aws_role_name (line 13): roles are settings of a profile: set `role_arn` in ~/.aws/config
    warning: model_list[4].litellm_params.model (line 24): `bedrock/agent/` is not supported by agentloop, so the model is left out
    warning: there is no `master_key`: the gateway always needs a key, and creates one when it starts
    "#);
}

const LOAD_BALANCED: &str = r#"
# Two regions of Azure, OpenAI with two keys as the last resort.
x-azure: &azure
  api_key: os.environ/AZURE_API_KEY
  api_version: "2024-10-21"
model_list:
  - model_name: gpt-4o
    litellm_params:
      <<: *azure
      model: azure/gpt-4o-eu
      api_base: https://contoso-eu.openai.azure.com/
      rpm: 600
    model_info:
      base_model: azure/gpt-4o
  - model_name: gpt-4o
    litellm_params:
      <<: *azure
      model: azure/gpt-4o-us
      api_base: https://contoso-us.openai.azure.com/
      api_key: os.environ/AZURE_API_KEY_US
      rpm: 1_800
  - model_name: gpt-4o-direct
    litellm_params: {model: gpt-4o, api_key: sk-proj-first, rpm: 100}
  - model_name: gpt-4o-direct
    litellm_params: {model: gpt-4o, api_key: sk-proj-second, rpm: 100}
  - model_name: embed
    litellm_params:
      model: azure/text-embedding-3-large
      api_base: https://contoso-eu.openai.azure.com/openai/deployments/text-embedding-3-large/embeddings
      api_key: os.environ/AZURE_API_KEY
  - model_name: ordered
    litellm_params: {model: groq/llama-3.3-70b-versatile, order: 2}
  - model_name: ordered
    litellm_params: {model: together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo, order: 1}

router_settings:
  routing_strategy: usage-based-routing-v2
  model_group_alias:
    gpt-4: gpt-4o
    old: {model: "nothing", hidden: true}
  fallbacks:
    - gpt-4o: [gpt-4o-direct]
  context_window_fallbacks: [{"gpt-4o": ["long"]}]
  num_retries: 2
  timeout: 30
  stream_timeout: 12.5
  enable_pre_call_checks: true
  allowed_fails: 3
  cooldown_time: 30
  redis_host: os.environ/REDIS_HOST
  redis_password: os.environ/REDIS_PASSWORD

litellm_settings:
  drop_params: false
  cache: true
  cache_params: {type: redis, ttl: 600}

general_settings:
  master_key: os.environ/PROXY_KEY
"#;

#[test]
fn the_configuration_of_a_load_balancer() {
    let variables =
        ["PROXY_KEY", "OPENAI_KEY_1", "OPENAI_KEY_2", "AZURE_API_KEY", "AZURE_API_KEY_US"];
    insta::assert_snapshot!(import_and_check(LOAD_BALANCED, &variables), @r#"
    exit 0
    --- stdout
    [timeouts]
    idle = 12.5
    total = 30

    [providers.azure]
    base_url = "https://contoso-eu.openai.azure.com/openai/v1"
    key_env = "AZURE_API_KEY"

    [providers.azure-contoso-us]
    base_url = "https://contoso-us.openai.azure.com/openai/v1"
    auth = "api-key"
    quirks = { token_cap = "max_completion_tokens" }
    key_env = "AZURE_API_KEY_US"

    [providers.together]
    key_env = "TOGETHERAI_API_KEY"

    [gateway]
    strict = true

    [gateway.keys.master]
    key_env = "PROXY_KEY"

    [gateway.pools.openai]
    key_env = ["OPENAI_KEY_1", "OPENAI_KEY_2"]

    [gateway.routes.gpt-4o]
    strategy = "weighted"
    retries = 3
    models = [
        { model = "azure/gpt-4o-eu", weight = 600 },
        { model = "azure-contoso-us/gpt-4o-us", weight = 1800 },
        # Fallbacks: the weights are so small that they are tried last.
        { model = "openai/gpt-4o", weight = 0.0006 },
    ]

    [gateway.routes.gpt-4o-direct]
    retries = 2
    models = ["openai/gpt-4o"]

    [gateway.routes.embed]
    retries = 2
    models = ["azure/text-embedding-3-large"]

    [gateway.routes.ordered]
    retries = 2
    models = [
        "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
        "groq/llama-3.3-70b-versatile",
    ]

    [gateway.routes.gpt-4]
    strategy = "weighted"
    retries = 3
    models = [
        { model = "azure/gpt-4o-eu", weight = 600 },
        { model = "azure-contoso-us/gpt-4o-us", weight = 1800 },
        # Fallbacks: the weights are so small that they are tried last.
        { model = "openai/gpt-4o", weight = 0.0006 },
    ]
    --- stderr
    warning: x-azure (line 3): it has no counterpart
    warning: model_list[0].litellm_params.api_version (line 5): the URL of this provider has no version
    warning: model_list[1].litellm_params.api_version (line 5): the URL of this provider has no version
    warning: model_list[0].litellm_params.rpm (line 12): limits on what is sent to one model are not supported
    warning: model_list[0].model_info (line 14): what is known of a model is in the table [models]
    warning: model_list[1].litellm_params.rpm (line 21): limits on what is sent to one model are not supported
    warning: model_list[2].litellm_params.rpm (line 23): limits on what is sent to one model are not supported
    warning: model_list[2].litellm_params.api_key (line 23): the key is not written; set OPENAI_KEY_1 to it
    warning: model_list[3].litellm_params.rpm (line 25): limits on what is sent to one model are not supported
    warning: model_list[3].litellm_params.api_key (line 25): the key is not written; set OPENAI_KEY_2 to it
    warning: router_settings.routing_strategy (line 37): this strategy is not supported; models are chosen by weight
    warning: router_settings.model_group_alias.old.hidden (line 40): a route cannot be hidden
    warning: router_settings.model_group_alias.old (line 40): no model of this name was translated
    warning: router_settings.context_window_fallbacks (line 43): a request that a provider refuses is not sent to another model
    warning: router_settings.enable_pre_call_checks (line 47): requests are not measured before they are sent
    warning: router_settings.allowed_fails (line 48): how long a failing key or provider is avoided cannot be set
    warning: router_settings.cooldown_time (line 49): how long a failing key or provider is avoided cannot be set
    warning: router_settings.redis_host (line 50): the gateway does not use Redis
    warning: router_settings.redis_password (line 51): the gateway does not use Redis
    warning: litellm_settings.cache (line 55): the gateway has no cache of responses
    warning: litellm_settings.cache_params (line 56): the gateway has no cache of responses
    warning: [gateway.pools.openai]: the keys are used for all models of openai
    "#);
}

const OPEN_PROXY: &str = r#"
model_list:
  - model_name: "*"
    litellm_params:
      model: openai/*
      api_key: os.environ/OPENAI_API_KEY
  - model_name: "anthropic/*"
    litellm_params: {model: "anthropic/*", api_key: os.environ/ANTHROPIC_API_KEY}
  - model_name: "gemini/*"
    litellm_params: {model: "gemini/*", api_key: os.environ/GEMINI_API_KEY}
  - model_name: "sagemaker/*"
    litellm_params: {model: "sagemaker/*"}
  - model_name: "openai/gpt-5*"
    litellm_params: {model: "openai/gpt-5*"}
  - model_name: qwen
    litellm_params:
      model: hosted_vllm/Qwen/Qwen3-32B
      api_base: os.environ/VLLM_API_BASE
      api_key: none
  - model_name: qwen
    litellm_params:
      model: openai/qwen3-32b
      api_base: http://gpu-2.internal:8000/v1
      weight: 3
  - model_name: sneaky
    litellm_params:
      model: openai/x
      api_base: https://user:hunter2@proxy.example/v1
  - litellm_params: {model: gpt-4o}
  - model_name: nothing
include: [more.yaml]
guardrails:
  - guardrail_name: pii
    litellm_params: {guardrail: presidio, mode: pre_call, api_key: guard-secret}
"#;

#[test]
fn the_configuration_of_an_open_proxy() {
    let variables = ["VLLM_API_BASE", "VLLM_KEY_1"];
    insta::assert_snapshot!(import_and_check(OPEN_PROXY, &variables), @r#"
    exit 0
    --- stdout
    default_provider = "openai"

    [providers.google]
    key_env = "GEMINI_API_KEY"

    [providers.vllm]
    base_url = "${VLLM_API_BASE}"
    key_env = "VLLM_KEY_1"

    [providers.gpu-2-internal-8000]
    base_url = "http://gpu-2.internal:8000/v1"

    [gateway.routes.qwen]
    strategy = "weighted"
    models = [
        { model = "vllm/Qwen/Qwen3-32B", weight = 1 },
        { model = "gpu-2-internal-8000/qwen3-32b", weight = 3 },
    ]
    --- stderr
    warning: model_list[2].litellm_params.model (line 10): clients name these models google/MODEL
    warning: model_list[3].litellm_params.model (line 12): `sagemaker` is not a provider of agentloop, so the model is left out
    warning: model_list[4].litellm_params.model (line 14): a pattern of models cannot be translated; add a route for each
    warning: model_list[5].litellm_params.api_key (line 19): the key is not written; set VLLM_KEY_1 to it
    warning: model_list[6].litellm_params (line 20): without `api_key`, no key is sent to gpu-2-internal-8000
    warning: model_list[7].litellm_params.api_base (line 28): a URL with a user, a query or a variable is not written, so the model is left out
    warning: model_list[8] (line 29): it has no `model_name`
    warning: model_list[9] (line 30): it has no `litellm_params`
    warning: include (line 31): other files are not read; import each of them
    warning: guardrails (line 33): requests are not inspected or changed
    warning: there is no `master_key`: the gateway always needs a key, and creates one when it starts
    "#);
}

#[test]
fn no_key_of_a_file_is_printed() {
    for yaml in [SMALL_TEAM, LOAD_BALANCED, OPEN_PROXY] {
        let run = import(yaml);
        for secret in ["sk-", "hunter2", "lf-sk", "guard-secret", "sk-proj"] {
            assert!(!run.to_string().contains(secret), "{secret}: {run}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_with_its_line() {
    let run = agentloop(["serve", "--import", "nowhere.yaml"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("nowhere.yaml"), "{run}");
    let mut laughs = "a0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        let last = level - 1;
        laughs.push_str(&format!("a{level}: &a{level} [*a{last}, *a{last}]\n"));
    }
    let large = "#".repeat((1 << 20) + 1);
    let many = format!("model_list:\n{}", "  - model_name: x\n".repeat(2_001));
    for (yaml, expected) in [
        ("", "line 1: the file is empty"),
        ("just a text", "line 1: the file has no settings"),
        ("- a\n- b\n", "the file has no settings"),
        ("router_settings: {}\n", "there is no `model_list`"),
        ("model_list: 7\n", "line 1: `model_list` is not a list"),
        ("model_list: []\n", "no model can be translated"),
        ("a: 1\nb: [\n", "the file is not YAML"),
        ("a: 1\nb: !!python/object/apply:os.system [id]\n", "line 2: tags"),
        (&*laughs, "more than 100000 values"),
        (&*"[".repeat(500_000), "recursion limit exceeded"),
        (&*format!("{}x", "- ".repeat(100)), "nested more than 32 deep"),
        (&*large, "more than 1048576 bytes"),
        (&*many, "more than 2000 models"),
        (
            "model_list:\n  - model_name: b\n    litellm_params: {model: sagemaker/x}\n",
            "no provider",
        ),
    ] {
        let run = import(yaml);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains(expected), "{expected}: {run}");
        assert!(run.stderr.contains("litellm.yaml"), "{run}");
    }
}

#[test]
fn names_cannot_break_out_of_the_settings_or_control_a_terminal() {
    let run = import_and_check(
        r#"
model_list:
  - model_name: "x\"]\n[providers.openai]\nbase_url = \"http://evil.example/v1\"\n#\u001b[2J"
    litellm_params: {model: "openai/a\"]\nb", api_base: "http://a\".b/v1", api_key: "a\nb"}
  - model_name: ok
    litellm_params: {model: "openai/gpt-4o", api_key: "os.environ/A B"}
    "bad\u001b[31m": 1
"#,
        &[],
    );
    assert!(!run.stdout.contains("\n[providers.openai]\nbase_url"), "{run}");
    assert!(!run.to_string().contains('\u{1b}'), "{run}");
}

#[test]
fn values_of_wrong_kinds_are_reported_and_left_out() {
    let run = import_and_check(
        r"
model_list:
  - 7
  - model_name: [a]
    litellm_params: {model: openai/a}
  - model_name: a
    litellm_params: {model: {x: 1}}
  - model_name: a
    litellm_params: {model: openai/a, weight: heavy, order: [1], api_key: [k], timeout: 5}
  - model_name: a
    litellm_params: {model: openai/b, weight: -1}
  - model_name: b
    litellm_params: {model: xai/grok-4, weight: .inf}
router_settings:
  fallbacks: {a: b}
  num_retries: many
  timeout: -3
  model_group_alias: [a]
litellm_settings: 7
general_settings: [1]
environment_variables: no
",
        &[],
    );
    for expected in [
        "model_list[0] (line 3)",
        "model_list[1] (line 4): it has no `model_name`",
        "model_list[2].litellm_params (line 7): it has no `model`",
        "model_list[3].litellm_params.api_key",
        "model_list[3].litellm_params.timeout",
        "router_settings.fallbacks (line 15): it is not a list",
        "router_settings.num_retries (line 16): it is not a number",
        "router_settings.timeout (line 17): it is not a time in seconds",
        "router_settings.model_group_alias",
        "litellm_settings (line 19)",
        "general_settings (line 20)",
        "environment_variables (line 21)",
    ] {
        assert!(run.stderr.contains(expected), "{expected}: {run}");
    }
}
