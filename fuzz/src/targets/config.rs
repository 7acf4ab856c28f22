//! The text of `agentloop.toml`, and a client made of it.

use agentloop::{AgentLoop, ChatRequest, Config, ErrorKind};

use super::encode::encodes;
use super::laws::Nowhere;

const SEEDS: [&str; 6] = [
    r#"
default_model = "fast"
default_provider = "lab"
[aliases]
fast = "groq/openai/gpt-oss-20b"
loop = "loop"
[providers.groq]
key_env = ["A", "B"]
[providers.lab]
base_url = "http://localhost:8000/v1"
protocol = "anthropic"
auth = "none"
strip = ["logit_bias"]
rename = { max_tokens = "limit" }
clamp = { temperature = [0.0, 1.0], top_p = 0.5 }
ignored = ["seed"]
defaults = { x = { y = [1, "a"] } }
headers = { x-a = "b" }
embeddings = true
quirks = { token_cap = "max_completion_tokens" }
"#,
    r#"
[models."lab/big-one"]
context_window = 32768
prices = [{ per_million = { input = "0.10", output = "0.40" } }]
[timeouts]
connect = 5.5
first_content = 0
idle = 1e3
total = 60
[media]
download = "never"
max_bytes = 100
allow_private = true
timeout = 3
"#,
    r#"
[retry]
max_retries = 3
first_wait = 0.5
factor = 2.0
max_backoff = 30
max_wait = 60
total = 120
budget = { share = 0.1, per_second = 1.0 }
[fallback]
models = ["anthropic/claude-sonnet-4-6"]
cooldown = 30
cooldown_after = 3
cooldown_min_retry_after = 60
"#,
    r#"
[cache]
ttl = 60
max_bytes = 1000
namespace = "n"
[cost]
limit = "1.50"
per = "month"
allow_unpriced = true
[log]
content = true
[history]
enabled = false
"#,
    r#"
[limits.openai]
concurrency = 8
requests_per_minute = 500
tokens_per_minute = 200_000
queue = 256
max_wait = 30
[limits."openai/gpt-5"]
tokens_per_minute = 30_000
[limits.work]
providers = ["azure", "lab"]
requests_per_minute = 60
[limits.default]
concurrency = 32
"#,
    "",
];

/// The tables and keys that an error can name.
const PLACES: [&str; 14] = [
    "default_provider",
    "default_model",
    "aliases",
    "providers",
    "timeouts",
    "model_data",
    "models",
    "media",
    "log",
    "cost",
    "retry",
    "fallback",
    "cache",
    "limits",
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|seed| seed.as_bytes().to_vec()).to_vec()
}

/// Seeds that are no configuration would lead nowhere.
#[test]
fn the_seeds_are_read() {
    for seed in SEEDS {
        Config::parse(seed).unwrap();
    }
}

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A file that is named is read, whichever it is.
    if text.contains("model_data") || text.contains('\\') {
        return;
    }
    let config = match Config::parse(text) {
        Ok(config) => config,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Config);
            let message = error.message();
            let placed =
                message.starts_with("line ") || PLACES.iter().any(|place| message.contains(place));
            assert!(placed, "no place is named: {message}");
            return;
        }
    };
    let builder = AgentLoop::builder().config(&config).transport(Nowhere).media_transport(Nowhere);
    let client = match builder.build() {
        Ok(client) => client,
        Err(error) => return assert!(!error.message().is_empty()),
    };
    let mut models: Vec<String> = config.aliases.keys().cloned().collect();
    models.extend(config.default_model.clone());
    models.extend(config.providers.iter().map(|row| format!("{}/some-model", row.name)));
    for model in models {
        encodes(
            &client,
            &ChatRequest::new(model).user("Hello").temperature(2.0).max_tokens(5),
            true,
        );
    }
}
