//! `docs/configuration.md` is generated from the types that read `agentloop.toml`.
//!
//! `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide` writes it.

use std::fmt::Write as _;

use super::source::{Field, describe, fields};
use super::{check_generated, read};

const HEAD: &str = "# Configuration

`agentloop.toml` sets providers, keys, models, middleware, tools and the gateway. Every setting is optional. This page lists all of them; it is generated from the types that read
the file, and a test fails if one is missing.

The command reads `~/.config/agentloop/agentloop.toml`, and then the first `agentloop.toml` in the working folder or one of its parents, whose settings take precedence.
`--config FILE` or the variable `AGENTLOOP_CONFIG` names another file instead. `agentloop config` shows every setting and the file that it comes from, `agentloop config edit` opens your
file and checks it. A program that uses the library reads a file with [`Config::read`](https://docs.rs/agentloop/latest/agentloop/struct.Config.html), and nothing by itself.

The column \"project\" states whether the file of a project may have the setting. Those with `trust` take effect only after `agentloop trust`, because they decide
where keys and prompts are sent ([why](SECURITY.md#project-files)).

A setting that is not known is an error that names its line. Texts with `${VARIABLE}` are replaced from the environment where the table says so. Times are in seconds.
";

/// A table of the file: its path, the struct that reads it, what it is, and an example with every key.
struct Table {
    path: &'static str,
    file: &'static str,
    name: &'static str,
    about: &'static str,
    example: &'static str,
}

const fn table(
    path: &'static str,
    file: &'static str,
    name: &'static str,
    about: &'static str,
    example: &'static str,
) -> Table {
    Table { path, file, name, about, example }
}

/// The tables, in the order of the page.
const TABLES: [Table; 28] = [
    table(
        "",
        "config/mod.rs",
        "File",
        "The settings in front of the first table, and the names of all tables.",
        "default_provider = \"openai\"\ndefault_model = \"fast\"\ndefault_tools = [\"time\", \"reading\"]\nallow = [\"time\"]\naliases = { fast = \"groq/openai/gpt-oss-20b\" }\n# model_data = \"models.json\"\n",
    ),
    table(
        "providers.NAME",
        "config/mod.rs",
        "Row",
        "A provider: `NAME` is in front of the slash in the names of its models. A built-in provider is changed, any other is added. [What each parameter becomes](parameters.md) lists the names of parameters.",
        "[providers.groq]                     # a built-in provider, with another key\nkey_env = \"MY_GROQ_KEY\"\n\n[providers.work]\nbase_url = \"https://llm.example.com/${TEAM}/v1\"\nprotocol = \"openai_chat\"\nauth = \"api-key\"\nkey_file = \"/run/secrets/llm\"        # instead of key_env\n# credential = \"aws\"                # instead of a key\nheaders = { \"x-team\" = \"search\" }\nstrip = [\"logit_bias\"]\nrename = { seed = \"random_seed\" }\nclamp = { temperature = [0, 1] }\nignored = [\"top_p\"]\ndefaults = { max_tokens = 1000 }\nquirks = { token_cap = \"max_completion_tokens\" }\nmodels = [{ pattern = \"big-*\", max_output_tokens = 32000 }]\nembeddings = false\nmodalities = [\"rerank\"]\n# allow = [\"temperature\", \"max_tokens\"]\n",
    ),
    table(
        "timeouts",
        "config/mod.rs",
        "TimeoutsTable",
        "How long a call may take, in seconds; 0 means no limit.",
        "[timeouts]\nconnect = 5\nfirst_content = 120\nidle = 60\ntotal = 600\n",
    ),
    table(
        "models.\"PROVIDER/MODEL\"",
        "models/record.rs",
        "ModelData",
        "What is known of a model: [Model data and prices](models.md).",
        "[models.\"lab/big-one\"]\nid = \"lab/big-one\"                   # as the table is named\nkind = \"chat\"\ncontext_window = 32768\nmax_input_tokens = 30000\nmax_output_tokens = 4096\nabilities = { tools = true, reasoning = false }\nefforts = [\"low\", \"high\"]\nknowledge_cutoff = \"2026-01\"\ndeprecation_date = \"2027-12-31\"\nprices = [{ per_million = { input = \"0.10\", output = \"0.40\" } }]\nrestrictions = { remove = [\"openai-json-word\"] }\n\n[models.\"lab/vectors\"]\ndimensions = 1024\n",
    ),
    table(
        "media",
        "config/mod.rs",
        "MediaTable",
        "Downloads of media that a request names by URL, for providers that accept no URLs.",
        "[media]\ndownload = \"when_needed\"\nmax_bytes = 5_000_000\nallow_private = false\ntimeout = 10\n",
    ),
    table(
        "retry",
        "middleware/retry/config.rs",
        "RetryTable",
        "Retries: [Middleware](middleware.md).",
        "[retry]\nmax_retries = 3\nfirst_wait = 0.5\nfactor = 2\nmax_backoff = 8\nmax_wait = 60\ntotal = 900\nbudget = { share = 0.2, per_second = 1 }\n",
    ),
    table(
        "retry.budget",
        "middleware/retry/config.rs",
        "BudgetTable",
        "A budget of retries over all calls.",
        "[retry.budget]\nshare = 0.2\nper_second = 1\n",
    ),
    table(
        "fallback",
        "middleware/fallback/config.rs",
        "FallbackTable",
        "Models that are called when a call fails: [Middleware](middleware.md).",
        "[fallback]\nmodels = [\"mistral/mistral-medium-latest\"]\ncooldown = 30\ncooldown_after = 3\ncooldown_min_retry_after = 10\n",
    ),
    table(
        "cache",
        "middleware/cache/config.rs",
        "CacheTable",
        "The cache: [The cache](cache.md).",
        "[cache]\nttl = 3600\nmax_bytes = 268435456\nnamespace = \"search\"\n# redis = \"redis://127.0.0.1:6379/0\"\n",
    ),
    table(
        "cost",
        "middleware/cost/config.rs",
        "CostTable",
        "Counts what calls cost, and refuses calls beyond the limit.",
        "[cost]\nlimit = \"25.00\"\nper = \"month\"\nallow_unpriced = false\n",
    ),
    table(
        "limits",
        "middleware/limits/table.rs",
        "LimitsTable",
        "Where limits are shared. All other keys are tables of accounts.",
        "[limits]\nredis = \"redis://127.0.0.1:6379\"\n",
    ),
    table(
        "limits.ACCOUNT",
        "middleware/limits/table.rs",
        "LimitTable",
        "What is sent to an account: a provider (`openai`), one of its models (`\"openai/gpt-5\"`), `default` for each provider without a limit of its own, or a name with `providers`. See [Limits](limits.md).",
        "[limits.work]\nproviders = [\"google\", \"vertex\"]\nconcurrency = 8\nrequests_per_minute = 500\ntokens_per_minute = 200_000\nburst = 10\nqueue = 256\nmax_wait = 30\nmax_pause = 60\n",
    ),
    table(
        "log",
        "middleware/logger/config.rs",
        "LogTable",
        "A record of each call, as one line of JSON on standard error.",
        "[log]\ncontent = false\n",
    ),
    table(
        "history",
        "config/mod.rs",
        "HistoryTable",
        "Conversations of the command: [At the terminal](terminal.md).",
        "[history]\nenabled = false\n",
    ),
    table(
        "mcp.NAME",
        "config/tools.rs",
        "McpTable",
        "An MCP server whose tools the command offers: [Tools](terminal-tools.md).",
        "[mcp.github]\ncommand = [\"npx\", \"-y\", \"@modelcontextprotocol/server-github\"]\nargs = [\"--verbose\"]\nenv = { GITHUB_TOKEN = \"${GITHUB_TOKEN}\" }\nfolder = \"data\"\ntools = [\"get_*\"]\nallow = [\"get_*\"]\ntimeout = 60\nenabled = true\n\n[mcp.search]\nurl = \"https://mcp.example.com/mcp\"\nheaders = { authorization = \"Bearer ${SEARCH_TOKEN}\" }\n",
    ),
    table(
        "tools.NAME",
        "config/tools.rs",
        "ProgramTable",
        "A program that is a tool: [Tools](terminal-tools.md).",
        "[tools.weather]\ncommand = [\"weather\", \"--days={days}\"]\nargs = [\"--\", \"{city}\"]\ndescription = \"Returns the weather of the next days in a city\"\nparameters = { city = \"string\", days = \"integer?\" }\nenv = { WEATHER_KEY = \"${WEATHER_KEY}\" }\nfolder = \"/var/empty\"\ntimeout = 20\n",
    ),
    table(
        "groups.NAME",
        "config/tools.rs",
        "GroupTable",
        "A name for several tools.",
        "[groups.reading]\ntools = [\"read_file\", \"search_files\", \"github:get_*\"]\n",
    ),
    table(
        "fetch_page",
        "config/tools.rs",
        "FetchPageTable",
        "The tool `fetch_page`.",
        "[fetch_page]\nallow_private = false\n",
    ),
    table(
        "local",
        "config/local.rs",
        "LocalConfig",
        "Models that `llama-server` runs on this machine: [Local models](local.md).",
        "[local]\nprogram = \"/opt/llama.cpp/llama-server\"\nfolders = [\"/srv/models\"]\noptions = [\"--ctx-size\", \"8192\"]\n",
    ),
    table(
        "gateway",
        "config/gateway.rs",
        "GatewayConfig",
        "The server that `agentloop serve` starts: [The gateway](gateway.md).",
        "[gateway]\nlisten = \"127.0.0.1:4180\"\nadmin_listen = \"127.0.0.1:4181\"\nadmin_token_env = \"GATEWAY_ADMIN_TOKEN\"\nmax_body_bytes = 67_108_864\nmax_held_bytes = 536_870_912\nmax_connections = 20_000\nclient_timeout = 60\nkeep_alive = 15\nshutdown_timeout = 30\nsimulator = false\nlog = \"json\"\nretries = 1\nstrict = false\ntls = { cert = \"cert.pem\", key = \"key.pem\" }\ndata = \"/var/lib/agentloop\"\nnode = \"gateway-1\"\n",
    ),
    table(
        "gateway.tls",
        "config/gateway.rs",
        "GatewayTls",
        "The certificate of the gateway.",
        "[gateway.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n",
    ),
    table(
        "gateway.keys.NAME",
        "config/gateway.rs",
        "GatewayKey",
        "An API key of a client. `agentloop keys create` makes keys that are not in the file.",
        "[gateway.keys.build-server]\nkey_env = \"BUILD_SERVER_KEY\"\n# sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"   # instead of key_env\nmodels = [\"fast\", \"openai/*\"]\nstrict = true\nexpires = \"2027-12-31\"\nteam = \"web\"\nbudget = [\"5/day\", \"50/month\"]\nrequests_per_minute = 60\ntokens_per_minute = 200_000\nconcurrency = 8\ntags = [\"ci\"]\n",
    ),
    table(
        "gateway.teams.NAME",
        "config/gateway/money.rs",
        "GatewayTeam",
        "What all keys of a team may use together.",
        "[gateway.teams.web]\nbudget = \"100/month\"\nrequests_per_minute = 600\ntokens_per_minute = 2_000_000\nconcurrency = 32\n",
    ),
    table(
        "gateway.routes.NAME",
        "config/gateway.rs",
        "GatewayRoute",
        "A name that clients use for a list of models.",
        "[gateway.routes.fast]\nmodels = [\"groq/openai/gpt-oss-20b\", { model = \"openai/gpt-5-mini\", weight = 2 }]\nstrategy = \"weighted\"\nretries = 2\nstrict = false\ndrain = 30\naffinity = true\ncache = { ttl = 3600, shared_by = \"team\" }\n",
    ),
    table(
        "gateway.routes.NAME.cache",
        "config/gateway/storage.rs",
        "GatewayCache",
        "The cache of a route.",
        "[gateway.routes.fast.cache]\nttl = 3600\nshared_by = \"team\"\n",
    ),
    table(
        "gateway.pools.PROVIDER",
        "config/gateway.rs",
        "GatewayPool",
        "Several keys of one provider.",
        "[gateway.pools.openai]\nkey_env = [\"OPENAI_KEY_1\", \"OPENAI_KEY_2\"]\nkey_file = \"/run/secrets/openai\"\n",
    ),
    table(
        "gateway.store",
        "config/gateway/storage.rs",
        "GatewayStore",
        "The database with the keys of clients and the ledger.",
        "[gateway.store]\nurl_env = \"GATEWAY_POSTGRES\"\n# path = \"/var/lib/agentloop/gateway.db\"   # instead of url_env\n",
    ),
    table(
        "gateway.redis",
        "config/gateway/storage.rs",
        "GatewayRedis",
        "The Redis server through which several gateways share limits, budgets and caches.",
        "[gateway.redis]\nurl_env = \"GATEWAY_REDIS\"\nwithout = \"local_share\"\nnodes = 3\n",
    ),
];

/// The last table: an array of constants cannot be much longer to be read well, and this one is read alone.
const LEDGER: Table = table(
    "gateway.ledger",
    "config/gateway/storage.rs",
    "GatewayLedger",
    "What is kept of requests, and how budgets are applied.",
    "[gateway.ledger]\nkeep_days = 400\nreserve_tokens = 16_384\nallow_unpriced = false\n",
);

/// Returns each setting that `config/trust.rs` classifies, and whether every file may have it.
fn classes() -> Vec<(String, bool)> {
    let code = read("crates/agentloop/src/config/trust.rs");
    let lines = code.lines().map(str::trim);
    let settings =
        lines.filter(|line| line.starts_with("free(\"") || line.starts_with("trusted(\""));
    settings
        .map(|line| (line.split('"').nth(1).unwrap().to_owned(), line.starts_with("free(")))
        .collect()
}

/// Returns whether the file of a project may have a setting. `None`: its tables have classes of their own.
fn is_free(path: &str, classes: &[(String, bool)]) -> Option<bool> {
    let fits = |class: &str| {
        let (mut path, mut class) = (path.split('.'), class.split('.'));
        class.all(|part| path.next().is_some_and(|name| part == "*" || part == name))
    };
    // The most specific class counts.
    let fitting = classes.iter().filter(|(class, _)| fits(class));
    fitting
        .max_by_key(|(class, _)| (class.split('.').count(), !class.contains('*')))
        .map(|(_, free)| *free)
}

/// Splits the documentation of a setting into its meaning and its default.
fn split_default(field: &Field) -> (String, String) {
    if let Some((meaning, default)) = field.text.split_once(" Default: ") {
        return (meaning.to_owned(), default.trim_end_matches('.').to_owned());
    }
    match field.text.strip_suffix(" Required.") {
        Some(meaning) => (meaning.to_owned(), "required".to_owned()),
        None => (field.text.clone(), String::new()),
    }
}

fn write_table(text: &mut String, table: &Table, classes: &[(String, bool)]) {
    let title =
        if table.path.is_empty() { "At the top".to_owned() } else { format!("`[{}]`", table.path) };
    let _ = write!(
        text,
        "\n## {title}\n\n{}\n\n| key | type | default | project | meaning |\n|---|---|---|---|---|\n",
        table.about
    );
    for field in fields(table.file, table.name) {
        if table.name == "LimitsTable" && field.name == "accounts" {
            continue;
        }
        let (meaning, default) = split_default(&field);
        let path = table
            .path
            .replace("\"PROVIDER/MODEL\"", "*")
            .replace("NAME", "*")
            .replace("ACCOUNT", "*");
        let path = [path.as_str(), &field.name]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(".");
        let project = match is_free(&path, classes) {
            Some(true) => "yes",
            Some(false) => "trust",
            None => "",
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {project} | {meaning} |",
            field.name,
            describe(&field.kind)
        );
    }
    let _ = write!(text, "\n```toml\n{}```\n", table.example);
}

fn tables() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().chain([&LEDGER])
}

fn document() -> String {
    let classes = classes();
    let mut text = HEAD.to_owned();
    tables().for_each(|table| write_table(&mut text, table, &classes));
    text.push_str(
        "\nThis page is written by `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide`.\n",
    );
    text
}

/// Compares the page, or writes it.
pub(super) fn check() {
    check_generated("docs/configuration.md", &document());
}

#[test]
fn the_page_of_settings_is_current() {
    check();
}

#[test]
fn every_setting_has_a_meaning_a_default_and_an_example() {
    let mut wrong = Vec::new();
    for table in tables() {
        for field in fields(table.file, table.name) {
            let place = format!("{} ({}) {}", table.file, table.name, field.name);
            let is_table = describe(&field.kind).starts_with("table");
            let (meaning, default) = split_default(&field);
            // The data of models is documented for Rust programs too; what is absent is not known.
            let needs_default = !is_table && table.name != "ModelData";
            if meaning.is_empty() || (needs_default && default.is_empty()) {
                wrong.push(format!(
                    "{place}: state the meaning, and `Default: …` or `Required.`, in its comment"
                ));
            }
            let is_shown = table.example.contains(&format!("{} = ", field.name));
            let has_own =
                tables().any(|other| other.path.split('.').any(|part| part == field.name));
            if !is_shown && !has_own && field.name != "accounts" {
                wrong.push(format!("{place}: the example does not have it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_struct_of_settings_has_a_table() {
    for table in tables() {
        for field in fields(table.file, table.name) {
            let names = field.kind.split(|c: char| !c.is_alphanumeric());
            for name in names.filter(|name| name.ends_with("Table") || name.starts_with("Gateway"))
            {
                let is_text = describe(name) != "table";
                let is_listed = tables().any(|table| table.name == name);
                assert!(is_text || is_listed, "{name} is not on the page of settings");
            }
        }
    }
}
