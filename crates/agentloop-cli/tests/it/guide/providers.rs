//! `docs/providers/`: a page for each built-in provider, generated from its row and from the built-in data of models.
//!
//! `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide` writes them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentloop::credential::CredentialSource;
use agentloop::provider::{Auth, Feature, KeySource, Restriction, Rule};
use agentloop::{ModelCatalog, ModelData, Protocol, Provider};

use super::{check_generated, files, read};

/// The most models that a page lists.
const MAX_MODELS: usize = 100;

const WRITTEN: &str = "Written by `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide`.";

/// The comment of a row: what the provider is, and where the facts come from.
struct About {
    what: String,
    facts: String,
}

fn about(provider: &Provider) -> About {
    let code = read(&format!("crates/agentloop/src/provider/rows/{}.rs", provider.name));
    let lines = code.lines().map_while(|line| line.strip_prefix("//!"));
    let mut paragraphs = vec![String::new()];
    for line in lines.map(str::trim) {
        match (line.is_empty(), paragraphs.last_mut()) {
            (true, _) => paragraphs.push(String::new()),
            (false, Some(last)) => {
                last.push_str(if last.is_empty() { "" } else { " " });
                last.push_str(line);
            }
            (false, None) => {}
        }
    }
    let what = paragraphs.remove(0).trim_end_matches('.').to_owned();
    About { what, facts: without_paths(&paragraphs.join("\n\n")) }
}

/// Replaces links to modules of the library by links to the page of restrictions.
fn without_paths(text: &str) -> String {
    let mut parts = text.split("[`families::");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(
            "[families of models](../restrictions.md#families-of-models-for-all-providers)",
        );
        plain.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    plain
}

/// Returns the model that the command uses if only the provider is named.
fn default_model(provider: &Provider) -> Option<String> {
    let code = read("crates/agentloop-cli/src/model/default.rs");
    let start = format!("    (\"{}\", \"", provider.name);
    code.lines()
        .find_map(|line| Some(line.strip_prefix(&start)?.trim_end_matches("\"),").to_owned()))
}

fn keys(text: &mut String, provider: &Provider) {
    let variables: Vec<String> =
        provider.key.variables().iter().map(|name| format!("`{name}`")).collect();
    let model = default_model(provider).unwrap_or_else(|| "MODEL".to_owned());
    let name = &provider.name;
    text.push_str("## Use it\n\n");
    let _ = match &provider.key {
        _ if !matches!(provider.credential, CredentialSource::None) => {
            let (owner, place) = match provider.credential {
                CredentialSource::Google(_) => ("Google Cloud", "google-cloud"),
                CredentialSource::Entra(_) => ("Microsoft Entra ID", "microsoft-entra-id"),
                _ => ("Amazon Web Services", "amazon-web-services"),
            };
            writeln!(
                text,
                "It uses the [credentials of {owner}](../credentials.md#{place}). If {} is set, it is sent as the key.",
                variables.join(" or ")
            )
        }
        KeySource::EnvIfSet(_) => writeln!(
            text,
            "It needs no key. If {} is set, it is sent as the key.",
            variables.join(" or ")
        ),
        _ => writeln!(
            text,
            "Create a key {}, and set {} to it; or store it with `agentloop keys set {name}`, which reads it without showing it.",
            provider.key_url.as_ref().map_or_else(
                || "in your account at the provider".to_owned(),
                |url| format!("at <{url}>")
            ),
            variables.join(" or ")
        ),
    };
    let needed: Vec<&str> =
        provider.base_url.split("${").skip(1).filter_map(|part| part.split('}').next()).collect();
    if !needed.is_empty() {
        let mut names: Vec<String> = needed.iter().map(|name| format!("`{name}`")).collect();
        names.dedup();
        names.sort();
        names.dedup();
        let known = match provider.credential {
            CredentialSource::Google(_) => ", unless the credentials name them",
            _ => "",
        };
        let _ = writeln!(text, "Its URL also needs {}{known}.", names.join(" and "));
    }
    let _ = write!(
        text,
        "\n<!-- keys -->\n```console\n$ agentloop -m {name}/{model} \"Hello\"\n```\n\n"
    );
    if model == "MODEL" {
        text.push_str("`MODEL` is the name of a model that it serves.\n\n");
    }
    let _ = write!(
        text,
        "In Rust, `AgentLoop::from_env()` knows it as `{name}/…`; `Provider::{name}()` is its description, to be changed or given a key. `AGENTLOOP_{}_BASE_URL` replaces its URL.\n\n",
        name.to_ascii_uppercase()
    );
}

fn endpoints(text: &mut String, provider: &Provider) {
    let has_models = provider.endpoints.iter().any(|other| !other.models.is_empty());
    let (title, rule) = if has_models { (" models |", "---|") } else { ("", "") };
    let _ = write!(
        text,
        "## Protocols\n\n| protocol | base URL | header of the key |{title}\n|---|---|---|{rule}\n"
    );
    let row = |protocol: Protocol, url: &str, auth: &Auth, models: &[Cow<'_, str>]| {
        let header = auth.header().map_or_else(String::new, |name| format!("`{name}`"));
        let models = match models {
            _ if !has_models => String::new(),
            [] => " |".to_owned(),
            models => format!(" `{}` |", models.join("`, `")),
        };
        format!("| `{}` | `{url}` | {header} |{models}\n", protocol.name())
    };
    text.push_str(&row(provider.protocol, &provider.base_url, &provider.auth, &[]));
    for other in &provider.endpoints {
        text.push_str(&row(other.protocol, &other.base_url, &other.auth, &other.models));
    }
    text.push('\n');
    if !provider.endpoints.is_empty() {
        text.push_str("The first is used unless the request or a model needs another; `--protocol NAME` chooses one.\n\n");
    }
}

fn features(text: &mut String, provider: &Provider) {
    let names = |wanted: bool| {
        let found = Feature::ALL.iter().filter(|feature| provider.supports(**feature) == wanted);
        found.map(|feature| feature.name()).collect::<Vec<_>>().join(", ")
    };
    let _ = write!(
        text,
        "## What works\n\n- Yes: {}.\n- No: {}.\n\n\"Yes\" for an input means that AgentLoop sends it and the provider decides; a single model may support less. [Server tools](../server-tools.md) lists the tools that it runs, [what each parameter becomes](../parameters.md) how parameters are sent.\n\n",
        names(true),
        names(false)
    );
}

fn parameters(text: &mut String, provider: &Provider) {
    let mut lines = Vec::new();
    let stripped: Vec<String> = provider
        .rules
        .iter()
        .filter_map(|rule| match rule {
            Rule::Strip(param) => Some(format!("`{}`", param.name())),
            _ => None,
        })
        .collect();
    if !stripped.is_empty() {
        lines.push(format!("Left out, with a warning: {}.", stripped.join(", ")));
    }
    for rule in &provider.rules {
        match rule {
            Rule::Rename(param, name) => {
                lines.push(format!("`{}` is sent as `{name}`.", param.name()));
            }
            Rule::Clamp(param, min, max) if min == max => {
                lines.push(format!("`{}` is always {min}.", param.name()));
            }
            Rule::Clamp(param, min, max) => {
                lines.push(format!("`{}` is kept between {min} and {max}.", param.name()));
            }
            Rule::Ignored(param) => {
                lines.push(format!("`{}` is sent, but the provider ignores it.", param.name()));
            }
            Rule::Default(name, value) => {
                lines.push(format!("`{name}` is {value} unless the request sets it."));
            }
            _ => {}
        }
    }
    if let Some(allow) = &provider.allow {
        let names: Vec<String> = allow.iter().map(|name| format!("`{name}`")).collect();
        lines.push(format!("Only these fields are sent: {}.", names.join(", ")));
    }
    if lines.is_empty() {
        text.push_str("## Parameters\n\nAll parameters are sent in its default protocol.\n\n");
    } else {
        let _ = write!(
            text,
            "## Parameters\n\nIn its default protocol:\n\n- {}\n\n",
            lines.join("\n- ")
        );
    }
}

fn restrictions(text: &mut String, provider: &Provider) {
    text.push_str("## Known restrictions\n\n");
    let families = "What a family of models refuses at every provider is in [restrictions of models](../restrictions.md#families-of-models-for-all-providers).";
    if provider.restrictions.is_empty() {
        let _ = write!(text, "None of its own. {families}\n\n");
        return;
    }
    text.push_str("| models | when | what is done | why | known from |\n|---|---|---|---|---|\n");
    for row in &provider.restrictions {
        let when: Vec<String> = row.when.iter().map(|when| when.describe()).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            models_of(row),
            when.join("; "),
            row.then.describe(),
            row.reason,
            row.source
        );
    }
    let _ = write!(text, "\n{families}\n\n");
}

fn models_of(row: &Restriction) -> String {
    let ticked = |names: &[Cow<'static, str>]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let models = if row.models.is_empty() { "all".to_owned() } else { ticked(&row.models) };
    if row.except.is_empty() { models } else { format!("{models} except {}", ticked(&row.except)) }
}

/// Returns the moment of the data, so that the page does not change with the day on which it is read.
fn moment(catalog: &ModelCatalog) -> SystemTime {
    let day = catalog.date().expect("the data has a date");
    let mut moment = UNIX_EPOCH;
    while agentloop::models::Date::of(moment) < day {
        moment += Duration::from_secs(24 * 3600);
    }
    moment
}

fn models(text: &mut String, provider: &Provider, catalog: &ModelCatalog, when: SystemTime) {
    let known = catalog.of_provider(&provider.name);
    let name = &provider.name;
    text.push_str("## Models\n\n");
    if known.is_empty() {
        let _ = write!(
            text,
            "The built-in data lists none of its models. Every name can be used{}.\n\n",
            if provider.serves.models {
                format!("; `agentloop models {name}` asks the server")
            } else {
                String::new()
            }
        );
        return;
    }
    let day = catalog.date().map(|day| day.to_string()).unwrap_or_default();
    let _ = write!(
        text,
        "The built-in data of {day} knows {} models. Others can be used too: a name is sent as it is. `agentloop models {name}` asks the provider, and `agentloop models {name} --known` lists the built-in data.\n\n",
        known.len()
    );
    if known.len() > MAX_MODELS {
        return;
    }
    text.push_str(
        "| model | context | longest response | $/M in | $/M out |\n|---|---|---|---|---|\n",
    );
    for model in &known {
        let _ = writeln!(text, "{}", row(model, when));
    }
    text.push('\n');
}

fn row(model: &ModelData, when: SystemTime) -> String {
    let price = model.price(0, when, None).map(|price| price.per_million);
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let usd = |usd: Option<agentloop::Usd>| usd.map(|usd| usd.to_string()).unwrap_or_default();
    format!(
        "| `{}` | {} | {} | {} | {} |",
        model.id,
        count(model.context_window),
        count(model.max_output_tokens),
        usd(price.and_then(|price| price.input)),
        usd(price.and_then(|price| price.output)),
    )
}

fn page(provider: &Provider, catalog: &ModelCatalog, when: SystemTime) -> String {
    let about = about(provider);
    let mut text = format!(
        "# {}\n\n{}. Its name in AgentLoop is `{}`.\n\n",
        provider.name, about.what, provider.name
    );
    keys(&mut text, provider);
    endpoints(&mut text, provider);
    features(&mut text, provider);
    parameters(&mut text, provider);
    restrictions(&mut text, provider);
    models(&mut text, provider, catalog, when);
    let _ = write!(text, "## Where this comes from\n\n{}\n\n", about.facts);
    let sources: Vec<String> = catalog
        .sources()
        .iter()
        .map(|source| format!("{} ({})", source.name, source.version))
        .collect();
    let _ = writeln!(
        text,
        "A recording is a request and its response, as the provider sent it, in the collection that the tests read. The data of models comes from {}; [Model data and prices](../models.md) describes how. {WRITTEN}",
        sources.join(" and ")
    );
    text
}

/// What the index says before the table of providers.
const BEFORE_PROVIDERS: &str = "# Providers and features

A model is named `provider/model`. These providers are built in. The key is read from the variable in the table when it is needed, or stored with `agentloop keys set PROVIDER`. The page of each provider has its URLs, protocols, parameters, restrictions and models, and where each fact comes from. Any other endpoint that speaks one of the protocols can be [added](../custom.md).

| provider | | key | where to get a key | default protocol |
|---|---|---|---|---|
";

/// What the index says between the tables.
const BEFORE_FEATURES: &str = "
The environment variable `AGENTLOOP_<NAME>_BASE_URL` replaces the base URL of a provider. `agentloop providers` shows which keys are set, and `agentloop check PROVIDER` tests a provider with your key.

Several providers support more than one protocol. `ChatRequest::protocol(Protocol::Anthropic)` or `--protocol anthropic` selects one. OpenAI's reasoning models use `openai_responses` in requests with tools, and so does any provider that supports a requested server tool only there.

## What works where

The table shows what AgentLoop sends to each provider and reads from it. A ✓ for an input means that AgentLoop sends it and the provider decides; a single model may support less. For huggingface, nvidia, moonshot, deepinfra, sambanova, github and the local servers, it is the default for a compatible endpoint and has not been tested against the provider.

";

/// Returns the table of providers and features.
fn matrix() -> String {
    let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let mut matrix = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for provider in Provider::all() {
        let cells: Vec<&str> = Feature::ALL
            .iter()
            .map(|feature| if provider.supports(*feature) { "✓" } else { "" })
            .collect();
        let _ = writeln!(matrix, "| [{0}]({0}.md) | {1} |", provider.name, cells.join(" | "));
    }
    matrix
}

fn index() -> String {
    let mut text = BEFORE_PROVIDERS.to_owned();
    for provider in Provider::all() {
        let variables = provider.key.variables().join("` or `");
        let key = match provider.key {
            KeySource::EnvIfSet(_) => format!("`{variables}`, if set"),
            _ => format!("`{variables}`"),
        };
        let page = provider.key_url.as_deref().unwrap_or_default();
        let page = if page.is_empty() { String::new() } else { format!("<{page}>") };
        let _ = writeln!(
            text,
            "| [{0}]({0}.md) | {1} | {key} | {page} | `{2}` |",
            provider.name,
            about(&provider).what,
            provider.protocol.name()
        );
    }
    text.push_str(BEFORE_FEATURES);
    text.push_str(&matrix());
    let _ = write!(
        text,
        "\n[What each parameter becomes](../parameters.md), [restrictions of models](../restrictions.md), [model data and prices](../models.md). {WRITTEN}\n"
    );
    text
}

/// Compares all pages, or writes them.
pub(super) fn check() {
    let catalog = ModelCatalog::embedded();
    let when = moment(&catalog);
    let mut pages = vec!["docs/providers/index.md".to_owned()];
    check_generated(&pages[0], &index());
    for provider in Provider::all() {
        let path = format!("docs/providers/{}.md", provider.name);
        check_generated(&path, &page(&provider, &catalog, when));
        pages.push(path);
    }
    pages.sort();
    assert_eq!(files("docs/providers"), pages, "docs/providers has pages of other providers");
}

#[test]
fn the_pages_of_providers_are_current() {
    check();
}
