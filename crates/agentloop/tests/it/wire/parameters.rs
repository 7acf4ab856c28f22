//! `docs/parameters.md` says what the encoders do.

use std::fmt::Write as _;
use std::path::Path;

use agentloop::Provider;

use crate::wire::features::FEATURES;
use crate::wire::{change, client};

/// The parameters of the table, by what they are for.
const TABLES: &[(&str, &[&str])] = &[
    (
        "How words are chosen",
        &[
            "temperature",
            "top_p",
            "top_k",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
        ],
    ),
    ("How much, and when to stop", &["max_tokens", "stop", "n", "logprobs"]),
    (
        "Form, tools, thinking",
        &[
            "JSON mode",
            "schema",
            "tools",
            "one call at a time",
            "effort low",
            "thinking off",
            "verbosity",
        ],
    ),
    (
        "Caching, tiers, labels",
        &["prompt_cache_key", "cache marker", "service_tier", "user", "metadata"],
    ),
];

const HEAD: &str = "# What each parameter becomes

For a model of which nothing else is known; the data of a model may change more. Each cell is the field that is sent, `warning` where the
provider has no such setting and a warning reports that it is left out, and `(changed)` where a warning reports what is changed.

Generated: `UPDATE_DOCS=1 cargo test -p agentloop --test it wire` writes it, and the test fails when it is not what the encoders do.
";

fn document() -> String {
    let ai = client();
    let mut text = HEAD.to_owned();
    for (title, names) in TABLES {
        let _ = write!(
            text,
            "\n## {title}\n\n| | {} |\n|---|{}\n",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for provider in Provider::all() {
            let model = format!("{}/some-model", provider.name);
            let cells: Vec<String> = names
                .iter()
                .map(|name| {
                    let feature = FEATURES.iter().find(|feature| feature.name == *name).unwrap();
                    change(&ai, &model, &feature.beside(), &feature.asked()).cell()
                })
                .collect();
            let _ = writeln!(text, "| {} | {} |", provider.name, cells.join(" | "));
        }
    }
    text
}

#[test]
fn the_docs_say_what_the_encoders_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let text = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "run with UPDATE_DOCS=1 to write docs/parameters.md");
}
